# SPDX-License-Identifier: GPL-2.0-only
"""Wrong experiment files: each gives one line with its line number, exit code 2, and no runs."""

from pathlib import Path

import pytest
from one_line import assert_one_line, refuse_builds, table
from small_experiment import GOOD, write

from airtcp import cli

# Lines of `a line of GOOD => its replacement | a part of the message`.
FILES = """
name: small => | name: missing
name: small => name: My Own | 'My Own' is not a name
name: small => nam: small | nam: unknown key; did you mean 'name'?
title: A small one => title: [Mine] | 2: title: ['Mine'] is not text
title: A small one => title: | 2: title: is empty
title: A small one => title: "unclosed | 18: not YAML: found unexpected end of stream
title: A small one => title: Mine: yours | 2: not YAML: mapping values are not allowed
title: A small one => \ttitle: Mine | 2: not YAML: found a tab character; indent with spaces
parameters: => parameters: none | 6: not YAML: mapping values are not allowed
source: nobody => source: a: b | write text that contains `: ` in quotes, or correct the indentation
  delay: 10ms =>   delay: 10 | 6: parameters.delay: '10' is not a duration
  delay: 10ms =>   dealy: 10ms | 6: parameters.dealy: unknown key; did you mean 'delay'?
  delay: 10ms => \tdelay: 10ms | 6: not YAML: found a tab character; indent with spaces
  delay: 10ms =>   mcs: high | 6: parameters.mcs: 'high' is not a whole number; allowed: 0 to 13
  delay: 10ms =>   delay: [10ms, 20ms] | 6: parameters.delay: is a list; give one value; several go
  delay: 10ms =>   congestion_control: [bbr] | parameters.congestion_control: is a list; give one
    rate: [10Mbit] =>     rate: {a: 1} | design[0].rate: is not a list; begin each entry with `- `
  delay: 10ms =>   delay: | 6: parameters.delay
  delay: 10ms =>   sack: on | 7: parameters.sack: given twice
  delay: 10ms =>   [1, 2]: 3 | 6: parameters: a key must be a word
  delay: 10ms =>   delay: &a [*a] | 6:
  sack: off =>   sack: no | 7: parameters.sack: 'no' is not a switch
  sack: off =>   protocol: udp | 9: design[0].ack_policy[1]: aad is not allowed with protocol udp
published: => --- | 12: not YAML: expected a single document in the stream, but found another
design: => designs: | designs: unknown key; did you mean 'design'?
design: => delay: | delay: unknown key; it is a parameter: write it below `parameters:`
source: nobody => flows: 4 | 3: flows: '4' is not a list
  delay: 10ms =>   <<: 3 | 6: parameters.<<: merge keys are not supported; repeat the keys
  - ack_policy: [default, aad] =>   - ack_policy: aad | 9: design[0].ack_policy: 'aad' is not a list
  - ack_policy: [default, aad] =>   - ack_policy: [] | ack_policy: give at least one value
  - ack_policy: [default, aad] =>   - ack_policy: [add] | did you mean 'aad'?
    rate: [10Mbit] =>     rate: 10Mbit | 10: design[0].rate: '10Mbit' is not a list; write [10Mbit]
    rate: [10Mbit] =>     rat: [10Mbit] | 10: design[0].rat: unknown parameter; did you mean
    rate: [10Mbit] =>     rate: [10mbit] | did you mean '10Mbit'?
  - when: {ack_policy: aad, rate: 10Mbit} =>   - when: {rate: 1Mbit} | no case of the design
  - when: {ack_policy: aad, rate: 10Mbit} =>   - when: {rat: 1} | unknown
  - when: {ack_policy: aad, rate: 10Mbit} =>   - when: 3 | published[0].when: '3' is not a mapping
    metric: goodput_mbps =>     metric: godput | did you mean
    value: 9.5 =>     value: nine | value
    precision: exact =>     precision: about | 'about' is not allowed
    precision: exact =>     precision: [] | 16: published[0].precision: '[]' is not allowed
    source: a table => | published[0].source: missing
"""

CHANGES = table(FILES)


@pytest.fixture(autouse=True)
def no_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_builds(monkeypatch)


@pytest.mark.parametrize(("change", "message"), CHANGES, ids=lambda text: text)
def test_errors_in_files_are_one_line(
    change: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line, _, replacement = change.partition(" =>")
    assert f"{line}\n" in GOOD
    new = replacement.removeprefix(" ")
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD.replace(f"{line}\n", f"{new}\n" if new else ""))
    code = cli.main(["run", str(path), "--out", str(tmp_path / "out")])
    captured = capsys.readouterr()
    # Names of directories of pytest contain the change.
    assert_one_line(code, captured.out, captured.err.replace(str(tmp_path), ""), message)
    assert str(path) in captured.err or "--set" in captured.err
    assert not (tmp_path / "out").exists()


def test_a_file_is_named_as_in_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.yaml").write_text(GOOD.replace("sack: off", "sack: no"))
    monkeypatch.chdir(tmp_path)
    assert cli.main(["show", "mine.yaml"]) == 2
    assert capsys.readouterr().err.startswith("airtcp: mine.yaml:7: parameters.sack: ")


def test_parameters_that_are_a_list_are_no_mapping(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, GOOD, ("  delay:", "  - delay:"), ("  sack:", "  - sack:"))
    assert cli.main(["show", str(path)]) == 2
    assert "small.yaml:5: parameters: [{'delay': '10ms'}, {'sack': 'off'}] is not a mapping" in (
        capsys.readouterr().err
    )

# SPDX-License-Identifier: GPL-2.0-only
"""What is a directory with ACK policies of the user's own, what is refused, what it brings."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from airtcp import cli
from airtcp.errors import InputError
from airtcp.experiment.reader import load
from airtcp.kernel import own_policy, policies, source
from airtcp.parameters import Parameters
from airtcp.paths import REPOSITORY

SAMPLE = Path(__file__).parents[2] / "samples" / "ackpol"


def test_the_sample_is_a_policy() -> None:
    own = own_policy.read(SAMPLE)
    assert own.names == ("fixed",)
    assert {Path(name).name for name in own.files} == {"Kbuild", "Makefile", "tcp_ackpol_fixed.c"}
    assert own.files["net/ipv4/own_policy/Makefile"] == SAMPLE / "Makefile"


def test_what_make_left_is_no_source(tmp_path: Path) -> None:
    write(tmp_path, MODULE)
    for name in ("x.mod.c", "x.o", "x.ko", ".x.o.cmd"):
        (tmp_path / name).write_text('MODULE_ALIAS_TCP_ACKPOL("other");')
    own = own_policy.read(tmp_path)
    assert own.names == ("mine",)
    assert sorted(Path(name).name for name in own.files) == ["Kbuild", "Makefile", "x.c"]


def test_a_users_kbuild_goes_before_his_makefile(tmp_path: Path) -> None:
    write(tmp_path, MODULE)
    (tmp_path / "Kbuild").write_text("obj-m := x.o\n")
    assert own_policy.read(tmp_path).files["net/ipv4/own_policy/Makefile"] == tmp_path / "Kbuild"


MODULE = 'MODULE_ALIAS_TCP_ACKPOL("mine");\n'


def write(directory: Path, module: str) -> None:
    (directory / "Makefile").write_text("obj-m := x.o\n")
    (directory / "x.c").write_text(module)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("int x;", "no policy found: no C file has MODULE_ALIAS_TCP_ACKPOL"),
        (MODULE.replace("mine", "aad"), "'aad' is a policy of the laboratory"),
        (MODULE * 2, "'mine' is already defined in "),
        (MODULE.replace("mine", "m" * 16), "is not a valid name; allowed: up to 15 of"),
        (MODULE.replace("mine", "My Own"), "is not a valid name; allowed: up to 15 of"),
    ],
)
def test_what_is_no_policy_is_told_by_file(tmp_path: Path, module: str, message: str) -> None:
    write(tmp_path, module)
    with pytest.raises(InputError) as error:
        own_policy.read(tmp_path)
    assert message in str(error.value)
    assert str(tmp_path) in str(error.value)


def test_a_directory_without_a_makefile_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains no Makefile"):
        own_policy.read(tmp_path)
    with pytest.raises(InputError, match="not a directory"):
        own_policy.read(tmp_path / "none")


def test_the_hook_fits_where_the_policies_are_hooked_in() -> None:
    """Else no kernel with a policy of one's own can be built: patches go in without fuzz."""
    hook = (REPOSITORY / "lab" / "own_policy" / "hook.patch").read_text()
    series = [step.patch.read_text() for step in source.read_changes()]
    lines = [line[1:] for line in hook.splitlines() if line.startswith(" ")]
    assert len(lines) == 2
    assert all(any(f"+{line}\n" in patch for patch in series) for line in lines)


def test_the_laboratory_has_what_its_kernel_registers(tmp_path: Path) -> None:
    files, patches = tmp_path / "net" / "ipv4", tmp_path / "patches" / "research"
    files.mkdir(parents=True)
    patches.mkdir(parents=True)
    (files / "tcp_ackpol_two.c").write_text(MODULE.replace("mine", "b") + MODULE)
    (files / "tcp_bbr.c").write_text(MODULE.replace("mine", "bbr"))
    changed = f" {MODULE}-{MODULE.replace('mine', 'gone')}+{MODULE.replace('mine', 'a')}"
    (patches / "0001.patch").write_text(changed)
    assert policies.names(tmp_path) == ("default", "a", "b", "mine")
    assert {"aad", "aad-listing", "divack"} < set(policies.names())
    assert list(policies.names()[1:]) == sorted(policies.names()[1:])


def test_a_topology_may_have_them(tmp_path: Path) -> None:
    path = tmp_path / "lan.yaml"
    path.write_text(TOPOLOGY)
    with pytest.raises(InputError, match=r"lan.yaml:10: .*'fixed' is not allowed"):
        load(path)
    assert load(path, ["fixed"]).topology
    path.write_text(TOPOLOGY.replace("fixed", "aad") + "schedule:\n" + CHANGE)
    with pytest.raises(InputError, match=r"lan.yaml:16: .*'fixed' is not allowed"):
        load(path)
    load(path, ["fixed"])


TOPOLOGY = """\
name: lan
title: A LAN
source: me
description: none
topology:
  servers: {server: {}}
  access_points: {ap: {}}
  stations:
    laptop:
      ack_policy: fixed
      access_point: ap
flows: [{from: server, to: laptop}]
"""
CHANGE = """\
- at: 1s
  node: laptop
  set: {ack_policy: fixed}
"""


def test_its_names_are_words_of_ack_policy(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["show", "thesis-lan", "--set", "ack_policy=default,fixed", "--set", "delay=0ms"]
    assert cli.main(arguments) == 2
    assert "'fixed' is not allowed; allowed: default" in capsys.readouterr().err
    assert cli.main([*arguments, "--policy", str(SAMPLE)]) == 0
    assert "ack_policy=fixed delay=0ms" in capsys.readouterr().out


def test_it_is_for_the_laboratorys_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["kernel", "build", "--arch", "x86_64", "--policy", str(SAMPLE)]
    assert cli.main(arguments) == 2
    assert "build it as a module (docs/how-to/kernel.md)" in capsys.readouterr().err


def test_results_may_have_whatever_policy_there_was() -> None:
    """`report` is not told of the directory, which may be gone."""
    assert Parameters.model_validate({"ack_policy": "fixed"}).ack_policy == "fixed"
    with pytest.raises(ValidationError, match="not the name of a policy"):
        Parameters.model_validate({"ack_policy": "$(reboot)"})

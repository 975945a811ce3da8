# SPDX-License-Identifier: GPL-2.0-only
"""Limits on YAML files: errors are one line with the position."""

import os
from pathlib import Path

import pytest

from airtcp import yamlfile
from airtcp.errors import InputError
from airtcp.experiment.reader import load

# Each list has nine aliases of the previous one: 9^11 values.
BOMB = "a0: &a0 x\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 12)
)
CHAIN = "a0: &a0 [x]\n" + "".join(
    f"a{level}: &a{level} [*a{level - 1}]\n" for level in range(1, 5000)
)


def refused(path: Path) -> str:
    with pytest.raises(InputError) as error:
        load(path)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "7: too many values after expanding aliases; allowed: 100000"),
        (CHAIN, "20: nested too deeply; allowed: 20 levels"),
        ("a:\n- &x [1, *x]\n", "2: the alias *x contains itself"),
        ("a:\n  " + "[" * 200_000, "2: nested too deeply; allowed: 20 levels"),
        ("a:\n  " + "{b: " * 50_000, "2: nested too deeply; allowed: 20 levels"),
        ("\n" + "- " * 100_000, "2: nested too deeply; allowed: 20 levels"),
        ("name: x\ntitle: a\0b\n", "2: not YAML: the character #x0000 is not allowed"),
        ("name: é\n\n\0", "3: not YAML: the character #x0000 is not allowed"),
        ("name: x\ntitle: *y\n", "2: not YAML: found undefined alias *y; write"),
        ("name: x\ntitle: [*y, *z]\n", "2: not YAML: found undefined alias *y; write"),
        ("name: x\rtitle: *y\r", "2: not YAML: found undefined alias *y; write"),
        ("\ufeffname: x\u2028title: *y\u2028", "2: not YAML: found undefined alias *y; write"),
        ("name: x\r\ttitle: y\r", "2: not YAML: found a tab character; indent with spaces"),
        ("name: x\n? [a, b]\n: c\n", "2: a key must be a word, not a list or a mapping"),
    ],
)
def test_errors_of_large_or_invalid_files_are_one_line(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "big.yaml"
    path.write_text(text)
    assert refused(path).startswith(f"{path}:{message}")


def test_large_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "big.yaml"
    path.write_bytes(b"#" * (yamlfile.MAX_BYTES + 1))
    assert refused(path) == f"{path}: too large; allowed: 256 KiB"


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    endless, pipe = tmp_path / "endless.yaml", tmp_path / "pipe.yaml"
    endless.symlink_to("/dev/zero")
    os.mkfifo(pipe)
    for path in (endless, pipe):
        assert refused(path) == f"{path}: not a regular file"
    (tmp_path / "directory.yaml").mkdir()
    assert refused(tmp_path / "directory.yaml").endswith("directory.yaml: Is a directory")


def test_aliases_are_allowed(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(
        "name: small\ntitle: &t Small\nsource: *t\ndescription: *t\n"
        "design:\n- &d {rate: [10Mbit], delay: [1ms]}\n- *d\n"
    )
    assert load(path).source == "Small"
    assert len(load(path).cases()) == 1


def test_first_scalars_are_read_from_the_top_level() -> None:
    text = "a: {name: inner}\nb: &x [name, 1]\nc: *x\nname: outer\ntitle: >-\n  two\n  lines\n"
    assert yamlfile.first_scalars(text, "x.yaml", ("name", "title")) == {
        "name": "outer",
        "title": "two lines",
    }


def test_first_scalars_stop_when_all_are_found() -> None:
    assert yamlfile.first_scalars("name: x\n} broken", "x.yaml", ("name",)) == {"name": "x"}
    with pytest.raises(InputError, match=r"^x\.yaml:2: not YAML: "):
        yamlfile.first_scalars("name: x\n} broken", "x.yaml", ("name", "title"))

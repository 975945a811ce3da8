# SPDX-License-Identifier: GPL-2.0-only
"""Standard output and error: closed, full, without a reader, with limited encodings."""

import os
import subprocess
from pathlib import Path

import pytest
import sweeps
from fake_sweep import write_sweep

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture
def compare(tmp_path: Path) -> list[str]:
    """A command that prints ±."""
    sweep = write_sweep(tmp_path / "sweep", {(7, 1): 10.0, (7, 2): 12.0})
    return [*sweeps.AIRTCP, "results", "compare", str(sweep), str(sweep)]


def shell(command: list[str], redirected: str, **environment: str) -> "tuple[int, bytes, bytes]":
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirected}', "sh", *command],
        env={**sweeps.ENVIRONMENT, **environment},
        capture_output=True,
    )
    return done.returncode, done.stdout, done.stderr


def test_closed_standard_output_is_ignored(compare: list[str]) -> None:
    assert shell(compare, ">&- <&-") == (0, b"", b"")


def test_full_standard_output_is_reported(compare: list[str]) -> None:
    message = b"airtcp: standard output: No space left on device\n"
    assert shell(compare, ">/dev/full") == (1, b"", message)
    assert shell([*sweeps.AIRTCP, "--help"], ">/dev/full") == (1, b"", message)


def test_messages_that_cannot_be_written_are_ignored(compare: list[str]) -> None:
    wrong = [*compare, "--metric", "speed"]
    for redirected in ("2>/dev/full", "2>&-"):
        assert shell(wrong, redirected) == (2, b"", b"")
        code, out, _ = shell(compare, redirected)
        assert code == 0 and out
    reader, writer = os.pipe()
    os.close(reader)
    assert subprocess.run(wrong, env=sweeps.ENVIRONMENT, stderr=writer).returncode == 2
    os.close(writer)


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "koi8-r"},
        ASCII,
    ],
)
def test_character_that_the_encoding_lacks_becomes_a_question_mark(
    compare: list[str], environment: dict[str, str]
) -> None:
    code, out, stderr = shell(compare, "", **environment)
    assert (code, stderr) == (0, b"")
    assert b"interval is ? 12.7 standard errors" in out


def test_files_of_airtcp_are_read_in_any_encoding(tmp_path: Path) -> None:
    directories = [tmp_path / "utf-8", tmp_path / "ascii"]
    for directory, environment in zip(directories, ({"LC_ALL": "C.UTF-8"}, ASCII), strict=True):
        directory.mkdir()
        code, listed, stderr = shell([*sweeps.AIRTCP, "list", "--json"], "", **environment)
        assert (code, stderr) == (0, b"")
        (directory / "list").write_bytes(listed)
        openwrt = [*sweeps.AIRTCP, "kernel", "openwrt", str(directory / "openwrt")]
        assert shell(openwrt, ">&-", **environment) == (0, b"", b"")
    assert subprocess.run(["diff", "-r", *directories]).returncode == 0


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_arguments_that_are_not_utf_8_are_refused(tmp_path: Path, locale: str) -> None:
    path = os.fsencode(tmp_path) + b"/\xff\xfe"
    for subcommand in (
        ["run", "thesis-lan", "--out", path],
        ["run", "thesis-lan", "--title", b"caf\xe9"],
        ["report", path],
        ["results", "query", b"SELECT '\xe9'", tmp_path],
        ["results", "export", path],
        ["show", path + b".yaml"],
        ["exec", "thesis-lan", "station", "--", "echo", b"\xe9"],
    ):
        code, out, stderr = shell([*sweeps.AIRTCP, *subcommand], "", LC_ALL=locale)
        assert (code, out) == (2, b"")
        assert stderr.startswith(b"airtcp: argument ") and stderr.count(b"\n") == 1
        assert stderr.endswith(b" is not UTF-8; only UTF-8 is allowed, including in file names\n")
    assert list(tmp_path.iterdir()) == []


def test_bytes_of_a_directory_name_are_printed_unchanged(tmp_path: Path) -> None:
    directory = os.fsencode(tmp_path) + b"/\xff"
    Path(os.fsdecode(directory)).mkdir()
    done = subprocess.run(
        [*sweeps.AIRTCP, "kernel", "path"],
        cwd=directory,
        env={**sweeps.ENVIRONMENT, "AIRTCP_CACHE": "a b"},
        capture_output=True,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"airtcp: " + directory + b"/a b: the kernel cannot be built")

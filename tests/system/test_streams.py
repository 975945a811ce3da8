# SPDX-License-Identifier: GPL-2.0-only
"""Standard output and error: closed, full, without a reader, in an encoding that lacks letters."""

import os
import subprocess
from pathlib import Path

import pytest
import sweeps
from fake_sweep import write_sweep


@pytest.fixture
def compare(tmp_path: Path) -> list[str]:
    """A command that prints ±."""
    one = write_sweep(tmp_path / "one", {(7, 1): 10.0, (7, 2): 12.0})
    return [*sweeps.AIRTCP, "results", "compare", str(one), str(one)]


def shell(command: list[str], redirected: str, **environment: str) -> "tuple[int, bytes, bytes]":
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirected}', "sh", *command],
        env={**sweeps.ENVIRONMENT, **environment},
        capture_output=True,
    )
    return done.returncode, done.stdout, done.stderr


def test_nobody_wants_the_output(compare: list[str]) -> None:
    assert shell(compare, ">&- <&-") == (0, b"", b"")


def test_a_full_standard_output_is_named(compare: list[str]) -> None:
    said = b"airtcp: standard output: No space left on device\n"
    assert shell(compare, ">/dev/full") == (1, b"", said)
    assert shell([*sweeps.AIRTCP, "--help"], ">/dev/full") == (1, b"", said)


def test_messages_that_nobody_reads_change_nothing(compare: list[str]) -> None:
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
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_a_letter_that_the_encoding_lacks_is_a_question_mark(
    compare: list[str], environment: dict[str, str]
) -> None:
    code, out, said = shell(compare, "", **environment)
    assert (code, said) == (0, b"")
    assert b"interval is ? 12.7 standard errors" in out


def test_a_directory_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    named = os.fsencode(tmp_path) + b"/\xff\xfe"
    for verb in (
        ["run", "thesis-lan", "--out", named],
        ["report", named],
        ["results", "query", "SELECT 1", named],
        ["results", "export", named],
    ):
        code, out, said = shell([*sweeps.AIRTCP, *verb], "")  # type: ignore[list-item]
        assert (code, out) == (2, b"")
        assert said.endswith(b" is not UTF-8; rename it\n") and said.count(b"\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_bytes_of_a_file_name_are_printed_as_they_are(tmp_path: Path) -> None:
    named = os.fsencode(tmp_path) + b"/\xff.yaml"
    code, _, said = shell([*sweeps.AIRTCP, "show", named], "")  # type: ignore[list-item]
    assert (code, said) == (2, b"airtcp: " + named + b": No such file or directory\n")

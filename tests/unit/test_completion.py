# SPDX-License-Identifier: GPL-2.0-only
"""Completion of the command line, asked as shells ask."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

LAB = Path(__file__).parents[2] / "lab"
AIRTCP = [sys.executable, "-P", "-m", "airtcp"]


def completions(tmp_path: Path, line: str) -> list[str]:
    """What is offered at the end of a line."""
    answer = tmp_path / "answer"
    environment = {
        **os.environ,
        "PYTHONPATH": str(LAB),
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    done = subprocess.run(AIRTCP, env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return [word.strip() for word in answer.read_text().split("\n")]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("airtcp ru", ["run"]),
        ("airtcp exe", ["exec"]),
        ("airtcp run thesis-l", ["thesis-lan"]),
        ("airtcp run thesis-lan --dur", ["--duration"]),
        ("airtcp run thesis-lan --set ack_pol", ["ack_policy="]),
        ("airtcp run thesis-lan --set ack_policy=aa", ["ack_policy=aad", "ack_policy=aad-listing"]),
        ("airtcp run thesis-lan --set sack=", ["sack=on", "sack=off"]),
        ("airtcp shell own", ["own.yaml"]),
        ("airtcp kernel bu", ["build"]),
        ("airtcp completion z", ["zsh"]),
        ("airtcp run thesis-lan --metric goodput_up", ["goodput_upload_mbps"]),
        ("airtcp tournament --conditions lan,loss-5", ["lan,loss-50"]),
        ("airtcp tournament --entrants aad-", ["aad-listing"]),
    ],
)
def test_completion_offers_the_words_that_match(
    tmp_path: Path, line: str, offered: list[str]
) -> None:
    (tmp_path / "own.yaml").touch()
    assert completions(tmp_path, line) == offered


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("bash", "complete -o nospace -o default -o bashdefault -F _python_argcomplete airtcp"),
        ("zsh", "compdef _python_argcomplete airtcp"),
        ("fish", "complete --command airtcp"),
    ],
)
def test_script_of_a_shell(shell: str, line: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(LAB)}
    command = [*AIRTCP, "completion", shell]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and line in done.stdout
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=done.stdout, text=True, check=True)

# SPDX-License-Identifier: GPL-2.0-only
"""Why a run failed, from the console and the error output of the programs of the user."""

from pathlib import Path

import pytest

from airtcp.backends.base import GuestResult, Status
from airtcp.backends.shell import FAILURE
from airtcp.sweep import run

CLIENT = FAILURE + "node {} AIRTCP_SENDER=10.0.0.1 AIRTCP_RECEIVER=10.0.0.2 command {} run 60 1 x"


def failure(directory: Path, *console: str, status: Status = "failed") -> str:
    log = directory / "console.log"
    log.write_bytes(b"\xff\n" + "\n".join(console).encode())
    found = run._failure(GuestResult(status, 1, 1.0, 1.0, log, "it ended early"), directory)
    return found.removesuffix(f" (console: {log})")


@pytest.mark.parametrize(
    ("failed", "message"),
    [
        (
            CLIENT.format("a", "command-server-a"),
            "command: exit code 3: \N{REPLACEMENT CHARACTER}no",
        ),
        (CLIENT.format("b", "command-server-b"), "command: exit code 3"),
        (CLIENT.format("c", "command-server-c"), "command: exit code 3"),
        (f"{FAILURE}an instrument ended early: see the lines above", "command: exit code 3: GET /"),
    ],
)
def test_the_error_output_is_that_of_the_program_that_failed(
    tmp_path: Path, failed: str, message: str
) -> None:
    for name in ("0", "1"):
        (tmp_path / f"command-{name}.err").write_text("a warning of another one\n")
    (tmp_path / "command-server-a.err").write_bytes(b"first\n\xffno\n\n")
    (tmp_path / "command-server-b.err").write_text("\n")
    (tmp_path / "server-command-server-a.err").write_text("GET /\n")
    ends = ("command: exit code 7", "command: exit code 3")
    assert failure(tmp_path, *ends, failed, "command: ended after 60 s, its limit") == message


def test_a_guest_that_panics_has_failed_for_that_reason(tmp_path: Path) -> None:
    console = ("command: exit code 3", CLIENT.format("a", "command"))
    assert failure(tmp_path, *console, status="panic") == "it ended early"
    assert failure(tmp_path, "hello") == "it ended early"


@pytest.mark.parametrize(
    ("files", "virtual_s"),
    [
        ({"uptime": "15.5 10.0\n", "progress": "15\n"}, 15.5),
        ({"uptime": "", "progress": "15\n"}, 15.0),
        ({"progress": "15\n"}, 15.0),
        ({"progress": "fifteen\n"}, None),
        ({}, None),
    ],
)
def test_virtual_time_of_a_guest_that_was_killed_is_its_last_progress(
    tmp_path: Path, files: dict[str, str], virtual_s: float | None
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert run._virtual_s(tmp_path) == virtual_s

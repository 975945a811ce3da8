# SPDX-License-Identifier: GPL-2.0-only
"""All processes of a guest end with the process that waits for the guest."""

import multiprocessing
import os
import signal
import time
from pathlib import Path

import orphans
import pytest
from waiting import wait_until

from airtcp.backends import base

LEADER_AND_CHILD = ["sh", "-c", "sleep 1000 & echo $! > ready; wait"]


def _run(command: list[str], run_dir: Path) -> base.GuestResult:
    (run_dir / "plan.sh").touch()
    return base.run_guest(command, run_dir, dict(os.environ), run_dir, timeout_wall_s=60)


@pytest.mark.parametrize("booted", [True, False], ids=["running", "starting"])
def test_no_process_survives_a_kill(tmp_path: Path, booted: bool) -> None:
    """User Mode Linux starts processes while it boots and for each program that it runs."""
    with orphans.adopted():
        waiting = multiprocessing.get_context("fork").Process(
            target=_run, args=(LEADER_AND_CHILD, tmp_path)
        )
        waiting.start()
        assert waiting.pid
        wait_until((tmp_path / ("ready" if booted else "console.log")).exists, timeout_s=30)
        os.kill(waiting.pid, signal.SIGKILL)
        orphans.wait_for_all(seconds=10)


def test_output_and_return_code_are_those_of_the_command(tmp_path: Path) -> None:
    result = _run(["sh", "-c", "echo to stdout; echo to stderr >&2; exit 7"], tmp_path)
    assert result.code == 7
    assert (tmp_path / "console.log").read_text() == "to stdout\nto stderr\n"


def test_a_process_that_outlives_the_leader_is_killed(tmp_path: Path) -> None:
    with orphans.adopted():
        _run(["sh", "-c", "sleep 1000 & exit 0"], tmp_path)
        orphans.wait_for_all(seconds=10)


def test_a_guest_ends_at_the_limit_of_virtual_time(tmp_path: Path) -> None:
    (tmp_path / "plan.sh").touch()
    command = ["sh", "-c", "echo 3606 > progress; sleep 1000"]
    result = base.run_guest(
        command,
        tmp_path,
        dict(os.environ),
        tmp_path,
        timeout_wall_s=60,
        timeout_virtual_s=lambda: 3605,
    )
    assert result.status == "timeout" and result.wall_s < 30
    assert result.reason.startswith(f"not finished after 3605 s of virtual time; {base.STALLED} (")


def test_the_reason_for_too_long_a_console_has_its_last_line(tmp_path: Path) -> None:
    result = _run(["yes", "bad: scheduling from the idle thread!"], tmp_path)
    assert result.status == "failed"
    assert "its last line is: bad: scheduling from the idle thread! (console" in result.reason


def test_a_long_last_line_is_shortened(tmp_path: Path) -> None:
    result = _run(["head", "-c", "100000", "/dev/zero"], tmp_path)
    assert len(result.reason) < 400 + len(str(tmp_path)) and result.reason.isprintable()


def test_a_timeout_names_the_virtual_time(tmp_path: Path) -> None:
    (tmp_path / "plan.sh").touch()
    command = ["sh", "-c", "echo 3 > progress; sleep 1000"]
    result = base.run_guest(command, tmp_path, dict(os.environ), tmp_path, timeout_wall_s=0.3)
    assert "after 0.3 s of the host's time, at 3 s of virtual time (console" in result.reason


def test_time_in_which_the_process_was_stopped_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "_PAUSE_S", 1)
    (tmp_path / "plan.sh").touch()
    pauses = [3]

    def pause(_virtual_s: float) -> None:
        if pauses:
            time.sleep(pauses.pop())

    result = base.run_guest(
        ["sh", "-c", "echo 3 > progress; sleep 3.5; echo 0 > exit"],
        *(tmp_path, dict(os.environ), tmp_path),
        timeout_wall_s=2,
        on_progress=pause,
    )
    assert result.status == "ok", result.reason

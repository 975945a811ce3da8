# SPDX-License-Identifier: GPL-2.0-only
"""Ctrl-C during a sweep: no guest is left, and finished runs are kept and not repeated.

Nothing is lost either if the output of a sweep cannot be written.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sweeps

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel

LAB = Path(__file__).resolve().parents[2] / "lab"


def start(out_dir: Path) -> "subprocess.Popen[str]":
    """Start a sweep of two runs, one after the other."""
    command = [sys.executable, "-m", "airtcp", "run", "thesis-lan", "--out", str(out_dir)]
    command += ["--set", "mcs=5", "--set", "ack_policy=default", "--set", "capture=off"]
    command += ["--duration", "3s", "--seeds", "2", "--jobs", "1", "--json"]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(LAB)},
    )


@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGTERM] * 4, [signal.SIGINT] * 5])
def test_ctrl_c_keeps_finished_runs(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, signals: list[signal.Signals]
) -> None:
    assert lab_kernel and tools  # built beforehand, so that runs start at once
    first, second = (
        tmp_path / "runs" / "mcs-5_ack_policy-default" / f"seed-{seed}" for seed in (1, 2)
    )
    sweep = start(tmp_path)
    deadline = time.monotonic() + 120
    while not (second / "progress").exists():
        assert sweep.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    # To the whole foreground process group, like a terminal.
    for number in signals:
        os.killpg(sweep.pid, number)
        time.sleep(0.01)
    out, stderr = sweep.communicate(timeout=30)
    assert sweep.returncode == 130
    assert stderr.splitlines()[-1].startswith("airtcp: interrupted: 1 of 2 runs are kept")
    assert len(stderr.splitlines()) == 2, stderr
    assert len(json.loads(out)["runs"]) == 1
    assert json.loads((tmp_path / "results.json").read_text()) == json.loads(out)
    assert not (second / "result.json").exists()
    kept = (first / "result.json").stat().st_mtime_ns

    again = start(tmp_path)
    out, stderr = again.communicate(timeout=120)
    assert again.returncode == 0
    assert "1 of 2 runs are in" in stderr
    assert [run["status"] for run in json.loads(out)["runs"]] == ["ok", "ok"]
    assert (first / "result.json").stat().st_mtime_ns == kept


def test_sweep_continues_if_its_output_cannot_be_written(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    assert lab_kernel and tools
    undisturbed, unread = tmp_path / "undisturbed", tmp_path / "unread"
    runs = ("--set", "mcs=5", "--seeds", "2")
    sweeps.run(undisturbed, *runs)
    closed = ["sh", "-c", 'exec "$@" >&- 2>/dev/full', "sh", *sweeps.command(unread, *runs)]
    assert subprocess.run(closed, env=sweeps.ENVIRONMENT).returncode == 0
    sweeps.assert_same(undisturbed, unread)

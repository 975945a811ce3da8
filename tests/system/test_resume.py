# SPDX-License-Identifier: GPL-2.0-only
"""SIGKILL at any moment: no guest is left, and in the end the sweep is as an undisturbed one."""

import ctypes
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sweeps

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel

KILLS = 20
RUNS = ("--set", "mcs=5,6,7", "--seeds", "24", "--jobs", "2")
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


@pytest.fixture
def orphans_are_ours() -> Iterator[None]:
    """Whoever loses its parent becomes a child of this process."""
    prctl = ctypes.CDLL(None).prctl
    assert prctl(PR_SET_CHILD_SUBREAPER, 1) == 0
    yield
    prctl(PR_SET_CHILD_SUBREAPER, 0)


def children() -> list[str]:
    """The command lines of this process' children."""
    pids = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ") for pid in pids]


def wait_until_nobody_is_left() -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        assert pid or time.monotonic() < deadline, f"a killed sweep left {children()}"
        time.sleep(0 if pid else 0.02)


def wait_for_a_guest(sweep: "subprocess.Popen[bytes]", out_dir: Path, since: float) -> None:
    """Until one has come as far as to tell the time, or nothing is to be done."""
    while sweep.poll() is None:
        for progress in (out_dir / "runs").glob("*/*/progress"):
            try:
                if progress.stat().st_mtime > since:
                    return
            except FileNotFoundError:
                pass
        time.sleep(0.05)


def kill(out_dir: Path, moments: random.Random) -> bool:
    """Start or resume the sweep and kill it at some moment; whether it was still there."""
    since = time.time()
    sweep = subprocess.Popen(
        sweeps.command(out_dir, *RUNS),
        env=sweeps.ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    if moments.random() < 0.7:
        wait_for_a_guest(sweep, out_dir, since)
    time.sleep(moments.uniform(0, 2))
    there = sweep.poll() is None
    if there:
        # Alone, or with all of its group, as a user may kill it.
        moments.choice((os.kill, os.killpg))(sweep.pid, signal.SIGKILL)
    sweep.wait()
    return there


def seen(out_dir: Path) -> dict[str, tuple[int, int]]:
    """What tells a result that was written again."""
    stats = {name: path.stat() for name, path in sweeps.results(out_dir).items()}
    return {name: (stat.st_ino, stat.st_mtime_ns) for name, stat in stats.items()}


def test_a_sweep_killed_again_and_again_ends_as_if_undisturbed(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, orphans_are_ours: None
) -> None:
    assert lab_kernel and tools  # built beforehand, so that runs start at once
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    sweeps.run(undisturbed, *RUNS)
    moments = random.Random(1)
    hits = 0
    finished: dict[str, tuple[int, int]] = {}
    for _ in range(KILLS):
        hits += kill(killed, moments)
        wait_until_nobody_is_left()
        now = seen(killed)
        assert finished.items() <= now.items()
        finished = now
    print(f"killed {hits} times of {KILLS}")
    assert hits > KILLS / 2
    assert finished
    sweeps.run(killed, *RUNS)
    assert finished.items() <= seen(killed).items()
    sweeps.assert_same(undisturbed, killed)

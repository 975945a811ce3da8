# SPDX-License-Identifier: GPL-2.0-only
"""SIGKILL at any moment: no guest is left, and the resumed sweep equals an undisturbed one."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import orphans
import sweeps

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel

KILLS = 20
RUNS = ("--set", "mcs=5,6,7", "--seeds", "24", "--jobs", "2")


def wait_for_a_guest(sweep: "subprocess.Popen[bytes]", out_dir: Path, since: float) -> None:
    """Wait until a guest writes its progress, or until the sweep ends."""
    while sweep.poll() is None:
        for progress in (out_dir / "runs").glob("*/*/progress"):
            try:
                if progress.stat().st_mtime > since:
                    return
            except FileNotFoundError:
                pass
        time.sleep(0.05)


def kill(out_dir: Path, random_source: random.Random) -> bool:
    """Start or resume the sweep and kill it at a random time; returns whether it still ran."""
    since = time.time()
    sweep = subprocess.Popen(
        sweeps.command(out_dir, *RUNS),
        env=sweeps.ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    if random_source.random() < 0.7:
        wait_for_a_guest(sweep, out_dir, since)
    time.sleep(random_source.uniform(0, 2))
    running = sweep.poll() is None
    if running:
        # Only the process, or its whole group, as a user may do.
        random_source.choice((os.kill, os.killpg))(sweep.pid, signal.SIGKILL)
    sweep.wait()
    return running


def versions(out_dir: Path) -> dict[str, tuple[int, int]]:
    """Inode and modification time of each result, which change if it is written again."""
    stats = {name: path.stat() for name, path in sweeps.results(out_dir).items()}
    return {name: (stat.st_ino, stat.st_mtime_ns) for name, stat in stats.items()}


def test_repeatedly_killed_sweep_equals_an_undisturbed_one(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    assert lab_kernel and tools  # built beforehand, so that runs start at once
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    sweeps.run(undisturbed, *RUNS)
    random_source = random.Random(1)
    hits = 0
    finished: dict[str, tuple[int, int]] = {}
    with orphans.adopted():
        for _ in range(KILLS):
            hits += kill(killed, random_source)
            orphans.wait_for_all()
            now = versions(killed)
            assert finished.items() <= now.items()
            finished = now
    print(f"killed {hits} times of {KILLS}")
    assert hits > KILLS / 2
    assert finished
    sweeps.run(killed, *RUNS)
    assert finished.items() <= versions(killed).items()
    sweeps.assert_same(undisturbed, killed)

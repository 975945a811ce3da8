# SPDX-License-Identifier: GPL-2.0-only
"""Damage to any file of a sweep is reported, and the same command repairs it."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import sweeps

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes() or b"\0")
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def truncate(path: Path) -> None:
    """Remove the last byte; an empty file gets one."""
    path.write_bytes(path.read_bytes()[:-1] or b"\n")


DAMAGES: tuple[Callable[[Path], None], ...] = (flip, truncate, Path.unlink)


def do(*command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, env=sweeps.ENVIRONMENT, capture_output=True, text=True)


def test_every_damaged_file_is_reported_and_repaired(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    assert lab_kernel and tools  # built beforehand, so that runs start at once
    out_dir, before = tmp_path / "out", tmp_path / "before"
    runs = out_dir / "runs" / "ack_policy-default"
    sweeps.run(out_dir)
    names = sorted(path.name for path in (runs / "seed-1").iterdir())
    assert {"result.json", "exit", "progress", "iperf3-client.json", "run.flent.gz"} < set(names)
    sweep = sweeps.command(out_dir, "--seeds", str(len(names)))
    assert do(*sweep).returncode == 0
    shutil.copytree(out_dir, before)

    # Damage one file of each run.
    for seed, name in enumerate(names, start=1):
        DAMAGES[seed % len(DAMAGES)](runs / f"seed-{seed}" / name)
    problems = [rf"{runs}/seed-{n}: {name} (has|is) [^:]*" for n, name in enumerate(names, start=1)]
    exported = do(*sweeps.AIRTCP, "results", "export", str(out_dir))
    assert exported.returncode == 1
    assert exported.stdout.count("\n") == 1  # only the header
    for line, problem in zip(exported.stderr.splitlines(), problems, strict=True):
        assert re.fullmatch(f"airtcp: {problem}: this run is left out; .*", line)
    repaired = do(*sweep)
    assert repaired.returncode == 0
    for problem in problems:
        assert re.search(f"^{problem}: this run is repeated$", repaired.stderr, re.M), problem
    sweeps.assert_same(before, out_dir)

    for name in ("results.json", "results.parquet"):
        for damage in DAMAGES:
            damage(out_dir / name)
            assert do(*sweeps.AIRTCP, "results", "export", str(out_dir)).returncode == 2
            repaired = do(*sweep)
            assert repaired.returncode == 0
            [line, kept] = repaired.stderr.splitlines()
            assert re.fullmatch(f"{out_dir / name} (has|is) .*: it is written again", line)
            assert kept == f"{len(names)} of {len(names)} runs are in {out_dir} already"
            sweeps.assert_same(before, out_dir)

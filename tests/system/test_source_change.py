# SPDX-License-Identifier: GPL-2.0-only
"""If airtcp's files change during a sweep, as by `git pull`, it uses the code it has loaded."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import sweeps

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel

ROOT = Path(__file__).parents[2]
RUNS = ("--seeds", "3", "--jobs", "1")


def test_sweep_uses_the_sources_that_it_has_loaded(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    assert lab_kernel and tools  # built beforehand, so that runs start at once
    for name in ("lab", "kernel", "experiments"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    undisturbed, changed = tmp_path / "undisturbed", tmp_path / "changed"
    sweeps.run(undisturbed, *RUNS)

    sweep = subprocess.Popen(
        sweeps.command(changed, *RUNS),
        env={**os.environ, "PYTHONPATH": str(tmp_path / "lab")},
        stderr=subprocess.PIPE,
        text=True,
    )
    while not sweeps.results(changed):
        assert sweep.poll() is None
        time.sleep(0.02)
    source = tmp_path / "lab" / "airtcp" / "steps" / "workloads" / "bulk.py"
    text = source.read_text()
    line = '{"goodput_mbps": float('
    assert text.count(line) == 1
    source.write_text(text.replace(line, line.replace("float", "2 * float")))
    assert sweep.communicate()[1].count("seed=") == 3
    assert sweep.returncode == 0
    sweeps.assert_same(undisturbed, changed)

    again = subprocess.run(
        sweeps.command(changed, *RUNS),
        env={**os.environ, "PYTHONPATH": str(tmp_path / "lab")},
        capture_output=True,
        text=True,
    )
    assert again.returncode == 0
    assert "are in" not in again.stderr
    assert sweeps.left(changed).keys() == sweeps.left(undisturbed).keys()
    assert sweeps.left(changed)["results.parquet"] != sweeps.left(undisturbed)["results.parquet"]

# SPDX-License-Identifier: GPL-2.0-only
"""Starts sweeps by the command line, and compares the files of two sweeps."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from airtcp.paths import REPOSITORY

AIRTCP = [sys.executable, "-m", "airtcp"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(REPOSITORY / "lab")}


# What differs between equal sweeps: cost and provenance of runs, hashes of files that contain them.
_UNEQUAL = {"cost": None, "provenance": None, "sha256": None}


def command(out_dir: Path, *arguments: str) -> list[str]:
    """The command of a sweep of thesis-lan with runs of 1 s without captures."""
    short = ["--set", "ack_policy=default", "--set", "capture=off", "--duration", "1s"]
    return [*AIRTCP, "run", "thesis-lan", "--out", str(out_dir), *short, *arguments]


def run(out_dir: Path, *arguments: str) -> None:
    """Run the sweep, which must succeed."""
    done = subprocess.run(
        command(out_dir, *arguments), env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def results(out_dir: Path) -> dict[str, Path]:
    """result.json of each run that has one, by its path in out_dir."""
    return {
        str(path.relative_to(out_dir)): path
        for path in (out_dir / "runs").glob("*/seed-*/result.json")
    }


def guests_of(out_dir: Path) -> list[Path]:
    """The scratch directories of running guests whose runs are in out_dir."""
    guests = []
    for scratch in Path("/dev/shm").glob("airtcp-*"):
        with suppress(OSError):  # it has just ended
            if (scratch / "run").readlink().is_relative_to(out_dir):
                guests.append(scratch)
    return guests


def left(out_dir: Path) -> dict[str, Any]:
    """The files of a sweep by path: their bytes, or documents without what differs anyway."""
    files: dict[str, Any] = {
        str(path.relative_to(out_dir)): path.read_bytes()
        for path in (out_dir / "runs").rglob("*")
        if path.is_file()
    }
    for name, path in results(out_dir).items():
        files[name] = json.loads(path.read_text()) | _UNEQUAL
    document = json.loads((out_dir / "results.json").read_text())
    runs = [run | _UNEQUAL for run in document["runs"]]
    files["results.json"] = document | _UNEQUAL | {"runs": runs, "command": None}
    files["results.parquet"] = (out_dir / "results.parquet").read_bytes()
    return files


def assert_same(first: Path, second: Path) -> None:
    """Assert that two sweeps left the same files, byte for byte."""
    files, others = left(first), left(second)
    assert files.keys() == others.keys()
    assert [name for name, content in files.items() if content != others[name]] == []

# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps as a user starts them, and whether two of them left the same."""

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


# What equal sweeps do not have in common: what runs cost, and the hash of a file that has that.
_UNEQUAL = {"cost": None, "sha256": None}


def command(out_dir: Path, *arguments: str) -> list[str]:
    """A sweep of thesis-lan, a second a run and without captures."""
    few = ["--set", "ack_policy=default", "--set", "capture=off", "--duration", "1s"]
    return [*AIRTCP, "run", "thesis-lan", "--out", str(out_dir), *few, *arguments]


def run(out_dir: Path, *arguments: str) -> None:
    """The sweep, to its end."""
    done = subprocess.run(
        command(out_dir, *arguments), env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def results(out_dir: Path) -> dict[str, Path]:
    """result.json of every run that has one, by its place."""
    return {
        str(path.relative_to(out_dir)): path
        for path in (out_dir / "runs").glob("*/seed-*/result.json")
    }


def guests_of(place: Path) -> list[Path]:
    """The directories of guests whose runs are in a place."""
    found = []
    for scratch in Path("/dev/shm").glob("airtcp-*"):
        with suppress(OSError):  # it has just ended
            if (scratch / "run").readlink().is_relative_to(place):
                found.append(scratch)
    return found


def left(out_dir: Path) -> dict[str, Any]:
    """All that a sweep leaves, by place: bytes, and documents without what differs anyway."""
    files: dict[str, Any] = {
        str(path.relative_to(out_dir)): path.read_bytes()
        for path in (out_dir / "runs").rglob("*")
        if path.is_file()
    }
    for name, path in results(out_dir).items():
        files[name] = json.loads(path.read_text()) | _UNEQUAL
    whole = json.loads((out_dir / "results.json").read_text())
    runs = [run | _UNEQUAL for run in whole["runs"]]
    files["results.json"] = whole | _UNEQUAL | {"runs": runs, "command": None}
    files["results.parquet"] = (out_dir / "results.parquet").read_bytes()
    return files


def assert_same(one: Path, other: Path) -> None:
    """Two sweeps left the same, byte for byte."""
    ours, theirs = left(one), left(other)
    assert ours.keys() == theirs.keys()
    assert [name for name, content in ours.items() if content != theirs[name]] == []

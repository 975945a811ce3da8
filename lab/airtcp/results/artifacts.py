# SPDX-License-Identifier: GPL-2.0-only
"""The files of a run with their SHA-256, as result.json has them, and what has become of them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from airtcp import atomicfile

Artifacts = dict[str, dict[str, str]]


def record(run_dir: Path, out_dir: Path, but: frozenset[str]) -> Artifacts:
    """All files of a run, but for those named; paths are relative to out_dir."""
    return {
        path.name: {"path": str(path.relative_to(out_dir)), "sha256": atomicfile.sha256(path)}
        for path in sorted(run_dir.iterdir())
        if path.name not in but
    }


def changes(artifacts: Mapping[str, Mapping[str, str]], out_dir: Path) -> Iterator[str]:
    """For each file that is not as the run has left it: which, and what is wrong."""
    for name, recorded in artifacts.items():
        try:
            if atomicfile.sha256(out_dir / recorded["path"]) != recorded["sha256"]:
                yield f"{name} has changed"
        except FileNotFoundError:
            yield f"{name} is missing"
        except OSError as error:
            yield f"{name}: {error.strerror}"


def changed_runs(runs: list[Any], out_dir: Path) -> Iterator[str]:
    """A line for each finished run of results.json of which some file is not as it was."""
    for run in runs:
        found = list(changes(run["artifacts"], out_dir)) if run["status"] == "ok" else []
        if found:
            directory = Path(next(iter(run["artifacts"].values()))["path"]).parent
            yield f"{out_dir / directory}: {', '.join(found)}"

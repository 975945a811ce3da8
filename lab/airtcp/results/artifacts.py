# SPDX-License-Identifier: GPL-2.0-only
"""SHA-256 of the files of a run, recorded and verified."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from airtcp import atomicfile
from airtcp.errors import of_reading
from airtcp.results import record
from airtcp.results.index import Index, stamp
from airtcp.results.record import RESULT_FILE, RUNS, Artifact, RunRecord


def hashed(run_dir: Path, out_dir: Path) -> dict[str, Artifact]:
    """The hashes of all files of a run; paths are relative to out_dir."""
    return {
        path.name: Artifact(path=str(path.relative_to(out_dir)), sha256=atomicfile.sha256(path))
        for path in sorted(run_dir.iterdir())
        if path.name != RESULT_FILE
    }


def changes(artifacts: Mapping[str, Artifact], out_dir: Path) -> Iterator[str]:
    """For each damaged file: its name and what is wrong."""
    for name, artifact in artifacts.items():
        if problem := change(out_dir / artifact.path, artifact.sha256):
            yield f"{name} {problem}"


def change(path: Path, sha256: str) -> str:
    """What is wrong with a file that should have this hash; empty if nothing is."""
    try:
        return "" if atomicfile.sha256(path) == sha256 else "has changed"
    except OSError as error:
        return of_reading(error)


@dataclass(frozen=True)
class Damage:
    """A finished run with damaged files. problem: which files, and what is wrong."""

    run: RunRecord
    directory: Path
    problem: str

    def __str__(self) -> str:
        return f"{self.directory}: {self.problem}"


def damaged(runs: Sequence[RunRecord], out_dir: Path, *, verify: bool = False) -> list[Damage]:
    """The finished runs of results.json that have damaged files.

    Reads the files of runs that are not in the index or have changed since, and adds those that
    are undamaged to it. verify: read all files. Empty if there is no directory of runs: users may
    keep only the tables.
    """
    if not (out_dir / RUNS).is_dir():
        return []
    index = Index(out_dir)
    finished = [run for run in runs if run.ok]
    unchanged = set() if verify else index.unchanged(run.identity for run in finished)
    to_read = [run for run in finished if run.identity not in unchanged]

    def read(run: RunRecord) -> tuple[str, str]:
        before = stamp(run.identity, run.directory(out_dir))
        return before, ", ".join(_problems(run, out_dir))

    damages = []
    with ThreadPoolExecutor() as threads:
        for run, (before, problem) in zip(to_read, threads.map(read, to_read), strict=True):
            if problem:
                damages.append(Damage(run, run.directory(out_dir), problem))
            elif before:
                index.add(run.identity, run.directory(out_dir), before)
    index.close()
    return damages


def _problems(run: RunRecord, out_dir: Path) -> Iterator[str]:
    if not run.directory(out_dir).is_dir():
        yield "is missing"
        return
    try:
        if record.read(run.directory(out_dir)) != run:
            yield f"{RESULT_FILE} has changed"
    except (OSError, ValueError) as error:
        yield f"{RESULT_FILE} {of_reading(error)}"
    yield from changes(run.artifacts, out_dir)

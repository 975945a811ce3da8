# SPDX-License-Identifier: GPL-2.0-only
"""Cells of an experiment measured into a directory, with what is there already; its documents."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from airtcp import atomicfile, interrupts
from airtcp.backends.guesttools import GuestTools
from airtcp.cache import locked
from airtcp.errors import InputError, of_file
from airtcp.experiment.experiment import Case, Experiment
from airtcp.kernel.image import Kernel
from airtcp.results import documents
from airtcp.sweep.certificates import Certificates
from airtcp.sweep.sweep import Job, Outcome, Progress, collect, jobs_of, split, sweep

# Says whose runs a directory has, even where no table has been written yet.
_EXPERIMENT = ".experiment"


@dataclass(frozen=True)
class Order:
    """How runs are done: seeds 1 to so many of each case, so many at once (None: one a core)."""

    kernel: Kernel
    tools: GuestTools
    seeds: int
    jobs: int | None
    cluster: str | None
    certificates: Certificates | None
    command: str
    say: Callable[[str], None]


@dataclass(frozen=True)
class Measured:
    """What a sweep has left: its document, None where no run ended well."""

    document: documents.Document | None
    failed: bool
    interrupted: bool


def measure(order: Order, chosen: Experiment, cases: Sequence[Case], out_dir: Path) -> Measured:
    """Do the runs that out_dir has not, write results.json and results.parquet. AirtcpError.

    InputError when out_dir is that of another experiment.
    """
    # Guests of a sweep that was killed may take a moment to end, with the lock still held.
    with locked(out_dir / ".lock", order.say):
        _claim(out_dir, chosen.name)
        return _measure(order, chosen, cases, out_dir)


def _claim(out_dir: Path, name: str) -> None:
    """Make a directory that of an experiment, or InputError: it is another's."""
    mark = out_dir / _EXPERIMENT
    try:
        owner = mark.read_text().strip() or name
    except FileNotFoundError:
        owner = _experiment_of_results(out_dir) or name
    if owner != name:
        raise InputError(
            f"{out_dir} has the runs of the experiment {owner}, which those of {name} would "
            "replace: give --out another directory, or remove this one"
        )
    if not mark.exists():
        atomicfile.write(mark, f"{name}\n".encode())


def _experiment_of_results(out_dir: Path) -> str | None:
    """What results.json, which has been there before the mark, is of."""
    try:
        return str(documents.read(out_dir)["experiment"])
    except (InputError, KeyError):
        return None


def _measure(order: Order, chosen: Experiment, cases: Sequence[Case], out_dir: Path) -> Measured:
    jobs = jobs_of(cases, range(1, order.seeds + 1))
    done, todo = split(order.kernel, order.tools, jobs, out_dir, order.say)
    if done:
        order.say(f"{len(done)} of {len(jobs)} runs are in {out_dir} already")
    outcome = _do(order, todo, out_dir)

    have = done | outcome.results
    stopped = outcome.stopped
    document = None
    if have:
        with interrupts.held():
            from airtcp.results import parquet  # with Arrow, which takes a while to load

            runs = [(job.case, result) for job, result in have.items()]
            document = documents.document(chosen, cases, order.kernel, runs, order.command)
            try:
                documents.write(out_dir, document)
                parquet.write(out_dir, document)
            except OSError as error:
                document = None
                stopped = (
                    f"{of_file(error, out_dir)}; results.json and results.parquet are not written"
                )
    kept = (
        f"{len(have)} of {len(jobs)} runs are kept in {out_dir}; the same command goes on from "
        "there"
    )
    if outcome.interrupted:
        order.say(f"airtcp: interrupted: {kept}")
    else:
        for job, message in outcome.failures.items():
            order.say(f"airtcp: {job.name}: {message}")
    if stopped:
        order.say(f"airtcp: {stopped}; {kept}")
    return Measured(document, bool(outcome.failures or stopped), outcome.interrupted)


def _do(order: Order, todo: Sequence[Job], out_dir: Path) -> Outcome:
    progress = Progress(todo, _write, sys.stderr.isatty())
    if not order.cluster:
        jobs = order.jobs or os.cpu_count() or 1
        return sweep(order.kernel, order.tools, todo, out_dir, jobs, progress, order.say)
    from airtcp.sweep import cluster

    where = cluster.Cluster(order.cluster, order.jobs, order.certificates)
    steps = cluster.steps(order.kernel, order.tools, todo, out_dir, where, order.say)
    return collect(steps, progress)


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()

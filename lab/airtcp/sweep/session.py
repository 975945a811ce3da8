# SPDX-License-Identifier: GPL-2.0-only
"""Measures the cases of an experiment into a directory, reusing finished runs."""

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from airtcp import atomicfile, interrupts, provenance
from airtcp.backends import hostcpu
from airtcp.backends.guesttools import GuestTools
from airtcp.cache import locked
from airtcp.errors import AirtcpError, InputError, of_file, of_reading
from airtcp.experiment.experiment import Case, Experiment, checked_name
from airtcp.kernel.image import Kernel
from airtcp.results import artifacts, assembly, documents, record
from airtcp.results.documents import SweepDocument
from airtcp.results.index import Index
from airtcp.results.record import RESULT_FILE, RUNS, KernelRecord, RunRecord
from airtcp.sweep import notes
from airtcp.sweep.certificates import Certificates
from airtcp.sweep.progress import Progress
from airtcp.sweep.request import (
    Request,
    RunRequest,
    requests,
    single_without_effect,
    without_effect,
)
from airtcp.sweep.sweep import (
    Batch,
    Event,
    Outcome,
    Watch,
    collect,
    split,
    sweep,
    sweep_batches,
)

# Contains the name of the experiment of a directory, even before results.json is written.
_EXPERIMENT = ".experiment"


class Machines(Protocol):
    """What executes the runs of a sweep. kernel: for results.json."""

    @property
    def kernel(self) -> Kernel | KernelRecord: ...

    def requests(self, cases: Sequence[Case]) -> Sequence[Request]:
        """All runs, in the order in which they are done."""
        ...

    def execute(self, todo: Sequence[Request], out_dir: Path, watch: Watch) -> Outcome:
        """Do some of the runs."""
        ...


class Options(Protocol):
    """How runs are done. seeds: runs per case; command: the present one; say: for messages.

    verify: read all files of finished runs, even if their sizes and times have not changed.
    """

    @property
    def seeds(self) -> int: ...
    @property
    def command(self) -> str: ...
    @property
    def say(self) -> Callable[[str], None]: ...
    @property
    def verify(self) -> bool: ...

    def machines(self, cases: Sequence[Case]) -> AbstractContextManager[Machines]:
        """The machines as long as they are needed."""
        ...


@dataclass(frozen=True)
class SweepOptions:
    """Options of runs in guests, which are their own machines.

    jobs: parallel runs (None: one per core). cluster: a scheduler or a file; None: this machine.
    kernels: by the values of the factor `kernel`, if there is one; kernel is the first of them.
    """

    kernel: Kernel
    tools: GuestTools
    seeds: int
    jobs: int | None
    cluster: str | None
    certificates: Certificates | None
    command: str
    say: Callable[[str], None]
    verify: bool = False
    kernels: Mapping[str, Kernel] = field(default_factory=dict)

    @property
    def processes(self) -> int:
        """Parallel runs on this machine."""
        return self.jobs or hostcpu.default_jobs()

    def machines(self, cases: Sequence[Case]) -> AbstractContextManager["SweepOptions"]:
        return nullcontext(self)

    def requests(self, cases: Sequence[Case]) -> Sequence[Request]:
        seeds = range(1, self.seeds + 1)
        jobs = requests(self.kernel, self.tools, cases, seeds, self.command, self.kernels)
        if names := ", ".join(without_effect(jobs)):
            self.say(f"note: some cases differ only in {names}, which has no effect on them")
        if names := ", ".join(single_without_effect(jobs)):
            self.say(f"note: no effect in these cases: {names}")
        return jobs

    def execute(self, todo: Sequence[Request], out_dir: Path, watch: Watch) -> Outcome:
        runs = [job for job in todo if isinstance(job, RunRequest)]
        if not self.cluster:
            return sweep(runs, out_dir, self.processes, watch, self.say)
        from airtcp.sweep import cluster

        where = cluster.Cluster(self.cluster, self.jobs, self.certificates)
        return collect(cluster.events(runs, out_dir, where, self.say), watch)


@dataclass(frozen=True)
class SweepResult:
    """The document of a sweep; None without runs, or if it could not be written."""

    document: SweepDocument | None
    failed: bool
    interrupted: bool
    refused: bool = False
    """Not begun, because the input is wrong."""

    @property
    def exit_code(self) -> int:
        """The exit code of the command; after several sweeps, the greatest counts."""
        if self.refused:
            return InputError.exit_code
        return interrupts.CODE if self.interrupted else int(self.failed)


@dataclass(frozen=True)
class _Rest:
    """The runs of a sweep that are still to be done."""

    machines: Machines
    todo: Sequence[Request]
    watch: Watch


_Measuring = Generator[_Rest, Outcome, SweepResult]


class Planned(NamedTuple):
    """A sweep that is to be done. options: for runs on this machine or a cluster."""

    options: SweepOptions
    experiment: Experiment
    cases: Sequence[Case]
    out_dir: Path


def measure(
    options: Options, experiment: Experiment, cases: Sequence[Case], out_dir: Path
) -> SweepResult:
    """Execute the runs that are missing in out_dir; write results.json and results.parquet.

    Raises InputError if out_dir belongs to another experiment, AirtcpError if runs cannot be done.
    """
    with closing(_measuring(options, experiment, cases, out_dir)) as measuring:
        rest = next(measuring)
        return _conclude(measuring, rest.machines.execute(rest.todo, out_dir, rest.watch))


def measure_all(
    options: SweepOptions, planned: Iterable[Planned]
) -> list[tuple[Planned, SweepResult]]:
    """Do planned sweeps as measure() does; the results are in the same order.

    On this machine, the next sweep is taken from `planned` and begins as soon as a processor is
    free. A sweep that cannot be done is reported, and the others are done. After Ctrl-C, no other
    sweep begins, and those that had not begun have no result. Raises AirtcpError if the cluster
    fails before the first sweep has ended; a later failure is reported and ends the others.
    """
    ended: dict[int, tuple[Planned, SweepResult]] = {}

    def end(number: int, each: Planned, measuring: _Measuring, outcome: Outcome) -> None:
        with interrupts.deferred():  # an interrupt must not lose the result that was written
            ended[number] = each, _conclude(measuring, outcome)

    def batches() -> Iterator[Batch]:
        for number, each in enumerate(planned):
            measuring = _measuring(*each, name=each.experiment.name)
            try:
                rest = next(measuring)
            except (AirtcpError, OSError) as error:
                problem = of_file(error, each.out_dir) if isinstance(error, OSError) else error
                options.say(f"{each.experiment.name}: {problem}")
                refused = isinstance(error, InputError)
                ended[number] = each, SweepResult(None, True, interrupted=False, refused=refused)
                continue
            todo = [job for job in rest.todo if isinstance(job, RunRequest)]
            yield Batch(todo, each.out_dir, rest.watch, partial(end, number, each, measuring))

    if options.cluster:
        for batch in batches():
            try:
                outcome = options.execute(batch.todo, batch.out_dir, batch.watch)
            except AirtcpError as error:
                if not ended:
                    raise
                outcome = Outcome([], {}, interrupted=False, stopped=str(error))
            batch.ended(outcome)
            if outcome.interrupted or outcome.stopped:
                break
    else:
        sweep_batches(batches(), options.processes, options.say)
    return [ended[number] for number in sorted(ended)]


def _conclude(measuring: _Measuring, outcome: Outcome) -> SweepResult:
    try:
        measuring.send(outcome)
    except StopIteration as end:
        result: SweepResult = end.value
        return result
    raise AssertionError("a sweep has one outcome")


def require_outside_runs(out_dir: Path) -> None:
    """Raise InputError if it is in the directory of a run: repeating the run would delete it."""
    for parent in out_dir.resolve().parents:
        if parent.name == RUNS and (parent.parent / _EXPERIMENT).exists():
            raise InputError(
                f"{out_dir} is in the directory of a run of {parent.parent}, which is deleted when "
                "that run is repeated: give --out another directory"
            )


def _claim(out_dir: Path, name: str) -> None:
    """Mark a directory as that of an experiment. Raises InputError if it belongs to another."""
    mark = out_dir / _EXPERIMENT
    try:
        marked = checked_name(mark.read_text().strip())
    except (FileNotFoundError, ValueError):
        marked = ""
    owner = marked or _experiment_of_results(out_dir) or name
    if owner != name:
        raise InputError(
            f"{out_dir} has the runs of the experiment {owner}, which those of {name} would "
            "replace: give --out another directory, or remove this one"
        )
    if not marked:
        atomicfile.write(mark, f"{name}\n".encode())


def _experiment_of_results(out_dir: Path) -> str | None:
    """The experiment that results.json names, for directories without a valid mark."""
    try:
        return documents.read(out_dir).experiment
    except InputError:
        return None


def _measuring(
    options: Options, experiment: Experiment, cases: Sequence[Case], out_dir: Path, name: str = ""
) -> _Measuring:
    """Yields the runs that are missing; when their outcome is sent, returns the result.

    name: for lines of progress, if several sweeps show theirs.
    """
    require_outside_runs(out_dir)
    # Guests of a killed sweep hold the lock until they end.
    with locked(out_dir / ".lock", options.say):
        _claim(out_dir, experiment.name)
        with closing(Index(out_dir)) as index, options.machines(cases) as machines:
            return (
                yield from _measuring_with(
                    machines, options, experiment, cases, out_dir, index, name
                )
            )


def _measuring_with(
    machines: Machines,
    options: Options,
    experiment: Experiment,
    cases: Sequence[Case],
    out_dir: Path,
    index: Index,
    name: str,
) -> _Measuring:
    provenance.commit()  # cached, for the processes of runs
    jobs = machines.requests(cases)
    known = set(index.identities)
    if options.verify or not index.has_tables():
        known |= _finished_before(out_dir, options.say)
    done, todo = split(jobs, out_dir, index, known, options.say, verify=options.verify)
    if done:
        options.say(f"{len(done)} of {len(jobs)} runs are in {out_dir} already")
    if replaced := notes.replaced(todo, out_dir):
        options.say(replaced)
    outcome = yield _Rest(machines, todo, _watch(todo, out_dir, index, name))

    failures = dict(outcome.failures)
    stopped = outcome.stopped
    document = None
    with interrupts.deferred():
        done += outcome.recorded
        if outcome.interrupted:  # runs may have finished without having been reported
            reported = {*done, *failures}
            rest = [job for job in todo if job not in reported]
            done += split(rest, out_dir, index, (), options.say, verify=False)[0]
        runs, changed = _records(done, out_dir)
        failures |= changed
        if runs:
            document = assembly.document(experiment, cases, machines.kernel, runs, options.command)
            try:
                document = write_tables(out_dir, document)
                index.add_tables()
            except OSError as error:
                document = None
                stopped = (
                    f"{of_file(error, out_dir)}; results.json and results.parquet are not written"
                )
    kept = f"{len(runs)} of {len(jobs)} runs are kept in {out_dir}; "
    kept += "the same command resumes from there"
    if outcome.interrupted:
        options.say(f"airtcp: interrupted: {kept}")
    else:
        for line in notes.failures(failures, out_dir):
            options.say(f"airtcp: {line}")
    if stopped:
        options.say(f"airtcp: {stopped}; {kept}")
    if warned := notes.kernel_warning(outcome.recorded, out_dir):
        options.say(warned)
    if document and (left_out := notes.left_out(jobs, out_dir)):
        options.say(left_out)
    return SweepResult(document, bool(failures or stopped), outcome.interrupted)


def _records(
    jobs: Sequence[Request], out_dir: Path
) -> tuple[list[tuple[Case, RunRecord]], dict[Request, str]]:
    """The records of runs with their cases; for those that have changed since, what is wrong."""
    records: list[tuple[Case, RunRecord]] = []
    changed = {}
    for job in jobs:
        try:
            records.append((job.case, record.read(job.directory(out_dir))))
        except (OSError, ValueError) as error:
            changed[job] = f"{RESULT_FILE} {of_reading(error)}"
    return records, changed


def _finished_before(out_dir: Path, say: Callable[[str], None]) -> set[str]:
    """Identities of finished runs in results.json. Reports damaged result files."""
    path = out_dir / documents.FILE
    try:
        document = documents.FORM.parse(path.read_bytes())
    except FileNotFoundError:
        if any(out_dir.glob("*.parquet")):
            say(f"{path} is missing: it is written again")
        return set()
    except ValueError as error:
        say(f"{path} {error}: it is written again")
        return set()
    for name, sha256 in document.tables.items():
        if problem := artifacts.change(out_dir / name, sha256):
            say(f"{out_dir / name} {problem}: it is written again")
    return {run.identity for run in document.runs if run.ok}


def write_tables(out_dir: Path, document: SweepDocument) -> SweepDocument:
    """Write results.parquet, then results.json with its hash."""
    from airtcp.results import parquet  # Arrow takes a while to load

    table = parquet.write(out_dir, document)
    document = document.model_copy(update={"tables": {table.name: atomicfile.sha256(table)}})
    documents.write(out_dir, document)
    return document


def _watch(todo: Sequence[Request], out_dir: Path, index: Index, name: str) -> Watch:
    """Show the progress, and add finished runs to the index."""
    progress = Progress(todo, _write, sys.stderr.isatty(), name)

    def watch(event: Event) -> None:
        if event.ended:
            job, end = event.ended
            if isinstance(end, RunRecord) and end.ok:
                index.add(job.identity, job.directory(out_dir))
        progress(event)

    return watch


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()

# SPDX-License-Identifier: GPL-2.0-only
"""Executes runs in parallel, each in its own process.

Every case is run with the same seeds, so the compared policies have the same random numbers.
"""

import shutil
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from airtcp import interrupts
from airtcp.backends import base, hostlimits, uml
from airtcp.errors import AirtcpError, CrowdedError, StopError, reason
from airtcp.results import index as index_of_runs
from airtcp.results import record
from airtcp.results.index import Index
from airtcp.results.record import RESULT_FILE, RunRecord
from airtcp.sweep.childprocess import forked
from airtcp.sweep.request import Request, RunRequest
from airtcp.sweep.run import Say, finished, run_one
from airtcp.units import counted

_POLL_S = 0.5


@dataclass(frozen=True)
class Failure:
    """A run without a record.

    affects: only this run, all other runs, or runs with as many others in parallel.
    """

    message: str
    affects: Literal["run", "all", "crowd"] = "run"

    @classmethod
    def by(cls, error: AirtcpError) -> "Failure":
        """From an exception of run_one()."""
        if isinstance(error, StopError):
            return cls(str(error), "all")
        return cls(str(error), "crowd" if isinstance(error, CrowdedError) else "run")


@dataclass(frozen=True)
class Outcome:
    """The outcome of a sweep: the runs that have a record; whether Ctrl-C interrupted it.

    failures: one line for each run that failed, with a record or without. stopped: why the
    remaining runs were not tried; empty if all were.
    """

    recorded: list[Request]
    failures: dict[Request, str]
    interrupted: bool
    stopped: str = ""


@dataclass(frozen=True)
class _Worker:
    job: RunRequest
    out_dir: Path
    process: BaseProcess
    answer: Connection
    oom_kills: int = field(default_factory=hostlimits.oom_kills)

    @property
    def run_dir(self) -> Path:
        return self.job.directory(self.out_dir)


_R = TypeVar("_R", bound=Request)


def split(
    requests: Sequence[_R],
    out_dir: Path,
    index: Index,
    known: Collection[str],
    say: Say,
    *,
    verify: bool,
) -> tuple[list[_R], list[_R]]:
    """The finished runs, and the runs that are still to be done.

    Reads the files only of runs that are not in the index or have changed since; those that are
    undamaged are added to it. known: identities of runs that are known to have finished. verify:
    read all files.
    """
    unchanged = set() if verify else index.unchanged(request.identity for request in requests)
    to_read = [
        request
        for request in requests
        if request.identity not in unchanged
        and (request.identity in known or (request.directory(out_dir) / RESULT_FILE).exists())
    ]

    def read(request: Request) -> str:
        before = index_of_runs.stamp(request.identity, request.directory(out_dir))
        return before if finished(request, out_dir, request.identity in known, say) else ""

    with ThreadPoolExecutor() as threads:
        for request, stamp in zip(to_read, threads.map(read, to_read), strict=True):
            if stamp:
                index.add(request.identity, request.directory(out_dir), stamp)
                unchanged.add(request.identity)
    done = [request for request in requests if request.identity in unchanged]
    return done, [request for request in requests if request.identity not in unchanged]


class Event(NamedTuple):
    """The running jobs of a sweep with their virtual times in s, and one that has ended, if any."""

    running: Sequence[tuple[Request, float]] = ()
    ended: tuple[Request, RunRecord | Failure] | None = None


Watch = Callable[[Event], None]


class Batch(NamedTuple):
    """Runs of one directory. ended(outcome) is called when the last of them has ended.

    watch(event) is called twice per second, and once for each job that ends.
    """

    todo: Sequence[RunRequest]
    out_dir: Path
    watch: Watch
    ended: Callable[[Outcome], None]


def sweep(
    todo: Sequence[RunRequest],
    out_dir: Path,
    processes: int,
    watch: Watch,
    say: Say,
) -> Outcome:
    """Execute the jobs on this machine, at most `processes` in parallel, fewer if memory is short.

    watch: see Batch. Ctrl-C ends the guests and keeps the results.
    """
    outcomes: list[Outcome] = []
    sweep_batches([Batch(todo, out_dir, watch, outcomes.append)], processes, say)
    return outcomes[0]


def sweep_batches(batches: Iterable[Batch], processes: int, say: Say) -> None:
    """Execute one batch after the other; the next one starts when fewer than `processes` jobs run.

    After Ctrl-C or StopError, batches that have begun end with what they have, and no others begin.
    Raises KeyboardInterrupt if Ctrl-C comes when none has begun, or all that have begun have ended.
    """
    begun: deque[_ActiveBatch] = deque()

    def taken() -> Generator[Batch]:
        for batch in batches:
            begun.append(_ActiveBatch(batch))
            yield batch

    def end_finished() -> None:
        for each in [each for each in begun if not each.waiting]:
            begun.remove(each)
            each.end()

    def handle(event: Event) -> None:
        for each in begun:
            if each.is_affected_by(event):
                each.add(event)
                break
        end_finished()

    interrupted, stopped = _handle_all(_events(taken(), processes, say), handle)
    if interrupted and not begun:
        raise KeyboardInterrupt  # no outcome reports it
    while begun:
        begun.popleft().end(interrupted, stopped)


class _Results:
    """What has ended so far."""

    def __init__(self) -> None:
        # Records stay in their files: a process with many of them would take longer to fork.
        self._recorded: list[Request] = []
        self._failures: dict[Request, str] = {}

    def add(self, event: Event) -> None:
        if not event.ended:
            return
        job, end = event.ended
        if isinstance(end, Failure):
            self._failures[job] = end.message
            return
        self._recorded.append(job)
        if end.error:
            self._failures[job] = end.error

    def outcome(self, interrupted: bool, stopped: str) -> Outcome:
        return Outcome(self._recorded, self._failures, interrupted, stopped)


class _ActiveBatch:
    """A batch with its results so far."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._results = _Results()
        self.waiting: set[Request] = set(batch.todo)

    def is_affected_by(self, event: Event) -> bool:
        """Whether an event is for this batch. If no run has ended, it is for all; one shows it."""
        return event.ended is None or event.ended[0] in self.waiting

    def add(self, event: Event) -> None:
        running = [(job, virtual_s) for job, virtual_s in event.running if job in self.waiting]
        self._results.add(event)
        if event.ended:
            self.waiting.remove(event.ended[0])
        self._batch.watch(event._replace(running=running))

    def end(self, interrupted: bool = False, stopped: str = "") -> None:
        self._batch.ended(self._results.outcome(interrupted, stopped))


def collect(events: Generator[Event], watch: Watch) -> Outcome:
    """Handle the events of a sweep until its end, Ctrl-C or StopError, and close the generator."""
    results = _Results()

    def handle(event: Event) -> None:
        results.add(event)
        watch(event)

    return results.outcome(*_handle_all(events, handle))


def _handle_all(events: Generator[Event], handle: Callable[[Event], None]) -> tuple[bool, str]:
    """Whether Ctrl-C interrupted it; the message of StopError, or an empty one."""
    try:
        try:
            for event in events:
                handle(event)
                interrupts.check()
        finally:
            events.close()
    except KeyboardInterrupt:
        return True, ""
    except StopError as error:
        return False, str(error)
    return False, ""


def _events(batches: Iterable[Batch], processes: int, say: Say) -> Generator[Event]:
    coming = iter(batches)
    waiting: deque[tuple[RunRequest, Path]] = deque()
    running: list[_Worker] = []
    memory = _Memory(processes, say)
    order: dict[RunRequest, int] = {}
    limit = announced = processes
    why = ""
    try:
        while True:
            crowded = ""
            while len(running) < limit and not crowded:
                if not waiting:
                    if not (batch := next(coming, None)):
                        break
                    memory.plan(batch.todo, running)
                    order |= {job: number for number, job in enumerate(batch.todo, len(order))}
                    waiting.extend((job, batch.out_dir) for job in batch.todo)
                    continue
                if not memory.has_room(waiting[0][0], running):
                    break
                try:
                    with interrupts.deferred():  # an interrupt must not lose the new process
                        running.append(_start(*waiting[0]))
                except OSError as error:
                    if not running:
                        raise StopError(f"cannot start a run: {reason(error)}") from None
                    crowded = reason(error)
                else:
                    waiting.popleft()
            if not waiting and not running:
                return
            if not crowded:
                wait([worker.answer for worker in running], timeout=_POLL_S)
            stopped = None
            for worker in [worker for worker in running if worker.answer.poll()]:
                running.remove(worker)
                end = _answer(worker)
                if isinstance(end, Failure) and end.affects == "all":
                    stopped = StopError(end.message)
                elif isinstance(end, Failure) and end.affects == "crowd" and limit > 1:
                    crowded = end.message
                    again = [*waiting, (worker.job, worker.out_dir)]
                    waiting = deque(sorted(again, key=lambda each: order[each[0]]))
                else:
                    yield Event(_reached(running), (worker.job, end))
            if stopped:
                raise stopped
            if crowded:
                limit, why = max(1, min(limit - 1, len(running))), crowded
            elif limit < announced:
                announced = limit
                say(f"airtcp: {why}; from here on at most {limit} at once")
            yield Event(_reached(running))
    except StopError:
        yield from _stopped(running)
        raise
    finally:
        _end(running)


def _stopped(running: Sequence[_Worker]) -> Generator[Event]:
    """End the processes. Make room for the tables, in case the disk is full."""
    _end(running)
    for worker in running:
        if done := _written(worker):
            yield Event(ended=(worker.job, done))
        else:
            shutil.rmtree(worker.run_dir, ignore_errors=True)


class _Memory:
    """The memory that guests may have together, as available when the sweep starts.

    Guests rarely use all of theirs, but one that finds no more is lost.
    """

    def __init__(self, processes: int, say: Say) -> None:
        self._processes = processes
        self._say = say
        self._room_mb, self._why = 0, ""

    def plan(self, todo: Sequence[RunRequest], running: Sequence[_Worker]) -> None:
        """Says if fewer of the runs than `processes` fit."""
        needed_mb = max((job.testbed.memory_mb for job in todo), default=0)
        if not running:
            try:
                self._room_mb, self._why = uml.memory_room(needed_mb)
            except CrowdedError:  # the run reports it
                self._room_mb, self._why = 0, ""
        fitting = max(1, self._room_mb // needed_mb) if needed_mb else self._processes
        if self._why and fitting < min(self._processes, len(todo)):
            runs = counted(fitting, "run")
            self._say(f"{self._why}, a run may take {needed_mb} MB, so only {runs} at once")

    def has_room(self, job: RunRequest, running: Sequence[_Worker]) -> bool:
        """Whether another run fits beside those that are running. A single run always does."""
        taken_mb = sum(worker.job.testbed.memory_mb for worker in running)
        return not running or taken_mb + job.testbed.memory_mb <= self._room_mb


def _end(running: Sequence[_Worker]) -> None:
    for worker in running:
        worker.process.terminate()
    for worker in running:
        worker.process.join()


def _start(job: RunRequest, out_dir: Path) -> _Worker:
    return _Worker(job, out_dir, *forked(partial(_end_of, job, out_dir)))


def _end_of(job: RunRequest, out_dir: Path) -> RunRecord | Failure:
    """Execute a run."""
    try:
        return run_one(job, out_dir)
    except AirtcpError as error:
        return Failure.by(error)


def _answer(worker: _Worker) -> RunRecord | Failure:
    try:
        end: RunRecord | Failure | None = worker.answer.recv()
    except (EOFError, OSError):  # the process ended before or during its answer
        end = None
    worker.answer.close()
    worker.process.join()
    return end or no_answer(worker.process.exitcode or 0, worker.run_dir, worker.oom_kills)


def _written(worker: _Worker) -> RunRecord | None:
    """The record of a run that had finished when its process was ended."""
    try:
        written = record.read(worker.run_dir)
    except (OSError, ValueError):
        return None
    return written if written.identity == worker.job.identity else None


def no_answer(code: int, run_dir: Path, oom_kills: int) -> Failure:
    """The failure of a run whose process was killed. Removes the directory of its guest.

    oom_kills: hostlimits.oom_kills() before the run.
    """
    uml.remove_leftovers(run_dir)
    how = f"was {hostlimits.ended_by(code)}" if code < 0 else f"ended with exit code {code}"
    message = f"its process {how}, without an answer"
    return Failure(message, "crowd" if hostlimits.oom_kills() > oom_kills else "run")


def _reached(running: Sequence[_Worker]) -> list[tuple[RunRequest, float]]:
    return [(worker.job, base.virtual_time_s(worker.run_dir) or 0.0) for worker in running]

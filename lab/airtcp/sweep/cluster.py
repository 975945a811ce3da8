# SPDX-License-Identifier: GPL-2.0-only
"""A sweep on other machines: on the workers of a Dask scheduler, or in batch jobs.

Workers return the files of runs, which are stored as if the runs had been done on this machine.
"""

import logging
import pickle
import queue
import uuid
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from distributed import Client, Future

from airtcp import atomicfile
from airtcp.backends.guesttools import GuestTools
from airtcp.cache import cache_dir
from airtcp.errors import AirtcpError, InputError, StopError, of_file
from airtcp.kernel.image import Kernel
from airtcp.paths import PROGRAM
from airtcp.results import record
from airtcp.results.record import RESULT_FILE, RunRecord
from airtcp.sweep import batchjobs, certificates
from airtcp.sweep.assignment import Workers
from airtcp.sweep.certificates import Certificates
from airtcp.sweep.clusterworker import ArtifactPlugin, Task, WorkerError, work
from airtcp.sweep.jobprocess import RunOutput
from airtcp.sweep.request import RunRequest
from airtcp.sweep.sweep import Event, Failure

Say = Callable[[str], None]

_CONNECT_S = 10
_POLL_S = 1
_STORE_THREADS = 8


@dataclass(frozen=True)
class Cluster:
    """Where the runs of a sweep are done: the address of a scheduler, or a file about batch jobs.

    processes: number of parallel runs in batch jobs (None: those of one job).
    """

    where: str
    processes: int | None
    certificates: Certificates | None


def events(
    todo: Sequence[RunRequest],
    out_dir: Path,
    cluster: Cluster,
    say: Say,
) -> Generator[Event]:
    """Execute runs on the workers of a cluster and yield events for collect().

    Raises InputError for an invalid file or address, AirtcpError if the scheduler cannot be
    reached, or no worker can execute runs: all have other versions than this machine, for example.
    """
    if not todo:
        return
    kernel, tools = todo[0].kernel, {job.tools for job in todo}
    name = f"airtcp-{uuid.uuid4().hex}"
    with _connected(cluster, say) as client, _with_artifacts(client, kernel, tools, name):
        runs = _Runs(client, name, todo, Workers(client, say))
        with _Store(out_dir, cluster.where) as store:
            try:
                while runs.left:
                    if client.status != "running":
                        raise _gone(cluster.where)
                    # Dask forgets a job 15 s after its worker has left, and submits no other one.
                    if client.cluster is not None and not client.cluster.workers:
                        raise StopError(
                            f"--cluster {cluster.where}: all batch jobs have ended, for example "
                            "at their time limit"
                        )
                    for failed in runs.update():
                        yield Event(ended=(failed, _LOST))
                    for run in runs.begin():
                        store.when_done(run)
                    if news := store.next(timeout_s=_POLL_S):
                        run, end = news
                        if end is None:
                            runs.done(run)
                        elif isinstance(end, WorkerError):
                            runs.exclude_worker_of(run, str(end))
                        elif runs.stored(run):
                            if isinstance(end, Exception):
                                raise end
                            yield Event(ended=(run.job, end))
            finally:
                client.cancel(runs.futures)


_ATTEMPTS = 4
_LOST = Failure(f"{_ATTEMPTS} workers ended or became unusable while they executed it")


@dataclass(frozen=True, eq=False)
class _Run:
    """A run that a worker executes, or whose files are being stored."""

    job: RunRequest
    number: int
    attempt: int
    address: str
    future: "Future[bytes]"


class _Runs:
    """The runs of a sweep that have not ended."""

    def __init__(
        self, client: Client, name: str, todo: Sequence[RunRequest], workers: Workers
    ) -> None:
        self._client = client
        self._name = name
        self._waiting = deque((number, job, 1) for number, job in enumerate(todo))
        self._workers = workers
        self._executed: set[_Run] = set()
        self._being_stored: set[_Run] = set()

    @property
    def left(self) -> bool:
        return bool(self._waiting or self._executed or self._being_stored)

    @property
    def futures(self) -> "list[Future[bytes]]":
        return [run.future for run in (*self._executed, *self._being_stored)]

    def update(self) -> list[RunRequest]:
        """Repeat the runs of workers that have left or are excluded; returns those that have lost
        too many.
        """
        self._workers.update()
        failed = []
        runs = (*self._executed, *self._being_stored)
        for run in [run for run in runs if run.address not in self._workers]:
            self.done(run)
            self._being_stored.remove(run)
            self._client.cancel([run.future])
            if run.attempt < _ATTEMPTS:
                self._waiting.appendleft((run.number, run.job, run.attempt + 1))
            else:
                failed.append(run.job)
        return failed

    def begin(self) -> Iterator[_Run]:
        """Start runs on all free places.

        Files that are to be stored are in the memory of workers: not more than one for each place.
        """
        room = max(_STORE_THREADS, self._workers.places)
        while self._waiting and len(self._being_stored) < room:
            address = self._workers.take()
            if address is None:
                return
            number, job, attempt = self._waiting.popleft()
            future = _submit(self._client, job, (self._name, number, attempt), address)
            run = _Run(job, number, attempt, address, future)
            self._executed.add(run)
            yield run

    def done(self, run: _Run) -> None:
        """Free the place of the worker; the files of the run are still to be stored."""
        if run in self._executed:
            self._executed.remove(run)
            self._being_stored.add(run)
            self._workers.give_back(run.address)

    def exclude_worker_of(self, run: _Run, message: str) -> None:
        """Give no more runs to its worker. update() repeats this run, as if the worker had left."""
        self._workers.exclude(run.address, message)

    def stored(self, run: _Run) -> bool:
        """Forget a run; False if it is being repeated, because its worker has left."""
        known = run in self._being_stored
        self._being_stored.discard(run)
        run.future.release()
        return known


def _submit(
    client: Client, job: RunRequest, key: tuple[str, int, int], address: str
) -> "Future[bytes]":
    task = Task(
        key=key,
        kernel_version=job.kernel.version,
        kernel_hash=job.kernel.hash,
        tools=job.tools.directory.name,
        case=job.case,
        seed=job.seed,
        identity=job.identity,
        command=job.command,
    )
    return client.submit(work, task, key=task.key, workers=[address])


class _Store:
    """Stores the files of runs in parallel, because each file has to reach the disk."""

    def __init__(self, out_dir: Path, where: str) -> None:
        self._out_dir = out_dir
        self._where = where
        self._threads = ThreadPoolExecutor(_STORE_THREADS)
        self._news = queue.SimpleQueue[tuple[_Run, RunRecord | Failure | Exception | None]]()

    def __enter__(self) -> "_Store":
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)

    def when_done(self, run: _Run) -> None:
        """Store the files of a run when it ends."""

        def begin(future: "Future[bytes]") -> None:
            with suppress(RuntimeError):  # the sweep has ended
                self._news.put((run, None))
                self._threads.submit(self._store, run)

        run.future.add_done_callback(begin)

    def _store(self, run: _Run) -> None:
        try:
            end = _end(run.future, run.job, self._out_dir, self._where)
            self._news.put((run, end))
        except Exception as error:
            self._news.put((run, error))

    def next(
        self, timeout_s: float
    ) -> "tuple[_Run, RunRecord | Failure | Exception | None] | None":
        """The next run that has ended (None), or is stored or failed; None after the timeout."""
        try:
            return self._news.get(timeout=timeout_s)
        except queue.Empty:
            return None


@contextmanager
def _connected(cluster: Cluster, say: Say) -> Iterator[Client]:
    # We report errors ourselves.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    where, known = cluster.where, cluster.certificates
    if "://" not in where:
        with (
            # Batch jobs can read the cache.
            nullcontext(known) if known else certificates.temporary(cache_dir()) as shared,
            batchjobs.submitted(Path(where), cluster.processes, shared) as jobs,
            Client(jobs, set_as_default=False) as client,
        ):
            yield client
        return
    if cluster.processes:
        raise InputError("--jobs: not allowed with a scheduler; give it to each `worker` instead")
    security = known.security() if known and where.startswith("tls") else None
    try:
        client = Client(where, timeout=_CONNECT_S, set_as_default=False, security=security)
    except (OSError, ValueError) as error:
        raise AirtcpError(f"--cluster {where}: cannot connect to a Dask scheduler") from error
    try:
        with client:
            if not client.scheduler_info()["workers"]:
                say(f"{where} has no workers yet; on each machine: {PROGRAM} worker {where}")
            yield client
    except OSError as error:
        if error.errno is not None:  # an error of a file; errors of Dask have no errno
            raise
        raise _gone(where) from None


@contextmanager
def _with_artifacts(
    client: Client, kernel: Kernel, tools: Collection[GuestTools], name: str
) -> Iterator[None]:
    """Install the kernel and the programs on every worker, including those that connect later."""
    client.register_plugin(ArtifactPlugin(kernel, tools), name)
    try:
        yield
    finally:
        client.unregister_worker_plugin(name)


def _end(
    future: "Future[bytes]", job: RunRequest, out_dir: Path, where: str
) -> RunRecord | Failure:
    if future.status == "cancelled":
        raise _gone(where)
    error = future.exception()
    if isinstance(error, WorkerError):
        raise error
    if error is not None:
        return Failure(f"{type(error).__name__}: {' '.join(str(error).split())}")
    answer: RunOutput | Failure = pickle.loads(future.result())
    if isinstance(answer, Failure):
        if answer.affects == "all":  # on that worker
            raise WorkerError(answer.message)
        return answer
    try:
        return _place(answer, job, out_dir)
    except StopError:
        raise
    except AirtcpError as failure:
        return Failure(str(failure))


def _gone(where: str) -> StopError:
    return StopError(f"--cluster {where}: the scheduler has disconnected")


def _place(done: RunOutput, job: RunRequest, out_dir: Path) -> RunRecord:
    """Unpack the files of a run as if it had been local. Raises StopError if the disk is full."""
    run_dir = job.directory(out_dir)
    result = done.record
    try:
        atomicfile.remove(run_dir, RESULT_FILE)
        run_dir.parent.mkdir(parents=True, exist_ok=True)
        atomicfile.unpack(done.packed, run_dir)
        if result.error:
            error = result.error.replace(str(done.out_dir), str(out_dir))
            result = result.model_copy(update={"error": error})
            record.write(run_dir, result)
    except OSError as failure:
        raise of_file(failure, run_dir) from None
    return result

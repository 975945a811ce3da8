# SPDX-License-Identifier: GPL-2.0-only
"""A sweep on other machines: on the workers of a Dask scheduler, or in batch jobs.

Workers return the files of runs, which are stored as if the runs had been done on this machine.
"""

import logging
import math
import pickle
import queue
import time
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
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
from airtcp.sweep.certificates import Certificates
from airtcp.sweep.clusterworker import (
    ArtifactPlugin,
    Task,
    WorkerError,
    mismatches,
    resources,
    work,
)
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
    reached, no worker has the versions of this machine, or a worker cannot execute runs.
    """
    if not todo:
        return
    kernel, tools = todo[0].kernel, todo[0].tools
    name = f"airtcp-{uuid.uuid4().hex}"
    with _connected(cluster, say) as client, _with_artifacts(client, kernel, tools, name):
        workers = _Workers(client, cluster.where, say)
        waiting = deque(enumerate(todo))
        submitted: dict[Future[bytes], RunRequest] = {}
        with _Store(out_dir, cluster.where) as store:
            try:
                while waiting or submitted:
                    # Each worker has as many runs waiting as it executes; Dask moves them to
                    # workers that become idle. More would count as failed if their worker dies.
                    places = max(1, 2 * workers.places())
                    while waiting and len(submitted) < places:
                        number, job = waiting.popleft()
                        future = _submit(client, job, (name, number))
                        submitted[future] = job
                        store.when_done(future, job)
                    ended = store.next(timeout_s=_POLL_S)
                    if ended:
                        future, end = ended
                        job = submitted.pop(future)
                        future.release()
                        yield Event((), job, end)
            finally:
                client.cancel(list(submitted))


def _submit(client: Client, job: RunRequest, key: tuple[str, int]) -> "Future[bytes]":
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
    return client.submit(work, task, key=task.key, resources=dict.fromkeys(resources(), 1))


class _Store:
    """Stores the files of runs in parallel, because each file has to reach the disk."""

    def __init__(self, out_dir: Path, where: str) -> None:
        self._out_dir = out_dir
        self._where = where
        self._threads = ThreadPoolExecutor(_STORE_THREADS)
        self._ended: queue.SimpleQueue[tuple[Future[bytes], RunRecord | Failure | Exception]]
        self._ended = queue.SimpleQueue()

    def __enter__(self) -> "_Store":
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)

    def when_done(self, future: "Future[bytes]", job: RunRequest) -> None:
        """Store the files of a run when it ends."""

        def begin(future: "Future[bytes]") -> None:
            with suppress(RuntimeError):  # the sweep has ended
                self._threads.submit(self._store, future, job)

        future.add_done_callback(begin)

    def _store(self, future: "Future[bytes]", job: RunRequest) -> None:
        try:
            self._ended.put((future, _end(future, job, self._out_dir, self._where)))
        except Exception as error:
            self._ended.put((future, error))

    def next(self, timeout_s: float) -> "tuple[Future[bytes], RunRecord | Failure] | None":
        """The next run that has ended and is stored; None after the timeout. Raises its error."""
        try:
            future, end = self._ended.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if isinstance(end, Exception):
            raise end
        return future, end


class _Workers:
    """The workers of a scheduler that can execute runs for this machine."""

    def __init__(self, client: Client, where: str, say: Say) -> None:
        self._client = client
        self._where = where
        self._say = say
        self._reported: set[str] = set()
        self._places = 0
        self._asked = -math.inf

    def places(self) -> int:
        """Number of parallel runs. Raises AirtcpError if all workers have other versions.

        Asks the scheduler once per second at most: it answers with everything about all workers.
        """
        if self._client.status != "running":
            raise _gone(self._where)
        now = time.monotonic()
        if now >= self._asked + _POLL_S:
            self._places = self._ask()
            # An answer about a thousand workers takes a while; leave most of the time for runs.
            self._asked = time.monotonic() + 10 * (time.monotonic() - now)
        return self._places

    def _ask(self) -> int:
        workers = self._client.scheduler_info()["workers"]
        wrong = {
            address: f"the worker on {worker['host']} differs from this machine in "
            f"{' and '.join(parts)} and gets no runs: install the same versions on both"
            for address, worker in workers.items()
            if (parts := mismatches(worker["resources"]))
        }
        if wrong and len(wrong) == len(workers):
            raise AirtcpError(next(iter(wrong.values())))
        for address in wrong.keys() - self._reported:
            self._say(f"airtcp: {wrong[address]}")
            self._reported.add(address)
        return sum(workers[worker]["nthreads"] for worker in workers.keys() - wrong.keys())


@contextmanager
def _connected(cluster: Cluster, say: Say) -> Iterator[Client]:
    # We report errors ourselves.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    where, known = cluster.where, cluster.certificates
    if "://" not in where:
        with (
            _certificates(known) as certificates_,
            batchjobs.submitted(Path(where), cluster.processes, certificates_) as jobs,
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
def _certificates(known: Certificates | None) -> Iterator[Certificates]:
    """The given certificates, or temporary ones in the cache, which batch jobs can read."""
    if known:
        yield known
        return
    with certificates.temporary(cache_dir()) as made:
        yield made


@contextmanager
def _with_artifacts(client: Client, kernel: Kernel, tools: GuestTools, name: str) -> Iterator[None]:
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
    if isinstance(answer, RunOutput):
        return _place(answer, job, out_dir)
    if answer.affects == "all":  # all other runs would fail on that worker, too
        raise StopError(answer.message)
    return answer


def _gone(where: str) -> AirtcpError:
    return AirtcpError(
        f"--cluster {where}: the scheduler has disconnected; the same command resumes later"
    )


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

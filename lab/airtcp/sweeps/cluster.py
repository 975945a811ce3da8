# SPDX-License-Identifier: GPL-2.0-only
"""A sweep whose runs are done elsewhere: by the workers of a Dask scheduler, or in batch jobs.

A worker sends back the files of a run; they are put where a run here would have left them.
"""

import logging
import pickle
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from distributed import Client, Future, as_completed

from airtcp import durable
from airtcp.errors import AirtcpError, InputError
from airtcp.linux.kernel import Kernel
from airtcp.machine.guesttools import GuestTools
from airtcp.sweeps import batchjobs
from airtcp.sweeps.clusterworker import Supplies, Task, WrongWorkerError, terms, work
from airtcp.sweeps.jobprocess import Done
from airtcp.sweeps.run import RESULT_FILE, Result, identity, run_directory
from airtcp.sweeps.sweep import Failure, Job, Step

Say = Callable[[str], None]

_CONNECT_S = 10


def steps(
    kernel: Kernel,
    tools: GuestTools,
    todo: Sequence[Job],
    out_dir: Path,
    where: str,
    processes: int | None,
    say: Say,
) -> Generator[Step]:
    """Do the jobs on the workers of `where`: a scheduler's address, or a file of batch jobs.

    For collect(). processes: how many runs at once batch jobs are asked for (None: what one of them
    does). Raises InputError for a bad file or address, AirtcpError when the scheduler cannot be
    reached, or a worker is not like this machine.
    """
    if not todo:
        return
    name = f"airtcp-{uuid.uuid4().hex}"
    with _connected(where, processes, say) as client, _supplied(client, kernel, tools, name):
        jobs: dict[Future[bytes], Job] = {}
        try:
            for number, job in enumerate(todo):
                task = Task(
                    key=(name, number),
                    kernel_version=kernel.version,
                    kernel_hash=kernel.hash,
                    tools=tools.directory.name,
                    cell=job.cell,
                    seed=job.seed,
                    terms=terms(),
                    identity=identity(kernel, tools, job.cell, job.seed),
                )
                jobs[client.submit(work, task, key=task.key)] = job
            for future in as_completed(list(jobs), loop=client.loop):
                job = jobs.pop(future)
                end = _end(future, job, out_dir, where)
                future.release()
                yield Step((), job, end)
        finally:
            client.cancel(list(jobs))


@contextmanager
def _connected(where: str, processes: int | None, say: Say) -> Iterator[Client]:
    # What goes wrong is said in our own words.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    if "://" in where:
        if processes:
            raise InputError("--jobs: with a scheduler each worker says how much it does at once")
        try:
            client = Client(where, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise AirtcpError(f"--cluster {where}: cannot connect to a Dask scheduler") from error
        try:
            with client:
                if not client.scheduler_info()["workers"]:
                    say(f"{where} has no workers yet; on each machine: ./airtcp worker {where}")
                yield client
        except OSError as error:
            if error.errno is not None:  # a file of ours; Dask's own have no number
                raise
            raise _gone(where) from None
        return
    with (
        batchjobs.submitted(Path(where), processes) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def _supplied(client: Client, kernel: Kernel, tools: GuestTools, name: str) -> Iterator[None]:
    """Every worker has the kernel and the programs, those that come later too."""
    client.register_plugin(Supplies(kernel, tools), name)
    try:
        yield
    finally:
        client.unregister_worker_plugin(name)


def _end(future: "Future[bytes]", job: Job, out_dir: Path, where: str) -> Result | Failure:
    if future.status == "cancelled":
        raise _gone(where)
    error = future.exception()
    if isinstance(error, WrongWorkerError):
        raise error
    if error is not None:
        return Failure(f"{type(error).__name__}: {' '.join(str(error).split())}")
    answer: Done | Failure = pickle.loads(future.result())
    return answer if isinstance(answer, Failure) else _place(answer, job, out_dir)


def _gone(where: str) -> AirtcpError:
    return AirtcpError(f"--cluster {where}: the scheduler is gone; the same command goes on later")


def _place(done: Done, job: Job, out_dir: Path) -> Result:
    """Put the files of a run where a run here leaves them."""
    run_dir = run_directory(out_dir, job.cell, job.seed)
    durable.remove(run_dir, RESULT_FILE)
    run_dir.parent.mkdir(parents=True, exist_ok=True)
    durable.unpack(done.packed, run_dir)
    result = done.result
    if result["error"]:
        result["error"] = result["error"].replace(str(done.out_dir), str(out_dir))
        durable.write_json(run_dir / RESULT_FILE, result)
    return result

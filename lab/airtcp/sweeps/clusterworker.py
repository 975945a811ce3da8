# SPDX-License-Identifier: GPL-2.0-only
"""What a worker of a cluster does: it keeps kernels and guest programs, and does runs."""

import functools
import hashlib
import os
import pickle
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from distributed import Worker, WorkerPlugin, get_worker
from distributed.core import Status

from airtcp import doctor, durable
from airtcp.cache import REPOSITORY, cache_dir, locked
from airtcp.errors import AirtcpError
from airtcp.inputs.experiment import Cell
from airtcp.linux.kernel import Kernel
from airtcp.machine.guesttools import GuestTools
from airtcp.sweeps import jobprocess
from airtcp.sweeps.sweep import Failure

_POLL_S = 0.25
JOB_PROCESS = (sys.executable, "-P", "-c", "from airtcp.sweeps.jobprocess import main; main()")
_LIBRARIES = REPOSITORY / "lab" / "requirements.txt"


@dataclass(frozen=True)
class Terms:
    """What a worker must have in common with who sends it runs, or they would not be the same."""

    airtcp: str
    python: str
    libraries: str
    programs: str


class WrongWorkerError(AirtcpError):
    """A worker has other programs than the one who sends it runs."""


@functools.cache
def terms() -> Terms:
    """Those of this machine: hashes of files, Python's version."""
    sources = sorted(Path(__file__).parents[1].rglob("*.py"))
    return Terms(
        airtcp=_hash(sources),
        python=platform.python_version(),
        libraries=_hash([_LIBRARIES]),
        programs=_hash(doctor.files_of_programs()),
    )


def _hash(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        digest.update(f"{path.name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


def _check(theirs: Terms) -> None:
    different = [name for name, value in vars(theirs).items() if value != vars(terms())[name]]
    if different:
        raise WrongWorkerError(
            f"the worker on {platform.node()} has not the same {' and '.join(different)} as this "
            "machine: install the same versions on both"
        )


class Supplies(WorkerPlugin):
    """Gives every worker the kernel and the guest programs, which it keeps in its cache."""

    def __init__(self, kernel: Kernel, tools: GuestTools) -> None:
        self._packed = {
            f"kernel/{kernel.hash}": durable.pack(kernel.path.parent),
            f"tools/{tools.directory.name}": durable.pack(tools.directory),
        }

    def setup(self, worker: Worker) -> None:
        """Dask calls it once in each worker, be it there already or not yet."""
        for place, packed in self._packed.items():
            directory = cache_dir() / place
            with locked(directory.parent / "supplies.lock", print):
                if durable.damage(directory):
                    durable.unpack(packed, directory)


@dataclass(frozen=True)
class Task:
    """A run, as it is sent to a worker; key is Dask's name for it."""

    key: tuple[str, int]
    kernel_version: str
    kernel_hash: str
    tools: str
    cell: Cell
    seed: int
    terms: Terms
    identity: str


def work(task: Task) -> bytes:
    """Do the run; what jobprocess answers. Ends the guest when the run is no longer wanted."""
    _check(task.terms)
    image = cache_dir() / "kernel" / task.kernel_hash / "linux"
    order = jobprocess.Order(
        Kernel(image, task.kernel_version, task.kernel_hash),
        GuestTools(cache_dir() / "tools" / task.tools),
        task.cell,
        task.seed,
        task.identity,
    )
    worker = get_worker()
    with tempfile.TemporaryFile() as answer:
        process = subprocess.Popen(JOB_PROCESS, stdin=subprocess.PIPE, stdout=answer)
        assert process.stdin
        with process.stdin as channel:
            channel.write(pickle.dumps(os.getpid()) + pickle.dumps(order))
        while not _ended(process):
            if not _is_wanted(task, worker):
                process.terminate()
        answer.seek(0)
        if process.returncode == 0:
            return answer.read()
    return pickle.dumps(Failure(f"on {platform.node()} its process ended without an answer"))


def _ended(process: "subprocess.Popen[bytes]") -> bool:
    try:
        process.wait(_POLL_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def _is_wanted(task: Task, worker: Worker) -> bool:
    """Not when who sent it has cancelled it or is gone: Dask lets a thread go on."""
    known = worker.state.tasks.get(task.key)
    up = worker.status in (Status.running, Status.paused)
    return up and known is not None and known.state != "cancelled"

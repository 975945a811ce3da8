# SPDX-License-Identifier: GPL-2.0-only
"""Code that runs in workers: installs kernels and guest programs, and executes runs."""

import functools
import hashlib
import importlib.metadata
import os
import pickle
import platform
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path

from distributed import Worker, WorkerPlugin, get_worker
from distributed.core import Status

from airtcp import atomicfile
from airtcp.backends import hostlimits
from airtcp.backends.guesttools import GuestTools
from airtcp.cache import cache_dir, locked
from airtcp.errors import AirtcpError, reason
from airtcp.experiment.experiment import Case
from airtcp.kernel.image import Kernel
from airtcp.paths import REPOSITORY
from airtcp.sweep import jobprocess
from airtcp.sweep.request import CODE
from airtcp.sweep.sweep import Failure, no_answer

_POLL_S = 0.25
SERVER = (sys.executable, "-P", "-c", "from airtcp.sweep.jobprocess import main; main()")
_LIBRARIES = REPOSITORY / "lab" / "requirements.txt"


class WorkerError(AirtcpError):
    """A worker cannot execute any runs."""


@functools.cache
def fingerprint() -> dict[str, str]:
    """What determines whether runs here give the same results as on another machine.

    Hashes of files, and versions of Python and of the installed libraries.
    """
    return {
        "airtcp": CODE[:16],
        "python": platform.python_version(),
        "libraries": _libraries(),
    }


def _libraries() -> str:
    """A hash of the installed versions of the locked libraries."""
    lines = _LIBRARIES.read_text().splitlines()
    names = [line.partition("==")[0] for line in lines if not line.startswith("#")]
    versions = [f"{name} {_version(name)}" for name in names]
    return hashlib.sha256("\n".join(versions).encode()).hexdigest()[:16]


def _version(library: str) -> str:
    """Its version; empty if it is missing, as Dask needs some only with an earlier Python."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return ""


def resources() -> dict[str, float]:
    """The fingerprint as resources of a worker, which the client reads (mismatches())."""
    return dict.fromkeys(map(_resource, fingerprint().items()), 1)


def mismatches(of_worker: Mapping[str, float]) -> list[str]:
    """The parts of the fingerprint in which a worker differs from this machine."""
    return [
        name for name, value in fingerprint().items() if _resource((name, value)) not in of_worker
    ]


def _resource(part: tuple[str, str]) -> str:
    return f"airtcp:{part[0]}:{part[1]}"


class ArtifactPlugin(WorkerPlugin):
    """Installs the kernel and the guest programs in the cache of every worker."""

    def __init__(self, kernel: Kernel, tools: Collection[GuestTools]) -> None:
        self._packed = {
            f"kernel/{kernel.hash}": atomicfile.pack(kernel.path.parent),
            **{f"tools/{one.directory.name}": atomicfile.pack(one.directory) for one in tools},
        }
        self.failed = ""

    def setup(self, worker: Worker) -> None:
        """Called by Dask once in each worker, including those that connect later."""
        for place, packed in self._packed.items():
            directory = cache_dir() / place
            try:
                with locked(directory.parent / "artifacts.lock", print):
                    if atomicfile.damage(directory):
                        atomicfile.unpack(packed, directory)
            except (AirtcpError, OSError) as error:
                message = reason(error) if isinstance(error, OSError) else str(error)
                self.failed = f"the worker on {platform.node()} cannot keep {directory}: {message}"
                print(f"airtcp: {self.failed}", file=sys.stderr, flush=True)
                return


@dataclass(frozen=True)
class Task:
    """A run as sent to a worker. key: its name in Dask."""

    key: tuple[str, int, int]
    kernel_version: str
    kernel_hash: str
    tools: str
    case: Case
    seed: int
    identity: str
    command: str


def work(task: Task) -> bytes:
    """Execute the run; return the answer of jobprocess. Stops the guest if the run is cancelled.

    Raises WorkerError if the worker could not install the kernel or the programs.
    """
    worker = get_worker()
    artifacts = worker.plugins[task.key[0]]
    assert isinstance(artifacts, ArtifactPlugin)
    if artifacts.failed:
        raise WorkerError(artifacts.failed)
    image = cache_dir() / "kernel" / task.kernel_hash / "linux"
    kills = hostlimits.oom_kills()
    prefix = "airtcp-job-"
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as scratch:
        given = jobprocess.JobInput(
            Kernel(image, task.kernel_version, task.kernel_hash),
            GuestTools(cache_dir() / "tools" / task.tools),
            task.case,
            task.seed,
            task.identity,
            Path(scratch),
            task.command,
        )
        code, answer = _execute(given, lambda: _is_wanted(task, worker))
        if code == 0 and answer:
            return answer
        failure = no_answer(code, given.run_dir, kills)
    return pickle.dumps(Failure(f"on {platform.node()} {failure.message}"))


# The kernel ends a server with the thread that has started it (end_with_parent()).
_of_thread = threading.local()


def _execute(given: jobprocess.JobInput, is_wanted: Callable[[], bool]) -> tuple[int, bytes]:
    """Execute a run in a process of this thread's server; its exit code and its answer."""
    server: subprocess.Popen[bytes] | None = getattr(_of_thread, "server", None)
    if server is None:
        server = subprocess.Popen(SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        _of_thread.server = server
        request = pickle.dumps(os.getpid()) + pickle.dumps(given)
    else:
        request = pickle.dumps(given)
    assert server.stdin and server.stdout
    try:
        with suppress(BrokenPipeError):  # the exit code says more
            server.stdin.write(request)
            server.stdin.flush()
        while not wait([server.stdout.fileno()], _POLL_S):
            if not is_wanted():
                server.terminate()
        code, answer = pickle.load(server.stdout)
    except (EOFError, pickle.UnpicklingError):  # the server has ended
        del _of_thread.server
        with suppress(BrokenPipeError), server:  # close the pipes
            server.wait()
        return server.returncode, b""
    return code, answer


def _is_wanted(task: Task, worker: Worker) -> bool:
    """False if the client has cancelled the run or disconnected: Dask does not stop the thread."""
    known = worker.state.tasks.get(task.key)
    up = worker.status in (Status.running, Status.paused)
    return up and known is not None and known.state != "cancelled"

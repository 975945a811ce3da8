# SPDX-License-Identifier: GPL-2.0-only
"""Executes runs for a thread of a worker of a cluster, each in a process of its own.

The worker starts one such server for each of its threads. Loading airtcp takes longer than all else
that Python does for a run, so the server loads it once and forks; the worker, which has threads,
must not fork. All processes end with the thread, and clean up even if the worker is killed.
"""

import pickle
import platform
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from airtcp import atomicfile, interrupts
from airtcp.backends.guesttools import GuestTools
from airtcp.errors import AirtcpError
from airtcp.experiment.experiment import Case
from airtcp.kernel.image import Kernel
from airtcp.results.record import RunRecord
from airtcp.sweep.childprocess import end_with_parent, forked
from airtcp.sweep.request import CODE, RunRequest, hash_of_code, run_directory
from airtcp.sweep.run import run_one
from airtcp.sweep.sweep import Failure


@dataclass(frozen=True)
class JobInput:
    """The run to execute. identity: as computed by the sender. command: the sender's."""

    kernel: Kernel
    tools: GuestTools
    case: Case
    seed: int
    identity: str
    scratch: Path
    command: str = ""

    @property
    def run_dir(self) -> Path:
        """The directory of the run until its files are packed."""
        return run_directory(self.scratch, self.case, self.seed)


@dataclass(frozen=True)
class RunOutput:
    """A run with its packed files. out_dir: the directory of the sweep on the worker."""

    record: RunRecord
    packed: bytes
    out_dir: Path


def _do(given: JobInput) -> RunOutput | Failure:
    try:
        request = RunRequest.of(given.kernel, given.tools, given.case, given.seed, given.command)
        # The server may have loaded other code than the worker, and this process still loads some.
        if request.identity != given.identity or not _is_current():
            message = f"airtcp has changed on {platform.node()}: start its worker again"
            return Failure(message, "all")
        result = run_one(request, given.scratch)
        return RunOutput(result, atomicfile.pack(request.directory(given.scratch)), given.scratch)
    except AirtcpError as error:
        failure = Failure.by(error)
        return replace(failure, message=f"on {platform.node()}: {failure.message}")
    finally:
        # The worker also removes it, unless it was killed.
        shutil.rmtree(given.scratch, ignore_errors=True)


def _is_current() -> bool:
    try:
        return hash_of_code() == CODE
    except OSError:  # files are being replaced
        return False


def main() -> None:
    """Execute runs until standard input ends.

    Standard input: pickled process ID of the parent, then each JobInput. Standard output: for each
    the exit code of its process (as in subprocess), and the pickled RunOutput or Failure.
    """
    parent = pickle.load(sys.stdin.buffer)
    with interrupts.exits_silently():
        end_with_parent(parent)
        while True:
            try:
                given = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            pickle.dump(_forked(given), sys.stdout.buffer)
            sys.stdout.buffer.flush()


def _forked(given: JobInput) -> tuple[int, bytes]:
    """Execute a run in another process; returns its exit code and the pickled answer."""
    with interrupts.deferred():  # Python ignores what is raised while it handles a fork
        process, receiver = forked(partial(_do, given))
    content = b""
    with receiver, suppress(EOFError, OSError):  # it ended before or during its answer
        content = receiver.recv_bytes()
    process.join()
    return process.exitcode or 0, content

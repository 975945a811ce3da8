# SPDX-License-Identifier: GPL-2.0-only
"""One run in its own process, which a worker of a cluster starts.

The process is forked by a server that has loaded this module: loading it takes longer than all
else that Python does for a run. The worker itself has threads, and must not fork. The process
cleans up even if the worker is killed.
"""

import multiprocessing
import os
import pickle
import platform
import shutil
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from airtcp import atomicfile, interrupts
from airtcp.backends.guesttools import GuestTools
from airtcp.errors import AirtcpError
from airtcp.experiment.experiment import Case
from airtcp.kernel.image import Kernel
from airtcp.results.record import RunRecord
from airtcp.sweep.request import CODE, RunRequest, hash_of_code, run_directory
from airtcp.sweep.run import run_one
from airtcp.sweep.sweep import Failure, end_with


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
        if request.identity != given.identity or hash_of_code() != CODE:
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


def start(given: JobInput) -> tuple[BaseProcess, Connection]:
    """Start the process; it sends a pickled RunOutput or Failure. Raises OSError."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_main, args=(given, sender), daemon=True)
    with sender:
        try:
            process.start()
        except OSError:
            receiver.close()
            raise
    return process, receiver


def _main(given: JobInput, answer: Connection) -> None:
    with interrupts.exits_silently():
        end_with(os.getppid())
        worker = multiprocessing.parent_process()
        if not (worker and worker.is_alive()):  # the server has ended before end_with()
            raise KeyboardInterrupt
        answer.send_bytes(pickle.dumps(_do(given)))
        interrupts.at_end_of_child()

# SPDX-License-Identifier: GPL-2.0-only
"""One run in its own process: reads a JobInput from standard input, writes a pickled answer.

Started by a worker of a cluster. It cleans up even if the worker is killed.
"""

import pickle
import platform
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from airtcp import atomicfile, interrupts
from airtcp.backends.guesttools import GuestTools
from airtcp.errors import AirtcpError, reason
from airtcp.experiment.experiment import Case
from airtcp.kernel.image import Kernel
from airtcp.results.record import RunRecord
from airtcp.sweep.request import RunRequest, run_directory
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
        if request.identity != given.identity:
            # This process has loaded the current code, the worker that of its start.
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


def main() -> None:
    """Execute a run. Standard input: pickled process ID of the parent, then the JobInput."""
    parent = pickle.load(sys.stdin.buffer)
    with interrupts.exits_silently():
        end_with(parent)
        answer = _do(pickle.load(sys.stdin.buffer))
        try:
            pickle.dump(answer, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        except OSError as error:
            sys.stdout.buffer.seek(0)
            sys.stdout.buffer.truncate()
            message = f"on {platform.node()}: a run's files for the scheduler: {reason(error)}"
            pickle.dump(Failure(message, "all"), sys.stdout.buffer)
        interrupts.at_end_of_child()

# SPDX-License-Identifier: GPL-2.0-only
"""One run in a process of its own, from an order on its standard input to a pickled answer.

A worker of a cluster starts it. It leaves nothing behind, however the worker ends.
"""

import pickle
import platform
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from airtcp import durable
from airtcp.errors import AirtcpError
from airtcp.inputs.experiment import Cell
from airtcp.linux.kernel import Kernel
from airtcp.machine.guesttools import GuestTools
from airtcp.sweeps.run import Result, identity, run_directory, run_one
from airtcp.sweeps.sweep import Failure, end_with


@dataclass(frozen=True)
class Order:
    """What to run. identity: as whoever ordered it has it."""

    kernel: Kernel
    tools: GuestTools
    cell: Cell
    seed: int
    identity: str


@dataclass(frozen=True)
class Done:
    """A run and its files, packed; they were in a directory of runs named `out_dir`."""

    result: Result
    packed: bytes
    out_dir: Path


def _do(order: Order) -> Done | Failure:
    if identity(order.kernel, order.tools, order.cell, order.seed) != order.identity:
        # This process has loaded them just now, the worker long ago.
        return Failure(f"airtcp has changed on {platform.node()}: start its worker again")
    with tempfile.TemporaryDirectory(prefix="airtcp-job-") as scratch:
        out_dir = Path(scratch)
        try:
            result = run_one(order.kernel, order.tools, order.cell, order.seed, out_dir)
        except AirtcpError as error:
            return Failure(str(error))
        return Done(result, durable.pack(run_directory(out_dir, order.cell, order.seed)), out_dir)


def main() -> None:
    """Standard input has the parent's process id, then the order."""
    parent = pickle.load(sys.stdin.buffer)
    try:
        end_with(parent)
        pickle.dump(_do(pickle.load(sys.stdin.buffer)), sys.stdout.buffer)
    except KeyboardInterrupt:
        pass

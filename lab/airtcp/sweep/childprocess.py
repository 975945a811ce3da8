# SPDX-License-Identifier: GPL-2.0-only
"""Processes that execute runs. They end, and clean up, even if their parent is killed."""

import ctypes
import multiprocessing
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from airtcp import interrupts

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def forked(work: Callable[[], object]) -> tuple[BaseProcess, Connection]:
    """Call a function in a process that ends with this one; its result comes by the connection."""
    context = multiprocessing.get_context("fork")
    parent_end, child_end = context.Pipe(duplex=False)
    process = context.Process(target=_answer_with, args=(work, child_end, os.getpid()), daemon=True)
    # Python drops what arrives in the child before it has handled the fork.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    with child_end:
        try:
            process.start()
        except OSError:
            parent_end.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return process, parent_end


def _answer_with(work: Callable[[], object], answer: Connection, parent: int) -> None:
    """The main function of such a process."""
    with interrupts.exits_silently():
        end_with_parent(parent)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        answer.send(work())
        interrupts.at_end_of_child()


def end_with_parent(parent: int) -> None:
    """Interrupt this process when its parent terminates it or is killed.

    Only the parent handles Ctrl-C; it ends its workers by SIGTERM. This process is in its own
    group: if a signal killed it together with the parent's group, processes of its guest could
    survive.
    """
    os.setpgid(0, 0)
    interrupts.install_in_child()
    _prefer_for_oom_kill()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it was killed before prctl()
        raise KeyboardInterrupt


def _prefer_for_oom_kill() -> None:
    """Make Linux kill this process and its guest before the sweep when memory runs out."""
    badness = Path("/proc/self/oom_score_adj")
    with suppress(OSError):
        badness.write_text(str(max(500, int(badness.read_text()))))

# SPDX-License-Identifier: GPL-2.0-only
"""Adopts the orphaned descendants of a test, to see that all of them end."""

import ctypes
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


@contextmanager
def adopted() -> Iterator[None]:
    """Orphaned descendants become children of this process."""
    prctl = ctypes.CDLL(None).prctl
    assert prctl(PR_SET_CHILD_SUBREAPER, 1) == 0
    try:
        yield
    finally:
        prctl(PR_SET_CHILD_SUBREAPER, 0)


def wait_for_all(seconds: float = 30) -> None:
    """Wait until all children of this process have ended."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        assert pid or time.monotonic() < deadline, f"still running: {_children()}"
        time.sleep(0 if pid else 0.02)


def _children() -> list[str]:
    """The command lines of the children of this process."""
    pids = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ") for pid in pids]

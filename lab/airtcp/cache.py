# SPDX-License-Identifier: GPL-2.0-only
"""Where airtcp keeps what it can make again: kernels, guest programs, the Python environment."""

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from airtcp.errors import AirtcpError, InputError


def cache_dir() -> Path:
    """$AIRTCP_CACHE, else $XDG_CACHE_HOME/airtcp, else $HOME/.cache/airtcp (as in lab/setup.sh).

    InputError when none is set, or the kernel's build would refuse the path.
    """
    if own := os.environ.get("AIRTCP_CACHE"):
        path = Path(own)
    elif xdg := os.environ.get("XDG_CACHE_HOME"):
        path = Path(xdg, "airtcp")
    elif home := os.environ.get("HOME"):
        path = Path(home, ".cache", "airtcp")
    else:
        raise InputError(
            "no directory to keep kernels in: set HOME, or AIRTCP_CACHE to a directory"
        )
    path = path.absolute()
    if re.search(r"[\s:]", str(path)):
        raise InputError(
            f"{path}: the kernel does not build in a path with spaces or colons: set AIRTCP_CACHE "
            "to another"
        )
    return path


@contextmanager
def locked(path: Path, say: Callable[[str], None]) -> Iterator[int]:
    """Hold the lock file `path`; wait for another process that holds it, and say so.

    Yields its file descriptor: a process that inherits it holds the lock, too, until it ends.
    """
    make_dir(path.parent)
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another airtcp to finish ({path})")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


@contextmanager
def scratch_in(directory: Path) -> Iterator[Path]:
    """An empty directory there, gone afterwards, as are those that killed processes left.

    For one process at a time.
    """
    for left in directory.glob("tmp*"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="tmp", dir=directory) as scratch:
        yield Path(scratch)


def make_dir(path: Path) -> Path:
    """Make a directory and its parents; AirtcpError when that cannot be done."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AirtcpError(f"cannot make the directory {path}: {error.strerror}") from None
    return path

# SPDX-License-Identifier: GPL-2.0-only
"""Where airtcp keeps what it can make again: kernels, guest programs, the Python environment."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from airtcp.errors import AirtcpError

REPOSITORY = Path(__file__).resolve().parents[2]


def cache_dir() -> Path:
    """$AIRTCP_CACHE, else $XDG_CACHE_HOME/airtcp, else ~/.cache/airtcp (as in lab/setup.sh)."""
    if own := os.environ.get("AIRTCP_CACHE"):
        return Path(own).absolute()
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg).absolute() / "airtcp"
    return Path.home() / ".cache" / "airtcp"


@contextmanager
def locked(path: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock file `path`; wait for another process that holds it, and say so."""
    make_dir(path.parent)
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another airtcp to finish ({path})")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make_dir(path: Path) -> Path:
    """Make a directory and its parents; AirtcpError when that cannot be done."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AirtcpError(f"cannot make the directory {path}: {error.strerror}") from None
    return path

# SPDX-License-Identifier: GPL-2.0-only
"""The cache of everything that can be rebuilt: kernels, guest programs, the Python environment."""

import errno
import fcntl
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from airtcp.errors import AirtcpError, InputError


def cache_dir() -> Path:
    """$AIRTCP_CACHE, else $XDG_CACHE_HOME/airtcp, else $HOME/.cache/airtcp (as in lab/setup.sh).

    Raises InputError if none is set, or if the kernel cannot be built in the path.
    """
    if directory := os.environ.get("AIRTCP_CACHE"):
        path = Path(directory)
    elif xdg := os.environ.get("XDG_CACHE_HOME"):
        path = Path(xdg, "airtcp")
    elif home := os.environ.get("HOME"):
        path = Path(home, ".cache", "airtcp")
    else:
        raise InputError("no cache directory: set HOME, or set AIRTCP_CACHE to a directory")
    path = path.absolute()
    if re.search(r"[\s:]", str(path)):
        raise InputError(
            f"{path}: the kernel cannot be built in a path with spaces or colons; set AIRTCP_CACHE "
            "to another directory"
        )
    return path


@contextmanager
def locked(path: Path, say: Callable[[str], None]) -> Iterator[int]:
    """Hold the lock file `path`; if another process holds it, report that and wait.

    Yields its file descriptor; a process that inherits the descriptor also holds the lock until it
    exits.
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
    """Create an empty directory in `directory` and remove it afterwards.

    Also removes those that killed processes have left. For one process at a time.
    """
    for leftover in directory.glob("tmp*"):
        shutil.rmtree(leftover, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="tmp", dir=directory) as scratch:
        yield Path(scratch)


def require_writable(directory: Path, option: str = "") -> None:
    """Raise InputError unless files can be written to a directory, which may have to be created.

    Before work whose result is to be written there. option: its name, for the message.
    """
    places = (directory, *directory.absolute().parents)
    existing = next(path for path in places if os.path.lexists(path))
    try:
        if not stat.S_ISDIR(existing.stat().st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        check_writable(existing)
    except OSError as error:
        raise InputError(
            f"{option and f'{option} '}{directory}: {error.strerror}; give a directory that you "
            "can write"
        ) from None


def check_writable(directory: Path) -> None:
    """Raise OSError unless files can be created in an existing directory."""
    if os.access(directory, os.W_OK | os.X_OK):
        return
    is_read_only = os.statvfs(directory).f_flag & os.ST_RDONLY
    number = errno.EROFS if is_read_only else errno.EACCES
    raise OSError(number, os.strerror(number))


def make_dir(path: Path) -> Path:
    """Create a directory and its parents. Raises AirtcpError if that fails."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AirtcpError(f"cannot create the directory {path}: {error.strerror}") from None
    return path

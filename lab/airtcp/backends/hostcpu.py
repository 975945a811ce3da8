# SPDX-License-Identifier: GPL-2.0-only
"""Reserve a host processor for each guest.

User Mode Linux has one process for its kernel and one for each program in it, and only one of them
runs at any time. The host's scheduler nevertheless spreads them over its processors, where
switching from one to the next takes several times as long as on one processor. This doubles the
time of a run.

Abstract Unix sockets mark the processors in use. The host's kernel allows only one socket to have
a name, and frees the name when the process ends for any reason. All processes in a network
namespace see the same names, regardless of user.
"""

import ctypes
import errno
import itertools
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager


def default_jobs() -> int:
    """The default of --jobs: one for each processor that this process may use."""
    return len(os.sched_getaffinity(0))


@contextmanager
def reserved() -> Iterator[int]:
    """Yield the number of an allowed processor with the fewest guests.

    The current processor is preferred, because the host's scheduler has chosen it as idle. Guests
    that outnumber the processors share them: a guest that the scheduler migrates costs more.
    """
    here = _here()
    allowed = sorted(os.sched_getaffinity(0), key=lambda cpu: cpu != here)
    with socket.socket(socket.AF_UNIX) as mark:
        # Every processor gets a first guest before any gets a second one.
        for guest in itertools.count():
            for cpu in allowed:
                if _named(mark, f"airtcp-cpu-{cpu}-{guest}"):
                    yield cpu
                    return


def _named(mark: socket.socket, name: str) -> bool:
    """Bind the socket to an abstract name; False if the name is in use."""
    try:
        mark.bind(f"\0{name}")
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        return False
    return True


def _here() -> int:
    cpu: int = ctypes.CDLL(None).sched_getcpu()
    return cpu

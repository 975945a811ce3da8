# SPDX-License-Identifier: GPL-2.0-only
"""A processor of the host for each guest.

User Mode Linux is one process for its kernel and one for each program in it, and only one of them
runs at any time. The host's scheduler spreads them over its processors nonetheless, where handing
over to the next takes several times as long as on one: it doubles the time of a run.

Which processors have guests is told by abstract Unix sockets. The kernel lets one socket have a
name, and frees the name when its process ends, however it ends. All processes in a network
namespace see the same names, whoever their user.
"""

import ctypes
import errno
import itertools
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reserved() -> Iterator[int]:
    """The number of a processor that this process may use, of those with the fewest guests.

    The one that this process is on comes first: the host's scheduler has chosen it as idle. Guests
    that are more than processors share them: a guest that the scheduler moves about costs more.
    """
    here = _here()
    allowed = sorted(os.sched_getaffinity(0), key=lambda cpu: cpu != here)
    with socket.socket(socket.AF_UNIX) as mark:
        # The first guest of each before the second of any.
        for guest in itertools.count():
            for cpu in allowed:
                if _named(mark, f"airtcp-cpu-{cpu}-{guest}"):
                    yield cpu
                    return


def _named(mark: socket.socket, name: str) -> bool:
    """Give the socket an abstract name; False: another has it."""
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

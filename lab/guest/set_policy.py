# SPDX-License-Identifier: GPL-2.0-only
"""In the guest: gives every TCP socket of this network namespace an ACK policy, whoever has it.

The sysctl is for sockets that are made later; connections keep theirs but for this socket option.
"""

import ctypes
import os
import socket
import sys
from pathlib import Path

TCP_ACK_POLICY = 47  # include/uapi/linux/tcp.h
_PIDFD_GETFD = 438  # the number of the system call


def main(policy: str) -> None:
    here = Path("/proc/self/ns/net").readlink()
    libc = ctypes.CDLL(None, use_errno=True)
    for process in Path("/proc").iterdir():
        if not process.name.isdigit() or int(process.name) == os.getpid():
            continue
        try:
            if (process / "ns/net").readlink() != here:
                continue
            links = {int(fd.name): str(fd.readlink()) for fd in (process / "fd").iterdir()}
        except OSError:  # it has ended meanwhile
            continue
        holder = os.pidfd_open(int(process.name))
        for fd in (fd for fd, link in links.items() if link.startswith("socket:")):
            copy = libc.syscall(_PIDFD_GETFD, holder, fd, 0)
            if copy < 0:
                raise OSError(ctypes.get_errno(), f"socket {fd} of {process}")
            with socket.socket(fileno=copy) as one:
                if one.proto == socket.IPPROTO_TCP:
                    one.setsockopt(socket.IPPROTO_TCP, TCP_ACK_POLICY, policy.encode())


if __name__ == "__main__":
    main(sys.argv[1])

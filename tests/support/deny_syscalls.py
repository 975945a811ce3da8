# SPDX-License-Identifier: GPL-2.0-only
"""Run a command with some system calls denied by seccomp (EPERM), as in a container.

python deny_syscalls.py NAME[,NAME] COMMAND...
"""

import ctypes
import os
import struct
import sys

# From asm/unistd_64.h.
CALLS = {
    "socket": 41,
    "ptrace": 101,
    "prctl": 157,
    "sched_setaffinity": 203,
    "prlimit64": 302,
    "pidfd_open": 434,
}

_SET_NO_NEW_PRIVS, _SET_SECCOMP, _MODE_FILTER = 38, 22, 2  # linux/prctl.h, linux/seccomp.h
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06  # linux/bpf_common.h
_ALLOW, _DENY = 0x7FFF0000, 0x00050001  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO | EPERM


def deny(names: list[str]) -> None:
    """Make these system calls fail with EPERM in this process and its children."""
    instructions = [(_LOAD, 0, 0, 0)]
    for name in names:
        instructions += [(_EQUAL, 0, 1, CALLS[name]), (_RETURN, 0, 0, _DENY)]
    instructions.append((_RETURN, 0, 0, _ALLOW))
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(instructions), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        _SET_SECCOMP, _MODE_FILTER, program, 0, 0
    ):
        raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    deny(sys.argv[1].split(","))
    os.execvp(sys.argv[2], sys.argv[2:])

# SPDX-License-Identifier: GPL-2.0-only
"""What a host may deny a guest: memory, files, system calls. Each is one line, with its cure."""

import errno
import resource
import signal
from pathlib import Path

from airtcp.errors import CrowdedError, StopError, reason

_OPEN_FILES = 256

# How User Mode Linux ends when a page of its memory finds no room on the host.
_BUS_ERROR = f"Kernel mode signal {signal.SIGBUS.value}"

# What the first lines of a console say where the host refuses a system call.
_REFUSALS = {
    b"setpriv: ": "prctl(PR_SET_PDEATHSIG)",
    b"taskset: ": "sched_setaffinity",
    b"prlimit: ": "prlimit64",
    b"ptrace": "ptrace",
}


def allow_open_files() -> None:
    """Raise the limit for a guest: what its programs open, the host's process has open, too.

    StopError when that is not allowed.
    """
    try:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    except PermissionError:
        raise refused("prlimit64") from None
    if soft < _OPEN_FILES <= hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, hard))
    elif soft < _OPEN_FILES:
        raise StopError(f"a guest needs {_OPEN_FILES} open files, and ulimit -n is {soft}")


def oom_kills() -> int:
    """How many processes Linux has ended for lack of memory, since boot."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def blame(said: str, code: int, console: bytes, kills_before: int) -> None:
    """Raise StopError or CrowdedError if the host is at fault that a guest failed.

    said: how it ended; code: its return code; console: how its console begins; kills_before: what
    oom_kills() was when it started.
    """
    if code == -signal.SIGXFSZ:
        raise StopError(f"the guest's memory: {reason(OSError(errno.EFBIG, 'File too large'))}")
    if oom_kills() > kills_before or _BUS_ERROR in said:
        raise CrowdedError(f"this machine has not enough memory for the guest: {said}")
    for sign, call in _REFUSALS.items():
        if sign in console:
            raise refused(call)


def refused(call: str) -> StopError:
    """This machine does not let a guest use a system call."""
    cure = "in a container allow it (docker run --security-opt seccomp=unconfined)"
    if call == "ptrace":
        cure = (
            "set the sysctl kernel.yama.ptrace_scope to 0 or 1; in a container allow it "
            "(docker run --cap-add SYS_PTRACE)"
        )
    return StopError(f"this machine refuses guests the system call {call}: {cure}")


def ended_by(code: int) -> str:
    """The signal that a negative return code stands for, and what that may mean."""
    hint = " (out of memory, most likely)" if code == -signal.SIGKILL else ""
    return f"ended by {signal.Signals(-code).name}{hint}"

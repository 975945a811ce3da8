# SPDX-License-Identifier: GPL-2.0-only
"""Host limits that stop guests: memory, files, system calls; each error names the remedy."""

import ctypes
import errno
import resource
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from airtcp.errors import CrowdedError, StopError, reason

_OPEN_FILES = 256
_PR_GET_PDEATHSIG = 2  # linux/prctl.h

# A guest gets SIGBUS if the host has no room for a page of its memory: its kernel, one of its
# programs, or the first of them.
_BUS_ERRORS = (
    f"Kernel mode signal {signal.SIGBUS.value}",
    f"exit code {128 + signal.SIGBUS}",
    f"exitcode=0x{signal.SIGBUS.value:08x}",
)

# Text in the first lines of a console -> the system call that the host rejects.
_REFUSALS = {
    b"taskset: ": "sched_setaffinity",
    b"prlimit: ": "prlimit64",
    b"ptrace": "ptrace",
}


def allow_open_files() -> None:
    """Raise the limit on open files: the host process also has the guest's open files open.

    Raises StopError if that is not permitted.
    """
    try:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    except PermissionError:
        raise refused("prlimit64") from None
    if soft < _OPEN_FILES <= hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, hard))
    elif soft < _OPEN_FILES:
        raise StopError(f"a guest needs {_OPEN_FILES} open files, but ulimit -n is {soft}")


def require_prctl() -> None:
    """Raise StopError if prctl is not permitted: User Mode Linux calls it for each process."""
    if ctypes.CDLL(None).prctl(_PR_GET_PDEATHSIG, ctypes.byref(ctypes.c_int())):
        raise refused("prctl")


def oom_kills() -> int:
    """Number of processes that the OOM killer has killed since boot."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def available_memory() -> list[tuple[int, str]]:
    """Memory in MB that processes can still get, with a description, from each limit of the host.

    The limits are MemAvailable and the memory cgroups (version 1 or 2) of this process. Empty if
    none can be read.
    """
    limits = []
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        text = next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))
        limits.append((int(text) >> 10, f"{int(text) >> 10:,} MB of memory are available"))
    for group, files in _memory_groups():
        with suppress(OSError, ValueError):  # without a limit, version 2 has the word max
            left_mb = _available_bytes(group, *files) >> 20
            limits.append((left_mb, f"the memory cgroup {group} has {left_mb:,} MB left"))
    return limits


_CGROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")

# Files of a memory cgroup of version 2 and 1: its limit, its usage, and the beginning of the keys
# of memory.stat that include the groups in it.
_VERSION_2 = ("memory.max", "memory.current", "")
_VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")


def _memory_groups() -> Iterator[tuple[Path, tuple[str, str, str]]]:
    """The memory cgroups of this process, and the names of their files."""
    with suppress(OSError, ValueError):
        for line in _OWN_GROUPS.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and "memory" not in controllers.split(","):
                continue
            root = _CGROUPS / "memory" if controllers else _CGROUPS
            inner = root / path.lstrip("/")
            for group in (inner, *inner.parents):
                if group.is_relative_to(root):
                    yield group, _VERSION_1 if controllers else _VERSION_2


def _available_bytes(group: Path, limit: str, usage: str, prefix: str) -> int:
    """Memory in bytes that a cgroup has left. Linux reclaims the cache of files."""
    rows = [line.split() for line in (group / "memory.stat").read_text().splitlines()]
    cache = {f"{prefix}inactive_file", f"{prefix}active_file"}
    reclaimable = sum(int(value) for name, value in rows if name in cache)
    used = int((group / usage).read_text()) - reclaimable
    return max(0, int((group / limit).read_text()) - used)


def raise_if_host_failed(failure: str, code: int, console: bytes, kills_before: int) -> None:
    """Raise StopError or CrowdedError if the host caused the failure of a guest.

    failure: the reason of its GuestResult; code: its return code; console: the beginning of its
    console; kills_before: oom_kills() when it started.
    """
    if code == -signal.SIGXFSZ:
        raise StopError(f"the guest's memory: {reason(OSError(errno.EFBIG, 'File too large'))}")
    if oom_kills() > kills_before or any(sign in failure for sign in _BUS_ERRORS):
        raise CrowdedError(f"this machine does not have enough memory for the guest: {failure}")
    for sign, call in _REFUSALS.items():
        if sign in console:
            raise refused(call)


def refused(call: str) -> StopError:
    """The error for a system call that this machine does not permit."""
    remedy = "in a container, allow it (docker run --security-opt seccomp=unconfined)"
    if call == "ptrace":
        remedy = (
            "set the sysctl kernel.yama.ptrace_scope to 0 or 1; in a container, allow it "
            "(docker run --cap-add SYS_PTRACE)"
        )
    return StopError(f"this machine does not permit guests the system call {call}: {remedy}")


def ended_by(code: int) -> str:
    """Describe the signal of a negative return code, with its likely cause."""
    hint = " (probably out of memory)" if code == -signal.SIGKILL else ""
    return f"killed by {signal.Signals(-code).name}{hint}"

# SPDX-License-Identifier: GPL-2.0-only
"""Boot the laboratory's kernel in User Mode Linux, run a plan and report how it ended.

The guest is one process group on the host. It is isolated from everything on the host that could
change its behaviour: the same kernel, tools, plan and seed give the same run, byte for byte,
regardless of directory, user and load. For this reason the guest accesses host paths through
/proc/self/cwd (a string of fixed length), and the environment is fixed.
"""

import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from airtcp import interrupts
from airtcp.backends import console, hostcpu, hostlimits
from airtcp.backends.base import GuestResult, run_guest
from airtcp.backends.guesttools import GuestTools
from airtcp.errors import AirtcpError, CrowdedError
from airtcp.kernel.image import Kernel
from airtcp.kernel.ports import has_policies
from airtcp.paths import GUEST_DIR, RUN_DIR_IN_GUEST

EPOCH_NS = 1_735_689_600_000_000_000
"""The guest's clock at boot: 2025-01-01 00:00:00 UTC."""

# As mounted by the guest: the only host directory that it can write to.
_RUN_DIR = "/proc/self/cwd/run/."

_PREFIX = "airtcp-"
"""Prefix of a guest's directory in one of _memory_dirs()."""

_FIRST_STEPS = (
    "PATH=/usr/sbin:/usr/bin:/sbin:/bin;"
    "mount -t tmpfs tmpfs /run &&"
    f"mkdir {RUN_DIR_IN_GUEST} {GUEST_DIR} &&"
    # Whether a read updates the access time would depend on the host: disabled.
    f"mount -t hostfs -o noatime,{_RUN_DIR} none {RUN_DIR_IN_GUEST} &&"
    f"mount -t hostfs -o ro,/proc/self/cwd/tools/. none {GUEST_DIR} &&"
    f"exec {GUEST_DIR}/init"
)


def boot(
    kernel: Kernel,
    tools: GuestTools,
    run_dir: Path,
    *,
    seed: int,
    memory_mb: int = 512,
    timeout_wall_s: float,
    timeout_virtual_s: Callable[[], float] = lambda: math.inf,
    root: Path = Path("/"),
    interactive: bool = False,
    on_progress: Callable[[float], None] | None = None,
    parameters: Sequence[str] = (),
) -> GuestResult:
    """Run run_dir/plan.sh in a guest and wait until it ends.

    In the guest, run_dir is writable at RUN_DIR_IN_GUEST (the working directory) and the tools are
    at GUEST_DIR. The console is written to run_dir/console.log. on_progress is called with the
    virtual seconds since boot, a few times per second. root: the root file system, read-only.
    `interactive` gives the guest the user's terminal and real instead of virtual time. parameters:
    added to the kernel's command line. The guest is killed after a limit of the host's time, or of
    virtual time since boot. The failure of a guest is reported by the status of the result, not by
    an exception. Raises StopError or CrowdedError if this machine cannot run the guest, or not
    together with the current number of others.
    """
    hostlimits.allow_open_files()
    hostlimits.require_prctl()
    kills = hostlimits.oom_kills()
    with _scratch(run_dir, tools, root, memory_mb) as scratch, hostcpu.reserved() as cpu:
        command = _command(kernel, seed, memory_mb, interactive, cpu, parameters)
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(scratch), "TMPDIR": str(scratch)}
        result = run_guest(
            command,
            scratch,
            environment,
            run_dir,
            timeout_wall_s,
            interactive,
            on_progress,
            timeout_virtual_s,
        )
        console.remove_warning(result.console, scratch)
    if result.status != "ok":
        begun = result.exit_code is not None
        first = b"" if begun else console.beginning(result.console)
        hostlimits.raise_if_host_failed(result.reason, result.code, first, kills)
    return result


def remove_leftovers(run_dir: Path) -> None:
    """Remove the directories of guests of a run whose airtcp process was killed."""
    for directory in _memory_dirs():
        for scratch in directory.glob(f"{_PREFIX}*"):
            try:
                if (scratch / "run").readlink() == run_dir.resolve():
                    shutil.rmtree(scratch, ignore_errors=True)
            except OSError:
                continue


def memory_dir(memory_mb: int) -> Path:
    """Return a directory for the guest's memory file that has room and allows executable mappings.

    /dev/shm is preferred, because a file on disk is written back; otherwise the directory for
    temporary files. Raises CrowdedError if neither is suitable.
    """
    return _memory_dir(memory_mb)[0]


def memory_room(memory_mb: int) -> tuple[int, str]:
    """Memory in MB for guests of which one has this memory, and what limits it.

    The least of the free space in memory_dir() and of the memory that the host has available.
    Raises CrowdedError as memory_dir() does.
    """
    directory, free_mb = _memory_dir(memory_mb)
    rooms = [*hostlimits.available_memory(), (free_mb, f"{directory} has {free_mb:,} MB free")]
    return min(rooms)


def _memory_dir(memory_mb: int) -> tuple[Path, int]:
    """The directory, and its free space in MB."""
    candidates = _memory_dirs()
    for directory in candidates:
        try:
            stat = os.statvfs(directory)
        except OSError:
            continue
        free_mb = stat.f_bavail * stat.f_frsize >> 20
        usable = not stat.f_flag & os.ST_NOEXEC and os.access(directory, os.W_OK | os.X_OK)
        if usable and free_mb >= memory_mb:
            return directory, free_mb
    raise CrowdedError(
        f"a guest needs {memory_mb} MB on a writable file system without noexec, which neither "
        f"{' nor '.join(map(str, candidates))} has; set TMPDIR to a directory on one"
    )


def _memory_dirs() -> list[Path]:
    return [Path("/dev/shm"), Path(tempfile.gettempdir())]


@cache
def can_fix_addresses() -> bool:
    """Whether the host allows address randomization to be disabled for a process.

    If it does not (some containers), guests run, but no two runs are identical: the guest kernel's
    memory starts after the heap of the host process, at a random address.
    """
    return subprocess.run(["setarch", "-R", "true"], capture_output=True).returncode == 0


def _command(
    kernel: Kernel,
    seed: int,
    memory_mb: int,
    interactive: bool,
    cpu: int,
    parameters: Sequence[str],
) -> list[str]:
    clock = [] if interactive else ["time-travel=inf-cpu", f"time-travel-start={EPOCH_NS}"]
    mode = ["AIRTCP_INTERACTIVE=1"] if interactive else []
    # In a terminal, changes on the host are seen; the ports to other versions have no such flag.
    keep = ",keep" if not interactive and has_policies(kernel.version) else ""
    return [
        *("taskset", "-c", str(cpu)),
        # A panic aborts: do not write the guest's memory to a core file.
        *("prlimit", "--core=0"),
        *(("setarch", "-R") if can_fix_addresses() else ()),
        str(kernel.path.absolute()),
        # The plan creates the radios.
        "airsim.radios=0",
        *(f"mem={memory_mb}M", "rootfstype=hostfs", "rootflags=/proc/self/cwd/root/.", "ro"),
        f"hostfs=,writable={_RUN_DIR}{keep}",
        *(*clock, f"rng_seed={seed}", "norandmaps", "umid=airtcp"),
        *("con=null", "con0=fd:0,fd:1", "quiet", "loglevel=5", "panic=-1", *mode),
        # For each tcpwatch sample, sock_diag walks all hash buckets; few are needed.
        "thash_entries=256",
        *parameters,
        *("init=/bin/sh", "--", "-c", f'"{_FIRST_STEPS}"'),
    ]


@contextmanager
def _scratch(run_dir: Path, tools: GuestTools, root: Path, memory_mb: int) -> Iterator[Path]:
    """Create the working directory of the host process, with links to what the guest may access.

    It is also HOME and TMPDIR, so that guests do not share files.
    """
    where = memory_dir(memory_mb)
    scratch = None
    try:
        with interrupts.deferred():  # an interrupt must not leave the directory behind
            scratch = _make_scratch(where)
        (scratch / "run").symlink_to(run_dir.resolve())
        (scratch / "tools").symlink_to(tools.directory.resolve())
        (scratch / "root").symlink_to(root.resolve())
        yield scratch
    finally:
        with interrupts.deferred():
            if scratch:
                shutil.rmtree(scratch, ignore_errors=True)


def _make_scratch(where: Path) -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=where))
    except OSError as error:
        raise AirtcpError(f"cannot create a directory in {where}: {error.strerror}") from None

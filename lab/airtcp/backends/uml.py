# SPDX-License-Identifier: GPL-2.0-only
"""Boot the laboratory kernel, let it run a plan, say how it ended.

The guest is one process group on the host. Nothing of this machine that could change the
guest's behaviour reaches it: the same kernel, tools, plan and seed give the same run, byte for
byte, whatever the directory, the user or the load. That is why the paths of the host are
reached through /proc/self/cwd (a fixed string of fixed length) and why the environment is fixed.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from airtcp.backends import console, hostcpu, hostlimits
from airtcp.backends.base import GuestResult, run_guest
from airtcp.backends.guesttools import GuestTools
from airtcp.errors import AirtcpError, CrowdedError
from airtcp.kernel.image import Kernel
from airtcp.paths import GUEST_DIR, RUN_DIR_IN_GUEST

EPOCH_NS = 1_735_689_600_000_000_000
"""The guest's clock at boot: 2025-01-01 00:00:00 UTC."""

# As the guest mounts it: the only directory of the host that it may write to.
_RUN_DIR = "/proc/self/cwd/run/."

_PREFIX = "airtcp-"
"""How a guest's directory begins, in those of _memory_dirs()."""

_FIRST_STEPS = (
    "PATH=/usr/sbin:/usr/bin:/sbin:/bin;"
    "mount -t tmpfs tmpfs /run &&"
    f"mkdir {RUN_DIR_IN_GUEST} {GUEST_DIR} &&"
    # Whether a read changes a file's access time hangs on the host: none does.
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
    interactive: bool = False,
    on_progress: Callable[[float], None] | None = None,
) -> GuestResult:
    """Run run_dir/plan.sh in a guest and wait until it has ended.

    The guest finds run_dir, writable, at RUN_DIR_IN_GUEST (its working directory) and the tools
    at GUEST_DIR. Its console is kept in run_dir/console.log. on_progress gets the virtual seconds
    since boot, a few times a second. `interactive` gives the guest the user's terminal, and real
    instead of virtual time. A guest that fails is no exception: the status says it. Raises
    StopError or CrowdedError when this machine cannot run it, or not beside so many others.
    """
    hostlimits.allow_open_files()
    kills = hostlimits.oom_kills()
    with _scratch(run_dir, tools, memory_mb) as scratch, hostcpu.reserved() as cpu:
        command = _command(kernel, seed, memory_mb, interactive, cpu)
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(scratch), "TMPDIR": str(scratch)}
        result = run_guest(
            command, scratch, environment, run_dir, timeout_wall_s, interactive, on_progress
        )
        console.remove_warning(result.console, scratch)
    if result.status != "ok":
        begun = result.exit_code is not None
        first = b"" if begun else console.beginning(result.console)
        hostlimits.blame(result.reason, result.code, first, kills)
    return result


def remove_leftovers(run_dir: Path) -> None:
    """Remove what the guest of a run has left, whose process was killed: it ends with it."""
    for directory in _memory_dirs():
        for scratch in directory.glob(f"{_PREFIX}*"):
            try:
                if (scratch / "run").readlink() == run_dir.resolve():
                    shutil.rmtree(scratch, ignore_errors=True)
            except OSError:
                continue


def memory_dir(memory_mb: int) -> Path:
    """A directory for the guest's memory file: it must allow programs to be mapped, and hold it.

    /dev/shm when it will do, for a file on disk is written back; else the directory for temporary
    files. CrowdedError when neither will do, or has not so much free.
    """
    candidates = _memory_dirs()
    for directory in candidates:
        try:
            stat = os.statvfs(directory)
        except OSError:
            continue
        free_mb = stat.f_bavail * stat.f_frsize >> 20
        usable = not stat.f_flag & os.ST_NOEXEC and os.access(directory, os.W_OK | os.X_OK)
        if usable and free_mb >= memory_mb:
            return directory
    raise CrowdedError(
        f"a guest needs {memory_mb} MB on a file system that is writable and without noexec, and "
        f"neither {' nor '.join(map(str, candidates))} has that: set TMPDIR to a directory that has"
    )


def _memory_dirs() -> list[Path]:
    return [Path("/dev/shm"), Path(tempfile.gettempdir())]


@cache
def can_fix_addresses() -> bool:
    """Whether the host lets a process have the same addresses in every run.

    Where it does not (some containers), guests run, but never twice alike: the kernel's memory
    begins after the host process's heap, wherever that is.
    """
    return subprocess.run(["setarch", "-R", "true"], capture_output=True).returncode == 0


def _command(kernel: Kernel, seed: int, memory_mb: int, interactive: bool, cpu: int) -> list[str]:
    clock = [] if interactive else ["time-travel=inf-cpu", f"time-travel-start={EPOCH_NS}"]
    mode = ["AIRTCP_INTERACTIVE=1"] if interactive else []
    return [
        # A guest ends with whoever waits for it, even one that is killed.
        *("setpriv", "--pdeathsig", "KILL"),
        *("taskset", "-c", str(cpu)),
        # A panic aborts; nobody wants a core file of the guest's memory.
        *("prlimit", "--core=0"),
        *(("setarch", "-R") if can_fix_addresses() else ()),
        str(kernel.path.absolute()),
        # The plan makes its radios itself.
        "airsim.radios=0",
        *(f"mem={memory_mb}M", "rootfstype=hostfs", "rootflags=/", "ro"),
        f"hostfs=,writable={_RUN_DIR}",
        *(*clock, f"rng_seed={seed}", "norandmaps", "umid=airtcp"),
        *("con=null", "con0=fd:0,fd:1", "quiet", "panic=-1", *mode),
        # tcpwatch's question goes through all buckets of connections, of which there are few.
        "thash_entries=256",
        *("init=/bin/sh", "--", "-c", f'"{_FIRST_STEPS}"'),
    ]


@contextmanager
def _scratch(run_dir: Path, tools: GuestTools, memory_mb: int) -> Iterator[Path]:
    """The working directory of the host's process: doors to what the guest may see.

    Also its HOME and TMPDIR, so that two guests never meet.
    """
    where = memory_dir(memory_mb)
    try:
        scratch = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=where))
    except OSError as error:
        raise AirtcpError(f"cannot make a directory in {where}: {error.strerror}") from None
    try:
        (scratch / "run").symlink_to(run_dir.resolve())
        (scratch / "tools").symlink_to(tools.directory.resolve())
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)

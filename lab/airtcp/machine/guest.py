# SPDX-License-Identifier: GPL-2.0-only
"""Boot the laboratory kernel, let it run a plan, say how it ended.

The guest is one process group on the host. Nothing of this machine that could change the
guest's behaviour reaches it: the same kernel, tools, plan and seed give the same run, byte for
byte, whatever the directory, the user or the load. That is why the paths of the host are
reached through /proc/self/cwd (a fixed string of fixed length) and why the environment is fixed.
"""

import os
import select
import shutil
import signal
import subprocess
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from airtcp.errors import AirtcpError, CrowdedError, InputError
from airtcp.kernel.image import Kernel
from airtcp.machine import console, hostcpu, hostlimits
from airtcp.machine.guesttools import GuestTools
from airtcp.paths import GUEST_DIR, RUN_DIR_IN_GUEST

EPOCH_NS = 1_735_689_600_000_000_000
"""The guest's clock at boot: 2025-01-01 00:00:00 UTC."""

_POLL_S = 0.25

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

Status = Literal["ok", "failed", "panic", "timeout"]


@dataclass(frozen=True)
class GuestResult:
    """How a guest ended.

    exit_code is that of plan.sh (None when it never ended); wall_s and cpu_s (user and system time
    of all its processes) are seconds of the host; reason is one line, empty when all went well;
    code is what the host's process ended with, negative the signal that ended it.
    """

    status: Status
    exit_code: int | None
    wall_s: float
    cpu_s: float
    console: Path
    reason: str
    code: int = 0


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


def run_guest(
    command: list[str],
    directory: Path,
    environment: dict[str, str],
    run_dir: Path,
    timeout_wall_s: float,
    interactive: bool = False,
    on_progress: Callable[[float], None] | None = None,
) -> GuestResult:
    """Run the process that is a guest, in a directory, until its end; the rest is as in boot()."""
    if not (run_dir / "plan.sh").is_file():
        raise InputError(f"{run_dir}: no plan.sh in it")
    for name in ("exit", "progress"):
        (run_dir / name).unlink(missing_ok=True)
    log = run_dir / "console.log"
    began = time.monotonic()
    if interactive:
        code, cpu_s, timed_out = _attend(command, directory, environment)
        log.write_text("(the console of an interactive guest is not kept)\n")
    else:
        watch = _progress_reader(run_dir, on_progress)
        code, cpu_s, timed_out = _wait(command, directory, environment, log, timeout_wall_s, watch)
    wall_s = time.monotonic() - began
    exit_code = _plan_exit_code(run_dir)
    status, said = _verdict(log, exit_code, code, timed_out, timeout_wall_s)
    return GuestResult(status, exit_code, wall_s, cpu_s, log, said, code)


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


def _wait(
    command: list[str],
    directory: Path,
    environment: dict[str, str],
    log_path: Path,
    timeout_wall_s: float,
    watch: Callable[[], None],
) -> tuple[int, float, bool]:
    """Run until the end or the timeout: wait status, CPU seconds, whether time ran out."""
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline = time.monotonic() + timeout_wall_s
    timed_out = False
    try:
        with _end_of(process) as ended:
            while not ended.poll(_POLL_S * 1000):
                watch()
                if console.too_long(log_path):
                    break
                if time.monotonic() > deadline:
                    timed_out = True
                    break
    finally:
        code, cpu_s = _reap(process)
    return code, cpu_s, timed_out


@contextmanager
def _end_of(process: "subprocess.Popen[bytes]") -> "Iterator[select.poll]":
    try:
        pidfd = os.pidfd_open(process.pid)
    except PermissionError:
        raise hostlimits.refused("pidfd_open") from None
    try:
        ended = select.poll()
        ended.register(pidfd, select.POLLIN)
        yield ended
    finally:
        os.close(pidfd)


def _attend(
    command: list[str], directory: Path, environment: dict[str, str]
) -> tuple[int, float, bool]:
    """Give the guest the terminal until it ends; put the terminal back as it was."""
    if not os.isatty(0):
        raise InputError("an interactive guest needs a terminal on standard input")
    settings = termios.tcgetattr(0)
    # A group of its own: a guest that panics ends its whole process group.
    process = subprocess.Popen(command, cwd=directory, env=environment, process_group=0)
    ignored = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        os.tcsetpgrp(0, process.pid)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    finally:
        os.tcsetpgrp(0, os.getpgrp())
        termios.tcsetattr(0, termios.TCSADRAIN, settings)
        signal.signal(signal.SIGTTOU, ignored)
        code, cpu_s = _reap(process)
    return code, cpu_s, False


def _reap(process: "subprocess.Popen[bytes]") -> tuple[int, float]:
    """End the process group: its leader's wait status, the CPU seconds of all it waited for."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    _, code, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(code)
    return process.returncode, usage.ru_utime + usage.ru_stime


def _progress_reader(
    run_dir: Path, on_progress: Callable[[float], None] | None
) -> Callable[[], None]:
    def read() -> None:
        try:
            virtual_s = float((run_dir / "progress").read_text())
        except (OSError, ValueError):
            return  # not there yet, or being written
        if on_progress:
            on_progress(virtual_s)

    return read


def _plan_exit_code(run_dir: Path) -> int | None:
    try:
        return int((run_dir / "exit").read_text())
    except (OSError, ValueError):
        return None


def _verdict(
    log: Path, exit_code: int | None, code: int, timed_out: bool, timeout_wall_s: float
) -> tuple[Status, str]:
    if console.too_long(log):
        console.cut(log)
        return "failed", (
            f"the guest wrote more than {console.LIMIT_MB} MB to its console and was ended; its "
            f"end is kept (console: {log})"
        )
    panic, last = console.read(log)
    if panic:
        return "panic", f"{panic} (console: {log})"
    if timed_out:
        return "timeout", f"not finished after {timeout_wall_s:g} s (console: {log})"
    said = f"the console's last line is: {last} (console: {log})"
    if exit_code is None:
        early = f"was {hostlimits.ended_by(code)}" if code < 0 else f"ended early (code {code})"
        return "failed", f"the guest {early}; {said}"
    if exit_code != 0:
        return "failed", f"plan.sh ended with {exit_code}; {said}"
    return "ok", ""

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

from airtcp.errors import AirtcpError, InputError
from airtcp.linux.kernel import Kernel
from airtcp.machine import hostcpu
from airtcp.machine.guesttools import GUEST_DIR, GuestTools

RUN_DIR_IN_GUEST = "/run/airtcp"

EPOCH_NS = 1_735_689_600_000_000_000
"""The guest's clock at boot: 2025-01-01 00:00:00 UTC."""

_POLL_S = 0.25

# As the guest mounts it: the only directory of the host that it may write to.
_RUN_DIR = "/proc/self/cwd/run/."

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
    of all its processes) are seconds of the host; reason is one line, empty when all went well.
    """

    status: Status
    exit_code: int | None
    wall_s: float
    cpu_s: float
    console: Path
    reason: str


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
    instead of virtual time. A guest that fails is no exception: the status says it.
    """
    with _scratch(run_dir, tools, memory_mb) as scratch, hostcpu.reserved() as cpu:
        command = _command(kernel, seed, memory_mb, interactive, cpu)
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(scratch), "TMPDIR": str(scratch)}
        return run_guest(
            command, scratch, environment, run_dir, timeout_wall_s, interactive, on_progress
        )


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
    console = run_dir / "console.log"
    began = time.monotonic()
    if interactive:
        code, cpu_s, timed_out = _attend(command, directory, environment)
        console.write_text("(the console of an interactive guest is not kept)\n")
    else:
        watch = _progress_reader(run_dir, on_progress)
        code, cpu_s, timed_out = _wait(
            command, directory, environment, console, timeout_wall_s, watch
        )
    wall_s = time.monotonic() - began
    exit_code = _plan_exit_code(run_dir)
    status, reason = _verdict(console, exit_code, code, timed_out, timeout_wall_s)
    return GuestResult(status, exit_code, wall_s, cpu_s, console, reason)


def memory_dir(memory_mb: int) -> Path:
    """A directory for the guest's memory file: it must allow programs to be mapped, and hold it.

    /dev/shm when it will do, for a file on disk is written back; else the directory for temporary
    files. AirtcpError when neither will do.
    """
    candidates = [Path("/dev/shm"), Path(tempfile.gettempdir())]
    for directory in candidates:
        try:
            stat = os.statvfs(directory)
        except OSError:
            continue
        free_mb = stat.f_bavail * stat.f_frsize >> 20
        if not stat.f_flag & os.ST_NOEXEC and free_mb >= memory_mb:
            return directory
    raise AirtcpError(
        f"a guest needs {memory_mb} MB on a file system without noexec, and neither "
        f"{' nor '.join(map(str, candidates))} has that: set TMPDIR to a directory that has"
    )


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
        scratch = Path(tempfile.mkdtemp(prefix="airtcp-", dir=where))
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
    console: Path,
    timeout_wall_s: float,
    watch: Callable[[], None],
) -> tuple[int, float, bool]:
    """Run until the end or the timeout: wait status, CPU seconds, whether time ran out."""
    with console.open("wb") as log:
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
    ended = select.poll()
    pidfd = os.pidfd_open(process.pid)
    try:
        ended.register(pidfd, select.POLLIN)
        while not ended.poll(_POLL_S * 1000):
            watch()
            if time.monotonic() > deadline:
                timed_out = True
                break
    finally:
        os.close(pidfd)
        code, cpu_s = _reap(process)
    return code, cpu_s, timed_out


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
    console: Path, exit_code: int | None, code: int, timed_out: bool, timeout_wall_s: float
) -> tuple[Status, str]:
    text = console.read_text(errors="replace")
    lines = [line.strip() for line in text.splitlines() if "reboot: Power down" not in line]
    panics = [line for line in lines if "Kernel panic" in line]
    if panics:
        return "panic", f"{panics[0]} (console: {console})"
    if timed_out:
        return "timeout", f"not finished after {timeout_wall_s:g} s (console: {console})"
    last = next((line for line in reversed(lines) if line), "nothing")
    said = f"the console's last line is: {last} (console: {console})"
    if exit_code is None:
        return "failed", f"the guest ended early (code {code}); {said}{_full_disk(console)}"
    if exit_code != 0:
        return "failed", f"plan.sh ended with {exit_code}; {said}{_full_disk(console)}"
    return "ok", ""


def _full_disk(path: Path) -> str:
    stat = os.statvfs(path.parent)
    if stat.f_bavail * stat.f_frsize < 1 << 20:
        return f"; the disk is full ({path.parent})"
    return ""

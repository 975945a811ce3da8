# SPDX-License-Identifier: GPL-2.0-only
"""Run a guest, a host process that executes the plan of a run, and report how it ended.

uml.py defines the process, and tests/support/qemu.py one for tests.
"""

import math
import os
import select
import signal
import stat
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from airtcp import interrupts
from airtcp.backends import console, hostlimits
from airtcp.errors import InputError

_POLL_S = 0.25

# Longer than a poll ever takes: this process was stopped, perhaps with the guest (Ctrl-Z, a paused
# container, a preempted job). That time does not count.
_PAUSE_S = 10

STALLED = "a transfer has stalled, for example because a station is out of reach"
"""Why a run does not end."""

# A shell that becomes the command. Its standard error is a pipe that ends with this process, even
# if this process is killed; then the child of the shell kills the process group.
_WATCHED = ("sh", "-c", '{ read -r _ <&2; kill -KILL 0; } & exec "$@" 2>&1', "sh")

Status = Literal["ok", "failed", "panic", "timeout"]


@dataclass(frozen=True)
class GuestResult:
    """How a guest ended.

    exit_code is that of plan.sh (None if it did not finish). wall_s and cpu_s (user and system time
    of all its processes) are host seconds. reason is one line, empty on success. code is the return
    code of the host process, or the negative number of the signal that killed it.
    """

    status: Status
    exit_code: int | None
    wall_s: float
    cpu_s: float
    console: Path
    reason: str
    code: int = 0


def run_guest(
    command: list[str],
    directory: Path,
    environment: dict[str, str],
    run_dir: Path,
    timeout_wall_s: float,
    interactive: bool = False,
    on_progress: Callable[[float], None] | None = None,
    timeout_virtual_s: Callable[[], float] = lambda: math.inf,
) -> GuestResult:
    """Run the process of a guest in a directory until it ends; other arguments as in boot()."""
    if not (run_dir / "plan.sh").is_file():
        raise InputError(f"{run_dir}: contains no plan.sh")
    for name in ("exit", "progress"):
        (run_dir / name).unlink(missing_ok=True)
    log = run_dir / console.FILE
    began = time.monotonic()
    if interactive:
        code, cpu_s = _lend_terminal(command, directory, environment)
        exceeded = None
        log.write_text("(the console of an interactive guest is not recorded)\n")
    else:

        def watch() -> float:
            virtual_s = virtual_time_s(run_dir)
            if virtual_s is None:
                return 0.0
            if on_progress:
                on_progress(virtual_s)
            return virtual_s

        limits_s = timeout_wall_s, timeout_virtual_s
        code, cpu_s, exceeded = _wait(command, directory, environment, log, limits_s, watch)
    wall_s = time.monotonic() - began
    exit_code = _plan_exit_code(run_dir)
    status, explanation = _verdict(log, exit_code, code, exceeded)
    return GuestResult(status, exit_code, wall_s, cpu_s, log, explanation, code)


def _wait(
    command: list[str],
    directory: Path,
    environment: dict[str, str],
    log_path: Path,
    limits_s: tuple[float, Callable[[], float]],
    watch: Callable[[], float],
) -> tuple[int, float, str | None]:
    """Run until the end or a limit; return code, CPU seconds, the exceeded limit as text.

    limits_s: of the host's time, and of virtual time, which watch returns; the latter may change.
    """
    wall_s, virtual_s = limits_s
    checked = time.monotonic()
    deadline = checked + wall_s
    exceeded = None
    options = {"stdin": subprocess.DEVNULL, "start_new_session": True}
    with (
        log_path.open("wb") as log,
        _group(command, directory, environment, options | {"stdout": log}) as process,
    ):
        try:
            with _end_of(process) as ended:
                while not ended.poll(_POLL_S * 1000):
                    interrupts.check()
                    reached_s = watch()
                    before, checked = checked, time.monotonic()
                    if checked - before > _PAUSE_S:
                        deadline += checked - before
                    if console.too_long(log_path):
                        break
                    if reached_s > (limit_s := virtual_s()):
                        exceeded = f"{limit_s:g} s of virtual time; {STALLED}"
                    elif checked > deadline:
                        at = f"at {reached_s:g} s of virtual time"
                        exceeded = f"{wall_s:g} s of the host's time, {at}"
                    if exceeded:
                        break
        finally:
            code, cpu_s = _reap(process)
    return code, cpu_s, exceeded


@contextmanager
def _group(
    command: list[str], directory: Path, environment: dict[str, str], options: dict[str, Any]
) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a command in its own process group, which ends when this block or this process does.

    options: of subprocess.Popen, which make it the leader of its group.
    """
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "wb"):
        with os.fdopen(read_end, "rb"):
            process = subprocess.Popen(
                [*_WATCHED, *command], cwd=directory, env=environment, stderr=read_end, **options
            )
        yield process


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


def _lend_terminal(
    command: list[str], directory: Path, environment: dict[str, str]
) -> tuple[int, float]:
    """Give the terminal to the guest until it ends, then restore its settings."""
    if not os.isatty(0):
        raise InputError("an interactive guest requires a terminal on standard input")
    settings = termios.tcgetattr(0)
    # A separate process group: a guest that panics kills its whole group.
    with _group(command, directory, environment, {"process_group": 0}) as process:
        ignored = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            os.tcsetpgrp(0, process.pid)
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        finally:
            os.tcsetpgrp(0, os.getpgrp())
            termios.tcsetattr(0, termios.TCSADRAIN, settings)
            signal.signal(signal.SIGTTOU, ignored)
            code, cpu_s = _reap(process)
    return code, cpu_s


def _reap(process: "subprocess.Popen[bytes]") -> tuple[int, float]:
    """Kill the process group; return the leader's return code and the CPU seconds of the group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    _, code, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(code)
    return process.returncode, usage.ru_utime + usage.ru_stime


def virtual_time_s(run_dir: Path, files: Sequence[str] = ("progress",)) -> float | None:
    """The first number of the first of these files that the guest has written; None without one."""
    for name in files:
        with suppress(OSError, ValueError, IndexError):  # not written yet, or incomplete
            return float(_read_number(run_dir / name).split()[0])
    return None


def _plan_exit_code(run_dir: Path) -> int | None:
    try:
        return int(_read_number(run_dir / "exit"))
    except (OSError, ValueError):
        return None


def _read_number(path: Path) -> bytes:
    """Read a file of a few bytes that a guest may have replaced, without waiting for a writer.

    Empty if it is not a regular file. Raises OSError if it cannot be opened.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as file:
        return file.read(64) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""


def _verdict(
    log: Path, exit_code: int | None, code: int, exceeded: str | None
) -> tuple[Status, str]:
    if console.too_long(log):
        console.cut(log)
        return "failed", (
            f"the guest wrote more than {console.LIMIT_MB} MB to its console and was killed; the "
            f"end of the console is kept, its last line is: {console.read(log)[1]} (console: {log})"
        )
    panic, last = console.read(log)
    if panic:
        return "panic", f"{panic} (console: {log})"
    if exceeded:
        return "timeout", f"not finished after {exceeded} (console: {log})"
    last_line = f"the console's last line is: {last} (console: {log})"
    if exit_code is None:
        early = f"was {hostlimits.ended_by(code)}" if code < 0 else f"ended early (code {code})"
        return "failed", f"the guest {early}; {last_line}"
    if exit_code != 0:
        return "failed", f"plan.sh failed with exit code {exit_code}; {last_line}"
    return "ok", ""

# SPDX-License-Identifier: GPL-2.0-only
"""Hosts that deny system calls, terminals that hang up, guests that flood their console."""

import resource
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import deny_syscalls
import pytest
import sweeps
from guests import TIME_LIMIT_S

from airtcp.backends.guesttools import GuestTools
from airtcp.backends.uml import boot
from airtcp.kernel.image import Kernel

CURE = "docker run --security-opt seccomp=unconfined"
TIMEOUT_S = 60


@pytest.mark.parametrize(
    ("call", "cure"),
    [
        ("ptrace", "docker run --cap-add SYS_PTRACE"),
        ("prctl", CURE),
        ("sched_setaffinity", CURE),
        ("prlimit64", CURE),
        ("pidfd_open", CURE),
    ],
)
def test_denied_system_call_is_reported_in_one_line(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, call: str, cure: str
) -> None:
    assert lab_kernel and tools
    command = [sys.executable, deny_syscalls.__file__, call]
    done = subprocess.run(
        command + sweeps.command(tmp_path, "--set", "mcs=7", "--seeds", "3"),
        env=sweeps.ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith(f"airtcp: this machine does not permit guests the system call {call}")
    assert f"({cure}); 0 of 3 runs are kept in {tmp_path}" in line
    # The guest has ended: it was started before pidfd_open was denied.
    assert subprocess.run(["pgrep", "-f", str(tmp_path)]).returncode == 1


def test_console_of_a_guest_is_bounded(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    (tmp_path / "plan.sh").write_text("head -c 1000000000 /dev/zero\n")
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = boot(lab_kernel, tools, tmp_path, seed=1, timeout_wall_s=TIME_LIMIT_S)
    assert result.status == "failed"
    assert result.reason.startswith("the guest wrote more than 16 MB to its console")
    assert result.console.read_bytes()[:8] == b"airtcp: "
    assert result.console.stat().st_size < 1 << 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before_kb + (8 << 10)


def test_hangup_of_the_terminal_ends_a_sweep_like_ctrl_c(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    assert lab_kernel and tools
    runs = ("--set", "mcs=7", "--seeds", "3", "--jobs", "1")
    sweep = subprocess.Popen(
        sweeps.command(tmp_path, *runs),
        env=sweeps.ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGHUP, signal.SIG_DFL),  # despite nohup
    )
    deadline = time.monotonic() + TIMEOUT_S
    second = tmp_path / "runs" / "ack_policy-default_mcs-7" / "seed-2"
    while not second.exists():
        assert time.monotonic() < deadline and sweep.poll() is None
        time.sleep(0.02)
    sweep.send_signal(signal.SIGHUP)
    _, stderr = sweep.communicate(timeout=TIMEOUT_S)
    assert sweep.returncode == 130
    assert stderr.splitlines()[-1].startswith("airtcp: interrupted: 1 of 3 runs are kept")
    assert (tmp_path / "results.json").exists()
    assert (tmp_path / "results.parquet").exists()


def test_nohup_protects_from_a_hangup(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    assert lab_kernel and tools
    sweep = subprocess.Popen(
        ["nohup", *sweeps.command(tmp_path, "--set", "mcs=7")],
        env=sweeps.ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + TIMEOUT_S
    while not (tmp_path / "runs").exists():
        assert time.monotonic() < deadline and sweep.poll() is None
        time.sleep(0.02)
    sweep.send_signal(signal.SIGHUP)
    assert sweep.wait(TIMEOUT_S) == 0

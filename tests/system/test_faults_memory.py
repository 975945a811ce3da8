# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps with too little memory or too few open files, and runs whose processes are killed."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sweeps

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel

RUNS = ("--set", "mcs=7", "--seeds", "4")
TIMEOUT_S = 60


@pytest.fixture(scope="module")
def undisturbed(
    lab_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    assert lab_kernel and tools
    out_dir = tmp_path_factory.mktemp("undisturbed")
    sweeps.run(out_dir, *RUNS)
    return out_dir


@pytest.fixture
def limited() -> Iterator[Path]:
    """cgroup.procs of a new memory cgroup with a limit of 120 MB."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    current = [line.split(":")[2].strip("/") for line in lines if ":memory:" in line]
    name = f"airtcp-test-{os.getpid()}"
    groups = [(Path("/sys/fs/cgroup/memory", *current, name), "memory.limit_in_bytes")]
    # In version 2, only the root group can contain both processes and other groups.
    groups.append((Path("/sys/fs/cgroup", name), "memory.max"))
    for group, limit in groups:
        try:
            group.mkdir()
        except OSError:
            continue
        if (group / limit).exists():
            (group / limit).write_text("120m")
            if (group / "memory.swap.max").exists():
                (group / "memory.swap.max").write_text("0")
            yield group / "cgroup.procs"
            group.rmdir()
            return
        group.rmdir()
    pytest.skip("needs to make a memory cgroup")


def sweep_in(shell: list[str], out_dir: Path) -> list[str]:
    """What a sweep of four runs at once prints on standard error, started by this command."""
    done = subprocess.run(
        shell + sweeps.command(out_dir, *RUNS, "--jobs", "4"),
        env=sweeps.ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


def test_no_more_runs_than_memory_allows(undisturbed: Path, tmp_path: Path, limited: Path) -> None:
    command = ["sh", "-c", f'echo $$ >{limited}; exec "$@"', "sh"]
    first, *others = sweep_in(command, tmp_path)
    assert first.startswith(f"the memory cgroup {limited.parent} has ")
    assert first.endswith(" MB left, a run may take 512 MB, so only 1 run at once")
    assert not [line for line in others if line.startswith("airtcp: ")]
    sweeps.assert_same(undisturbed, tmp_path)


def test_runs_without_enough_memory_are_repeated_later(
    undisturbed: Path, tmp_path: Path, limited: Path
) -> None:
    """The sweep does not see its limit, as in some containers."""
    hide = f'echo $$ >{limited}; mount -t tmpfs none /sys/fs/cgroup; exec "$@"'
    command = ["unshare", "--mount", "sh", "-c", hide, "sh"]
    lines = sweep_in(command, tmp_path)
    [*_, line] = [line for line in lines if line.startswith("airtcp: ")]
    assert "SIGKILL (probably out of memory)" in line
    assert "; from here on at most " in line
    sweeps.assert_same(undisturbed, tmp_path)
    assert sweeps.guests_of(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_run_whose_process_is_killed_leaves_no_files(
    undisturbed: Path, tmp_path: Path, number: signal.Signals
) -> None:
    sweep = subprocess.Popen(
        sweeps.command(tmp_path, *RUNS, "--jobs", "1"),
        env=sweeps.ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + TIMEOUT_S
    while not (guests := sweeps.guests_of(tmp_path)):
        assert time.monotonic() < deadline and sweep.poll() is None
        time.sleep(0.02)
    [worker] = Path(f"/proc/{sweep.pid}/task/{sweep.pid}/children").read_text().split()
    os.kill(int(worker), number)
    _, stderr = sweep.communicate(timeout=TIMEOUT_S)
    assert sweep.returncode == 1
    *_, line = stderr.splitlines()
    hint = " (probably out of memory)" if number == signal.SIGKILL else ""
    assert line.endswith(f": its process was killed by {number.name}{hint}, without an answer")
    assert not [guest for guest in guests if guest.exists()]
    sweeps.run(tmp_path, *RUNS)
    sweeps.assert_same(undisturbed, tmp_path)


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("-n 64", "a guest needs 256 open files, but ulimit -n is 64"),
        ("-f 100", "File too large (ulimit -f: 51200 bytes per file)"),
    ],
)
def test_limits_too_low_for_any_run_are_reported_in_one_line(
    undisturbed: Path, tmp_path: Path, limit: str, message: str
) -> None:
    command = ["sh", "-c", f'ulimit {limit}; exec "$@"', "sh"]
    done = subprocess.run(
        command + sweeps.command(tmp_path, *RUNS, "--jobs", "2"),
        env=sweeps.ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert message in line
    assert line.endswith(f"0 of 4 runs are kept in {tmp_path}; the same command resumes from there")
    assert sweeps.guests_of(tmp_path) == []
    sweeps.run(tmp_path, *RUNS)
    sweeps.assert_same(undisturbed, tmp_path)


def test_low_limit_of_open_files_is_raised(undisturbed: Path, tmp_path: Path) -> None:
    command = ["sh", "-c", 'ulimit -S -n 64; exec "$@"', "sh", *sweeps.command(tmp_path, *RUNS)]
    done = subprocess.run(command, env=sweeps.ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    sweeps.assert_same(undisturbed, tmp_path)

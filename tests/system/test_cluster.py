# SPDX-License-Identifier: GPL-2.0-only
"""A sweep on the workers of a Dask scheduler leaves what a sweep here does, byte for byte.

The workers are in network namespaces and have caches of their own, as on other machines.
"""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import sweeps

from airtcp.linux.kernel import Kernel
from airtcp.machine.guesttools import GuestTools

RUNS = ("--set", "mcs=5,7", "--seeds", "3")
PATIENCE_S = 120


def ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def wait_until(true: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def start(*command: str | Path, **environment: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**sweeps.ENVIRONMENT, **environment},
    )


@dataclass
class Machine:
    """A worker in a network namespace, which has nothing else in it."""

    namespace: str
    gateway: str
    cache: Path
    worker: "subprocess.Popen[str] | None" = None

    def work(self, port: int) -> None:
        inside = ["ip", "netns", "exec", self.namespace, *sweeps.AIRTCP]
        scheduler = f"tcp://{self.gateway}:{port}"
        self.worker = start(
            *inside, "worker", scheduler, "--jobs", "1", AIRTCP_CACHE=str(self.cache)
        )

    def processes(self) -> set[int]:
        return set(map(int, ip("netns", "pids", self.namespace).split()))


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[list[Machine]]:
    """Two, each with a cable to this one."""
    made = []
    try:
        for number in (1, 2):
            name = f"airtcp{os.getpid() % 100000}-{number}"
            net = f"10.213.{number}"
            ip("netns", "add", name)
            made.append(Machine(name, f"{net}.1", tmp_path / f"cache-{number}"))
            ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("address", "add", f"{net}.1/30", "dev", name)
            ip("link", "set", name, "up")
            ip("-n", name, "address", "add", f"{net}.2/30", "dev", "eth0")
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", "eth0", "up")
        yield made
    finally:
        for machine in made:
            for pid in machine.processes():
                os.kill(pid, signal.SIGKILL)
            if machine.worker:
                machine.worker.communicate()
            subprocess.run(["ip", "link", "del", machine.namespace], capture_output=True)
            ip("netns", "del", machine.namespace)


@pytest.fixture
def port() -> Iterator[int]:
    """Where a scheduler listens."""
    chosen = free_port()
    scheduler = start(*sweeps.AIRTCP, "scheduler", "--port", str(chosen))
    yield chosen
    scheduler.terminate()
    scheduler.communicate()


def test_two_workers_leave_what_a_sweep_here_does(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, machines: list[Machine], port: int
) -> None:
    assert lab_kernel and tools
    here, there = tmp_path / "here", tmp_path / "there"
    sweeps.run(here, *RUNS)
    for machine in machines:
        machine.work(port)
    address = f"tcp://127.0.0.1:{port}"
    sweep = start(*sweeps.command(there, *RUNS, "--cluster", address))

    # The first machine crashes in the middle of a run: the other one does it again.
    victim = machines[0]
    assert victim.worker
    wait_until(lambda: sweeps.results(there), "no run ends")
    wait_until(lambda: len(victim.processes()) > 3, "no guest on the first machine")
    assert sweep.poll() is None
    os.kill(victim.worker.pid, signal.SIGKILL)
    wait_until(lambda: not victim.processes(), "its guest goes on")

    _, said = sweep.communicate(timeout=PATIENCE_S)
    assert sweep.returncode == 0, said
    assert said.count("Mbit/s") == 6
    sweeps.assert_same(here, there)
    # Kernel and programs came from here, and are kept by their hashes.
    for machine in machines:
        image = machine.cache / "kernel" / lab_kernel.hash / "linux"
        assert image.read_bytes() == lab_kernel.path.read_bytes()
        assert (machine.cache / "tools" / tools.directory.name / "tcpwatch").is_file()


def test_ctrl_c_ends_guests_and_keeps_runs(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, machines: list[Machine], port: int
) -> None:
    assert lab_kernel and tools
    machine = machines[0]
    machine.work(port)
    runs = ("--seeds", "2", "--set", "mcs=7", "--cluster", f"tcp://127.0.0.1:{port}")
    sweep = start(*sweeps.command(tmp_path, *runs))
    wait_until(lambda: sweeps.results(tmp_path), "no run ends")
    wait_until(lambda: len(machine.processes()) > 3, "no second run")
    sweep.send_signal(signal.SIGINT)
    _, said = sweep.communicate(timeout=30)
    assert sweep.returncode == 130, said
    assert "1 of 2 runs are kept" in said
    assert machine.worker
    wait_until(lambda: machine.processes() == {machine.worker.pid}, "the guest goes on")
    assert len(sweeps.results(tmp_path)) == 1


def test_a_lost_scheduler_is_one_line(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, machines: list[Machine]
) -> None:
    assert lab_kernel and tools
    port = free_port()
    scheduler = start(*sweeps.AIRTCP, "scheduler", "--port", str(port))
    machine = machines[0]
    machine.work(port)
    address = f"tcp://127.0.0.1:{port}"
    sweep = start(*sweeps.command(tmp_path, "--set", "mcs=7", "--cluster", address))
    wait_until(lambda: len(machine.processes()) > 3, "no run")
    scheduler.kill()
    scheduler.communicate()
    _, said = sweep.communicate(timeout=PATIENCE_S)
    assert sweep.returncode == 1
    assert said.splitlines()[-1].startswith(f"airtcp: --cluster {address}: the scheduler is gone")
    wait_until(lambda: not machine.processes(), "its guest goes on")


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Slurm's commands, with this machine alone as the cluster; the scripts are kept."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "sbatch").write_text(
        f"#!/bin/sh\ncp $1 {tmp_path}/job.sh\nsetsid sh {tmp_path}/job.sh >/dev/null 2>&1 &\n"
        "echo Submitted batch job $!\n"
    )
    (programs / "scancel").write_text(f"#!/bin/sh\necho $1 >>{tmp_path}/cancelled\nkill -- -$1\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    monkeypatch.setitem(sweeps.ENVIRONMENT, "PATH", f"{programs}:{os.environ['PATH']}")
    return tmp_path


def test_batch_jobs_of_slurm(lab_kernel: Kernel, tools: GuestTools, slurm: Path) -> None:
    assert lab_kernel and tools
    configuration = slurm / "slurm.yaml"
    configuration.write_text("slurm:\n  cores: 2\n  memory: 2GB\n  queue: short\n")
    sweeps.run(slurm / "out", "--set", "mcs=7", "--cluster", str(configuration))
    [result] = sweeps.results(slurm / "out").values()
    assert json.loads(result.read_text())["status"] == "ok"
    script = (slurm / "job.sh").read_text()
    assert "#SBATCH -p short" in script
    assert "--nthreads 2" in script
    assert (slurm / "cancelled").read_text().strip()


def test_a_batch_system_that_refuses_is_one_line(
    lab_kernel: Kernel, tools: GuestTools, slurm: Path
) -> None:
    assert lab_kernel and tools
    (slurm / "bin" / "sbatch").write_text("#!/bin/sh\necho no partition short >&2\nexit 1\n")
    configuration = slurm / "slurm.yaml"
    configuration.write_text("jobqueue:\n  slurm: {cores: 1, memory: 2GB}\n")
    command = sweeps.command(slurm / "out", "--cluster", str(configuration))
    done = subprocess.run(command, env=sweeps.ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"airtcp: {configuration}: sbatch: no partition short\n"

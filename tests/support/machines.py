# SPDX-License-Identifier: GPL-2.0-only
"""Machines of a cluster: network namespaces, each with its own cache."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import sweeps


def ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


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
    """A network namespace in which only a worker runs."""

    namespace: str
    gateway: str
    cache: Path
    worker: "subprocess.Popen[str] | None" = None

    def inside(self, *command: str | Path) -> list[str | Path]:
        return ["ip", "netns", "exec", self.namespace, *command]

    def work(self, port: int, certificates: Path) -> None:
        scheduler = f"tls://{self.gateway}:{port}"
        command = (*sweeps.AIRTCP, "worker", scheduler, "--jobs", "1")
        self.worker = start(
            *self.inside(*command, "--certificates", certificates), AIRTCP_CACHE=str(self.cache)
        )

    def processes(self) -> set[int]:
        return set(map(int, ip("netns", "pids", self.namespace).split()))

    def has_guest(self) -> bool:
        commands = []
        for pid in self.processes():
            with suppress(OSError):  # it has just ended
                commands.append(Path(f"/proc/{pid}/cmdline").read_text())
        return any("umid=airtcp" in command for command in commands)


@contextmanager
def two_machines(directory: Path) -> Iterator[list[Machine]]:
    """Two machines, each connected to this one by a cable; their caches are in the directory."""
    machines = []
    try:
        for number in (1, 2):
            name = f"airtcp{os.getpid() % 100000}-{number}"
            net = f"10.213.{number}"
            ip("netns", "add", name)
            machines.append(Machine(name, f"{net}.1", directory / f"cache-{number}"))
            ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("address", "add", f"{net}.1/30", "dev", name)
            ip("link", "set", name, "up")
            ip("-n", name, "address", "add", f"{net}.2/30", "dev", "eth0")
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", "eth0", "up")
        yield machines
    finally:
        for machine in machines:
            for pid in machine.processes():
                os.kill(pid, signal.SIGKILL)
            if machine.worker:
                machine.worker.communicate()
            subprocess.run(["ip", "link", "del", machine.namespace], capture_output=True)
            ip("netns", "del", machine.namespace)

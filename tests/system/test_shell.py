# SPDX-License-Identifier: GPL-2.0-only
"""The interactive prompt: the network is up, nodes can be entered, `exit` ends the guest."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel

LAB = Path(__file__).resolve().parents[2] / "lab"


def expect(terminal: int) -> Callable[[bytes], None]:
    """A function that reads the terminal until a text appears, for at most a minute."""
    output = b""

    def until(text: bytes) -> None:
        nonlocal output
        deadline = time.monotonic() + 60
        while text not in output:
            ready, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"{text!r} did not appear after {output!r}"
            output += os.read(terminal, 4096)
        output = output.partition(text)[2]

    return until


def test_every_node_has_a_prompt(lab_kernel: Kernel, tools: GuestTools) -> None:
    assert lab_kernel and tools  # built beforehand, so that the prompt appears at once
    terminal, slave = pty.openpty()
    command = [sys.executable, "-m", "airtcp", "shell", "thesis-lan", "--set", "delay=10ms"]
    shell = subprocess.Popen(
        ["setsid", "-c", "-w", *command],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "PYTHONPATH": str(LAB)},
    )
    try:
        until = expect(terminal)
        until(b"airtcp# ")
        os.write(terminal, b"station ping -c 2 10.0.0.1\n")
        until(b"2 received")
        for node, address in (("server", b"10.0.0.1/24"), ("ap", b"10.0.0.254/24")):
            os.write(terminal, f"{node}\n".encode())
            until(f"{node}# ".encode())
            os.write(terminal, b"ip -brief address\n")
            until(address)
            os.write(terminal, b"exit\n")
            until(b"airtcp# ")
        os.write(terminal, b"exit\n")
        assert shell.wait(timeout=60) == 0
    finally:
        shell.kill()
        os.close(terminal)
        os.close(slave)

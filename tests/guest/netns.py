# SPDX-License-Identifier: GPL-2.0-only
"""Network namespaces, for programs that run in a guest as root."""

import ctypes
import subprocess
from pathlib import Path

CLONE_NEWNET = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)


def run(command: str) -> str:
    return subprocess.run(command.split(), check=True, capture_output=True, text=True).stdout


def succeeds(command: str) -> bool:
    return subprocess.run(command.split(), capture_output=True).returncode == 0


def enter(netns: str) -> None:
    """Move this thread to a namespace of `ip netns`."""
    with Path(f"/run/netns/{netns}").open() as file:
        if libc.setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), netns)


def unshare() -> None:
    """Move this thread to a new namespace."""
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare")

# SPDX-License-Identifier: GPL-2.0-only
"""Runs commands in a private mount namespace."""

import subprocess
from pathlib import Path

import pytest


def require() -> None:
    """Skip the test if a mount namespace cannot be made."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("needs to make a mount namespace (CAP_SYS_ADMIN)")


def run(
    script: str, *command: str | Path, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """Run a shell script in a new mount namespace, with the command as its "$@"."""
    return subprocess.run(
        ["unshare", "-m", "sh", "-e", "-c", script, "sh", *command],
        env=environment,
        capture_output=True,
        text=True,
    )

# SPDX-License-Identifier: GPL-2.0-only
"""The option --version."""

import argparse
from collections.abc import Sequence
from typing import Any

from airtcp import __version__
from airtcp.errors import AirtcpError
from airtcp.paths import REPOSITORY


class ShowVersion(argparse.Action):
    """Print version, commit and kernel, and exit."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, help="print version, commit and kernel")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(text())
        parser.exit()


def text() -> str:
    """Version, commit and hash of the kernel of this copy of airtcp, in one line."""
    return ", ".join([f"airtcp {__version__}", _commit(), _kernel()])


def _commit() -> str:
    """The commit, and whether files have been changed since."""
    # Other verbs do not need these.
    import subprocess

    from airtcp import prebuilt

    if of_wheel := prebuilt.commit():
        return f"commit {of_wheel}"
    command = ["git", "-C", str(REPOSITORY), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return "commit unknown"
    return f"commit {done.stdout.strip()}" if done.returncode == 0 else "commit unknown"


def _kernel() -> str:
    from airtcp.kernel.image import default_hash

    try:
        return f"kernel {default_hash()}"
    except AirtcpError:
        return "kernel unknown"

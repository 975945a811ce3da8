# SPDX-License-Identifier: GPL-2.0-only
"""The option --version."""

import argparse
from collections.abc import Sequence
from typing import Any

from airtcp import __version__, provenance
from airtcp.errors import AirtcpError


class ShowVersion(argparse.Action):
    """Print version, commit and kernel, and exit."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, help="print version, commit and kernel")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(text())
        parser.exit()


def text() -> str:
    """Version, commit and hash of the kernel of this copy of airtcp, in one line."""
    commit = provenance.commit() or "unknown"
    return ", ".join([f"airtcp {__version__}", f"commit {commit}", _kernel()])


def _kernel() -> str:
    from airtcp.kernel.image import default_hash

    try:
        return f"kernel {default_hash()}"
    except AirtcpError:
        return "kernel unknown"

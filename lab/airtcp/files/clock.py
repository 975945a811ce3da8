# SPDX-License-Identifier: GPL-2.0-only
"""The start time of the flows of a custom topology."""

from pathlib import Path

from airtcp.errors import AirtcpError
from airtcp.files.text import read_text
from airtcp.paths import BEGAN


def read_began_ns(run_dir: Path) -> int:
    """Start time of the flows of a custom topology, in ns of the guest's clock."""
    path = run_dir / BEGAN
    try:
        return int(read_text(path))
    except ValueError:
        raise AirtcpError(f"{path}: not a time in ns") from None

# SPDX-License-Identifier: GPL-2.0-only
"""When the flows of a custom topology began."""

from pathlib import Path

from airtcp.errors import AirtcpError
from airtcp.files.text import read_text
from airtcp.paths import BEGAN


def read_began_ns(run_dir: Path) -> int:
    """When the flows of a custom topology began, by the guest's clock."""
    path = run_dir / BEGAN
    try:
        return int(read_text(path))
    except ValueError:
        raise AirtcpError(f"{path}: not a time in ns") from None

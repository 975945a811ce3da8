# SPDX-License-Identifier: GPL-2.0-only
"""Reads text files."""

import re
from pathlib import Path

from airtcp.errors import AirtcpError

NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
"""A number in the output of a program, as a group of a regular expression."""

TRACE_ENTRIES = re.compile(r"^# entries-in-buffer/entries-written: (\d+)/(\d+) ", re.MULTILINE)
"""The header of a trace of the kernel: how many events it contains, and how many there were."""


def read_text(path: Path) -> str:
    """The text of a file. Raises AirtcpError if it cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise AirtcpError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise AirtcpError(f"{path}: not text") from None

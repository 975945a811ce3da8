# SPDX-License-Identifier: GPL-2.0-only
"""Reads text files."""

import re
from collections.abc import Iterator
from pathlib import Path

from airtcp.errors import AirtcpError

NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
"""A number in the output of a program, as a group of a regular expression."""

TRACE_ENTRIES = re.compile(r"^# entries-in-buffer/entries-written: (\d+)/(\d+) ", re.MULTILINE)
"""The header of a trace of the kernel: how many events it contains, and how many there were."""


def read_text(path: Path) -> str:
    """The text of a file. Raises AirtcpError if it cannot be read or is not UTF-8."""
    return "".join(lines(path))


def lines(path: Path) -> Iterator[str]:
    """The lines of a file, which may be large, with their ends. Raises AirtcpError likewise."""
    try:
        with path.open(encoding="utf-8") as file:
            yield from file
    except OSError as error:
        raise AirtcpError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise AirtcpError(f"{path}: not text") from None

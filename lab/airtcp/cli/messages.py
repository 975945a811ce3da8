# SPDX-License-Identifier: GPL-2.0-only
"""Messages to users, on standard error."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def program() -> str:
    """How to call this program, as in the command that the user has typed."""
    installed = Path(sys.argv[0]).name == "airtcp"
    return os.environ.get("AIRTCP_PROGRAM") or ("airtcp" if installed else "./airtcp")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextmanager
def counter(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yields a function that shows `what 3 of 12`, on a line that is rewritten on a terminal."""
    tty = sys.stderr.isatty()

    def write(text: str) -> None:
        if tty:
            sys.stderr.write(f"\r\033[K{text}")
            sys.stderr.flush()

    try:
        yield lambda number, count: write(f"{what} {number} of {count}")
    finally:
        write("")

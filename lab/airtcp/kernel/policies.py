# SPDX-License-Identifier: GPL-2.0-only
"""The ACK policies that the laboratory's kernel registers, by the names in its sources.

A policy registers with `MODULE_ALIAS_TCP_ACKPOL("name")`, in a file in kernel/ or in one that a
patch in kernel/patches changes.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from airtcp.paths import REPOSITORY

# The behaviour of plain Linux, with which the others are compared. It needs no registration.
BASELINE = "default"

_ALIAS = re.compile(r'MODULE_ALIAS_TCP_ACKPOL\("([^"]*)"\)')


def registered_in(source: str) -> list[str]:
    """The names that a C file registers."""
    return _ALIAS.findall(source)


@cache
def names(overlay: Path = REPOSITORY / "kernel") -> tuple[str, ...]:
    """The policies of the laboratory's kernel: `default`, then the others in alphabetical order."""
    registered = {name for text in _sources(overlay) for name in registered_in(text)}
    return (BASELINE, *sorted(registered))


def _sources(overlay: Path) -> Iterator[str]:
    """The policies' files, and the lines that patches add."""
    for path in (overlay / "net" / "ipv4").glob("tcp_ackpol*.c"):
        yield path.read_text(encoding="utf-8")
    for path in (overlay / "patches").glob("*/[!.]*.patch"):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        yield "".join(line for line in lines if line.startswith("+"))

# SPDX-License-Identifier: GPL-2.0-only
"""Counters of qdiscs, from tc's output."""

import json
from pathlib import Path

from airtcp.errors import AirtcpError
from airtcp.files.text import read_text


def read_tbf(path: Path) -> dict[str, int]:
    """The counters of the first qdisc tbf in the output of `tc -s -j qdisc`."""
    try:
        listed = json.loads(read_text(path))
        counters = next(qdisc for qdisc in listed if qdisc["kind"] == "tbf")
        return {name: int(counters[name]) for name in ("bytes", "packets")}
    except (ValueError, KeyError, TypeError, StopIteration):
        raise AirtcpError(f"{path}: no counters of a qdisc tbf") from None

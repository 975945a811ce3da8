# SPDX-License-Identifier: GPL-2.0-only
"""Counters of qdiscs, as tc writes them."""

import json
from pathlib import Path

from airtcp.errors import AirtcpError
from airtcp.files.text import read_text


def read_qdisc(path: Path, kind: str) -> dict[str, int]:
    """The counters of the first qdisc of a kind in what `tc -s -j qdisc` has written."""
    try:
        listed = json.loads(read_text(path))
        own = next(one for one in listed if one["kind"] == kind)
        return {name: int(own[name]) for name in ("bytes", "packets", "drops")}
    except (ValueError, KeyError, TypeError, StopIteration):
        raise AirtcpError(f"{path}: no counters of a qdisc {kind}") from None

# SPDX-License-Identifier: GPL-2.0-only
"""airsim's counters."""

import re
from collections.abc import Mapping
from pathlib import Path

from airtcp.errors import AirtcpError
from airtcp.files.text import read_text

_AMPDU_SIZE = re.compile(r"ampdu_size_(\d+)")


def read_airsim(run_dir: Path) -> dict[str, int]:
    """The increase of each counter of airsim during the transfer."""
    before = _counters(run_dir / "airsim-before.txt")
    after = read_airsim_totals(run_dir)
    return {name: value - before.get(name, 0) for name, value in after.items()}


def read_transfer_start_ns(run_dir: Path) -> int | None:
    """When the transfer started, by the guest's monotonic clock; None if real hosts did the run."""
    path = run_dir / "airsim-before.txt"
    return _counters(path).get("time_ns") if path.exists() else None


def read_airsim_totals(run_dir: Path) -> dict[str, int]:
    """Each counter of airsim after the transfer, counted since boot."""
    return _counters(run_dir / "airsim-after.txt")


def ampdu_sizes(counters: Mapping[str, int]) -> dict[int, int]:
    """Number of data PPDUs by their number of MPDUs, smallest first."""
    matches = ((_AMPDU_SIZE.fullmatch(name), count) for name, count in counters.items())
    sizes = {int(match.group(1)): count for match, count in matches if match and count}
    return dict(sorted(sizes.items()))


def _counters(path: Path) -> dict[str, int]:
    counters: dict[str, int] = {}
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        name, _, value = line.partition(" ")
        try:
            counters[name] = int(value)
        except ValueError:
            raise AirtcpError(f"{path}:{number}: not a line `name value`") from None
    return counters

# SPDX-License-Identifier: GPL-2.0-only
"""airsim's counters."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from airtcp.errors import AirtcpError
from airtcp.files.text import read_text

_AMPDU_SIZE = re.compile(r"ampdu_size_(\d+)")
_AIRTIME = re.compile(r"(\d+) ([0-9a-f:]{17}) (present|left) (\d+)")


@dataclass(frozen=True)
class Airtime:
    """The PPDUs from a radio to a receiver. present: it was associated at the end."""

    duration_ns: int
    present: bool


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


def read_airtimes(run_dir: Path) -> dict[tuple[int, str], Airtime]:
    """The airtime of the PPDUs from a radio to another one with an address.

    Empty if the run has not saved them. Raises AirtcpError if the file is corrupt.
    """
    path = run_dir / "airtimes.txt"
    airtimes: dict[tuple[int, str], Airtime] = {}
    for number, line in enumerate(read_text(path).splitlines() if path.exists() else (), start=1):
        match = _AIRTIME.fullmatch(line)
        if not match:
            raise AirtcpError(f"{path}:{number}: not an airtime of a station")
        airtime = Airtime(int(match.group(4)), match.group(3) == "present")
        airtimes[int(match.group(1)), match.group(2)] = airtime
    return airtimes


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

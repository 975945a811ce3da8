# SPDX-License-Identifier: GPL-2.0-only
"""Counters of a driver for its stations, from `iw station dump` before and after a run."""

import re
from pathlib import Path

_COUNTER = re.compile(
    r"^\s*((?:rx|tx) (?:bytes|packets|retries|failed|duration|drop misc)|beacon loss):\s*(\d+)",
    re.MULTILINE,
)


def _stations(text: str) -> dict[str, dict[str, int]]:
    """Counters by the address of the station, with names such as tx_retries.

    Durations (airtime) are in us.
    """
    [_, *parts] = re.split(r"^Station (\S+)", text, flags=re.MULTILINE)
    return {
        address: {
            name.replace(" ", "_") + ("_us" if name.endswith("duration") else ""): int(value)
            for name, value in _COUNTER.findall(part)
        }
        for address, part in zip(parts[::2], parts[1::2], strict=True)
    }


def increase(run_dir: Path, node: str) -> dict[str, int]:
    """What a node's counters grew by during the run, as sums over its stations at the end.

    Those of a station that has associated again start at 0. Empty if the node's files are missing.
    """
    try:
        before, after = (
            _stations((run_dir / f"iw-{node}-{when}.txt").read_text())
            for when in ("before", "after")
        )
    except OSError:  # the run failed before
        return {}
    sums: dict[str, int] = {}
    for address, counters in after.items():
        old = before.get(address, {})
        if any(value < old.get(name, 0) for name, value in counters.items()):
            old = {}
        for name, value in counters.items():
            sums[name] = sums.get(name, 0) + value - old.get(name, 0)
    return sums

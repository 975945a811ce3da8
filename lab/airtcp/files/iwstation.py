# SPDX-License-Identifier: GPL-2.0-only
"""Counters of a driver for its stations, from `iw station dump` before and after a run."""

import re
from pathlib import Path

_COUNTER = re.compile(
    r"^\s*((?:rx|tx) (?:bytes|packets|retries|failed|duration|drop misc)|beacon loss):\s*(\d+)",
    re.MULTILINE,
)


def counters(text: str) -> dict[str, int]:
    """Sums over all stations, by names such as tx_retries; durations (airtime) are in us."""
    sums: dict[str, int] = {}
    for name, value in _COUNTER.findall(text):
        key = name.replace(" ", "_") + ("_us" if name.endswith("duration") else "")
        sums[key] = sums.get(key, 0) + int(value)
    return sums


def increase(run_dir: Path, node: str) -> dict[str, int]:
    """What a node's counters grew by during the run; empty if its files are missing."""
    try:
        before, after = (
            counters((run_dir / f"iw-{node}-{when}.txt").read_text())
            for when in ("before", "after")
        )
    except OSError:  # the run failed before
        return {}
    return {name: value - before.get(name, 0) for name, value in after.items()}

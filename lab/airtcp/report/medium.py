# SPDX-License-Identifier: GPL-2.0-only
"""What was on the air in a short time: transmissions, who held the medium, collisions."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from airtcp.errors import InputError
from airtcp.files import airtrace
from airtcp.files.airtrace import Transmission

LENGTH_MS = 50
NS_PER_MS = 1_000_000
_MOST_LANES = 12


@dataclass(frozen=True)
class Medium:
    """LENGTH_MS of a capture, from start_ms after its beginning; transmissions by their start."""

    start_ms: float
    transmissions: Sequence[Transmission]

    @property
    def radios(self) -> list[int]:
        """Those that sent a frame or were sent one."""
        seen = {one.sender for one in self.transmissions}
        seen |= {one.receiver for one in self.transmissions if one.receiver is not None}
        return sorted(seen)

    @property
    def lanes(self) -> list[int]:
        """The radios that are drawn: those that held the medium longest."""
        held_ns: Counter[int] = Counter(dict.fromkeys(self.radios, 0))
        for one in self.transmissions:
            held_ns[one.sender] += one.end_ns - one.start_ns
        return sorted(radio for radio, _ in held_ns.most_common(_MOST_LANES))

    @property
    def held(self) -> float:
        """The share of the time in which something was on the air."""
        start_ns = self.start_ms * NS_PER_MS
        end_ns = start_ns + LENGTH_MS * NS_PER_MS
        spans = _merged([(one.start_ns, one.end_ns) for one in self.transmissions])
        held_ns = sum(min(end, end_ns) - max(start, start_ns) for start, end in spans)
        return held_ns / (end_ns - start_ns)


def read(path: Path, start_ms: float | None) -> Medium:
    """The time from start_ms on; where that is None, from the middle of the capture.

    Raises AirtcpError when the capture cannot be read, InputError when it ends before start_ms.
    """
    length_ms = airtrace.length_ns(path) / NS_PER_MS
    if start_ms is None:
        start_ms = float(max(0, int((length_ms - LENGTH_MS) / 2)))
    elif start_ms >= length_ms:
        raise InputError(
            f"--timeline {start_ms:g}: {path} holds {length_ms:.1f} ms; "
            f"allowed: 0 to {math.ceil(length_ms) - 1}"
        )
    found = airtrace.read(path, start_ms / 1000, (start_ms + LENGTH_MS) / 1000)
    return Medium(start_ms, sorted(found, key=lambda one: (one.start_ns, one.sender)))


def collisions(transmissions: Sequence[Transmission]) -> list[tuple[int, int]]:
    """When spoiled frames overlapped others on their channel: disjoint spans, in ns.

    Where the capture does not hold the other frame, the whole spoiled one.
    """
    spans = []
    for one in transmissions:
        if not one.collided:
            continue
        over = [
            (max(one.start_ns, other.start_ns), min(one.end_ns, other.end_ns))
            for other in transmissions
            if other.sender != one.sender and other.channel_mhz == one.channel_mhz
        ]
        spans += [(start, end) for start, end in over if start < end] or [
            (one.start_ns, one.end_ns)
        ]
    return _merged(spans)


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same time without overlaps, in order."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged

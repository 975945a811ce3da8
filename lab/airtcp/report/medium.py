# SPDX-License-Identifier: GPL-2.0-only
"""The medium during a short interval: transmissions, who occupied it, collisions."""

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

_SEARCHED_MS = 1000
_NO_DATA = 10.0  # farther from typical than any other number of MPDUs


@dataclass(frozen=True)
class Medium:
    """LENGTH_MS of a capture, from start_ms after its start; transmissions ordered by start."""

    start_ms: float
    transmissions: Sequence[Transmission]

    @property
    def radios(self) -> list[int]:
        """The radios that sent a frame or were its receiver."""
        seen = {ppdu.sender for ppdu in self.transmissions}
        seen |= {ppdu.receiver for ppdu in self.transmissions if ppdu.receiver is not None}
        return sorted(seen)

    @property
    def lanes(self) -> list[int]:
        """The radios that are drawn: those that occupied the medium longest."""
        held_ns: Counter[int] = Counter(dict.fromkeys(self.radios, 0))
        for ppdu in self.transmissions:
            held_ns[ppdu.sender] += ppdu.end_ns - ppdu.start_ns
        return sorted(radio for radio, _ in held_ns.most_common(_MOST_LANES))

    @property
    def mpdus_mean(self) -> float | None:
        """MPDUs per PPDU that carries data, not only TCP ACKs; None without any."""
        counts = [ppdu.mpdus for ppdu in self.transmissions if ppdu.carries_data]
        return sum(counts) / len(counts) if counts else None

    @property
    def held(self) -> float:
        """The share of the time in which the medium was busy."""
        start_ns = self.start_ms * NS_PER_MS
        end_ns = start_ns + LENGTH_MS * NS_PER_MS
        spans = _merged([(ppdu.start_ns, ppdu.end_ns) for ppdu in self.transmissions])
        held_ns = sum(min(end, end_ns) - max(start, start_ns) for start, end in spans)
        return held_ns / (end_ns - start_ns)


@dataclass(frozen=True)
class Captured:
    """A capture, and what is typical of its run: MPDUs per PPDU with data; None if not known."""

    path: Path
    mpdus_mean: float | None


def typical_start_ms(captures: Sequence[Captured]) -> float:
    """Where LENGTH_MS are most typical of all these runs, at the same time in each capture.

    Only the second half of the time that all have captured is considered, of this the last second:
    slow start is over by then. Raises AirtcpError if a capture cannot be read.
    """
    length_ms = min(airtrace.length_ns(each.path) for each in captures) / NS_PER_MS
    first_ms = int(max(length_ms / 2, length_ms - _SEARCHED_MS))
    starts_ms = range(first_ms, int(length_ms) - LENGTH_MS + 1, LENGTH_MS)
    if not starts_ms:
        return float(max(0, int(length_ms) - LENGTH_MS))
    distances = [0.0] * len(starts_ms)
    for each in captures:
        ppdus, mpdus = [0] * len(starts_ms), [0] * len(starts_ms)
        for ppdu in airtrace.read(each.path, first_ms / 1000, length_ms / 1000):
            number = int((ppdu.start_ns / NS_PER_MS - first_ms) // LENGTH_MS)
            if ppdu.carries_data and 0 <= number < len(starts_ms):
                ppdus[number] += 1
                mpdus[number] += ppdu.mpdus
        for number, count in enumerate(ppdus):
            if not count:
                distances[number] += _NO_DATA
            elif each.mpdus_mean:
                distances[number] += abs(math.log(mpdus[number] / count / each.mpdus_mean))
    return float(starts_ms[distances.index(min(distances))])


def read(path: Path, start_ms: float) -> Medium:
    """Read LENGTH_MS of the capture from start_ms.

    Raises AirtcpError if the capture cannot be read, InputError if it ends before start_ms.
    """
    length_ms = airtrace.length_ns(path) / NS_PER_MS
    if start_ms >= length_ms:
        raise InputError(
            f"--timeline {start_ms:.0f}: {path} contains {length_ms:.1f} ms; "
            f"allowed: 0 to {math.ceil(length_ms) - 1}"
        )
    transmissions = airtrace.read(path, start_ms / 1000, (start_ms + LENGTH_MS) / 1000)
    return Medium(
        start_ms,
        sorted(transmissions, key=lambda ppdu: (ppdu.start_ns, ppdu.sender)),
    )


def collisions(transmissions: Sequence[Transmission]) -> list[tuple[int, int]]:
    """When collided frames overlapped others on their channel: disjoint spans, in ns.

    If the capture does not contain the other frame, the span of the whole collided frame.
    """
    spans = []
    for ppdu in transmissions:
        if not ppdu.collided:
            continue
        over = [
            (max(ppdu.start_ns, other.start_ns), min(ppdu.end_ns, other.end_ns))
            for other in transmissions
            if other.sender != ppdu.sender and other.channel_mhz == ppdu.channel_mhz
        ]
        spans += [(start, end) for start, end in over if start < end] or [
            (ppdu.start_ns, ppdu.end_ns)
        ]
    return _merged(spans)


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The union of the spans, in order, without overlaps."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged

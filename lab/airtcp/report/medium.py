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
_TYPICAL = math.log(1.25)  # the most that a typical number of MPDUs differs from the mean


@dataclass(frozen=True)
class Medium:
    """LENGTH_MS of a capture, from start_ms after its start; transmissions ordered by start.

    end_ms: where the capture ends, if it does so here, else the end of this part.
    """

    start_ms: float
    end_ms: float
    transmissions: Sequence[Transmission]

    @property
    def captured_ms(self) -> float:
        """The length of what the capture contains of this part."""
        return self.end_ms - self.start_ms

    @property
    def is_whole(self) -> bool:
        """Whether the capture contains all of this part."""
        return self.end_ms >= self.start_ms + LENGTH_MS

    @property
    def radios(self) -> list[int]:
        """The radios that sent a frame or were its receiver."""
        seen = {ppdu.sender for ppdu in self.transmissions}
        seen |= {ppdu.receiver for ppdu in self.transmissions if ppdu.receiver is not None}
        return sorted(seen)

    @property
    def lanes(self) -> list[int]:
        """The radios that are drawn: those that occupied the medium longest."""
        busy_ns: Counter[int] = Counter(dict.fromkeys(self.radios, 0))
        for ppdu in self.transmissions:
            busy_ns[ppdu.sender] += ppdu.end_ns - ppdu.start_ns
        return sorted(radio for radio, _ in busy_ns.most_common(_MOST_LANES))

    @property
    def mpdus_mean(self) -> float | None:
        """MPDUs per PPDU that carries data, not only TCP ACKs; None without any."""
        counts = [ppdu.mpdus for ppdu in self.transmissions if ppdu.carries_data]
        return sum(counts) / len(counts) if counts else None

    @property
    def mpdus(self) -> int:
        """The MPDUs of PPDUs that start here and carry data, not only TCP ACKs."""
        start_ns = self.start_ms * NS_PER_MS
        return sum(
            ppdu.mpdus
            for ppdu in self.transmissions
            if ppdu.carries_data and ppdu.start_ns >= start_ns
        )

    @property
    def busy(self) -> float:
        """The share of the captured time in which the medium was busy."""
        start_ns, end_ns = self.start_ms * NS_PER_MS, self.end_ms * NS_PER_MS
        spans = _merged([(ppdu.start_ns, ppdu.end_ns) for ppdu in self.transmissions])
        busy_ns = sum(min(end, end_ns) - max(start, start_ns) for start, end in spans)
        return busy_ns / (end_ns - start_ns)


@dataclass(frozen=True)
class Captured:
    """A capture, when it contains the transfer, and the means of the run.

    mpdus_mean: MPDUs per PPDU with data. mpdus: such MPDUs in LENGTH_MS. None if not known.
    """

    path: Path
    from_ms: float
    to_ms: float
    mpdus_mean: float | None
    mpdus: float | None

    def is_typical(self, mpdus_mean: float, mpdus: float) -> bool:
        """Whether both numbers are typical of the run, if their means are known."""
        farthest = max(abs(_log(mpdus_mean, self.mpdus_mean)), abs(_log(mpdus, self.mpdus)))
        return farthest <= _TYPICAL

    def distance(self, ppdus: int, mpdus: int) -> float:
        """How far from typical LENGTH_MS are with so many PPDUs with data, and MPDUs in them.

        More MPDUs than typical will do: data may come in bursts.
        """
        if not ppdus:
            return _NO_DATA
        lacking = max(0.0, -_log(mpdus, self.mpdus) - _TYPICAL)
        return abs(_log(mpdus / ppdus, self.mpdus_mean)) + lacking


def _log(value: float, mean: float | None) -> float:
    """The logarithm of the ratio to the mean; 0 if there is no mean."""
    return math.log(max(value, 1e-9) / mean) if mean else 0.0


def typical_start_ms(captures: Sequence[Captured]) -> float:
    """Where LENGTH_MS are most typical of all these runs, at the same time in each capture.

    Only the second half of the part of the transfers that all have captured is considered, of this
    the last second: slow start is over by then. Raises AirtcpError if a capture cannot be read.
    """
    from_ms = max(each.from_ms for each in captures)
    to_ms = min(each.to_ms for each in captures)
    first_ms = int(max((from_ms + to_ms) / 2, to_ms - _SEARCHED_MS))
    starts_ms = range(first_ms, int(to_ms) - LENGTH_MS + 1, LENGTH_MS)
    if not starts_ms:
        return float(max(0, int(to_ms) - LENGTH_MS))
    distances = [0.0] * len(starts_ms)
    for each in captures:
        ppdus, mpdus = [0] * len(starts_ms), [0] * len(starts_ms)
        for ppdu in airtrace.read(each.path, first_ms / 1000, to_ms / 1000):
            number = int((ppdu.start_ns / NS_PER_MS - first_ms) // LENGTH_MS)
            if ppdu.carries_data and 0 <= number < len(starts_ms):
                ppdus[number] += 1
                mpdus[number] += ppdu.mpdus
        for number, counts in enumerate(zip(ppdus, mpdus, strict=True)):
            distances[number] += each.distance(*counts)
    return float(starts_ms[distances.index(min(distances))])


def read(path: Path, start_ms: float) -> Medium:
    """Read LENGTH_MS of the capture from start_ms.

    Raises AirtcpError if the capture cannot be read, InputError if it ends before start_ms.
    """
    length_ms = airtrace.length_ns(path) / NS_PER_MS
    if start_ms >= length_ms:
        raise InputError(
            f"a timeline from {start_ms:.0f} ms: {path} contains {length_ms:.1f} ms; "
            f"allowed: 0 to {math.ceil(length_ms) - 1}"
        )
    transmissions = airtrace.read(path, start_ms / 1000, (start_ms + LENGTH_MS) / 1000)
    return Medium(
        start_ms,
        min(start_ms + LENGTH_MS, length_ms),
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

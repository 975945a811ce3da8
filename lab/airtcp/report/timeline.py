# SPDX-License-Identifier: GPL-2.0-only
"""Who held the medium when: 50 ms of what was on the air, one lane a radio, below TCP's lanes."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from airtcp.errors import AirtcpError, InputError
from airtcp.report import tcplanes
from airtcp.report.model import Results, Run
from airtcp.report.plots import PALETTE, WIDE_IN
from airtcp.report.tcplanes import Lanes
from airtcp.report.writer import Plot, Writer
from airtcp.results.files import airtrace
from airtcp.results.files.airtrace import Transmission

LENGTH_MS = 50
_ROW_MS = 10
_NS_PER_MS = 1_000_000

_LANE_IN = 0.24
_MOST_LANES = 12
_ROW_POINTS = 440  # about the width of a row's axes
_NARROWEST_SUBFRAME_POINTS = 0.7  # below, the lines between MPDUs would hide the box
_MOST_IN_LEGEND_ROW = 9

# What is drawn of each kind of frame: its role in PALETTE, its name and its height in a lane.
_FULL, _LOW = 0.74, 0.44
_KINDS: Mapping[airtrace.Kind, tuple[str, str, float]] = {
    "data": ("air-data", "data", _FULL),
    "multicast": ("frame-multicast", "multicast", _FULL),
    "management": ("frame-management", "management", _FULL),
    "beacon": ("frame-beacon", "beacon", _FULL),
    "rts": ("frame-protection", "RTS and CTS", _LOW),
    "cts": ("frame-protection", "RTS and CTS", _LOW),
    "bar": ("frame-bar", "BlockAckReq", _LOW),
    "ack": ("frame-ack", "ACK", _LOW),
    "blockack": ("frame-blockack", "BlockAck", _LOW),
}
_NAMES: Mapping[airtrace.Kind, str] = {
    **{kind: name for kind, (_, name, _) in _KINDS.items()},
    "rts": "RTS",
    "cts": "CTS",
}
_LOST, _PAPER, _GRID = (PALETTE[role][0] for role in ("frame-lost", "paper", "grid"))
_COLLISION_OPACITY = 0.2
_COLLISION_MARKER: Mapping[str, Any] = {
    "linestyle": "none",
    "marker": "x",
    "markersize": 3.6,
    "color": _LOST,
}


@dataclass(frozen=True)
class Timeline:
    """LENGTH_MS of a capture, from start_ms after its beginning; transmissions by their start."""

    start_ms: float
    transmissions: Sequence[Transmission]

    @property
    def radios(self) -> list[int]:
        """Whoever sent or was sent something."""
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
        start_ns = self.start_ms * _NS_PER_MS
        end_ns = start_ns + LENGTH_MS * _NS_PER_MS
        spans = _merged([(one.start_ns, one.end_ns) for one in self.transmissions])
        held_ns = sum(min(end, end_ns) - max(start, start_ns) for start, end in spans)
        return held_ns / (end_ns - start_ns)


def read(path: Path, start_ms: float | None) -> Timeline:
    """The timeline from start_ms on; where that is None, from the middle of the capture.

    Raises AirtcpError when the capture cannot be read, InputError when it ends before start_ms.
    """
    length_ms = airtrace.length_ns(path) / _NS_PER_MS
    if start_ms is None:
        start_ms = float(max(0, int((length_ms - LENGTH_MS) / 2)))
    elif start_ms >= length_ms:
        raise InputError(
            f"--timeline {start_ms:g}: {path} holds {length_ms:.1f} ms; "
            f"allowed: 0 to {math.ceil(length_ms) - 1}"
        )
    found = airtrace.read(path, start_ms / 1000, (start_ms + LENGTH_MS) / 1000)
    return Timeline(start_ms, sorted(found, key=lambda one: (one.start_ns, one.sender)))


def plots(
    results: Results, writer: Writer, start_ms: float | None = None, of: str | None = None
) -> tuple[list[Plot], list[str]]:
    """A timeline of each policy that has a capture on the air, and notes on those left out.

    It shows the first seed under the first condition that the policy was run under, or only the
    run that is named by of, as `CELL/seed-N`. Raises InputError when there is no such run, or
    start_ms is given and no capture reaches so far.
    """
    found: list[Plot] = []
    notes: list[str] = []
    captured = False
    shown = [_named(results, of)] if of else [_first(results, one) for one in results.policies]
    for label, policy, run in shown:
        path = run.directory / "air.pcapng"
        if not path.exists():
            continue
        captured = True
        try:
            timeline = read(path, start_ms)
            lanes = tcplanes.read(run, timeline.start_ms, timeline.start_ms + LENGTH_MS)
        except InputError:
            raise
        except AirtcpError as error:
            notes.append(f"Left out, {policy}: {error}")
            continue
        told = f"{label}, {policy}, seed {run.seed}"
        found.append(
            writer.save(
                draw(timeline, lanes),
                f"timeline-{policy}",
                f"Who held the medium: {policy}",
                f"{told}. {caption(timeline)} {tcplanes.caption(lanes)}".rstrip(),
                f"{told}. {_counts(timeline)}",
                {**_tips(timeline), **tcplanes.tips(lanes, LENGTH_MS // _ROW_MS)},
            )
        )
    if not captured:
        told = "Timelines of the medium need a capture on the air: run again with --set capture=air"
        if start_ms is not None:
            raise InputError(f"--timeline {start_ms:g}: {told[0].lower()}{told[1:]}")
        notes.append(told)
    return found, notes


def _first(results: Results, policy: str) -> tuple[str, str, Run]:
    """The first run of a policy, under the first condition that it was measured under."""
    return next(one for one in _runs(results) if one[1] == policy)


def _named(results: Results, name: str) -> tuple[str, str, Run]:
    known = {
        f"{one[2].directory.parent.name}/{one[2].directory.name}": one for one in _runs(results)
    }
    if name not in known:
        raise InputError(f"--run {name}: no such run; allowed: {' '.join(known)}")
    return known[name]


def _runs(results: Results) -> list[tuple[str, str, Run]]:
    """Each with its condition and its policy, by seed."""
    return [
        (condition.label, measured.policy, run)
        for condition in results.conditions
        for measured in condition.policies
        for run in measured.runs
    ]


def collisions(transmissions: Sequence[Transmission]) -> list[tuple[int, int]]:
    """When frames that were spoiled lay over others on their channel: disjoint spans, in ns.

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


# --- words -----------------------------------------------------------------------------------


def caption(timeline: Timeline) -> str:
    """What one sees, and what it adds up to."""
    text = (
        f"{LENGTH_MS} ms of virtual time, {_ROW_MS} a row, a lane a radio; a box is a PPDU, "
        "low ones are control frames. Thin lines part the MPDUs of an A-MPDU where there is "
        "room; the red part of a box: MPDUs lost. A red band with a cross: frames that spoiled "
        "each other at a receiver. "
    )
    if len(timeline.lanes) < len(timeline.radios):
        text += (
            f"The {len(timeline.lanes)} of {len(timeline.radios)} radios that held the medium "
            "longest. "
        )
    return text + _counts(timeline)


def _counts(timeline: Timeline) -> str:
    data = [one for one in timeline.transmissions if one.kind == "data"]
    lost = sum(len(one.lost) for one in data)
    collided = len(collisions(timeline.transmissions))
    return (
        f"From {timeline.start_ms:g} ms after the capture began, the medium was held "
        f"{timeline.held:.0%} of the time: {_many(len(data), 'data PPDU')} with "
        f"{_many(sum(one.mpdus for one in data), 'MPDU')}, {lost} of them lost; "
        f"{_many(collided, 'collision')}."
    )


def _many(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _tips(timeline: Timeline) -> dict[str, str]:
    """What each box is, by its gid."""
    return {
        _gid(number, row): _tip(one)
        for number, one in enumerate(timeline.transmissions)
        for row in range(LENGTH_MS // _ROW_MS)
    }


def _gid(number: int, row: int) -> str:
    """A box that goes over the end of a row is drawn in both."""
    return f"ppdu{number}-row{row}"


def _tip(one: Transmission) -> str:
    receiver = "all" if one.receiver is None else f"radio {one.receiver}"
    parts = [
        f"{_NAMES[one.kind]}, radio {one.sender} to {receiver}",
        f"{one.start_ns / _NS_PER_MS:.3f} ms, {(one.end_ns - one.start_ns) / 1000:.1f} us",
        _many(one.mpdus, "MPDU") + f", {one.octets} octets",
        one.rate,
    ]
    if one.lost:
        parts.append("lost" if one.mpdus == 1 else f"{len(one.lost)} lost")
    if one.retry:
        parts.append("retry")
    if one.collided:
        parts.append("collided")
    return "; ".join(parts)


# --- picture ---------------------------------------------------------------------------------


def draw(timeline: Timeline, of_tcp: Lanes = tcplanes.NONE) -> Figure:
    """Rows of _ROW_MS from the top down; in each the lanes of TCP, then those of the air."""
    rows = LENGTH_MS // _ROW_MS
    lanes = timeline.lanes
    above = len(of_tcp.names)
    height_in = 0.65 + rows * (_LANE_IN * max(1, above + len(lanes)) + 0.24)
    figure = Figure(figsize=(WIDE_IN, height_in), layout="constrained")
    spoiled = collisions(timeline.transmissions)
    for row, axes in enumerate(figure.subplots(rows, 1, squeeze=False)[:, 0]):
        start_ms = timeline.start_ms + row * _ROW_MS
        _prepare(axes, start_ms, timeline, of_tcp.names)
        tcplanes.draw(axes, of_tcp, row)
        for start_ns, end_ns in spoiled:
            _draw_collision(axes, start_ns / _NS_PER_MS, end_ns / _NS_PER_MS, above)
        for number, one in enumerate(timeline.transmissions):
            in_row = (
                one.end_ns > start_ms * _NS_PER_MS
                and one.start_ns < (start_ms + _ROW_MS) * _NS_PER_MS
            )
            if in_row and one.sender in lanes:
                _draw_ppdu(axes, one, above + lanes.index(one.sender), _gid(number, row))
        if row == rows - 1:
            axes.set_xlabel("virtual time since the capture began (ms)")
    handles = [*tcplanes.legend(of_tcp), *_legend(timeline, bool(spoiled))]
    if handles:
        figure.legend(
            handles=handles,
            loc="outside upper center",
            ncols=-(-len(handles) // -(-len(handles) // _MOST_IN_LEGEND_ROW)),  # rows alike
            columnspacing=1.2,
        )
    return figure


def _prepare(axes: Axes, start_ms: float, timeline: Timeline, above: Sequence[str]) -> None:
    """The lanes of a row, the first on top: lane n has y from n to n + 1, downwards."""
    aps = {one.sender for one in timeline.transmissions if one.from_ap}
    radios = [f"radio {radio}" + (" (AP)" if radio in aps else "") for radio in timeline.lanes]
    lanes = [*above, *radios]
    axes.set_xlim(start_ms, start_ms + _ROW_MS)
    axes.set_ylim(max(1, len(lanes)) + 0.04, 0)
    axes.set_xticks([start_ms + step for step in range(_ROW_MS + 1)])
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_yticks([lane + 1 - _FULL / 2 for lane in range(len(lanes))], lanes)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.spines["left"].set_visible(False)
    for lane in range(1, len(lanes)):
        axes.axhline(lane, color=_GRID, linewidth=0.5, zorder=0.5)


def _draw_collision(axes: Axes, start_ms: float, end_ms: float, top: int) -> None:
    """Over the lanes of the air, which begin at top."""
    low, high = axes.get_xlim()
    start_ms, end_ms = max(start_ms, low), min(end_ms, high)
    if start_ms >= end_ms:
        return
    lowest, _ = axes.get_ylim()
    axes.axvspan(
        *(start_ms, end_ms, 0, 1 - top / lowest),
        color=_LOST,
        alpha=_COLLISION_OPACITY,
        linewidth=0,
        zorder=0.8,
    )
    axes.plot((start_ms + end_ms) / 2, top, clip_on=False, zorder=4, **_COLLISION_MARKER)


def _draw_ppdu(axes: Axes, one: Transmission, lane: int, gid: str) -> None:
    role, _, height = _KINDS[one.kind]
    start_ms, end_ms = one.start_ns / _NS_PER_MS, one.end_ns / _NS_PER_MS
    box = Rectangle(
        (start_ms, lane + 1 - height),
        end_ms - start_ms,
        height,
        facecolor=PALETTE[role][0],
        linewidth=0,
        zorder=2,
    )
    box.set_gid(gid)
    axes.add_patch(box)
    edges_ms = _edges(one)
    for first, last in _stretches(one.lost):
        axes.add_patch(
            Rectangle(
                (edges_ms[first], lane + 1 - height),
                edges_ms[last + 1] - edges_ms[first],
                height / 2,
                facecolor=_LOST,
                linewidth=0,
                zorder=2.2,
            )
        )
    narrowest_ms = min(after - before for before, after in itertools.pairwise(edges_ms))
    narrowest_points = narrowest_ms / _ROW_MS * _ROW_POINTS
    if one.mpdus > 1 and narrowest_points >= _NARROWEST_SUBFRAME_POINTS:
        axes.add_collection(
            LineCollection(
                [[(edge, lane + 1 - height), (edge, lane + 1)] for edge in edges_ms[1:-1]],
                colors=_PAPER,
                linewidths=min(0.4, narrowest_points / 4),
                zorder=2.4,
            ),
            autolim=False,
        )


def _edges(one: Transmission) -> list[float]:
    """Where the MPDUs of a PPDU begin and end, in ms: by their octets, if all are known."""
    octets = one.mpdu_octets if len(one.mpdu_octets) == one.mpdus else (1,) * one.mpdus
    step_ns = (one.end_ns - one.start_ns) / sum(octets)
    return [
        (one.start_ns + before * step_ns) / _NS_PER_MS
        for before in itertools.accumulate(octets, initial=0)
    ]


def _stretches(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """(first, last) of each stretch of consecutive numbers."""
    for _, group in itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        stretch = [number for _, number in group]
        yield stretch[0], stretch[-1]


def _legend(timeline: Timeline, spoiled: bool) -> list[Artist]:
    """What occurs, in the order of _KINDS."""
    seen = {one.kind for one in timeline.transmissions}
    roles = {role: name for kind, (role, name, _) in _KINDS.items() if kind in seen}
    handles: list[Artist] = [
        Patch(color=PALETTE[role][0], label=name) for role, name in roles.items()
    ]
    if any(one.lost for one in timeline.transmissions):
        handles.append(Patch(color=_LOST, label="lost"))
    if spoiled:
        handles.append(Line2D([], [], label="collision", **_COLLISION_MARKER))
    return handles

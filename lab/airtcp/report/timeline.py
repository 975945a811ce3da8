# SPDX-License-Identifier: GPL-2.0-only
"""The timeline of a run: 50 ms with lanes for TCP, and below them a lane for each radio."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy

from airtcp.errors import AirtcpError, InputError
from airtcp.files import airtrace
from airtcp.files.airsim import ampdu_sizes, read_airsim
from airtcp.files.airtrace import Transmission
from airtcp.report import medium, tcplanes
from airtcp.report.figure import (
    PAGE_IN,
    Axis,
    Box,
    Entry,
    Figure,
    Legend,
    Line,
    Mark,
    Panel,
    Rule,
    Strokes,
    Style,
    Tick,
    floats,
)
from airtcp.report.medium import LENGTH_MS, NS_PER_MS, Captured, Medium
from airtcp.report.model import Results, Run, run_name
from airtcp.report.plot import Plot
from airtcp.report.tcplanes import Lanes
from airtcp.units import counted

_ROW_MS = 10
_ROWS = LENGTH_MS // _ROW_MS

_LANE_IN = 0.24
_ROW_POINTS = 440  # about the width of a row's axes
_NARROWEST_SUBFRAME_POINTS = 0.7  # narrower ones would be hidden by the lines between MPDUs
_MOST_IN_LEGEND_ROW = 9

# Appearance of each kind of frame: colour, name in the legend and height in a lane.
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
    "trigger": ("frame-protection", "Trigger", _LOW),
}
_NAMES: Mapping[airtrace.Kind, str] = {
    **{kind: name for kind, (_, name, _) in _KINDS.items()},
    "rts": "RTS",
    "cts": "CTS",
}
Nodes = Mapping[int, str]
"""The name of the node of each radio."""

_MPDUS = "ampdu_mpdus_mean"

_LOST = "frame-lost"
_NOT_CAPTURED = "grid"
_COLLISION_OPACITY = 0.2
_COLLISION_STYLE = Style(_LOST, marker="thin-cross", size=3.6, edge=1)


def plots(
    results: Results, start_ms: float | None = None, name: str | None = None
) -> tuple[list[Plot], list[str]]:
    """A timeline of each policy that has a capture on the air, and notes on those left out.

    It shows the policy's first run that has one, or only the run with this name, `CASE/seed-N`.
    Raises InputError if there is no such run, or if start_ms is given and no capture is that long.
    """
    timelines: list[Plot] = []
    notes: list[str] = []
    wanted = (
        [_named(results, name)]
        if name
        else [_first(results, policy) for policy in results.policies]
    )
    shown = [item for item in wanted if _capture(item[2]).exists()]
    at_ms, too_short = start_ms, None
    for label, policy, run in shown:
        try:
            if at_ms is None:
                at_ms = _typical_start_ms([run for _, _, run in shown])
            captured = _captured(run)
            air = medium.read(captured.path, at_ms)
            lanes = tcplanes.read(run, air.start_ms, air.start_ms + LENGTH_MS)
        except AirtcpError as error:
            notes.append(f"Left out, {policy}: {error}")
            too_short = error if isinstance(error, InputError) else too_short
            continue
        run_text = f"{label}, {policy}, seed {run.seed}"
        timelines.append(
            Plot(
                f"timeline-{policy}",
                f"Transmissions on the medium: {policy}",
                f"{run_text}. {caption(air)} {_typical(air, captured)} "
                f"{tcplanes.caption(lanes)}".rstrip(),
                f"{run_text}. {_counts(air)}",
                describe(air, lanes, {radio.number: radio.node for radio in run.testbed.radios}),
            )
        )
    if too_short and not timelines:
        raise too_short
    if not shown:
        note = "Timelines of the medium need a capture on the air: run again with --set capture=air"
        if start_ms is not None:
            raise InputError(note)
        if not any(item[2].hosts for item in wanted):
            notes.append(note)
    return timelines, notes


def _capture(run: Run) -> Path:
    return run.directory / "air.pcapng"


def _typical_start_ms(runs: Sequence[Run]) -> float:
    """The start for all runs; captures that cannot be read are reported when they are shown."""
    captures = []
    for run in runs:
        with suppress(AirtcpError):
            length_ms = airtrace.length_ns(_capture(run)) / NS_PER_MS
            captures.append(_captured(run, length_ms))
    return medium.typical_start_ms(captures) if captures else 0.0


def _captured(run: Run, length_ms: float = math.inf) -> Captured:
    """length_ms: of the capture, which may end before the transfer.

    Raises AirtcpError if a file of the run cannot be read.
    """
    path = _capture(run)
    counters = read_airsim(run.directory)
    last_ms = counters["time_ns"] / NS_PER_MS
    testbed = run.testbed
    if not testbed.exchanges:  # afterwards connections end, which takes several RTTs
        ends_s = [flow.start_s + (flow.duration_s or 0) for flow in testbed.bulk]
        last_ms = min(last_ms, 1000 * max(ends_s))
    mpdus = sum(size * count for size, count in ampdu_sizes(counters).items())
    from_ms = airtrace.transfer_start_ns(path) / NS_PER_MS
    return Captured(
        path,
        max(from_ms, 0.0),
        min(from_ms + last_ms, length_ms),
        run.record.metrics.get(_MPDUS),
        # A shorter transfer is within one such part.
        mpdus * LENGTH_MS / max(last_ms, LENGTH_MS),
    )


def _typical(air: Medium, captured: Captured) -> str:
    """How typical of the run this part is."""
    here, mean = air.mpdus_mean, captured.mpdus_mean
    if here is None or mean is None:
        return "No data here." if here is None else ""
    is_typical = captured.is_typical(here, air.mpdus * LENGTH_MS / air.captured_ms)
    text = (
        f"{'Typical' if is_typical else 'Not typical'} of the run: PPDUs "
        f"with more than TCP ACKs have {here:.3g} MPDUs on average, {mean:.3g} in the whole run"
    )
    if captured.mpdus is not None:
        text += f"; {counted(air.mpdus, 'such MPDU')} here, {captured.mpdus:.0f} per {LENGTH_MS} ms"
        text += " in the whole run"
    return f"{text}."


def _first(results: Results, policy: str) -> tuple[str, str, Run]:
    """The first run of a policy that has a capture on the air, or the first without one."""
    runs = [item for item in _runs(results) if item[1] == policy]
    return next((item for item in runs if _capture(item[2]).exists()), runs[0])


def _named(results: Results, name: str) -> tuple[str, str, Run]:
    known = {run_name(item[2].directory): item for item in _runs(results)}
    if name not in known:
        raise InputError(f"--run {name}: no such run; allowed: {' '.join(known)}")
    return known[name]


def _runs(results: Results) -> list[tuple[str, str, Run]]:
    """(condition, policy, run) of all runs."""
    return [
        (condition.label, measured.policy, run)
        for condition in results.conditions
        for measured in condition.policies
        for run in measured.runs
    ]


def caption(air: Medium) -> str:
    """What the timeline shows, and its totals."""
    text = (
        f"{LENGTH_MS} ms of virtual time, {_ROW_MS} ms per row, one lane per radio. A box is a "
        "PPDU; low boxes are control frames. Thin lines separate the MPDUs of an A-MPDU where "
        "there is room; red in a box: lost MPDUs. A red band with a cross: a collision at a "
        "receiver. "
    )
    if len(air.lanes) < len(air.radios):
        text += f"The {len(air.lanes)} of {len(air.radios)} radios that used the medium longest. "
    if not air.is_whole:
        text += "Grey: after the end of the capture. "
    return text + _counts(air)


def _counts(air: Medium) -> str:
    data = [ppdu for ppdu in air.transmissions if ppdu.kind == "data"]
    lost = sum(len(ppdu.lost) for ppdu in data)
    collided = len(medium.collisions(air.transmissions))
    time = "time" if air.is_whole else f"{air.captured_ms:.1f} ms until the capture ends"
    return (
        f"From {air.start_ms:g} ms after the capture began, the medium was busy "
        f"{air.busy:.0%} of the {time}: {counted(len(data), 'data PPDU')}, those with TCP ACKs "
        f"included, with {counted(sum(ppdu.mpdus for ppdu in data), 'MPDU')}, {lost} of them lost; "
        f"{counted(collided, 'collision')}."
    )


def _node(radio: int, nodes: Nodes) -> str:
    return nodes.get(radio, f"radio {radio}")


def _tip(ppdu: Transmission, nodes: Nodes) -> str:
    nobody = "itself" if ppdu.kind == "cts" else "all"
    receiver = nobody if ppdu.receiver is None else _node(ppdu.receiver, nodes)
    parts = [
        f"{_NAMES[ppdu.kind]}, {_node(ppdu.sender, nodes)} to {receiver}",
        f"{ppdu.start_ns / NS_PER_MS:.3f} ms, {(ppdu.end_ns - ppdu.start_ns) / 1000:.1f} us",
        counted(ppdu.mpdus, "MPDU") + f", {ppdu.octets} octets",
        ppdu.rate,
    ]
    if ppdu.lost:
        parts.append("lost" if ppdu.mpdus == 1 else f"{len(ppdu.lost)} lost")
    if ppdu.retry:
        parts.append("retry")
    if ppdu.collided:
        parts.append("collided")
    return "; ".join(parts)


def describe(air: Medium, of_tcp: Lanes, nodes: Nodes) -> Figure:
    """Rows of _ROW_MS from top to bottom, each with the lanes of TCP above those of the radios.

    nodes: the names of the radios.
    """
    spoiled = medium.collisions(air.transmissions)
    lanes = len(of_tcp.names) + len(air.lanes)
    entries = [*tcplanes.legend(of_tcp), *_legend(air, bool(spoiled))]
    legend_rows = -(-len(entries) // _MOST_IN_LEGEND_ROW) or 1
    return Figure(
        [_row(air, of_tcp, spoiled, row, nodes) for row in range(_ROWS)],
        0.65 + _ROWS * (_LANE_IN * max(1, lanes) + 0.24),
        PAGE_IN,
        Legend(entries, -(-len(entries) // legend_rows)),  # rows of the same length
        is_picture=True,
    )


def _row(
    air: Medium, of_tcp: Lanes, spoiled: Sequence[tuple[int, int]], row: int, nodes: Nodes
) -> Panel:
    """The lanes of a row: lane n, from the top, has y from n to n + 1, downwards."""
    names = [*of_tcp.names, *_radio_names(air, nodes)]
    start_ms = air.start_ms + row * _ROW_MS
    limits_ms = (start_ms, start_ms + _ROW_MS)
    y = Axis(
        limits=(max(1, len(names)) + 0.04, 0),
        ticks=[Tick(lane + 1 - _FULL / 2, name) for lane, name in enumerate(names)],
        grid=False,
        line=False,
    )
    above = len(of_tcp.names)
    marks: list[Mark] = [
        Rule(axis="y", at=lane, colour="grid", width=0.5) for lane in range(1, len(names))
    ]
    marks += _not_captured(air, of_tcp, limits_ms, y.limits[0])
    marks += tcplanes.marks(of_tcp, limits_ms)
    for start_ns, end_ns in spoiled:
        spans_ms = (start_ns / NS_PER_MS, end_ns / NS_PER_MS)
        marks += _collision(spans_ms, limits_ms, above, y.limits[0])
    for ppdu in air.transmissions:
        in_row = ppdu.end_ns > limits_ms[0] * NS_PER_MS and ppdu.start_ns < limits_ms[1] * NS_PER_MS
        if in_row and ppdu.sender in air.lanes:
            marks += _ppdu(ppdu, above + air.lanes.index(ppdu.sender), nodes)
    x = Axis("virtual time since the capture began", "ms", limits_ms, step=1)
    return Panel(x, y, marks, row=row)


def _radio_names(air: Medium, nodes: Nodes) -> list[str]:
    aps = {ppdu.sender for ppdu in air.transmissions if ppdu.from_ap}
    return [
        f"{nodes[radio]}, radio" if radio in nodes else f"radio {radio}{' (AP)' * (radio in aps)}"
        for radio in air.lanes
    ]


def _not_captured(
    air: Medium, of_tcp: Lanes, limits_ms: tuple[float, float], bottom: float
) -> Iterator[Mark]:
    """Boxes over the lanes of hosts and radios from the end of the capture on the air.

    The captures at hosts end with it; the trace of the ACK timer need not.
    """
    left, right = max(air.end_ms, limits_ms[0]), limits_ms[1]
    tip = f"the capture ends at {air.end_ms:.3f} ms"
    for top, low in ((0, len(of_tcp.bursts)), (len(of_tcp.names), bottom)):
        if not air.is_whole and left < right and top < low:
            yield Box(left=left, right=right, top=top, bottom=low, colour=_NOT_CAPTURED, tip=tip)


def _collision(
    span_ms: tuple[float, float], limits_ms: tuple[float, float], top: float, bottom: float
) -> list[Mark]:
    """A band across the lanes of the radios, from top to bottom, with a cross above it."""
    start_ms, end_ms = max(span_ms[0], limits_ms[0]), min(span_ms[1], limits_ms[1])
    if start_ms >= end_ms:
        return []
    return [
        Box(
            left=start_ms,
            right=end_ms,
            top=top,
            bottom=bottom,
            colour=_LOST,
            opacity=_COLLISION_OPACITY,
        ),
        Line(
            x=floats([(start_ms + end_ms) / 2]),
            y=floats([top]),
            style=_COLLISION_STYLE,
            clip=False,
        ),
    ]


def _ppdu(ppdu: Transmission, lane: int, nodes: Nodes) -> Iterator[Mark]:
    """A box, its lost MPDUs, and lines between MPDUs where there is room."""
    role, _, height = _KINDS[ppdu.kind]
    top, bottom = lane + 1 - height, lane + 1
    yield Box(
        left=ppdu.start_ns / NS_PER_MS,
        right=ppdu.end_ns / NS_PER_MS,
        top=top,
        bottom=bottom,
        colour=role,
        tip=_tip(ppdu, nodes),
    )
    edges_ms = _edges_ms(ppdu)
    for first, last in _ranges(ppdu.lost):
        yield Box(
            left=edges_ms[first],
            right=edges_ms[last + 1],
            top=top,
            bottom=top + height / 2,
            colour=_LOST,
        )
    narrowest_ms = min(after - before for before, after in itertools.pairwise(edges_ms))
    narrowest_points = narrowest_ms / _ROW_MS * _ROW_POINTS
    if ppdu.mpdus > 1 and narrowest_points >= _NARROWEST_SUBFRAME_POINTS:
        between_ms = floats(edges_ms[1:-1])
        yield Strokes(
            x=between_ms,
            low=top,
            high=numpy.full(len(between_ms), float(bottom)),
            colour="paper",
            width=min(0.4, narrowest_points / 4),
        )


def _edges_ms(ppdu: Transmission) -> list[float]:
    """The boundaries between the MPDUs of a PPDU: by their octets, if all are known."""
    octets = ppdu.mpdu_octets if len(ppdu.mpdu_octets) == ppdu.mpdus else (1,) * ppdu.mpdus
    step_ns = (ppdu.end_ns - ppdu.start_ns) / sum(octets)
    return [
        (ppdu.start_ns + before * step_ns) / NS_PER_MS
        for before in itertools.accumulate(octets, initial=0)
    ]


def _ranges(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """(first, last) of each range of consecutive numbers."""
    for _, group in itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        consecutive = [number for _, number in group]
        yield consecutive[0], consecutive[-1]


def _legend(air: Medium, has_collisions: bool) -> list[Entry]:
    """Entries for what occurs, in the order of _KINDS."""
    seen = {ppdu.kind for ppdu in air.transmissions}
    roles = {role: name for kind, (role, name, _) in _KINDS.items() if kind in seen}
    entries = [Entry(name, role) for role, name in roles.items()]
    if any(ppdu.lost for ppdu in air.transmissions):
        entries.append(Entry("lost", _LOST))
    if has_collisions:
        entries.append(Entry("collision", _COLLISION_STYLE))
    if not air.is_whole:
        entries.append(Entry("not captured", _NOT_CAPTURED))
    return entries

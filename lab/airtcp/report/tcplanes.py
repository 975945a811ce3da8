# SPDX-License-Identifier: GPL-2.0-only
"""What TCP did above the air: lanes of segments and ACKs at both ends, and of the ACK timer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Patch, PathPatch, Rectangle
from matplotlib.path import Path as Outline

from airtcp.backends.uml import EPOCH_NS
from airtcp.report.model import Run
from airtcp.report.plots import PALETTE
from airtcp.results.files import acktrace, airtrace, capture
from airtcp.results.files.acktrace import Wait
from airtcp.results.files.capture import Segment
from airtcp.testbed.addresses import station_address

_NS_PER_MS = 1_000_000
_NODES = ("server", "station")
_TIMER = "ACK timer"

# Segments of a kind that follow each other sooner than that are told of together.
_BURST_NS = 150_000

# Of each kind: its role in PALETTE, that of the box behind a burst, and from where to where it
# stands in its lane.
_DATA = ("policy0", "tint0", 0.10, 0.52)
_ACK = ("policy1", "tint1", 0.58, 0.90)
_FIRED, _CANCELLED = "policy4", "tint7"
_WAIT = (0.24, 0.80)
_TICK_POINTS = 0.5
_LEAST_BOX_MS = 0.01  # what a pointer finds


@dataclass(frozen=True)
class _Burst:
    """Segments of a kind, sent or received one right after the other."""

    segments: Sequence[Segment]
    sent: bool

    @property
    def is_data(self) -> bool:
        return self.segments[0].payload_bytes > 0


@dataclass(frozen=True)
class Lanes:
    """Of one run, in a time; begin_ns is when the capture on the air began, a monotonic time."""

    begin_ns: int
    bursts: Mapping[str, Sequence[_Burst]]
    waits: Sequence[Wait] | None

    @property
    def names(self) -> list[str]:
        return [*self.bursts, *([_TIMER] if self.waits else [])]

    def ms(self, time_ns: int) -> float:
        """On the axis, of a monotonic time."""
        return (time_ns - self.begin_ns) / _NS_PER_MS

    def captured_ms(self, segment: Segment) -> float:
        """On the axis; captures are stamped with the time of day."""
        return self.ms(segment.time_ns - EPOCH_NS)


NONE = Lanes(0, {}, None)


def read(run: Run, start_ms: float, end_ms: float) -> Lanes:
    """Those that the run has left files of. Raises AirtcpError when one is corrupt."""
    run_dir = run.directory
    stations = [station_address(number) for number in run.settings.station_numbers]
    begin_ns = airtrace.begin_ns(run_dir / "air.pcapng")
    from_ns, to_ns = (begin_ns + ms * _NS_PER_MS for ms in (start_ms, end_ms))
    bursts = {}
    for node in _NODES:
        path = run_dir / f"{node}.pcapng"
        if path.exists():
            segments = capture.read_tcp(path, from_ns + EPOCH_NS, to_ns + EPOCH_NS)
            # The server has an address for each station that uploads.
            at_server = node == "server"
            theirs = stations if at_server else stations[:1]
            bursts[node] = list(
                _bursts((one, (one.source in theirs) != at_server) for one in segments)
            )
    trace = run_dir / acktrace.FILE
    waits = list(acktrace.read_waits(trace, from_ns, to_ns)) if trace.exists() else None
    return Lanes(begin_ns, bursts, waits)


def _bursts(segments: Iterator[tuple[Segment, bool]]) -> Iterator[_Burst]:
    """Of segments and whether the node sent them; SYN, FIN and RST are left out."""
    growing: dict[tuple[bool, bool], list[Segment]] = {}
    for segment, sent in segments:
        if not (segment.payload_bytes or segment.is_pure_ack):
            continue
        key = (segment.payload_bytes > 0, sent)
        burst = growing.setdefault(key, [])
        if burst and segment.time_ns - burst[-1].time_ns > _BURST_NS:
            yield _Burst(burst, key[1])
            growing[key] = burst = []
        burst.append(segment)
    yield from (_Burst(burst, sent) for (_, sent), burst in growing.items() if burst)


def caption(lanes: Lanes) -> str:
    parts = []
    if lanes.bursts:
        where = " and ".join(lanes.bursts)
        parts.append(
            f"Above the air, at the {where}: a line is a segment with data or, below it, an ACK, "
            "when the node sent or got it."
        )
    if lanes.waits:
        fired = sum(wait.fired for wait in lanes.waits)
        parts.append(
            f"ACK timer: from armed to the ACK, which it sent itself {fired} of {len(lanes.waits)} "
            "times; otherwise another reason came first."
        )
    return " ".join(parts)


def tips(lanes: Lanes, rows: int) -> dict[str, str]:
    """What each box is, by its gid."""
    texts = {
        _gid(node, number): _tip(lanes, burst)
        for node, bursts in lanes.bursts.items()
        for number, burst in enumerate(bursts)
    }
    for number, wait in enumerate(lanes.waits or ()):
        texts[_gid(_TIMER, number)] = _tip_of_wait(lanes, wait)
    return {f"{gid}-row{row}": text for gid, text in texts.items() for row in range(rows)}


def _tip(lanes: Lanes, burst: _Burst) -> str:
    first, last = burst.segments[0], burst.segments[-1]
    count = len(burst.segments)
    what = "segment with data" if burst.is_data else "ACK"
    words = what if count == 1 else f"{count} {what.replace('segment', 'segments')}"
    words += "s" if count > 1 and not burst.is_data else ""
    times = f"{lanes.captured_ms(first):.3f} ms"
    if count > 1:
        times += f" to {lanes.captured_ms(last):.3f} ms"
    parts = [f"{words} {'sent' if burst.sent else 'received'}", times]
    if burst.is_data:
        parts.append(f"{sum(one.payload_bytes for one in burst.segments)} octets")
        parts.append(f"from sequence number {first.sequence}")
    else:
        parts.append(f"up to acknowledgment number {last.acknowledgment}")
    return "; ".join(parts)


def _tip_of_wait(lanes: Lanes, wait: Wait) -> str:
    ended = "fired" if wait.fired else "cancelled by an earlier ACK"
    return (
        f"{_TIMER} armed {lanes.ms(wait.armed_ns):.3f} ms, "
        f"{ended} {lanes.ms(wait.ended_ns):.3f} ms; at last {wait.delay_us} us after an arrival; "
        f"{wait.segments} segments acknowledged"
    )


def _gid(lane: str, number: int) -> str:
    return f"{lane.replace(' ', '-').lower()}{number}"


def draw(axes: Axes, lanes: Lanes, row: int) -> None:
    """Those of a row, whose limits are set: lane n has y from n to n + 1, downwards."""
    low, high = axes.get_xlim()
    for lane, (node, bursts) in enumerate(lanes.bursts.items()):
        for look, is_data in ((_DATA, True), (_ACK, False)):
            role, behind, top, bottom = look
            ticks_ms: list[float] = []
            for number, burst in enumerate(bursts):
                times_ms = [lanes.captured_ms(one) for one in burst.segments]
                if burst.is_data != is_data or times_ms[-1] < low or times_ms[0] >= high:
                    continue
                gid = f"{_gid(node, number)}-row{row}"
                height = (lane + top, lane + bottom)
                _box(axes, (times_ms[0], times_ms[-1]), height, behind, gid, alpha=0.55)
                ticks_ms += [at for at in times_ms if low <= at < high]
            _ticks(axes, ticks_ms, (lane + top, lane + bottom), role)
    lane = len(lanes.bursts)
    for number, wait in enumerate(lanes.waits or ()):
        span = (lanes.ms(wait.armed_ns), lanes.ms(wait.ended_ns))
        if span[1] >= low and span[0] < high:
            role = _FIRED if wait.fired else _CANCELLED
            gid = f"{_gid(_TIMER, number)}-row{row}"
            _box(axes, span, (lane + _WAIT[0], lane + _WAIT[1]), role, gid)


def _box(
    axes: Axes,
    span_ms: tuple[float, float],
    height: tuple[float, float],
    role: str,
    gid: str,
    alpha: float = 1.0,
) -> None:
    start_ms, end_ms = span_ms
    box = Rectangle(
        (start_ms, height[0]),
        max(end_ms - start_ms, _LEAST_BOX_MS),
        height[1] - height[0],
        facecolor=PALETTE[role][0],
        alpha=alpha,
        linewidth=0,
        zorder=2,
    )
    box.set_gid(gid)
    axes.add_patch(box)


def _ticks(axes: Axes, times_ms: Sequence[float], height: tuple[float, float], role: str) -> None:
    """All as one path: a run has thousands."""
    if not times_ms:
        return
    points = [(at, y) for at in times_ms for y in height]
    codes = [Outline.MOVETO, Outline.LINETO] * len(times_ms)
    ticks = PathPatch(
        Outline(points, codes),
        edgecolor=PALETTE[role][0],
        facecolor="none",
        linewidth=_TICK_POINTS,
        zorder=2.2,
    )
    axes.add_patch(ticks)


def legend(lanes: Lanes) -> list[Artist]:
    """What occurs."""
    bursts = [burst for of_node in lanes.bursts.values() for burst in of_node]
    waits = lanes.waits or ()
    found = {
        "segment": (_DATA[0], any(burst.is_data for burst in bursts)),
        "TCP ACK": (_ACK[0], any(not burst.is_data for burst in bursts)),
        "timer fired": (_FIRED, any(wait.fired for wait in waits)),
        "timer cancelled": (_CANCELLED, any(not wait.fired for wait in waits)),
    }
    return [
        Patch(color=PALETTE[role][0], label=name)
        for name, (role, occurs) in found.items()
        if occurs
    ]

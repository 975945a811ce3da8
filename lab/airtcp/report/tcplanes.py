# SPDX-License-Identifier: GPL-2.0-only
"""The lanes of TCP in a timeline: segments and ACKs at both ends, and the ACK timer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy

from airtcp.backends.uml import EPOCH_NS
from airtcp.files import acktrace, airtrace, capture
from airtcp.files.acktrace import Wait
from airtcp.files.capture import Segment
from airtcp.report.figure import Box, Entry, Mark, Strokes, floats
from airtcp.report.medium import NS_PER_MS
from airtcp.report.model import Run
from airtcp.units import counted

_TIMER = "ACK timer"

# Segments of a kind less than this apart are one burst.
_BURST_NS = 150_000

# For each kind: its colour, the colour of the box behind a burst, and its top and bottom in a lane.
_DATA = ("policy0", "tint0", 0.10, 0.52)
_ACK = ("policy1", "tint1", 0.58, 0.90)
_FIRED, _CANCELLED = "policy4", "tint7"
_WAIT = (0.24, 0.80)
_TICK_POINTS = 0.5
_LEAST_BOX_MS = 0.01  # wide enough to point at


@dataclass(frozen=True)
class _Burst:
    """Segments of a kind, sent or received back to back."""

    segments: Sequence[Segment]
    sent: bool

    @property
    def is_data(self) -> bool:
        return self.segments[0].payload_bytes > 0


@dataclass(frozen=True)
class Lanes:
    """Lanes of a short interval. begin_ns: monotonic time of the start of the capture on the air.

    bursts: by node. waits: of the ACK timer; None without a trace. missing: a sentence on the time
    that the trace does not contain.
    """

    begin_ns: int
    bursts: Mapping[str, Sequence[_Burst]]
    waits: Sequence[Wait] | None
    missing: str = ""

    @property
    def names(self) -> list[str]:
        return [*self.bursts, *([_TIMER] if self.waits else [])]

    def ms(self, time_ns: int) -> float:
        """Convert a monotonic time to ms on the axis."""
        return (time_ns - self.begin_ns) / NS_PER_MS

    def captured_ms(self, segment: Segment) -> float:
        """The time of a segment in ms on the axis; captures have the time of day."""
        return self.ms(segment.time_ns - EPOCH_NS)


def read(run: Run, start_ms: float, end_ms: float) -> Lanes:
    """The lanes for which the run has files: of the hosts of its first TCP flow, of the ACK timer.

    Raises AirtcpError if a file is corrupt.
    """
    run_dir, testbed = run.directory, run.testbed
    first = next((flow for flow in testbed.flows if flow.protocol == "tcp"), None)
    begin_ns = airtrace.begin_ns(run_dir / "air.pcapng")
    from_ns, to_ns = (begin_ns + ms * NS_PER_MS for ms in (start_ms, end_ms))
    bursts = {}
    for node in testbed.hosts:
        path = run_dir / f"{node.name}.pcapng"
        if first and node.name in (first.sender, first.receiver) and path.exists():
            segments = capture.read_tcp(path, from_ns + EPOCH_NS, to_ns + EPOCH_NS)
            sent = ((segment, segment.source in node.addresses) for segment in segments)
            bursts[node.name] = list(_bursts(sent))
    trace = run_dir / acktrace.FILE
    if not trace.exists():
        return Lanes(begin_ns, bursts, None)
    missing, first_ns = "", acktrace.overwritten_ns(trace)
    if first_ns is not None and first_ns > from_ns:
        missing = (
            f"{acktrace.FILE} has no ACK timers before {(first_ns - begin_ns) / NS_PER_MS:.0f} ms: "
            "the kernel's buffer was full; use a shorter duration."
        )
    return Lanes(begin_ns, bursts, list(acktrace.read_waits(trace, from_ns, to_ns)), missing)


def _bursts(segments: Iterator[tuple[Segment, bool]]) -> Iterator[_Burst]:
    """Bursts of segments, each with whether the node sent it; SYN, FIN and RST are left out."""
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
            f"Above the radios, as captured at the {where}: an upper line is a data segment, a "
            "lower line an ACK, at the time at which the node sent or received it."
        )
    if lanes.waits:
        fired = sum(wait.fired for wait in lanes.waits)
        parts.append(
            f"ACK timer: a box lasts until the ACK was sent. The timer fired {fired} of "
            f"{len(lanes.waits)} times; otherwise another event sent the ACK."
        )
    if lanes.missing:
        parts.append(lanes.missing)
    return " ".join(parts)


def _tip(lanes: Lanes, burst: _Burst) -> str:
    first, last = burst.segments[0], burst.segments[-1]
    count = len(burst.segments)
    names = ("segment with data", "segments with data") if burst.is_data else ("ACK", "ACKs")
    what = names[0] if count == 1 else counted(count, *names)
    times = f"{lanes.captured_ms(first):.3f} ms"
    if count > 1:
        times += f" to {lanes.captured_ms(last):.3f} ms"
    parts = [f"{what} {'sent' if burst.sent else 'received'}", times]
    if burst.is_data:
        parts.append(f"{sum(segment.payload_bytes for segment in burst.segments)} octets")
        parts.append(f"from sequence number {first.sequence}")
    else:
        parts.append(f"up to acknowledgment number {last.acknowledgment}")
    return "; ".join(parts)


def _tip_of_wait(lanes: Lanes, wait: Wait) -> str:
    ended = "fired" if wait.fired else "cancelled by an earlier ACK"
    return (
        f"{_TIMER} armed {lanes.ms(wait.armed_ns):.3f} ms, "
        f"{ended} {lanes.ms(wait.ended_ns):.3f} ms; last delay {wait.delay_us} us; "
        f"{wait.segments} segments acknowledged"
    )


def marks(lanes: Lanes, limits_ms: tuple[float, float]) -> list[Mark]:
    """The marks within limits: lane n has y from n to n + 1, downwards."""
    shown: list[Mark] = []
    for lane, bursts in enumerate(lanes.bursts.values()):
        for look, is_data in ((_DATA, True), (_ACK, False)):
            of_kind = [burst for burst in bursts if burst.is_data == is_data]
            shown += _bursts_marks(lanes, of_kind, lane, look, limits_ms)
    lane = len(lanes.bursts)
    for wait in lanes.waits or ():
        span_ms = (lanes.ms(wait.armed_ns), lanes.ms(wait.ended_ns))
        if _is_within(span_ms, limits_ms):
            role = _FIRED if wait.fired else _CANCELLED
            shown.append(_box(span_ms, lane, _WAIT, role, _tip_of_wait(lanes, wait)))
    return shown


def _bursts_marks(
    lanes: Lanes,
    bursts: Sequence[_Burst],
    lane: int,
    look: tuple[str, str, float, float],
    limits_ms: tuple[float, float],
) -> Iterator[Mark]:
    """A box behind each burst, then a line for each segment."""
    role, behind, top, bottom = look
    ticks_ms: list[float] = []
    for burst in bursts:
        times_ms = [lanes.captured_ms(segment) for segment in burst.segments]
        span_ms = (times_ms[0], times_ms[-1])
        if _is_within(span_ms, limits_ms):
            yield _box(span_ms, lane, (top, bottom), behind, _tip(lanes, burst), opacity=0.55)
            ticks_ms += [at for at in times_ms if limits_ms[0] <= at < limits_ms[1]]
    if ticks_ms:
        yield Strokes(
            x=floats(ticks_ms),
            low=lane + top,
            high=numpy.full(len(ticks_ms), lane + bottom),
            colour=role,
            width=_TICK_POINTS,
        )


def _is_within(span_ms: tuple[float, float], limits_ms: tuple[float, float]) -> bool:
    """Whether the span overlaps the limits."""
    return span_ms[1] >= limits_ms[0] and span_ms[0] < limits_ms[1]


def _box(
    span_ms: tuple[float, float],
    lane: int,
    height: tuple[float, float],
    role: str,
    tip: str,
    opacity: float = 1.0,
) -> Box:
    start_ms, end_ms = span_ms
    return Box(
        left=start_ms,
        right=max(end_ms, start_ms + _LEAST_BOX_MS),
        top=lane + height[0],
        bottom=lane + height[1],
        colour=role,
        opacity=opacity,
        tip=tip,
    )


def legend(lanes: Lanes) -> list[Entry]:
    """Entries for what occurs."""
    bursts = [burst for of_node in lanes.bursts.values() for burst in of_node]
    waits = lanes.waits or ()
    entries = {
        "segment": (_DATA[0], any(burst.is_data for burst in bursts)),
        "TCP ACK": (_ACK[0], any(not burst.is_data for burst in bursts)),
        "timer fired": (_FIRED, any(wait.fired for wait in waits)),
        "timer cancelled": (_CANCELLED, any(not wait.fired for wait in waits)),
    }
    return [Entry(name, role) for name, (role, occurs) in entries.items() if occurs]

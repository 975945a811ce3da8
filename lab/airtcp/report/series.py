# SPDX-License-Identifier: GPL-2.0-only
"""Time series of one run for figures, read from its directory."""

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy

from airtcp.errors import AirtcpError
from airtcp.files import capture
from airtcp.files.cwndtrace import Sender, read_cwnd_trace
from airtcp.files.iperf3 import read_iperf3
from airtcp.files.tcpwatch import read_exchange_ends, read_flows, read_sent
from airtcp.results import timeseries
from airtcp.statistics import Floats
from airtcp.testbed.model import Flow, Testbed

# Inter-arrival times are shown from here, after slow start, if the capture is that long.
_ARRIVALS_AFTER_NS = 1_000_000_000
_ARRIVALS_SHOWN = 300
_SENT_BEFORE_NS = 20_000_000

_SENT_COLUMNS = ("time_ns", "cwnd", "ssthresh", "srtt_us")

# The columns of series.csv.
_BY_SECOND: Mapping[str, str] = {
    "goodput": "goodput_mbps",
    "flow_goodput": "goodput_mbps",
    "segments": "segments_per_s",
    "acks": "acks_per_s",
}

# The kernel's ssthresh before the first loss.
_NO_SSTHRESH = 0x7FFFFFFF

# Without a capture on the air, a gap of this many medians starts an aggregate: its segments follow
# each other at the rate of the radio, and the first of the next had to wait for the channel.
_GAP_OF_AGGREGATE = 2.0


@dataclass(frozen=True)
class OverTime:
    """The state of the sender's TCP by flow, and goodput. Times: seconds since the flows began.

    names: of the flows; those of the same kind have the same name. goodput_mbps: by name.
    """

    flows: Sequence[Mapping[str, Floats]]  # time_s, cwnd, ssthresh, srtt_ms
    names: Sequence[str]
    goodput_end_s: Floats
    goodput_mbps: Mapping[str, Floats]


@dataclass(frozen=True)
class Arrivals:
    """Consecutive data segments at the receiver.

    gaps_ms: time since the previous segment. aggregates: number of each segment's aggregate.
    acks_after: for each pure ACK sent, how many of these segments had arrived.
    """

    gaps_ms: Floats
    aggregates: Sequence[int]
    acks_after: Sequence[int]
    aggregates_from_air: bool


def _over_tcp(run_dir: Path, testbed: Testbed) -> list[Flow]:
    over_tcp = testbed.over("tcp")
    if not over_tcp:
        raise AirtcpError(f"{run_dir}: no TCP flow")
    return over_tcp


def over_time(run_dir: Path, testbed: Testbed) -> OverTime:
    """Read the state of TCP and goodput. Raises AirtcpError if a file is missing or corrupt."""
    sent = read_sent(run_dir, _over_tcp(run_dir, testbed), _SENT_COLUMNS)
    start_ns = timeseries.flows_began_ns(run_dir, testbed, sent)
    flows = []
    for samples in sent:
        srtt_ms = samples["srtt_us"] / 1000
        ssthresh = samples["ssthresh"]
        flows.append(
            {
                "time_s": (samples["time_ns"] - start_ns) / 1e9,
                "cwnd": samples["cwnd"],
                "ssthresh": numpy.where(ssthresh < _NO_SSTHRESH, ssthresh, numpy.nan),
                "srtt_ms": numpy.where(srtt_ms > 0, srtt_ms, numpy.nan),  # 0: none measured yet
            }
        )
    by_flow = by_second(run_dir, testbed, "flow_goodput")
    goodput_mbps: dict[str, Floats] = {}
    for name, (_, values) in zip(flow_names(testbed, testbed.bulk), by_flow, strict=True):
        goodput_mbps[name] = goodput_mbps.get(name, 0) + values
    names = flow_names(testbed, testbed.over("tcp"))
    return OverTime(flows, names, by_flow[0][0], goodput_mbps)


def flow_names(testbed: Testbed, flows: Sequence[Flow]) -> list[str]:
    """A name for each connection: direction and station; in a custom topology that of its flow."""
    several = len({flow.station for flow in testbed.flows}) > 1
    names = []
    for flow in flows:
        name = flow.label or flow.direction
        if several and not flow.label:
            node = flow.receiver if flow.direction == "download" else flow.sender
            name += f", {node}"
        names += [name] * flow.connections
    return names


def by_second(run_dir: Path, testbed: Testbed, what: str) -> list[tuple[Floats, Floats]]:
    """(end of each second, value) of a series of series.csv: of each flow, or the sum.

    Raises AirtcpError if the file is missing or corrupt, or flows do not have the series.
    """
    recorded = timeseries.read_csv(run_dir / "series.csv")
    column = _BY_SECOND[what]
    ends_s = recorded.ends_s - testbed.parameters.baseline_s
    # Without the baseline before and after the flows.
    arrives = numpy.any([flow["goodput_mbps"] > 0 for flow in recorded.flows], axis=0)
    end_s = max([testbed.parameters.duration_s, *ends_s[arrives]])
    during = (ends_s > 0) & (ends_s <= end_s)
    ends_s = ends_s[during]
    flows = [flow[column][during] for flow in recorded.flows]
    if what == "flow_goodput":
        return [(ends_s, values) for values in flows]
    if any(numpy.isnan(values).any() for values in flows):
        raise AirtcpError(f"{run_dir}: UDP has no {what}")
    return [(ends_s, numpy.sum(flows, axis=0))]


def segments_per_ack(run_dir: Path, testbed: Testbed) -> list[tuple[Floats, Floats]]:
    """(end of each second, data segments per ACK) of all flows; without an ACK, the segments."""
    [(ends_s, segments)] = by_second(run_dir, testbed, "segments")
    [(_, acks)] = by_second(run_dir, testbed, "acks")
    return [(ends_s, segments / numpy.maximum(acks, 1))]


def cwnd_at_acks(run_dir: Path, testbed: Testbed) -> list[tuple[Floats, Floats]]:
    """(s since the first, segments) of each connection, at every segment its sender received."""
    senders: dict[Sender, frozenset[int] | None] = {}
    for flow in testbed.flows:
        sender = flow.sender_address, flow.port
        if flow in testbed.over("tcp"):  # without the control connections of iperf3
            ports = read_iperf3(run_dir / flow.file("client")).data_ports
            senders[sender] = ports | (senders.get(sender) or frozenset())
        elif flow.protocol == "tcp":
            senders[sender] = None
    traces = read_cwnd_trace(run_dir, senders)
    start_s = min(float(times_s[0]) for times_s, _ in traces)
    return [(times_s - start_s, cwnd) for times_s, cwnd in traces]


def received(run_dir: Path, testbed: Testbed) -> list[tuple[Floats, Floats]]:
    """(s since the first sample, segments with data so far) of each connection."""
    traces = [trace for flow in testbed.exchanges for trace in read_exchange_ends(run_dir, flow)]
    if not traces:
        traces = read_flows(run_dir, _over_tcp(run_dir, testbed)).received
    start_ns = min(trace.columns["time_ns"][0] for trace in traces)
    return [
        ((trace.columns["time_ns"] - start_ns) / 1e9, trace.columns["data_segs_in"])
        for trace in traces
    ]


def arrivals(run_dir: Path, testbed: Testbed) -> Arrivals | None:
    """Read arrivals from the capture at the first receiver; None if there is no such capture.

    Raises AirtcpError if a capture is corrupt, or contains too few segments or no gap between them.
    """
    first = _over_tcp(run_dir, testbed)[0]
    path = run_dir / f"{first.receiver}.pcapng"
    if not path.exists():
        return None
    # One flow only: gaps between segments of different flows do not delimit aggregates.
    port = min(read_iperf3(run_dir / first.file("client")).data_ports)
    segments = _window(path, port)
    data = [segment for segment in segments if segment.payload_bytes]
    if len(data) < 3:
        raise AirtcpError(f"{path}: fewer than three data segments")
    times_ns = [segment.time_ns for segment in data]
    since_first_ns = numpy.array([time_ns - times_ns[0] for time_ns in times_ns], dtype=float)
    gaps_ms = numpy.diff(since_first_ns) / 1e6
    if not gaps_ms.any():
        raise AirtcpError(f"{path}: all data segments shown arrived at the same time")
    air = run_dir / "air.pcapng"
    on_air = _aggregates_on_air(air, data) if air.exists() else None
    return Arrivals(
        gaps_ms=gaps_ms,
        aggregates=on_air or _aggregates_by_gap(gaps_ms),
        acks_after=[
            bisect_right(times_ns, segment.time_ns) - 1
            for segment in segments
            if segment.is_pure_ack
        ],
        aggregates_from_air=on_air is not None,
    )


def _window(path: Path, port: int) -> list[capture.Segment]:
    """The segments of a connection to show, starting and ending with data.

    If the capture is long enough, they are the first after slow start, and little else is read.
    """

    def of_connection(from_ns: float = 0) -> Iterator[capture.Segment]:
        return (
            segment
            for segment in capture.read_tcp(path, from_ns)
            if port in (segment.source_port, segment.destination_port)
        )

    if first := next(of_connection(), None):
        late: list[capture.Segment] = []
        late_data = 0
        for segment in of_connection(first.time_ns + _ARRIVALS_AFTER_NS):
            late_data += segment.payload_bytes > 0
            if late_data:
                late.append(segment)
            if late_data > _ARRIVALS_SHOWN:
                return late
    seen = list(of_connection())
    data = [index for index, segment in enumerate(seen) if segment.payload_bytes]
    shown = data[-_ARRIVALS_SHOWN - 1 :]
    return seen[shown[0] : shown[-1] + 1] if shown else []


def _aggregates_by_gap(gaps_ms: Floats) -> list[int]:
    """An aggregate number for each segment after the first; a long gap starts a new one."""
    starts = gaps_ms > _GAP_OF_AGGREGATE * float(numpy.median(gaps_ms))
    return [int(number) for number in numpy.cumsum(starts)]


def _aggregates_on_air(air: Path, data: Sequence[capture.Segment]) -> list[int] | None:
    """The number, from 0, of the A-MPDU of each segment after the first.

    None if the capture on the air does not contain all of them.
    """
    received_ns = {segment.sequence: segment.time_ns for segment in data}
    # Most segments were sent shortly before they arrived; reading all of the capture takes longer.
    for from_ns in (data[0].time_ns - _SENT_BEFORE_NS, 0):
        references = _references(air, data, received_ns, from_ns)
        if references.keys() == received_ns.keys():
            break
    else:
        return None
    numbers = [0]
    for before, now in itertools.pairwise(data[1:]):
        reference = references[now.sequence]
        same = reference is not None and reference == references[before.sequence]
        numbers.append(numbers[-1] if same else numbers[-1] + 1)
    return numbers


def _references(
    air: Path, data: Sequence[capture.Segment], received_ns: Mapping[int, int], from_ns: int
) -> dict[int, int | None]:
    """The A-MPDU of the last transmission of each segment before it arrived, by its number."""
    references: dict[int, int | None] = {}
    for segment in capture.read_tcp(air, from_ns, data[-1].time_ns + 1):
        is_data_of_flow = segment.source_port == data[0].source_port and segment.payload_bytes
        # A segment may be sent again after it arrived if its BlockAck was lost.
        if is_data_of_flow and segment.time_ns <= received_ns.get(segment.sequence, 0):
            references[segment.sequence] = segment.ampdu_reference
    return references

# SPDX-License-Identifier: GPL-2.0-only
"""The bulk flows of a run over time, in steps of equal length except for the last one."""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy

from airtcp.backends.uml import EPOCH_NS
from airtcp.errors import AirtcpError
from airtcp.files.airsim import read_transfer_start_ns
from airtcp.files.iperf3 import read_iperf3
from airtcp.files.tcpwatch import Samples, TcpTrace, read_flows
from airtcp.files.text import read_text
from airtcp.paths import BEGAN
from airtcp.statistics import Floats
from airtcp.testbed.model import Flow, Testbed

# Times in s, and the values of each counter at these times.
_Counters = tuple[Floats, Mapping[str, Floats]]

CSV_STEP_S = 1.0
CSV_COLUMNS = (
    *("time_s", "station", "direction", "class", "flow"),
    *("goodput_mbps", "cwnd_segments", "tcp_rtt_ms", "retransmits"),
    *("segments_per_s", "acks_per_s"),
)

# A rest that is shorter than this share of a step belongs to the last step.
_REST = 0.1


@dataclass(frozen=True)
class FlowSeries:
    """A flow with values for each step.

    number: counts the connections of a flow from 1. At the receiver: goodput_mbps, segments_per_s
    (received data segments) and acks_per_s (sent segments without data). At the sender:
    cwnd_segments and tcp_rtt_ms (means, NaN in steps without a sample) and retransmits. For UDP,
    all except goodput are None.
    """

    transfer: Flow
    number: int
    goodput_mbps: Floats
    cwnd_segments: Floats | None = None
    tcp_rtt_ms: Floats | None = None
    retransmits: Floats | None = None
    segments_per_s: Floats | None = None
    acks_per_s: Floats | None = None


@dataclass(frozen=True)
class OverTime:
    """Flows over time. ends_s: end of each step since probing began; flows start at `baseline`.

    The last step ends when everything has arrived, or with the run if that is later.
    """

    ends_s: Floats
    flows: Sequence[FlowSeries]


def read(run_dir: Path, testbed: Testbed, step_s: float) -> OverTime:
    """Read the bulk flows of a run, to the end of `baseline`, or of the last flow if it is later.

    Raises AirtcpError if a file is missing or corrupt.
    """
    parameters, pairs = testbed.parameters, testbed.bulk
    over_tcp = testbed.over("tcp")
    tcp = _tcp_traces(run_dir, testbed, over_tcp) if over_tcp else []
    udp = _udp_series(run_dir, testbed)
    ends_s = [trace.received_until_s for trace in tcp]
    ends_s += [_grows_until(times_s, bits) for _, _, times_s, bits in udp]
    total_s = parameters.duration_s + 2 * parameters.baseline_s
    last_s = max(ends_s, default=0.0) + parameters.baseline_s
    steps = max(round(total_s / step_s), math.ceil(last_s / step_s - _REST))
    edges_s = step_s * numpy.arange(steps + 1, dtype=numpy.float64)
    edges_s[-1] = max(total_s, last_s)
    since_begin_s = edges_s - parameters.baseline_s
    flows = [trace.over_time(since_begin_s) for trace in tcp]
    flows += [
        FlowSeries(pair, number, _rate_mbps(times_s, bits, since_begin_s))
        for pair, number, times_s, bits in udp
    ]
    return OverTime(edges_s[1:], sorted(flows, key=lambda flow: pairs.index(flow.transfer)))


def flows_began_ns(run_dir: Path, testbed: Testbed, sampled: Iterable[Samples]) -> int:
    """When the flows began, by the guest's clock; on real hosts with the first sample.

    Raises AirtcpError if the file with that time is missing or corrupt.
    """
    if testbed.staggered:
        path = run_dir / BEGAN
        try:
            return int(read_text(path))
        except ValueError:
            raise AirtcpError(f"{path}: not a time in ns") from None
    start_ns = read_transfer_start_ns(run_dir)
    if start_ns is not None:
        return EPOCH_NS + start_ns
    return min(int(samples["time_ns"][0]) for samples in sampled)


@dataclass(frozen=True)
class _Connection:
    """A TCP connection. start_ns: when the flows began."""

    owner: tuple[Flow, int]
    sender: TcpTrace
    receiver: TcpTrace
    start_ns: int

    @property
    def received_until_s(self) -> float:
        received_s, received = self._received
        return _grows_until(received_s, received["bytes_received"])

    def over_time(self, edges_s: Floats) -> FlowSeries:
        times_s = (self.sender.columns["time_ns"] - self.start_ns) / 1e9
        srtt_ms = self.sender.columns["srtt_us"] / 1000
        sent_s, sent = self._counted(self.sender)
        received_s, received = self._received
        acks = received["segs_out"] - received["data_segs_out"]
        steps_s = numpy.diff(edges_s)
        return FlowSeries(
            *self.owner,
            goodput_mbps=_rate_mbps(received_s, 8 * received["bytes_received"], edges_s),
            cwnd_segments=_means(times_s, self.sender.columns["cwnd"], edges_s),
            tcp_rtt_ms=_means(times_s, numpy.where(srtt_ms > 0, srtt_ms, numpy.nan), edges_s),
            retransmits=_growth(sent_s, sent["retrans"], edges_s),
            segments_per_s=_growth(received_s, received["data_segs_in"], edges_s) / steps_s,
            acks_per_s=_growth(received_s, acks, edges_s) / steps_s,
        )

    @cached_property
    def _received(self) -> _Counters:
        return self._counted(self.receiver)

    def _counted(self, trace: TcpTrace) -> _Counters:
        """Counters, and their times in s since the flows began."""
        totals = _totals(trace, self.start_ns + round(self.owner[0].start_s * 1e9))
        return (totals["time_ns"] - self.start_ns) / 1e9, totals


def _tcp_traces(run_dir: Path, testbed: Testbed, over_tcp: Sequence[Flow]) -> list[_Connection]:
    senders, receivers = read_flows(run_dir, over_tcp)
    start_ns = flows_began_ns(run_dir, testbed, [each.columns for each in (*senders, *receivers)])
    owners = [(pair, number) for pair in over_tcp for number in range(1, pair.connections + 1)]
    return [
        _Connection(owner, sender, receiver, start_ns)
        for owner, sender, receiver in zip(owners, senders, receivers, strict=True)
    ]


def _totals(trace: TcpTrace, begin_ns: int) -> Mapping[str, Floats]:
    """The counters of a connection: 0 at its begin, its samples, and its last state.

    Samples may be as far apart as `tcp_sample`.
    """
    first = min(begin_ns, trace.columns["time_ns"][0])
    return {
        name: numpy.array([first if name == "time_ns" else 0, *samples, trace.final[name]])
        for name, samples in trace.columns.items()
    }


def _udp_series(run_dir: Path, testbed: Testbed) -> list[tuple[Flow, int, Floats, Floats]]:
    """Each UDP flow: times in s since the flows began, and bits received until then.

    The clocks of real hosts differ: there a flow begins at its declared start.
    """
    pairs = testbed.over("udp")
    in_guest = pairs and read_transfer_start_ns(run_dir) is not None
    start_ns = flows_began_ns(run_dir, testbed, []) if in_guest else None
    series = []
    for pair in pairs:
        server, begin_s = read_iperf3(run_dir / pair.file("server")), pair.start_s
        if start_ns is not None:
            begin_s = server.number("start", "timestamp", "timesecs") - start_ns / 1e9
        for number, (times_s, bits) in enumerate(server.stream_series(), start=1):
            series.append((pair, number, begin_s + times_s, bits))
    return series


def _grows_until(times_s: Floats, total: Floats) -> float:
    """When a total reached its last value."""
    return float(times_s[numpy.argmax(total >= total[-1])])


def _growth(times_s: Floats, total: Floats, edges_s: Floats) -> Floats:
    """Increase of a total in each step; it is constant before and after its samples."""
    return numpy.diff(numpy.interp(edges_s, times_s, total))


def _rate_mbps(times_s: Floats, bits: Floats, edges_s: Floats) -> Floats:
    return _growth(times_s, bits, edges_s) / numpy.diff(edges_s) / 1e6


def _means(times_s: Floats, values: Floats, edges_s: Floats) -> Floats:
    """The mean of the samples in each step; NaN if there is none."""
    known = ~numpy.isnan(values)
    counts, _ = numpy.histogram(times_s[known], edges_s)
    sums, _ = numpy.histogram(times_s[known], edges_s, weights=values[known])
    return numpy.where(counts > 0, sums / numpy.maximum(counts, 1), numpy.nan)


def write_csv(path: Path, run_dir: Path, testbed: Testbed) -> None:
    """Write a row for each bulk flow and step; columns: CSV_COLUMNS."""
    over_time = read(run_dir, testbed, CSV_STEP_S)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        for step, end_s in enumerate(over_time.ends_s):
            for flow in over_time.flows:
                writer.writerow([f"{end_s:.9g}", *_row(flow, step)])


@dataclass(frozen=True)
class Recorded:
    """series.csv. ends_s: as in OverTime. flows: the numeric columns of each flow, NaN if empty."""

    ends_s: Floats
    flows: Sequence[Mapping[str, Floats]]


def read_csv(path: Path) -> Recorded:
    """Read what write_csv() wrote. Raises AirtcpError if the file is missing or corrupt."""
    head, *rows = list(csv.reader(io.StringIO(read_text(path)))) or [[]]
    if tuple(head) != CSV_COLUMNS or not rows:
        raise AirtcpError(f"{path}: not series.csv of a run")
    first = CSV_COLUMNS.index("goodput_mbps")
    names = CSV_COLUMNS[first:]
    try:
        values = numpy.array(
            [[float(cell or "nan") for cell in (row[0], *row[first:])] for row in rows]
        )
        count = list(values[:, 0]).count(values[0, 0])
        by_flow = values.reshape(-1, count, 1 + len(names))
    except (ValueError, IndexError):
        raise AirtcpError(f"{path}: not series.csv of a run, or truncated") from None
    flows = [dict(zip(names, by_flow[:, flow, 1:].T, strict=True)) for flow in range(count)]
    return Recorded(by_flow[:, 0, 0], flows)


def _row(flow: FlowSeries, step: int) -> list[Any]:
    measured = (
        *(flow.goodput_mbps, flow.cwnd_segments, flow.tcp_rtt_ms, flow.retransmits),
        *(flow.segments_per_s, flow.acks_per_s),
    )
    return [
        flow.transfer.station,
        flow.transfer.direction,
        flow.transfer.service or "",
        _name(flow),
        *("" if column is None else _text(column[step]) for column in measured),
    ]


def _name(flow: FlowSeries) -> str:
    """The number of a connection, after the name of its flow if that is not its only one."""
    label = flow.transfer.label
    if not label:
        return str(flow.number)
    return f"{label} {flow.number}" if flow.transfer.connections > 1 else label


def _text(value: float) -> str:
    return "" if numpy.isnan(value) else f"{value:.3f}"

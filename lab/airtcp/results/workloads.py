# SPDX-License-Identifier: GPL-2.0-only
"""What each workload has measured, from the files that its flows left."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy
from numpy.typing import NDArray

from airtcp.errors import AirtcpError
from airtcp.results.files.airsim import read_airsim
from airtcp.results.files.exchanges import Exchanges, read_exchanges
from airtcp.results.files.iperf3 import Iperf3, read_iperf3
from airtcp.results.files.tcpwatch import TcpTrace, exchange_ends, read_connections, read_flows
from airtcp.results.record import Value
from airtcp.steps.workloads import web
from airtcp.testbed.model import Flow, Testbed

Floats = NDArray[numpy.float64]
Counters = Mapping[str, int]

NO_DATA = "the TCP connections of the transfer carried no data"


@dataclass(frozen=True)
class Measured:
    """Metrics of a workload alone, and of each TCP connection the last counters at both ends.

    traces: samples of senders, unless connections may be too short for one.
    """

    values: Mapping[str, Value] = field(default_factory=dict)
    sent: Sequence[Counters] = ()
    received: Sequence[Counters] = ()
    traces: Sequence[TcpTrace] = ()


def measure(run_dir: Path, testbed: Testbed, workload: str) -> Measured:
    """All flows of a workload. Raises AirtcpError for a file that is missing or corrupt."""
    flows = [flow for flow in testbed.flows if flow.workload == workload]
    return _MEASURES[workload](run_dir, testbed, flows)


def measure_flow(run_dir: Path, testbed: Testbed, flow: Flow) -> Measured:
    """One flow alone."""
    return _MEASURES[flow.workload](run_dir, testbed, [flow])


def _bulk(run_dir: Path, testbed: Testbed, flows: Sequence[Flow]) -> Measured:
    clients = [read_iperf3(run_dir / flow.file("client")) for flow in flows]
    sent, received = read_flows(run_dir, [flow for flow in flows if flow.protocol == "tcp"])
    goodput = _goodput_together if testbed.simultaneous else _goodput_of_run
    return Measured(
        goodput(run_dir, testbed, flows, clients, received),
        [trace.final for trace in sent],
        [trace.final for trace in received],
        sent,
    )


def _goodput_of_run(
    run_dir: Path,
    testbed: Testbed,
    flows: Sequence[Flow],
    clients: Sequence[Iperf3],
    received: Sequence[TcpTrace],
) -> dict[str, Value]:
    """What reached the receivers over the whole run, whenever flows began and ended."""
    length_s = read_airsim(run_dir)["time_ns"] / 1e9
    bits = [8 * client.number("end", "sum_received", "bytes") for client in clients]
    return _goodputs(flows, numpy.array(bits) / length_s / 1e6)


def _goodput_together(
    run_dir: Path,
    testbed: Testbed,
    flows: Sequence[Flow],
    clients: Sequence[Iperf3],
    received: Sequence[TcpTrace],
) -> dict[str, Value]:
    """Goodput of flows that are all there all the time, and how fair they are."""
    mbps = [client.number("end", "sum_received", "bits_per_second") / 1e6 for client in clients]
    goodputs_mbps = numpy.array(mbps)
    values: dict[str, Value] = {}
    if len(received) > 1:
        flows_mbps = _together_mbps(run_dir, received, testbed.parameters.duration_s)
        values["flow_jain"] = jain(flows_mbps)
        of_tcp = [flow.protocol == "tcp" for flow in flows]
        if sum(of_tcp) > 1:
            connections = [flow.flows for flow in flows if flow.protocol == "tcp"]
            first = numpy.cumsum([0, *connections[:-1]])
            goodputs_mbps[of_tcp] = numpy.add.reduceat(flows_mbps, first)
    values |= _goodputs(flows, goodputs_mbps)
    stations = list(dict.fromkeys(flow.station for flow in flows))
    if len(stations) > 1:
        own = [[flow.station == station for flow in flows] for station in stations]
        values["goodput_jain"] = jain(numpy.array([goodputs_mbps[one].sum() for one in own]))
    return values


def _goodputs(flows: Sequence[Flow], goodputs_mbps: Floats) -> dict[str, Value]:
    values: dict[str, Value] = {"goodput_mbps": float(goodputs_mbps.sum())}
    for direction in ("download", "upload"):
        chosen = [flow.direction == direction for flow in flows]
        if any(chosen):
            values[f"goodput_{direction}_mbps"] = float(goodputs_mbps[chosen].sum())
    return values


def _together_mbps(run_dir: Path, receiver: Sequence[TcpTrace], duration_s: float) -> Floats:
    """Goodput of each connection while all were at it: not all begin and end together."""
    times_s = [trace.columns["time_ns"] / 1e9 for trace in receiver]
    window_s = max(times[0] for times in times_s), min(times[-1] for times in times_s)
    length_s = window_s[1] - window_s[0]
    if length_s < duration_s / 2:
        raise AirtcpError(
            f"{run_dir}: the {len(receiver)} flows overlap for only "
            f"{max(length_s, 0):.1f} s of {duration_s:g} s: use a longer duration"
        )
    received = [
        numpy.diff(numpy.interp(window_s, times, trace.columns["bytes_received"]))[0]
        for times, trace in zip(times_s, receiver, strict=True)
    ]
    return numpy.asarray(8 * numpy.array(received) / length_s / 1e6, dtype=numpy.float64)


def jain(shares: Floats) -> float | None:
    """Jain's fairness index: (sum x)^2 / (n sum x^2). None when nobody has anything."""
    squares = float((shares**2).sum())
    return float(shares.sum()) ** 2 / (len(shares) * squares) if squares else None


def _request_response(run_dir: Path, testbed: Testbed, flows: Sequence[Flow]) -> Measured:
    found = _exchanges(run_dir, flows)
    times_ms = _times_ms(found)
    ends = [exchange_ends(one, flow) for one, flow in zip(found, flows, strict=True)]
    traces = [
        trace
        for flow, end in zip(flows, ends, strict=True)
        for trace in read_connections(run_dir, flow.sender).traces(end)
    ]
    name = "request_response_ms"
    values = {
        **_distribution(name, times_ms),
        f"{name}_p99": float(numpy.percentile(times_ms, 99)),
        f"{name}_max": float(times_ms.max()),
    }
    return _counted(run_dir, flows, found, values, traces)


def _transfer(run_dir: Path, testbed: Testbed, flows: Sequence[Flow]) -> Measured:
    found = _exchanges(run_dir, flows)
    values = _distribution("completion_time_ms", _times_ms(found))
    return _counted(run_dir, flows, found, values)


def _web(run_dir: Path, testbed: Testbed, flows: Sequence[Flow]) -> Measured:
    found = _exchanges(run_dir, flows)
    values = _distribution("completion_time_ms", _times_ms(found))
    pages = [one.by_page() for one in found]
    return _counted(
        run_dir, flows, found, {**values, **_distribution("page_time_ms", _times_ms(pages))}
    )


def _exchanges(run_dir: Path, flows: Sequence[Flow]) -> list[Exchanges]:
    found = []
    for flow in flows:
        path, pages = run_dir / flow.exchanges_file, run_dir / flow.pages_file
        exchanges = read_exchanges(path)
        expected = flow.parameters.exchange_count or web.object_count(pages)
        if len(exchanges.start_ns) != expected:
            raise AirtcpError(f"{path}: {len(exchanges.start_ns)} exchanges of {expected}")
        found.append(exchanges)
    return found


def _times_ms(found: Sequence[Exchanges]) -> Floats:
    return numpy.concatenate([one.times_ms for one in found])


def _distribution(name: str, times_ms: Floats) -> dict[str, Value]:
    return {
        f"{name}_mean": float(times_ms.mean()),
        f"{name}_p50": float(numpy.percentile(times_ms, 50)),
        f"{name}_p95": float(numpy.percentile(times_ms, 95)),
    }


def _counted(
    run_dir: Path,
    flows: Sequence[Flow],
    found: Sequence[Exchanges],
    values: Mapping[str, Value],
    traces: Sequence[TcpTrace] = (),
) -> Measured:
    sent: list[Counters] = []
    received: list[Counters] = []
    for flow, exchanges in zip(flows, found, strict=True):
        ends = exchange_ends(exchanges, flow)
        sent += read_connections(run_dir, flow.sender).finals(ends)
        received += read_connections(run_dir, flow.receiver).finals(ends)
    return Measured(values, sent, received, traces)


_MEASURES: Mapping[str, Callable[[Path, Testbed, Sequence[Flow]], Measured]] = {
    "bulk": _bulk,
    "request_response": _request_response,
    "transfer": _transfer,
    "web": _web,
}

# SPDX-License-Identifier: GPL-2.0-only
"""request_response and transfer: the receiver requests data, the sender replies.

The guest's program `exchange` sends small messages over one connection, or files, each over a new
connection.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy

from airtcp.errors import AirtcpError
from airtcp.files.exchanges import Exchanges, read_exchanges
from airtcp.files.tcpwatch import TcpTrace, exchange_ends, read_connections
from airtcp.statistics import Floats
from airtcp.steps.step import Run, Start, Step, Wait, run
from airtcp.steps.workloads.workload import Headline, Measured, Workload
from airtcp.testbed.addresses import numbered
from airtcp.testbed.model import PORT, Flow, Testbed


def options(flow: Flow) -> str:
    """Options of the program `exchange`, at both ends."""
    port = "" if flow.port == PORT else f" -p {flow.port}"
    nagle = "" if flow.parameters.nagle else " -N"
    return f"-C {flow.congestion_control}{nagle}{port}"


def _serve(flow: Flow, reply: int, connections: int) -> list[Step]:
    request = flow.parameters.message_bytes
    command = f"exchange {options(flow)} serve {request} {reply} {connections}"
    serve = Run(tuple(command.split()), node=flow.sender, required=False)
    return [Start([serve], numbered("server", flow.number), only=True)]


def _client(flow: Flow, verb: str, reply: int) -> Run:
    request, count = flow.parameters.message_bytes, flow.parameters.exchange_count
    command = f"exchange {options(flow)} {verb} {flow.sender_address} {request} {reply} {count}"
    return run(command, node=flow.receiver, stdout=flow.exchanges_file)


def _ending(flow: Flow) -> list[Step]:
    failure = f"exchange at the {flow.sender}"
    return [Wait(numbered("server", flow.number), failure, only=True)]


def _timeout_s(flow: Flow, rate_bps: float) -> float:
    parameters = flow.parameters
    exchanged_mb = (parameters.transfer_size_bytes or parameters.message_bytes) / 1e6
    return flow.start_s + parameters.exchange_count * (1 + exchanged_mb)


def _expected_s(flow: Flow) -> float:
    return flow.parameters.duration_s


def _file_bytes(flow: Flow) -> int:
    return flow.parameters.transfer_size_bytes or 0


def _measure_requests(run_dir: Path, testbed: Testbed, flows: Sequence[Flow]) -> Measured:
    exchanges = [_read(run_dir, flow) for flow in flows]
    times_ms = {"request_response_ms": _times_ms(exchanges)}
    traces = [
        trace
        for flow, flow_exchanges in zip(flows, exchanges, strict=True)
        for trace in read_connections(run_dir, flow.sender).sampled(
            exchange_ends(flow_exchanges, flow)
        )
    ]
    return measured(run_dir, flows, exchanges, times_ms, traces)


def _measure_transfers(run_dir: Path, testbed: Testbed, flows: Sequence[Flow]) -> Measured:
    exchanges = [_read(run_dir, flow) for flow in flows]
    return measured(run_dir, flows, exchanges, {"completion_time_ms": _times_ms(exchanges)})


def _read(run_dir: Path, flow: Flow) -> Exchanges:
    return read_complete(run_dir / flow.exchanges_file, flow.parameters.exchange_count)


def read_complete(path: Path, count: int) -> Exchanges:
    """The exchanges in a file. Raises AirtcpError unless it has this number of them."""
    exchanges = read_exchanges(path)
    if len(exchanges.start_ns) != count:
        raise AirtcpError(f"{path}: {len(exchanges.start_ns)} exchanges of {count}")
    return exchanges


def _times_ms(exchanges: Sequence[Exchanges]) -> Floats:
    return numpy.concatenate([flow_exchanges.times_ms for flow_exchanges in exchanges])


def measured(
    run_dir: Path,
    flows: Sequence[Flow],
    exchanges: Sequence[Exchanges],
    times_ms: Mapping[str, Floats],
    traces: Sequence[TcpTrace] = (),
) -> Measured:
    """These times, with the last counters of the flows' connections. exchanges: by flow."""
    sent: list[Mapping[str, int]] = []
    received: list[Mapping[str, int]] = []
    for flow, flow_exchanges in zip(flows, exchanges, strict=True):
        ends = exchange_ends(flow_exchanges, flow)
        sent += read_connections(run_dir, flow.sender).finals(ends)
        received += read_connections(run_dir, flow.receiver).finals(ends)
    return Measured({}, times_ms, sent, received, traces)


WORKLOADS = {
    "request_response": Workload(
        Headline("request_response_ms_mean", "mean latency"),
        lambda flow: _serve(flow, flow.parameters.message_bytes, 1),
        lambda flow: _client(flow, "ask", flow.parameters.message_bytes),
        _expected_s,
        _timeout_s,
        _measure_requests,
        _ending,
    ),
    "transfer": Workload(
        Headline("completion_time_ms_mean", "mean completion time"),
        lambda flow: _serve(flow, _file_bytes(flow), flow.parameters.transfers),
        lambda flow: _client(flow, "fetch", _file_bytes(flow)),
        _expected_s,
        _timeout_s,
        _measure_transfers,
        _ending,
    ),
}

# SPDX-License-Identifier: GPL-2.0-only
"""request_response and transfer: the receiver of the data asks, the sender answers.

Small messages over one connection, or files, each over a new one, by the guest's program exchange.
"""

from airtcp.parameters import Parameters
from airtcp.steps.step import Run, Start, Step, Wait, run
from airtcp.steps.workloads.workload import Workload
from airtcp.testbed.addresses import numbered
from airtcp.testbed.model import PORT, Flow


def options(flow: Flow) -> str:
    """Of the program exchange at both ends."""
    port = "" if flow.port == PORT else f" -p {flow.port}"
    nagle = "" if flow.parameters.nagle else " -N"
    return f"-C {flow.congestion_control}{nagle}{port}"


def _serve(flow: Flow, reply: int, connections: int) -> list[Step]:
    request = flow.parameters.message_bytes
    words = f"exchange {options(flow)} serve {request} {reply} {connections}"
    serve = Run(tuple(words.split()), node=flow.sender, required=False)
    return [Start([serve], numbered("server", flow.number), only=True)]


def _client(flow: Flow, verb: str, reply: int) -> Run:
    request, count = flow.parameters.message_bytes, flow.parameters.exchange_count
    words = f"exchange {options(flow)} {verb} {flow.sender_address} {request} {reply} {count}"
    return run(words, node=flow.receiver, stdout=flow.exchanges_file)


def _ending(flow: Flow) -> list[Step]:
    failure = f"exchange at the {flow.sender}"
    return [Wait(numbered("server", flow.number), failure, only=True)]


def _timeout_s(flow: Flow, rate_bps: float) -> float:
    parameters = flow.parameters
    exchanged_mb = (parameters.transfer_size_bytes or parameters.message_bytes) / 1e6
    return flow.start_s + parameters.exchange_count * (1 + exchanged_mb)


def _expected_s(parameters: Parameters) -> float:
    return parameters.duration_s


WORKLOADS = {
    "request_response": Workload(
        lambda flow: _serve(flow, flow.parameters.message_bytes, 1),
        lambda flow: _client(flow, "ask", flow.parameters.message_bytes),
        _expected_s,
        _timeout_s,
        _ending,
    ),
    "transfer": Workload(
        lambda flow: _serve(flow, _file_bytes(flow), flow.parameters.transfers),
        lambda flow: _client(flow, "fetch", _file_bytes(flow)),
        _expected_s,
        _timeout_s,
        _ending,
    ),
}


def _file_bytes(flow: Flow) -> int:
    return flow.parameters.transfer_size_bytes or 0

# SPDX-License-Identifier: GPL-2.0-only
"""bulk: data for as long as `duration`, by iperf3: its client sends, its server receives."""

from airtcp.steps.step import Run, Start, Step
from airtcp.steps.workloads.workload import Workload
from airtcp.testbed.model import PORT, RRUL_CLASSES, Flow

# Payload that fills an Ethernet frame: 1500 less the headers of IPv4 and UDP.
UDP_PAYLOAD_BYTES = 1472


def client(flow: Flow) -> str:
    """iperf3's command at the sender."""
    words = [f"iperf3 -4 -J -c {flow.receiver_address}", *_port(flow)]
    if flow.service is not None:
        words.append(f"--dscp {RRUL_CLASSES[flow.service]}")
    words.append(f"-t {round(flow.duration_s or 0)} -P {flow.flows}")
    if flow.protocol == "udp":
        words.append(f"-u -l {UDP_PAYLOAD_BYTES}")
    else:
        words.append(f"-C {flow.congestion_control}")
        words += [] if flow.parameters.nagle else ["-N"]
    return " ".join([*words, *([] if flow.rate_bps is None else [f"-b {round(flow.rate_bps)}"])])


def server(flow: Flow) -> str:
    """iperf3's command at the receiver."""
    bound = [f"-B {flow.receiver_address}"] if flow.bind else []
    return " ".join(["iperf3 -4 -s -1 -J", *bound, *_port(flow)])


def _port(flow: Flow) -> list[str]:
    return [f"-p {flow.port}"] if flow.service is not None or flow.port != PORT else []


def _run(flow: Flow, node: str, command: str, file: str, required: bool) -> Run:
    argv, blocking = tuple(command.split()), flow.parameters.iperf3_block
    return Run(argv, node=node, stdout=file, required=required, blocking=blocking)


def _listening(flow: Flow) -> list[Step]:
    receiver = _run(flow, flow.receiver, server(flow), flow.file("server"), required=False)
    return [Start([receiver], "receivers")]


def _measured(flow: Flow) -> Run:
    return _run(flow, flow.sender, client(flow), flow.file("client"), required=True)


def _timeout_s(flow: Flow, rate_bps: float) -> float:
    return (30 + rate_bps / 10e6) * (flow.start_s + (flow.duration_s or 0))


WORKLOADS = {
    "bulk": Workload(_listening, _measured, lambda parameters: parameters.duration_s, _timeout_s)
}

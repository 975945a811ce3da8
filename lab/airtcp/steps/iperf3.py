# SPDX-License-Identifier: GPL-2.0-only
"""iperf3's commands of the workload bulk, and how it runs in a node."""

from airtcp.parameters import Parameters
from airtcp.steps.step import Run
from airtcp.testbed.flows import RRUL_CLASSES, UDP_PAYLOAD_BYTES, Transfer, unlimited_bps


def client(parameters: Parameters, transfer: Transfer) -> str:
    """iperf3's command at the sender."""
    words = [f"iperf3 -4 -J -c {transfer.receiver_address}"]
    if transfer.service is not None:
        words.append(f"-p {transfer.port} --dscp {RRUL_CLASSES[transfer.service]}")
    words.append(f"-t {round(parameters.duration_s)} -P {transfer.flows}")
    if parameters.protocol == "udp":
        rate_bps = parameters.udp_rate_bps or unlimited_bps(parameters)
        words.append(f"-u -l {UDP_PAYLOAD_BYTES} -b {round(rate_bps / parameters.flows)}")
    else:
        words.append(f"-C {parameters.congestion_control}")
        if not parameters.nagle:
            words.append("-N")
    return " ".join(words)


def server(parameters: Parameters, transfer: Transfer) -> str:
    """iperf3's command at the receiver."""
    words = ["iperf3 -4 -s -1 -J"]
    if transfer.direction == "upload" and parameters.stations > 1:
        words.append(f"-B {transfer.receiver_address}")
    if transfer.service is not None:
        words.append(f"-p {transfer.port}")
    return " ".join(words)


def in_node(
    parameters: Parameters, node: str, command: str, stdout: str, required: bool = False
) -> Run:
    """iperf3 in a node, made to wait in the kernel where the parameters say so."""
    argv = tuple(command.split())
    return Run(argv, node=node, stdout=stdout, required=required, blocking=parameters.iperf3_block)

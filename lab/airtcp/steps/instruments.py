# SPDX-License-Identifier: GPL-2.0-only
"""The instruments beside the transfers: tcpwatch, tcpdump, the kernel's traces; and their end."""

from airtcp.parameters import Parameters
from airtcp.steps.step import Instrument, Step, Trace, run
from airtcp.testbed.model import AIR, PORT, Testbed

# Instruments start this long before the transfer.
LEAD_S = 1

# Bytes kept of a packet: headers, with those of radiotap and 802.11 on the air.
_CAPTURED_BYTES, _CAPTURED_ON_AIR_BYTES = 128, 160
_CAPTURE_BUFFER_KIB = 16384

# Some 200,000 lines; what comes later takes the place of what came first.
_TRACE_BUFFER_KIB = 32768

_ACKS = Trace("tcp_ackpol", _TRACE_BUFFER_KIB)
_WINDOWS = Trace("tcp/tcp_probe", _TRACE_BUFFER_KIB, "cwnd")


def instruments(testbed: Testbed) -> list[Step]:
    """All of them, from now on."""
    parameters, points = testbed.parameters, testbed.captures
    return [
        *_watch(testbed),
        *(one for point in points for one in capture(parameters, point, points[point])),
        *traces(parameters),
    ]


def _watch(testbed: Testbed) -> list[Step]:
    """The state of TCP at all hosts, in tcp-NODE.csv."""
    sample_us = round(testbed.parameters.tcp_sample_s * 1e6)
    last_port = max(flow.port for flow in testbed.flows)
    ports = [] if last_port == PORT else [str(PORT), str(last_port)]
    return [
        Instrument(
            run(f"tcpwatch {sample_us} tcp-{node.name}.csv", *ports, node=node.name),
            outlasts=True,
        )
        for node in testbed.hosts
    ]


def capture(parameters: Parameters, point: str, device: str) -> list[Step]:
    """POINT.pcap of a node's device, or of the air."""
    on_air = point == AIR
    limit = ""
    if parameters.capture_duration_s is not None:
        limit_s = LEAD_S + parameters.baseline_s + parameters.capture_duration_s
        limit = f"timeout -s INT {limit_s:g} "
    # The standard output is the file: tcpdump would give one of its own to root, which only root
    # may do on the host. -Z root: it stays root.
    tcpdump = run(
        f"{limit}tcpdump -Z root -n -i {device} "
        f"-s {_CAPTURED_ON_AIR_BYTES if on_air else _CAPTURED_BYTES} "
        f"-B {_CAPTURE_BUFFER_KIB} --time-stamp-precision=nano -w -",
        node="" if on_air else point,
        stdout=f"{point}.pcap",
    )
    up: list[Step] = [run(f"ip link set {device} up")] if on_air else []
    return [*up, Instrument(tcpdump)]


def traces(parameters: Parameters) -> list[Step]:
    """What the kernel traces, from now on."""
    asked = ((parameters.ack_trace, _ACKS), (parameters.cwnd_trace, _WINDOWS))
    return [trace for wanted, trace in asked if wanted]


def traces_end(parameters: Parameters) -> list[Step]:
    """Keep what has been traced."""
    found: list[Step] = []
    if parameters.ack_trace:
        found.append(run(f"cp {_ACKS.directory}/trace ack-trace.txt"))
    if parameters.cwnd_trace:
        found.append(run(f"cp {_WINDOWS.directory}/trace cwnd-trace.txt"))
    return found

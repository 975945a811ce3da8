# SPDX-License-Identifier: GPL-2.0-only
"""Instruments that run during the transfers: tcpwatch, tcpdump, the kernel's traces."""

from airtcp.parameters import Parameters
from airtcp.steps.step import Instrument, Step, Trace, run
from airtcp.testbed.model import AIR, PORT, Testbed

# Instruments start this many seconds before the transfer.
LEAD_S = 1

# Captured bytes of a packet: headers, on the air including radiotap, which is longer with EHT, and
# 802.11.
CAPTURED_BYTES, _CAPTURED_ON_AIR_BYTES, _CAPTURED_WITH_EHT_BYTES = 128, 160, 256
_CAPTURE_BUFFER_KIB = 4096

CAPTURE_FLUSH_S = 1.1
"""tcpdump gets a block of packets when it is full or 1 s old, and ends without the last one.

It therefore ends this much later than what the capture is to contain."""

# 200,000 lines of tcp_probe, 600,000 of tcp_ackpol; when it is full, new ones overwrite the oldest.
_TRACE_BUFFER_KIB = 32768

_ACKS = Trace("tcp_ackpol", _TRACE_BUFFER_KIB)
_WINDOWS = Trace("tcp/tcp_probe", _TRACE_BUFFER_KIB, "cwnd")


def instruments(testbed: Testbed) -> list[Step]:
    """Start all instruments."""
    parameters, points = testbed.parameters, testbed.captures
    return [
        *_watch(testbed),
        *(step for point in points for step in capture(testbed, point, points[point])),
        *traces(parameters).values(),
    ]


def _watch(testbed: Testbed) -> list[Step]:
    """Sample the state of TCP at all hosts, in tcp-NODE.csv."""
    sample_us = round(testbed.tcp_sample_s * 1e6)
    last_port = max(flow.port for flow in testbed.flows)
    ports = [] if last_port == PORT else [str(PORT), str(last_port)]
    return [
        Instrument(
            run(f"tcpwatch {sample_us} tcp-{node.name}.csv", *ports, node=node.name),
            outlasts=True,
        )
        for node in testbed.hosts
    ]


def capture(testbed: Testbed, point: str, device: str) -> list[Step]:
    """Capture packets of a node's device, or of the air, in POINT.pcap."""
    parameters, on_air = testbed.parameters, point == AIR
    octets = CAPTURED_BYTES
    if on_air:
        octets = _CAPTURED_WITH_EHT_BYTES if testbed.eht_channels else _CAPTURED_ON_AIR_BYTES
    limit = ""
    if parameters.capture_duration_s is not None:
        lead_s = LEAD_S + parameters.baseline_s
        limit_s = lead_s + parameters.capture_duration_s + CAPTURE_FLUSH_S
        limit = f"timeout -s INT {limit_s:.9g} "
    # Capture to standard output: tcpdump would change the owner of its own file to root, which only
    # root may do on the host. -Z root: do not drop privileges.
    tcpdump = run(
        f"{limit}tcpdump -Z root -n -i {device} -s {octets} "
        f"-B {_CAPTURE_BUFFER_KIB} --time-stamp-precision=nano -w -",
        node="" if on_air else point,
        stdout=f"{point}.pcap",
    )
    up: list[Step] = [run(f"ip link set {device} up")] if on_air else []
    return [*up, Instrument(tcpdump)]


def traces(parameters: Parameters) -> dict[str, Trace]:
    """The requested traces of the kernel, by the files for them."""
    asked = {
        "ack-trace.txt": (parameters.ack_trace, _ACKS),
        "cwnd-trace.txt": (parameters.cwnd_trace, _WINDOWS),
    }
    return {file: trace for file, (wanted, trace) in asked.items() if wanted}


def traces_end(parameters: Parameters) -> list[Step]:
    """Save the traces."""
    return [run(f"cp {trace.directory}/trace {file}") for file, trace in traces(parameters).items()]

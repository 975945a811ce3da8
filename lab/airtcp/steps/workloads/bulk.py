# SPDX-License-Identifier: GPL-2.0-only
"""bulk: data for `duration`, over TCP from iperf3's client to its server, over UDP by udpflow."""

from collections.abc import Sequence
from pathlib import Path

import numpy

from airtcp.errors import AirtcpError
from airtcp.experiment.metrics import Value
from airtcp.files.iperf3 import Iperf3, read_iperf3
from airtcp.files.tcpwatch import TcpTrace, read_flows
from airtcp.statistics import Floats
from airtcp.steps.step import Run, Start, Step, run
from airtcp.steps.workloads.workload import Headline, Measured, Workload
from airtcp.testbed.model import PORT, RRUL_CLASSES, Flow, Testbed

# Payload that fills an Ethernet frame: 1500 bytes minus the headers of IPv4 and UDP.
UDP_PAYLOAD_BYTES = 1472

# What iperf3 writes at a time to a TCP socket by default. At a rate it waits until the previous
# write is due, so that it sends up to this much too much: less is written at low rates.
_IPERF3_WRITE_BYTES = 128 * 1024
_WRITE_S = 0.01

# UDP flows that overlap for more than this share of the duration count as simultaneous.
_WHOLE = 0.99


def client(flow: Flow) -> str:
    """The command at the sender: iperf3's client, or udpflow."""
    if flow.protocol == "udp":
        return _udp_sender(flow)
    command = [f"iperf3 -4 -J -c {flow.receiver_address}", *_port(flow)]
    if flow.service is not None:
        command.append(f"--dscp {RRUL_CLASSES[flow.service]}")
    command.append(f"-t {round(flow.duration_s or 0)} -P {flow.connections}")
    command.append(f"-C {flow.congestion_control}")
    command += [] if flow.parameters.nagle else ["-N"]
    return " ".join([*command, *([] if flow.rate_bps is None else _at_rate(flow.rate_bps))])


def _at_rate(rate_bps: float) -> list[str]:
    options = [f"-b {round(rate_bps)}"]
    write_bytes = max(1, round(rate_bps / 8 * _WRITE_S))
    return [*options, f"-l {write_bytes}"] if write_bytes < _IPERF3_WRITE_BYTES else options


def _udp_sender(flow: Flow) -> str:
    if flow.rate_bps is None:
        raise ValueError(f"{flow}: UDP needs a rate")
    tos = [] if flow.service is None else [f"-S {RRUL_CLASSES[flow.service] << 2}"]
    options = [*_port(flow), f"-P {flow.connections}", *tos]
    sent = f"{UDP_PAYLOAD_BYTES} {round(flow.rate_bps)} {round(flow.duration_s or 0)}"
    return " ".join(["udpflow", *options, f"send {flow.receiver_address}", sent])


def server(flow: Flow) -> str:
    """The command at the receiver: iperf3's server, or udpflow."""
    bound = [f"-B {flow.receiver_address}"] if flow.bind else []
    if flow.protocol == "udp":
        return " ".join(["udpflow", *bound, *_port(flow), "receive"])
    slow = [] if flow.parameters.read_rate_bps is None else [f"-F {_fifo(flow)}"]
    return " ".join(["iperf3 -4 -s -1 -J", *bound, *_port(flow), *slow])


def _fifo(flow: Flow) -> str:
    """The FIFO to which the receiver of a flow writes data, if a read_rate limits it."""
    return f"/tmp/received{flow.suffix}"


def _port(flow: Flow) -> list[str]:
    return [f"-p {flow.port}"] if flow.service is not None or flow.port != PORT else []


def _run(flow: Flow, node: str, command: str, file: str, required: bool) -> Run:
    argv = tuple(command.split())
    blocking = flow.parameters.iperf3_block and flow.protocol == "tcp"
    if not required and flow.parameters.read_rate_bps is not None:
        blocking = False  # it would collect data for up to 10 ms while the FIFO is empty
    return Run(argv, node=node, stdout=file, required=required, blocking=blocking)


def _listening(flow: Flow) -> list[Step]:
    receiver = _run(flow, flow.receiver, server(flow), flow.file("server"), required=False)
    return [*_slowed(flow), Start([receiver], "receivers")]


def _slowed(flow: Flow) -> list[Step]:
    """Limit the rate at which the receiver reads: the program `drain` reads a FIFO at this rate.

    iperf3 writes data to the FIFO (-F). When that is full, iperf3 waits, does not read the socket,
    and TCP's receive window closes.
    """
    rate_bps = flow.parameters.read_rate_bps
    if rate_bps is None:
        return []
    drain = Run(("drain", str(round(rate_bps)), _fifo(flow)), required=False)
    return [run(f"mkfifo {_fifo(flow)}"), Start([drain], "receivers")]


def _client(flow: Flow) -> Run:
    return _run(flow, flow.sender, client(flow), flow.file("client"), required=True)


def _timeout_s(flow: Flow, rate_bps: float) -> float:
    return (30 + rate_bps / 10e6) * (flow.start_s + (flow.duration_s or 0))


def _measure(run_dir: Path, testbed: Testbed, flows: Sequence[Flow]) -> Measured:
    clients = [read_iperf3(run_dir / flow.file("client")) for flow in flows]
    sent, received = read_flows(run_dir, [flow for flow in flows if flow.protocol == "tcp"])
    goodput = _goodput_together if testbed.simultaneous else _goodput_of_run
    pairs = zip(flows, clients, strict=True)
    return Measured(
        goodput(run_dir, testbed, flows, clients, received)
        | _udp([(flow, client) for flow, client in pairs if flow.protocol == "udp"]),
        sent=[trace.final for trace in sent],
        received=[trace.final for trace in received],
        traces=sent,
    )


def _goodput_of_run(
    run_dir: Path,
    testbed: Testbed,
    flows: Sequence[Flow],
    clients: Sequence[Iperf3],
    received: Sequence[TcpTrace],
) -> dict[str, Value]:
    """Goodput over the duration of the run, for flows that start or end during it.

    If they take longer, because of their delay, it is over the time from the first start to the
    last end.
    """
    udp = _udp_servers(run_dir, flows)
    times_s = [*map(_connected_s, received), *map(_receiving_s, udp)]
    flows_s = max(end_s for _, end_s in times_s) - min(start_s for start_s, _ in times_s)
    length_s = max(testbed.parameters.duration_s, flows_s)
    bits = [8 * client.number("end", "sum_received", "bytes") for client in clients]
    return _goodputs(flows, numpy.array(bits) / length_s / 1e6)


def _goodput_together(
    run_dir: Path,
    testbed: Testbed,
    flows: Sequence[Flow],
    clients: Sequence[Iperf3],
    received: Sequence[TcpTrace],
) -> dict[str, Value]:
    """Goodput of flows that last for the whole run, and their fairness.

    Several are compared over the time in which all of them were active.
    """
    duration_s = testbed.parameters.duration_s
    goodputs_mbps = numpy.array([_goodput_mbps(client) for client in clients])
    of_udp = numpy.array([flow.protocol == "udp" for flow in flows])
    udp = _udp_servers(run_dir, flows)
    times_s = [*map(_connected_s, received), *map(_receiving_s, udp)]
    values: dict[str, Value] = {}
    if len(times_s) > 1:
        window_s = _overlap(times_s)
        length_s = window_s[1] - window_s[0]
        _check_overlap(run_dir, len(times_s), length_s, duration_s)
        connections_mbps = _tcp_mbps(received, window_s)
        if len(received) > 1:
            values["flow_jain"] = jain(connections_mbps)
        if received and len(flows) > 1:
            connections = [flow.connections for flow in flows if flow.protocol == "tcp"]
            first = numpy.cumsum([0, *connections[:-1]])
            goodputs_mbps[~of_udp] = numpy.add.reduceat(connections_mbps, first)
        if udp and (received or length_s <= _WHOLE * duration_s):
            goodputs_mbps[of_udp] = _udp_mbps(udp, window_s)
    values |= _goodputs(flows, goodputs_mbps)
    # Flows between servers have no station.
    stations = list(dict.fromkeys(flow.station for flow in flows if flow.station))
    if len(stations) > 1:
        of_stations = [[flow.station == station for flow in flows] for station in stations]
        values["goodput_jain"] = jain(
            numpy.array([goodputs_mbps[members].sum() for members in of_stations])
        )
    return values


def _goodput_mbps(client: Iperf3) -> float:
    return client.number("end", "sum_received", "bits_per_second") / 1e6


def _goodputs(flows: Sequence[Flow], goodputs_mbps: Floats) -> dict[str, Value]:
    values: dict[str, Value] = {"goodput_mbps": float(goodputs_mbps.sum())}
    for direction in ("download", "upload"):
        selected = [flow.direction == direction for flow in flows]
        if any(selected):
            values[f"goodput_{direction}_mbps"] = float(goodputs_mbps[selected].sum())
    return values


def _udp(flows: Sequence[tuple[Flow, Iperf3]]) -> dict[str, Value]:
    """Loss, reordering and jitter, of all UDP flows together."""

    def counted(key: str) -> Floats:
        return numpy.array([client.number("end", "sum_received", key) for _, client in flows])

    streams = [flow.connections for flow, _ in flows]
    packets = counted("packets").sum() if flows else 0.0
    if not packets:
        return {}
    return {
        "udp_lost_share": float(counted("lost_packets").sum() / packets),
        "udp_reordered_share": float(counted("out_of_order").sum() / packets),
        "udp_jitter_ms": float(numpy.average(counted("jitter_ms"), weights=streams)),
    }


def _udp_servers(run_dir: Path, flows: Sequence[Flow]) -> list[Iperf3]:
    """The documents of the receivers of UDP."""
    return [read_iperf3(run_dir / flow.file("server")) for flow in flows if flow.protocol == "udp"]


def _connected_s(trace: TcpTrace) -> tuple[float, float]:
    """When a connection was first and last sampled, in seconds since the epoch."""
    times_ns = trace.columns["time_ns"]
    return times_ns[0] / 1e9, times_ns[-1] / 1e9


def _receiving_s(server: Iperf3) -> tuple[float, float]:
    """When udpflow began and ended to receive, in seconds since the epoch."""
    start_s = server.number("start", "timestamp", "timesecs")
    return start_s, start_s + server.number("end", "sum_received", "seconds")


def _tcp_mbps(receiver: Sequence[TcpTrace], window_s: tuple[float, float]) -> Floats:
    """Goodput of each connection between two times since the epoch."""
    received = [
        numpy.diff(
            numpy.interp(window_s, trace.columns["time_ns"] / 1e9, trace.columns["bytes_received"])
        )[0]
        for trace in receiver
    ]
    length_s = window_s[1] - window_s[0]
    return numpy.asarray(8 * numpy.array(received) / length_s / 1e6, dtype=numpy.float64)


def _udp_mbps(servers: Sequence[Iperf3], window_s: tuple[float, float]) -> Floats:
    """Goodput of each flow between two times since the epoch."""
    length_s = window_s[1] - window_s[0]
    return numpy.array([_received_bits(server, window_s) for server in servers]) / length_s / 1e6


def _received_bits(server: Iperf3, window_s: tuple[float, float]) -> float:
    """Bits that a receiver got between two times since the epoch, from its intervals."""
    start_s = server.number("start", "timestamp", "timesecs")
    totals = [
        numpy.interp(window_s, start_s + times_s, bits) for times_s, bits in server.stream_series()
    ]
    return float(numpy.diff(totals).sum())


def _overlap(times_s: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The last start and the first end."""
    return max(start_s for start_s, _ in times_s), min(end_s for _, end_s in times_s)


def _check_overlap(run_dir: Path, flows: int, length_s: float, duration_s: float) -> None:
    if length_s < duration_s / 2:
        raise AirtcpError(
            f"{run_dir}: the {flows} flows overlap for only "
            f"{max(length_s, 0):.1f} s of {duration_s:g} s, as some connected late; "
            "a longer duration helps unless a station is starved"
        )


def jain(shares: Floats) -> float | None:
    """Jain's fairness index, (sum x)^2 / (n sum x^2); None if all shares are 0."""
    squares = float((shares**2).sum())
    return float(shares.sum()) ** 2 / (len(shares) * squares) if squares else None


WORKLOADS = {
    "bulk": Workload(
        Headline("goodput_mbps", "goodput"),
        _listening,
        _client,
        lambda flow: flow.duration_s or 0,
        _timeout_s,
        _measure,
    )
}

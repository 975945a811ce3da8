# SPDX-License-Identifier: GPL-2.0-only
"""The figures of one run, computed from the files that it left."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy
from numpy.typing import NDArray

from airtcp.errors import AirtcpError
from airtcp.experiment.metrics import METRICS
from airtcp.parameters import Parameters
from airtcp.results.files.airsim import ampdu_sizes, read_airsim, read_airsim_totals
from airtcp.results.files.exchanges import read_exchanges
from airtcp.results.files.iperf3 import read_iperf3
from airtcp.results.files.latency import read_ping, read_udp_ping
from airtcp.results.files.qdisc import read_qdisc
from airtcp.results.files.tcpwatch import TcpTrace, exchange_ends, read_connections, read_flows
from airtcp.steps import cpu_cost, filters, web
from airtcp.testbed.flows import directions, transfers, udp_probe_file, udp_probes

_SHARES = ("data", "ack", "idle", "collision")
_BUSY = ("data", "ack", "other", "collision")

# Metrics that are counters of airsim.
_COUNTED = {
    "tx_retries": "tx_retries",
    "tx_drops": "tx_dropped_retries",
    "collisions": "collisions",
}

_NO_DATA = "the TCP connections of the transfer carried no data"

# What becomes of every MPDU that a radio takes, and of every one that arrives at a radio.
_FATES = {
    "tx_taken": (
        "tx_acked",
        "tx_unanswerable",
        "tx_dropped_retries",
        "tx_dropped_stopped",
        "tx_dropped_queue_gone",
        "tx_queued",
    ),
    "rx_received": ("rx_handed_up", "rx_no_memory", "rx_dropped_stopped", "rx_waiting"),
}


def compute(run_dir: Path, parameters: Parameters) -> dict[str, float | None]:
    """Every metric of METRICS for the run in run_dir.

    None: the metrics of other workloads and directions, those of TCP in a run of UDP, those of
    probes that were off, fairness of one alone, samples of connections that are too short for them.
    Raises AirtcpError for a file that is missing, cut short or corrupt, and when frames went astray
    in the radios.
    """
    check_fates(run_dir)
    own = _bulk if parameters.workload == "bulk" else _exchanges
    values = dict.fromkeys(METRICS) | own(run_dir, parameters) | _path(run_dir, parameters)
    return values | (air(run_dir) if parameters.access == "wifi" else {})


def _bulk(run_dir: Path, parameters: Parameters) -> dict[str, float | None]:
    pairs = transfers(parameters)
    clients = [read_iperf3(run_dir / pair.file("client")) for pair in pairs]
    goodputs_mbps = numpy.array(
        [client.number("end", "sum_received", "bits_per_second") / 1e6 for client in clients]
    )
    values: dict[str, float | None] = {}
    if parameters.protocol == "tcp":
        sender, receiver = read_flows(run_dir, pairs)
        values |= counted(run_dir, [one.final for one in sender], [one.final for one in receiver])
        values |= sampled(run_dir, sender)
        if len(receiver) > 1:
            flows_mbps = _together_mbps(run_dir, receiver, parameters)
            values["flow_jain"] = jain(flows_mbps)
            if len(pairs) > 1:
                first = numpy.cumsum([0, *(pair.flows for pair in pairs[:-1])])
                goodputs_mbps = numpy.add.reduceat(flows_mbps, first)
    values["goodput_mbps"] = float(goodputs_mbps.sum())
    for direction in directions(parameters):
        chosen = [pair.direction == direction for pair in pairs]
        values[f"goodput_{direction}_mbps"] = float(goodputs_mbps[chosen].sum())
    if parameters.stations > 1:
        values["goodput_jain"] = jain(goodputs_mbps.reshape(parameters.stations, -1).sum(axis=1))
    return values | _probed(run_dir, parameters)


def _probed(run_dir: Path, parameters: Parameters) -> dict[str, float | None]:
    """Latency beside the transfer, which begins when there has been `baseline` of probing."""
    load_s = parameters.baseline_s, parameters.baseline_s + parameters.duration_s
    values: dict[str, float | None] = {}
    if parameters.ping_interval_s:
        ping = read_ping(run_dir)
        beside = ping.within(*load_s) if parameters.baseline_s else ping
        if not beside.rtt_ms.size:
            raise AirtcpError(f"{run_dir / 'ping.txt'}: no ping was answered during the transfer")
        values["ping_rtt_ms_p50"] = float(numpy.percentile(beside.rtt_ms, 50))
        values["ping_rtt_ms_p95"] = float(numpy.percentile(beside.rtt_ms, 95))
        alone = [ping.within(-numpy.inf, load_s[0]), ping.within(load_s[1], numpy.inf)]
        rtts_ms = numpy.concatenate([one.rtt_ms for one in alone])
        if parameters.baseline_s and rtts_ms.size:
            values["ping_idle_ms_p50"] = float(numpy.percentile(rtts_ms, 50))
    if services := udp_probes(parameters):
        files = [run_dir / udp_probe_file(service) for service in services]
        probes = [read_udp_ping(path).within(*load_s) for path in files]
        answered_ms = numpy.concatenate([one.answered_ms for one in probes])
        requests = sum(one.rtt_ms.size for one in probes)
        values["udp_ping_loss_share"] = 1 - answered_ms.size / requests
        if answered_ms.size:
            values["udp_ping_rtt_ms_p50"] = float(numpy.percentile(answered_ms, 50))
            values["udp_ping_rtt_ms_p95"] = float(numpy.percentile(answered_ms, 95))
    return values


def _exchanges(run_dir: Path, parameters: Parameters) -> dict[str, float | None]:
    asked = parameters.workload == "request_response"
    exchanges = read_exchanges(run_dir)
    expected = parameters.exchange_count
    if parameters.workload == "web":
        expected = web.object_count(run_dir / web.PAGES)
    if len(exchanges.times_ms) != expected:
        raise AirtcpError(
            f"{run_dir / 'exchanges.csv'}: {len(exchanges.times_ms)} exchanges of {expected}"
        )
    name = "request_response_ms" if asked else "completion_time_ms"
    values = _distribution(name, exchanges.times_ms)
    if parameters.workload == "web":
        values |= _distribution("page_time_ms", exchanges.by_page().times_ms)
    sender = read_connections(run_dir, parameters.sender)
    receiver = read_connections(run_dir, parameters.receiver)
    ends = exchange_ends(exchanges, parameters.receiver, parameters.sender)
    values |= counted(run_dir, sender.finals(ends), receiver.finals(ends))
    if asked:
        values[f"{name}_p99"] = float(numpy.percentile(exchanges.times_ms, 99))
        values[f"{name}_max"] = float(exchanges.times_ms.max())
        values |= sampled(run_dir, sender.traces(ends))
    return values


def _distribution(name: str, times_ms: NDArray[numpy.float64]) -> dict[str, float | None]:
    return {
        f"{name}_mean": float(times_ms.mean()),
        f"{name}_p50": float(numpy.percentile(times_ms, 50)),
        f"{name}_p95": float(numpy.percentile(times_ms, 95)),
    }


def _together_mbps(
    run_dir: Path, receiver: Sequence[TcpTrace], parameters: Parameters
) -> NDArray[numpy.float64]:
    """Goodput of each flow while all of them were at it: not all begin and end together."""
    times_s = [trace.columns["time_ns"] / 1e9 for trace in receiver]
    window_s = max(times[0] for times in times_s), min(times[-1] for times in times_s)
    length_s = window_s[1] - window_s[0]
    if length_s < parameters.duration_s / 2:
        raise AirtcpError(
            f"{run_dir}: the {len(receiver)} flows overlap for only "
            f"{max(length_s, 0):.1f} s of {parameters.duration_s:g} s: use a longer duration"
        )
    received = [
        numpy.diff(numpy.interp(window_s, times, trace.columns["bytes_received"]))[0]
        for times, trace in zip(times_s, receiver, strict=True)
    ]
    return numpy.asarray(8 * numpy.array(received) / length_s / 1e6, dtype=numpy.float64)


def jain(shares: NDArray[numpy.float64]) -> float | None:
    """Jain's fairness index: (sum x)^2 / (n sum x^2). None when nobody has anything."""
    squares = float((shares**2).sum())
    return float(shares.sum()) ** 2 / (len(shares) * squares) if squares else None


def check_fates(run_dir: Path) -> None:
    """Frames do not vanish: since boot, what came in is what came out, was dropped or is there."""
    totals = read_airsim_totals(run_dir)
    _need(run_dir, totals, [name for pair in _FATES.items() for name in (pair[0], *pair[1])])
    for total, fates in _FATES.items():
        known = sum(totals[name] for name in fates)
        if totals[total] != known:
            parts = " + ".join(f"{name} {totals[name]}" for name in fates)
            raise AirtcpError(
                f"{run_dir / 'airsim-after.txt'}: airsim lost frames: {total} {totals[total]}, "
                f"but {parts} = {known}"
            )


def _need(run_dir: Path, counters: Mapping[str, int], names: Sequence[str]) -> None:
    if missing := [name for name in names if name not in counters]:
        raise AirtcpError(f"{run_dir / 'airsim-after.txt'}: no line {missing[0]!r}")


def counted(
    run_dir: Path, sender: Sequence[Mapping[str, int]], receiver: Sequence[Mapping[str, int]]
) -> dict[str, float | None]:
    """Segments and ACKs, from the last counters of each connection."""

    def total(finals: Sequence[Mapping[str, int]], name: str) -> int:
        return sum(final[name] for final in finals)

    acks_sent = total(receiver, "segs_out") - total(receiver, "data_segs_out")
    retransmits, segments_sent = total(sender, "retrans"), total(sender, "data_segs_out")
    segments_received = total(receiver, "data_segs_in")
    if not segments_received:
        raise AirtcpError(f"{run_dir}: {_NO_DATA}")
    return {
        "retransmits": retransmits,
        "data_segments": segments_sent,
        "delivery_share": 1 - retransmits / segments_sent,
        "acks_sent": acks_sent,
        "acks_per_segment": acks_sent / segments_received,
    }


def sampled(run_dir: Path, sender: Sequence[TcpTrace]) -> dict[str, float | None]:
    """RTTs and windows, from all samples of the senders."""
    srtt_us = numpy.concatenate([trace.columns["srtt_us"] for trace in sender])
    srtt_us = srtt_us[srtt_us > 0]  # 0: not yet measured
    if not srtt_us.size:
        raise AirtcpError(f"{run_dir}: {_NO_DATA}")
    return {
        "tcp_rtt_ms_p50": float(numpy.percentile(srtt_us, 50)) / 1000,
        "tcp_rtt_ms_p95": float(numpy.percentile(srtt_us, 95)) / 1000,
        "cwnd_segments_mean": float(
            numpy.mean(numpy.concatenate([trace.columns["cwnd"] for trace in sender]))
        ),
    }


def _path(run_dir: Path, parameters: Parameters) -> dict[str, float | None]:
    """What the nodes on the way have done."""
    values: dict[str, float | None] = {}
    if set(parameters.ack_filter) & set(filters.COUNTED):
        values["acks_filtered"] = filtered(run_dir, parameters.ack_filter)
    costs = cpu_cost.nodes(parameters)
    duration_s = read_airsim(run_dir)["time_ns"] / 1e9 if costs else 0.0
    for node, cost in costs.items():
        name = "router_utilisation" if node == "router" else "host_utilisation"
        values[name] = utilisation(run_dir, node, cost, duration_s)
    return values


def filtered(run_dir: Path, stages: tuple[str, ...]) -> int:
    """ACKs that the stages have dropped since boot; drops of full queues are not among them."""
    own = [filters.COUNTED[stage] for stage in stages if stage in filters.COUNTED]
    return sum(
        int(dropped)
        for one in own
        for dropped in one.drops.findall((run_dir / one.file).read_text())
    )


def utilisation(run_dir: Path, node: str, cost: cpu_cost.Cost, duration_s: float) -> float:
    """The share of the time that the processor had work."""
    before = read_qdisc(run_dir / cpu_cost.file(node, "before"), "tbf")
    after = read_qdisc(run_dir / cpu_cost.file(node, "after"), "tbf")
    packets = after["packets"] - before["packets"]
    octets = after["bytes"] - before["bytes"]
    return cost.time_s(packets, octets) / duration_s


def air(run_dir: Path, media: int = 1) -> dict[str, float | None]:
    """What the media and the radios did; media: channels that are no part of each other."""
    counters = read_airsim(run_dir)
    busy = [f"airtime_{kind}_ns" for kind in _BUSY]
    _need(run_dir, counters, ["time_ns", "airtime_idle_ns", *busy, *_COUNTED.values()])
    sizes = ampdu_sizes(counters)
    if counters["time_ns"] <= 0 or not sizes:
        raise AirtcpError(f"{run_dir / 'airsim-after.txt'}: no data was sent on the air")
    time_ns = media * counters["time_ns"]
    if media > 1:  # airsim knows one time, which that of all of them is more than
        counters["airtime_idle_ns"] = time_ns - sum(counters[name] for name in busy)
    values: dict[str, float | None] = {
        f"airtime_{kind}_share": counters[f"airtime_{kind}_ns"] / time_ns for kind in _SHARES
    }
    values |= {name: counters[counter] for name, counter in _COUNTED.items()}
    values["ampdu_mpdus_mean"] = sum(size * count for size, count in sizes.items()) / sum(
        sizes.values()
    )
    return values

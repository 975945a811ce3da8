# SPDX-License-Identifier: GPL-2.0-only
"""The metrics of one run, computed from the files that it left."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy

from airtcp.errors import AirtcpError
from airtcp.experiment.metrics import METRICS, Value
from airtcp.files.airsim import ampdu_sizes, read_airsim, read_airsim_totals
from airtcp.files.iperf3 import read_iperf3
from airtcp.files.latency import read_ping, read_udp_ping
from airtcp.files.qdisc import read_qdisc
from airtcp.files.tcpwatch import TcpTrace
from airtcp.results.record import FlowRecord
from airtcp.steps import cpu_cost, filters
from airtcp.steps.workloads import WORKLOADS
from airtcp.testbed.model import AckFilter, Testbed
from airtcp.testbed.processors import Cost

NO_DATA = "the TCP connections of the transfer carried no data"

_SHARES = ("data", "ack", "idle", "collision")
_BUSY = ("data", "ack", "other", "collision")

# Metrics that are counters of airsim.
_COUNTED = {
    "tx_retries": "tx_retries",
    "tx_drops": "tx_dropped_retries",
    "collisions": "collisions",
}

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


def compute(run_dir: Path, testbed: Testbed) -> dict[str, Value]:
    """Every metric of METRICS for the run in run_dir.

    None: the metrics of other workloads and directions, those of TCP in a run of UDP, those of
    probes that were off, fairness of one alone, samples of connections that are too short for them.
    Metrics of TCP are over all connections, those of latency over all stations. Raises AirtcpError
    for a file that is missing, cut short or corrupt, and when frames went astray in the radios.
    """
    check_fates(run_dir)
    values: dict[str, Value] = dict.fromkeys(METRICS)
    found = []
    for name in dict.fromkeys(flow.workload for flow in testbed.flows):
        of_workload = [flow for flow in testbed.flows if flow.workload == name]
        found.append(WORKLOADS[name].measure(run_dir, testbed, of_workload))
    for one in found:
        values |= one.values
    if sent := [final for one in found for final in one.sent]:
        values |= counted(run_dir, sent, [final for one in found for final in one.received])
    if traces := [trace for one in found for trace in one.traces]:
        values |= sampled(run_dir, traces)
    values |= _probed(run_dir, testbed) | _path(run_dir, testbed)
    return values | (air(run_dir, testbed.media) if testbed.radios else {})


def flows(run_dir: Path, testbed: Testbed) -> list[FlowRecord]:
    """Each flow: what it was, and its metrics over its own time, None where it has none."""
    found = []
    for flow in testbed.flows:
        one = WORKLOADS[flow.workload].measure(run_dir, testbed, [flow])
        values = counted(run_dir, one.sent, one.received) if one.sent else {}
        values |= sampled(run_dir, one.traces) if one.traces else {}
        bulk = flow in testbed.bulk
        client = read_iperf3(run_dir / flow.file("client")) if bulk else None
        received = client.number("end", "sum_received", "bytes") if client else None
        found.append(
            FlowRecord(
                name=flow.label,
                sender=flow.sender,
                receiver=flow.receiver,
                workload=flow.workload,
                protocol=flow.protocol,
                congestion_control=flow.congestion_control if one.sent else None,
                service=flow.service,
                start_s=flow.start_s,
                seconds=client.number("end", "sum_received", "seconds") if client else None,
                received_bytes=None if received is None else round(received),
                goodput_mbps=(
                    client.number("end", "sum_received", "bits_per_second") / 1e6
                    if client
                    else None
                ),
                **{name: values.get(name) for name in _OF_TCP},
            )
        )
    return found


_OF_TCP = (
    *("retransmits", "data_segments", "acks_sent", "acks_per_segment"),
    *("tcp_rtt_ms_p50", "tcp_rtt_ms_p95", "cwnd_segments_mean"),
)


def _probed(run_dir: Path, testbed: Testbed) -> dict[str, Value]:
    """Latency beside the flows, which begin when there has been `idle` of probing."""
    idle_s = testbed.parameters.baseline_s
    load_s = idle_s, idle_s + testbed.parameters.duration_s
    values: dict[str, Value] = {}
    if files := [probe.file for probe in testbed.probes if probe.tool == "ping"]:
        pings = [read_ping(run_dir, file) for file in files]
        beside = [ping.within(*load_s) if idle_s else ping for ping in pings]
        for file, one in zip(files, beside, strict=True):
            if not one.rtt_ms.size:
                raise AirtcpError(f"{run_dir / file}: no ping was answered during the transfer")
        rtts_ms = numpy.concatenate([one.rtt_ms for one in beside])
        values["ping_rtt_ms_p50"] = float(numpy.percentile(rtts_ms, 50))
        values["ping_rtt_ms_p95"] = float(numpy.percentile(rtts_ms, 95))
        ends_s = ((-numpy.inf, load_s[0]), (load_s[1], numpy.inf))
        alone = [ping.within(*end_s) for ping in pings for end_s in ends_s]
        rtts_ms = numpy.concatenate([one.rtt_ms for one in alone])
        if idle_s and rtts_ms.size:
            values["ping_idle_ms_p50"] = float(numpy.percentile(rtts_ms, 50))
    if paths := [run_dir / probe.file for probe in testbed.probes if probe.tool == "udp"]:
        probes = [read_udp_ping(path).within(*load_s) for path in paths]
        answered_ms = numpy.concatenate([one.answered_ms for one in probes])
        requests = sum(one.rtt_ms.size for one in probes)
        values["udp_ping_loss_share"] = 1 - answered_ms.size / requests
        if answered_ms.size:
            values["udp_ping_rtt_ms_p50"] = float(numpy.percentile(answered_ms, 50))
            values["udp_ping_rtt_ms_p95"] = float(numpy.percentile(answered_ms, 95))
    return values


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
) -> dict[str, Value]:
    """Segments and ACKs, from the last counters of each connection."""

    def total(finals: Sequence[Mapping[str, int]], name: str) -> int:
        return sum(final[name] for final in finals)

    acks_sent = total(receiver, "segs_out") - total(receiver, "data_segs_out")
    retransmits, segments_sent = total(sender, "retrans"), total(sender, "data_segs_out")
    segments_received = total(receiver, "data_segs_in")
    if not segments_received:
        raise AirtcpError(f"{run_dir}: {NO_DATA}")
    return {
        "retransmits": retransmits,
        "data_segments": segments_sent,
        "delivery_share": 1 - retransmits / segments_sent,
        "acks_sent": acks_sent,
        "acks_per_segment": acks_sent / segments_received,
    }


def sampled(run_dir: Path, sender: Sequence[TcpTrace]) -> dict[str, Value]:
    """RTTs and windows, from all samples of the senders."""
    srtt_us = numpy.concatenate([trace.columns["srtt_us"] for trace in sender])
    srtt_us = srtt_us[srtt_us > 0]  # 0: not yet measured
    if not srtt_us.size:
        raise AirtcpError(f"{run_dir}: {NO_DATA}")
    return {
        "tcp_rtt_ms_p50": float(numpy.percentile(srtt_us, 50)) / 1000,
        "tcp_rtt_ms_p95": float(numpy.percentile(srtt_us, 95)) / 1000,
        "cwnd_segments_mean": float(
            numpy.mean(numpy.concatenate([trace.columns["cwnd"] for trace in sender]))
        ),
    }


def _path(run_dir: Path, testbed: Testbed) -> dict[str, Value]:
    """What the nodes on the way have done; of several slow ones the busiest."""
    values: dict[str, Value] = {}
    if any(one.stage in filters.DROPS for one in testbed.filters):
        values["acks_filtered"] = filtered(run_dir, testbed.filters)
    duration_s = read_airsim(run_dir)["time_ns"] / 1e9 if testbed.slow else 0.0
    for node in testbed.slow:
        name = "router_utilisation" if node.kind == "router" else "host_utilisation"
        if node.cost:
            used = utilisation(run_dir, node.name, node.cost, duration_s)
            values[name] = max(used, values.get(name) or 0.0)
    return values


def filtered(run_dir: Path, stages: Sequence[AckFilter]) -> int:
    """ACKs that the stages have dropped since boot; drops of full queues are not among them."""
    return sum(
        int(dropped)
        for one in stages
        if one.stage in filters.DROPS
        for dropped in filters.DROPS[one.stage].findall((run_dir / one.file).read_text())
    )


def utilisation(run_dir: Path, node: str, cost: Cost, duration_s: float) -> float:
    """The share of the time that the processor had work."""
    before = read_qdisc(run_dir / cpu_cost.file(node, "before"), "tbf")
    after = read_qdisc(run_dir / cpu_cost.file(node, "after"), "tbf")
    packets = after["packets"] - before["packets"]
    octets = after["bytes"] - before["bytes"]
    return cost.time_s(packets, octets) / duration_s


def air(run_dir: Path, media: int = 1) -> dict[str, Value]:
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
    values: dict[str, Value] = {
        f"airtime_{kind}_share": counters[f"airtime_{kind}_ns"] / time_ns for kind in _SHARES
    }
    values |= {name: counters[counter] for name, counter in _COUNTED.items()}
    values["ampdu_mpdus_mean"] = sum(size * count for size, count in sizes.items()) / sum(
        sizes.values()
    )
    return values

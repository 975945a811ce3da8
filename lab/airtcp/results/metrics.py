# SPDX-License-Identifier: GPL-2.0-only
"""The metrics of a run, computed from its files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy

from airtcp.errors import AirtcpError
from airtcp.experiment.metrics import METRICS, Value
from airtcp.files.airsim import (
    Airtime,
    ampdu_sizes,
    read_airsim,
    read_airsim_totals,
    read_airtimes,
)
from airtcp.files.iperf3 import read_iperf3
from airtcp.files.latency import during_transfer, read_ping, read_udp_ping
from airtcp.files.qdisc import read_tbf
from airtcp.files.tcpwatch import TcpTrace
from airtcp.results import onair
from airtcp.results.record import FlowRecord, StationRecord
from airtcp.statistics import Floats
from airtcp.steps import cpu_cost, filters
from airtcp.steps.workloads import WORKLOADS
from airtcp.steps.workloads.bulk import jain
from airtcp.testbed.addresses import radio_mac
from airtcp.testbed.model import AIR, AckFilter, Testbed
from airtcp.testbed.processors import Cost

NO_DATA = "the TCP connections of the transfer carried no data"

_BUSY = ("data", "ack", "other", "collision")

# Metrics that are counters of airsim.
_COUNTED = {
    "tx_retries": "tx_retries",
    "tx_drops": "tx_dropped_retries",
    "collisions": "collisions",
    "triggers": "triggers",
    "he_tb_ppdus": "he_tb_ppdus",
}

# The possible fates of every MPDU that a radio takes from mac80211, and of every received one.
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


def compute(run_dir: Path, testbed: Testbed, on_hosts_s: float | None = None) -> dict[str, Value]:
    """All metrics of METRICS for the run in run_dir; None for those that do not apply.

    on_hosts_s: length of the transfer if real hosts did the run; then nothing on the path and on
    the air is counted.

    Not applicable: metrics of other workloads and directions, of TCP in a run of UDP, of probes
    that were off, fairness with one station or flow, samples of too short connections. Metrics of
    TCP are over all connections, those of latency over all stations, times over all flows. Raises
    AirtcpError if a file is missing or corrupt, or if frames are missing in the counters of the
    radios.
    """
    if on_hosts_s is None:
        check_fates(run_dir)
    values: dict[str, Value] = dict.fromkeys(METRICS)
    measured = []
    for name in dict.fromkeys(flow.workload for flow in testbed.flows):
        of_workload = [flow for flow in testbed.flows if flow.workload == name]
        measured.append(WORKLOADS[name].measure(run_dir, testbed, of_workload))
    times_ms: dict[str, list[Floats]] = {}
    for workload in measured:
        values |= workload.values
        for name, times in workload.times_ms.items():
            times_ms.setdefault(name, []).append(times)
    for name, parts in times_ms.items():
        values |= distribution(name, numpy.concatenate(parts))
    received = [final for workload in measured for final in workload.received]
    if sent := [final for workload in measured for final in workload.sent]:
        values |= counted(run_dir, sent, received)
    if traces := [trace for workload in measured for trace in workload.traces]:
        values |= sampled(run_dir, traces)
    transfer_s = read_airsim(run_dir)["time_ns"] / 1e9 if on_hosts_s is None else on_hosts_s
    values |= _probed(run_dir, testbed, transfer_s)
    if on_hosts_s is None:
        values |= _path(run_dir, testbed)
    if sent:
        segments = sum(final["segs_out"] for final in (*sent, *received))
        values["packets_per_s"] = (segments - (values["acks_filtered"] or 0)) / transfer_s
    if on_hosts_s is not None:
        return values
    if AIR in testbed.captures:
        values |= onair.measure(run_dir, testbed, values["goodput_mbps"])
    if not testbed.radios:
        return values
    radios = {radio.node for radio in testbed.radios}
    idle = all(
        flow.workload == "command" or radios.isdisjoint((flow.sender, flow.receiver))
        for flow in testbed.flows
    )
    values["airtime_jain"] = airtime_jain(run_dir, testbed)
    return values | air(run_dir, testbed.media, may_be_idle=idle)


def stations(run_dir: Path, testbed: Testbed) -> list[StationRecord]:
    """The stations with radios, with their airtime; none if the run has not saved it."""
    airtimes = read_airtimes(run_dir)
    if not airtimes:
        return []
    unsent = Airtime(0, present=False)
    records = []
    for node in testbed.wireless("station"):
        own = testbed.radio(node.name)
        joined, down_ns, up_ns = None, 0, 0
        for access_point in testbed.wireless("access_point"):
            radio = testbed.radio(access_point.name)
            down = airtimes.get((radio, radio_mac(own)), unsent)
            up = airtimes.get((own, radio_mac(radio)), unsent)
            down_ns += down.duration_ns
            up_ns += up.duration_ns
            if down.present and up.present:
                joined = access_point.name
        record = StationRecord(
            name=node.name,
            access_point=joined,
            airtime_down_s=down_ns / 1e9,
            airtime_up_s=up_ns / 1e9,
        )
        records.append(record)
    return records


def airtime_jain(run_dir: Path, testbed: Testbed) -> float | None:
    """Jain's fairness index of the stations' airtimes; None if the run has not saved them."""
    airtimes_s = [
        (station.airtime_down_s or 0) + (station.airtime_up_s or 0)
        for station in stations(run_dir, testbed)
    ]
    return jain(numpy.array(airtimes_s))


def distribution(name: str, times_ms: Floats) -> dict[str, Value]:
    """The mean, the maximum and the percentiles that METRICS has of this name."""
    statistics = {"mean": times_ms.mean(), "max": times_ms.max()}
    statistics |= {f"p{part}": numpy.percentile(times_ms, part) for part in (50, 95, 99)}
    named = {f"{name}_{what}": float(value) for what, value in statistics.items()}
    return {metric: value for metric, value in named.items() if metric in METRICS}


def flows(run_dir: Path, testbed: Testbed) -> list[FlowRecord]:
    """Each flow with its metrics while it was active; None for those that do not apply."""
    records, in_record = [], FlowRecord.model_fields
    for flow in testbed.flows:
        measured = WORKLOADS[flow.workload].measure(run_dir, testbed, [flow])
        values = counted(run_dir, measured.sent, measured.received) if measured.sent else {}
        values |= sampled(run_dir, measured.traces) if measured.traces else {}
        for name, times_ms in measured.times_ms.items():
            values |= distribution(name, times_ms)
        bulk = flow in testbed.bulk
        client = read_iperf3(run_dir / flow.file("client")) if bulk else None
        received = client.number("end", "sum_received", "bytes") if client else None
        records.append(
            FlowRecord(
                name=flow.label,
                sender=flow.sender,
                receiver=flow.receiver,
                workload=flow.workload,
                protocol=flow.protocol,
                congestion_control=flow.congestion_control if measured.sent else None,
                service=flow.service,
                start_s=flow.start_s,
                seconds=client.number("end", "sum_received", "seconds") if client else None,
                received_bytes=None if received is None else round(received),
                goodput_mbps=(
                    client.number("end", "sum_received", "bits_per_second") / 1e6
                    if client
                    else None
                ),
                **{name: value for name, value in values.items() if name in in_record},
            )
        )
    return records


def _probed(run_dir: Path, testbed: Testbed, transfer_s: float) -> dict[str, Value]:
    """Latency during the flows, which start after `baseline`, and before and after them.

    transfer_s: until the last connection has ended, which may take seconds longer than `duration`.
    """
    idle_s = testbed.parameters.baseline_s
    load_s = idle_s, idle_s + testbed.parameters.duration_s
    values: dict[str, Value] = {}
    if files := [probe.file for probe in testbed.probes if probe.tool == "ping"]:
        pings = [read_ping(run_dir, file) for file in files]
        loaded = [during_transfer(ping, testbed.parameters) for ping in pings]
        for file, ping in zip(files, loaded, strict=True):
            if not ping.answered.rtt_ms.size:
                raise AirtcpError(f"{run_dir / file}: no ping was answered during the transfer")
        rtts_ms = numpy.concatenate([ping.answered.rtt_ms for ping in loaded])
        values["ping_rtt_ms_p50"] = float(numpy.percentile(rtts_ms, 50))
        values["ping_rtt_ms_p95"] = float(numpy.percentile(rtts_ms, 95))
        values["ping_loss_share"] = 1 - rtts_ms.size / sum(ping.rtt_ms.size for ping in loaded)
        ends_s = ((-numpy.inf, idle_s), (max(load_s[1], idle_s + transfer_s), numpy.inf))
        unloaded = [ping.within(*end_s).answered for ping in pings for end_s in ends_s]
        rtts_ms = numpy.concatenate([ping.rtt_ms for ping in unloaded])
        if idle_s and rtts_ms.size:
            values["ping_idle_ms_p50"] = float(numpy.percentile(rtts_ms, 50))
    if paths := [run_dir / probe.file for probe in testbed.probes if probe.tool == "udp"]:
        probes = [read_udp_ping(path).within(*load_s) for path in paths]
        answered_ms = numpy.concatenate([probe.answered.rtt_ms for probe in probes])
        requests = sum(probe.rtt_ms.size for probe in probes)
        if not requests:
            raise AirtcpError(f"{paths[0]}: no UDP request was sent during the transfer")
        values["udp_ping_loss_share"] = 1 - answered_ms.size / requests
        if answered_ms.size:
            values["udp_ping_rtt_ms_p50"] = float(numpy.percentile(answered_ms, 50))
            values["udp_ping_rtt_ms_p95"] = float(numpy.percentile(answered_ms, 95))
    return values


def check_fates(run_dir: Path) -> None:
    """Check that no frame vanished: every frame since boot was delivered, dropped or is queued.

    Raises AirtcpError.
    """
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
    """Segments and ACKs, from the final counters of each connection."""

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
    """RTTs and congestion windows, from all samples of the senders."""
    srtt_us = numpy.concatenate([trace.columns["srtt_us"] for trace in sender])
    srtt_us = srtt_us[srtt_us > 0]  # 0: not yet measured
    if not srtt_us.size:
        raise AirtcpError(f"{run_dir}: {NO_DATA}")
    cwnd = numpy.concatenate([trace.columns["cwnd"] for trace in sender])
    return {
        "tcp_rtt_ms_mean": float(srtt_us.mean()) / 1000,
        "tcp_rtt_ms_p50": float(numpy.percentile(srtt_us, 50)) / 1000,
        "tcp_rtt_ms_p95": float(numpy.percentile(srtt_us, 95)) / 1000,
        "cwnd_segments_mean": float(cwnd.mean()),
        "cwnd_segments_max": float(cwnd.max()),
    }


def _path(run_dir: Path, testbed: Testbed) -> dict[str, Value]:
    """Metrics of nodes on the path; of several slow nodes, the maximum utilisation."""
    values: dict[str, Value] = {}
    if any(ack_filter.stage in filters.DROPS for ack_filter in testbed.filters):
        values["acks_filtered"] = filtered(run_dir, testbed.filters)
    duration_s = read_airsim(run_dir)["time_ns"] / 1e9 if testbed.slow else 0.0
    for node in testbed.slow:
        name = "router_utilisation" if node.kind == "router" else "host_utilisation"
        if node.cost and duration_s:  # commands can take no virtual time
            used = utilisation(run_dir, node.name, node.cost, duration_s)
            values[name] = max(used, values.get(name) or 0.0)
    return values


def filtered(run_dir: Path, stages: Sequence[AckFilter]) -> int:
    """ACKs that the stages have filtered since boot, without drops of full queues."""
    files = dict.fromkeys((one.stage, one.file) for one in stages if one.stage in filters.DROPS)
    return sum(
        int(dropped)
        for stage, file in files
        for dropped in filters.DROPS[stage].findall((run_dir / file).read_text())
    )


def utilisation(run_dir: Path, node: str, cost: Cost, duration_s: float) -> float:
    """The share of the time in which the processor was busy."""
    before = read_tbf(run_dir / cpu_cost.file(node, "before"))
    after = read_tbf(run_dir / cpu_cost.file(node, "after"))
    packets = after["packets"] - before["packets"]
    octets = after["bytes"] - before["bytes"]
    return cost.time_s(packets, octets) / duration_s


def air(run_dir: Path, media: int = 1, may_be_idle: bool = False) -> dict[str, Value]:
    """Airtime and counters of the radios. media: number of channels that do not overlap.

    Raises AirtcpError if no data was sent, unless may_be_idle.
    """
    counters = read_airsim(run_dir)
    _need(
        run_dir,
        counters,
        ["time_ns", *(f"airtime_{kind}_ns" for kind in _BUSY), *_COUNTED.values()],
    )
    sizes = ampdu_sizes(counters)
    if may_be_idle and counters["time_ns"] == 0:
        return {}  # commands can take no virtual time
    if counters["time_ns"] <= 0 or not (sizes or may_be_idle):
        raise AirtcpError(f"{run_dir / 'airsim-after.txt'}: no data was sent on the air")
    time_ns = media * counters["time_ns"]
    idle_ns = time_ns - sum(counters[f"airtime_{kind}_ns"] for kind in _BUSY)
    values: dict[str, Value] = {
        f"airtime_{kind}_share": counters[f"airtime_{kind}_ns"] / time_ns
        for kind in ("data", "ack", "collision")
    }
    # Exchanges of radios that do not hear each other may take more than all of the time.
    values["airtime_idle_share"] = idle_ns / time_ns if idle_ns >= 0 else None
    values |= {name: counters[counter] for name, counter in _COUNTED.items()}
    if sizes:
        mpdus = sum(size * count for size, count in sizes.items())
        values["ampdu_mpdus_mean"] = mpdus / sum(sizes.values())
    return values

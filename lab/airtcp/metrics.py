# SPDX-License-Identifier: GPL-2.0-only
"""The figures of one run, computed from the files that it left."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy

from airtcp import runfiles
from airtcp.errors import AirtcpError

if TYPE_CHECKING:  # the experiment's schema itself needs METRICS
    from airtcp.parameters import Parameters


class Metric(NamedTuple):
    """What a metric is: its unit, and how it is measured."""

    unit: str
    how: str


METRICS: Mapping[str, Metric] = {
    "goodput_mbps": Metric(
        "Mbit/s", "payload bits that reached the receiver per second (iperf3 sum_received)"
    ),
    "retransmits": Metric(
        "segments", "segments that the sender sent again (its final tcpi_total_retrans)"
    ),
    "data_segments": Metric(
        "segments", "segments with data that the sender sent (its final tcpi_data_segs_out)"
    ),
    "acks_sent": Metric(
        "segments",
        "segments without data that the receiver sent: tcpi_segs_out - tcpi_data_segs_out,"
        " so the one FIN counts",
    ),
    "acks_per_segment": Metric(
        "", "acks_sent per segment with data that reached the receiver (tcpi_data_segs_in)"
    ),
    "tcp_rtt_ms_p50": Metric("ms", "median of the sender's smoothed RTT, sampled periodically"),
    "tcp_rtt_ms_p95": Metric(
        "ms", "95th percentile of the sender's smoothed RTT, sampled periodically"
    ),
    "ping_rtt_ms_p50": Metric("ms", "median round-trip time of ping beside the transfer"),
    "ping_rtt_ms_p95": Metric(
        "ms", "95th percentile of the round-trip time of ping beside the transfer"
    ),
    "cwnd_segments_mean": Metric(
        "segments", "mean of the sender's congestion window, sampled periodically"
    ),
    "ampdu_mpdus_mean": Metric("MPDUs", "mean number of MPDUs in a PPDU that carries data"),
    "airtime_data_share": Metric(
        "", "share of the transfer's time taken by data: PPDU, SIFS and response"
    ),
    "airtime_ack_share": Metric(
        "",
        "share of the transfer's time taken by exchanges that carry only TCP ACKs:"
        " PPDU, SIFS and response",
    ),
    "airtime_idle_share": Metric(
        "", "share of the transfer's time when nobody transmits: AIFS, backoff, nothing to send"
    ),
    "airtime_collision_share": Metric(
        "", "share of the transfer's time taken by PPDUs that overlapped"
    ),
    "tx_retries": Metric("MPDUs", "MPDUs sent again on the air, in both directions"),
}

_SHARES = ("data", "ack", "idle", "collision")


def compute(run_dir: Path, parameters: "Parameters") -> dict[str, float | None]:
    """Every metric of METRICS for the run in run_dir.

    None: the metrics of TCP in a run of UDP, those of ping where ping was off.
    Raises AirtcpError for a file that is missing, cut short or corrupt.
    """
    client = runfiles.read_iperf3(run_dir, "client")
    values: dict[str, float | None] = dict.fromkeys(METRICS)
    values["goodput_mbps"] = client.number("end", "sum_received", "bits_per_second") / 1e6
    if parameters.protocol == "tcp":
        values |= _tcp(
            run_dir,
            runfiles.read_tcp(run_dir, parameters.sender, client.data_ports),
            runfiles.read_tcp(run_dir, parameters.receiver, client.data_ports),
        )
    if parameters.ping_interval_s:
        rtts_ms = runfiles.read_ping_ms(run_dir)
        values["ping_rtt_ms_p50"] = float(numpy.percentile(rtts_ms, 50))
        values["ping_rtt_ms_p95"] = float(numpy.percentile(rtts_ms, 95))
    return values | _air(run_dir)


def _tcp(
    run_dir: Path, sender: Sequence[runfiles.TcpTrace], receiver: Sequence[runfiles.TcpTrace]
) -> dict[str, float | None]:
    def total(traces: Sequence[runfiles.TcpTrace], name: str) -> int:
        return sum(trace.final[name] for trace in traces)

    srtt_us = numpy.concatenate([trace.columns["srtt_us"] for trace in sender])
    srtt_us = srtt_us[srtt_us > 0]  # 0: not yet measured
    acks_sent = total(receiver, "segs_out") - total(receiver, "data_segs_out")
    segments_received = total(receiver, "data_segs_in")
    if not srtt_us.size or not segments_received:
        raise AirtcpError(f"{run_dir}: the TCP connections of the transfer carried no data")
    return {
        "retransmits": total(sender, "retrans"),
        "data_segments": total(sender, "data_segs_out"),
        "acks_sent": acks_sent,
        "acks_per_segment": acks_sent / segments_received,
        "tcp_rtt_ms_p50": float(numpy.percentile(srtt_us, 50)) / 1000,
        "tcp_rtt_ms_p95": float(numpy.percentile(srtt_us, 95)) / 1000,
        "cwnd_segments_mean": float(
            numpy.mean(numpy.concatenate([trace.columns["cwnd"] for trace in sender]))
        ),
    }


def _air(run_dir: Path) -> dict[str, float | None]:
    counters = runfiles.read_airsim(run_dir)
    needed = ["time_ns", "tx_retries", *(f"airtime_{kind}_ns" for kind in _SHARES)]
    if missing := [name for name in needed if name not in counters]:
        raise AirtcpError(f"{run_dir / 'airsim-after.txt'}: no line {missing[0]!r}")
    sizes = runfiles.ampdu_sizes(counters)
    if counters["time_ns"] <= 0 or not sizes:
        raise AirtcpError(f"{run_dir / 'airsim-after.txt'}: no data was sent on the air")
    values: dict[str, float | None] = {
        f"airtime_{kind}_share": counters[f"airtime_{kind}_ns"] / counters["time_ns"]
        for kind in _SHARES
    }
    values["tx_retries"] = counters["tx_retries"]
    values["ampdu_mpdus_mean"] = sum(size * count for size, count in sizes.items()) / sum(
        sizes.values()
    )
    return values

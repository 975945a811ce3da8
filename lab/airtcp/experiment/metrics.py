# SPDX-License-Identifier: GPL-2.0-only
"""Names, units and descriptions of the metrics."""

from collections.abc import Mapping
from typing import NamedTuple

from airtcp import suggest

METRICS_IN = "all: docs/reference/metrics.md"
"""Refers to the full list, which is too long for a message."""


Value = int | float | None
"""The value of a metric: counters are integers; None if the metric does not apply."""


class Metric(NamedTuple):
    """Unit of a metric, and how it is measured."""

    unit: str
    how: str


METRICS: Mapping[str, Metric] = {
    "goodput_mbps": Metric(
        "Mbit/s",
        "payload bits received per second (sum_received of iperf3, udpflow); with several "
        "transfers (stations, directions, classes): while all of them were active; with flows that "
        "do not last for the whole run: over duration, or from the first start to the last end "
        "if that is longer",
    ),
    "goodput_download_mbps": Metric("Mbit/s", "goodput_mbps of the data that stations receive"),
    "goodput_upload_mbps": Metric("Mbit/s", "goodput_mbps of the data that stations send"),
    "goodput_jain": Metric(
        "", "Jain's fairness index of the stations' goodputs: 1 when all are equal, 1/N at worst"
    ),
    "flow_jain": Metric(
        "", "Jain's fairness index of the goodputs of all TCP flows while all were active"
    ),
    "airtime_jain": Metric(
        "",
        "Jain's fairness index of the stations' airtimes: of the PPDUs that each station and its "
        "access points sent to each other",
    ),
    "request_response_ms_mean": Metric(
        "ms", "request_response: mean time from sending a request to the last byte of the reply"
    ),
    "request_response_ms_p50": Metric("ms", "median of that time"),
    "request_response_ms_p95": Metric("ms", "95th percentile of that time"),
    "request_response_ms_p99": Metric("ms", "99th percentile of that time"),
    "request_response_ms_max": Metric("ms", "maximum of that time"),
    "completion_time_ms_mean": Metric(
        "ms", "transfer, web: mean time from connect() to the last byte of the file or object"
    ),
    "completion_time_ms_p50": Metric("ms", "median of that time"),
    "completion_time_ms_p95": Metric("ms", "95th percentile of that time"),
    "page_time_ms_mean": Metric(
        "ms", "web: mean time from connect() for a page's first object to the end of its last"
    ),
    "page_time_ms_p50": Metric("ms", "median of that time"),
    "page_time_ms_p95": Metric("ms", "95th percentile of that time"),
    "command_time_ms_mean": Metric("ms", "command: mean time from its start to its end"),
    "command_time_ms_p50": Metric("ms", "median of that time"),
    "command_time_ms_p95": Metric("ms", "95th percentile of that time"),
    "retransmits": Metric(
        "segments", "segments that the sender retransmitted (its final tcpi_total_retrans)"
    ),
    "data_segments": Metric(
        "segments", "data segments that the sender sent (its final tcpi_data_segs_out)"
    ),
    "delivery_share": Metric("", "1 - retransmits / data_segments"),
    "acks_sent": Metric(
        "segments",
        "segments without data that the receiver sent: tcpi_segs_out - tcpi_data_segs_out;"
        " this includes its FIN, and its SYN if it connects, but no RST after it has closed",
    ),
    "acks_per_segment": Metric(
        "", "acks_sent per data segment that the receiver received (tcpi_data_segs_in)"
    ),
    "acks_filtered": Metric(
        "segments",
        "ACKs that the stages of ack_filter dropped during the run; with ack_filter_match "
        "destination all packets; without those that a full queue or CAKE's AQM dropped",
    ),
    "packets_per_s": Metric(
        "1/s",
        "TCP segments that crossed the network, per second of the transfer: those that both ends "
        "sent (tcpi_segs_out) - acks_filtered",
    ),
    "router_utilisation": Metric(
        "", "share of the transfer's time in which the router's processor was busy"
    ),
    "host_utilisation": Metric(
        "", "share of the transfer's time in which the slow host's processor was busy"
    ),
    "tcp_rtt_ms_mean": Metric("ms", "mean of the sender's smoothed RTT, sampled periodically"),
    "tcp_rtt_ms_p50": Metric("ms", "median of these samples"),
    "tcp_rtt_ms_p95": Metric("ms", "95th percentile of these samples"),
    "ping_rtt_ms_p50": Metric("ms", "median round-trip time of ping during the transfer"),
    "ping_rtt_ms_p95": Metric("ms", "95th percentile of that time"),
    "ping_loss_share": Metric(
        "", "share of the pings during the transfer that were not answered, up to the last answer"
    ),
    "ping_idle_ms_p50": Metric(
        "ms", "median round-trip time of ping before and after the transfer"
    ),
    "udp_ping_rtt_ms_p50": Metric(
        "ms", "median round-trip time of UDP requests during the transfer, over all classes"
    ),
    "udp_ping_rtt_ms_p95": Metric("ms", "95th percentile of that time"),
    "udp_ping_loss_share": Metric("", "share of these requests that were not answered"),
    "udp_lost_share": Metric(
        "",
        "share of the datagrams that the UDP receivers missed, up to the last one that arrived "
        "before the sender's message that it has ended",
    ),
    "udp_reordered_share": Metric("", "share of these datagrams that arrived after one sent later"),
    "udp_jitter_ms": Metric(
        "ms", "jitter of UDP at the end of the transfer (RFC 3550, 6.4.1), mean of the streams"
    ),
    "cwnd_segments_mean": Metric(
        "segments", "mean of the sender's congestion window, sampled periodically"
    ),
    "cwnd_segments_max": Metric("segments", "maximum of these samples"),
    "ampdu_mpdus_mean": Metric("MPDUs", "mean number of MPDUs in a PPDU that carries data"),
    "airtime_data_share": Metric(
        "",
        "share of the transfer's time taken by data: exchanges from RTS or PPDU to the response, "
        "divided by octets",
    ),
    "airtime_ack_share": Metric(
        "",
        "share of the transfer's time taken by TCP ACKs without data: the same exchanges",
    ),
    "airtime_idle_share": Metric(
        "",
        "share of the transfer's time without such exchanges: AIFS, backoff, nothing to send, lost "
        "responses; null if exchanges take more than all of the time",
    ),
    "airtime_collision_share": Metric(
        "", "share of the transfer's time taken by PPDUs, RTS and Trigger frames that overlapped"
    ),
    "mac_acks_per_s": Metric(
        "1/s",
        "802.11 ACKs and BlockAcks per second on the air, in the captured part of the transfer; "
        "needs capture: air",
    ),
    "station_tx_share": Metric(
        "",
        "share of the captured part of the transfer in which a station's radio transmits, mean of "
        "all stations; needs capture: air, as the next five; null if stations scan or join other "
        "access points",
    ),
    "station_rx_share": Metric(
        "",
        "share in which it receives: whatever is sent on channels that overlap its own, for it or "
        "for others; while it dozes, what its access point sends to groups",
    ),
    "station_doze_share": Metric("", "share in which it dozes (power_save)"),
    "station_wakeups_per_s": Metric("1/s", "how often it stops dozing to send or receive"),
    "station_power_w": Metric(
        "W", "mean power of its radio, with the power that ns-3 assumes in each state by default"
    ),
    "station_energy_j_per_gb": Metric(
        "J/GB",
        "energy of the radios of all stations per gigabyte of goodput; null if the capture is "
        "shorter than the transfer",
    ),
    "tx_retries": Metric(
        "MPDUs",
        "retransmissions of MPDUs, in both directions",
    ),
    "tx_drops": Metric("MPDUs", "MPDUs that the radios dropped after their last attempt"),
    "collisions": Metric(
        "PPDUs", "PPDUs, RTS and Trigger frames lost at their receivers to a collision"
    ),
    "triggers": Metric("frames", "Trigger frames that access points sent (UL OFDMA)"),
    "he_tb_ppdus": Metric("PPDUs", "PPDUs that stations sent in answer to Trigger frames"),
}


def unknown_metric(name: str) -> str:
    """Error message for the name of an unknown metric."""
    return f"unknown metric {name!r}; {suggest.allowed(name, METRICS, METRICS_IN)}"

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
    "request_response_ms_p50": Metric("ms", "median time of a request and its reply"),
    "request_response_ms_p95": Metric("ms", "95th percentile of the times of requests"),
    "request_response_ms_p99": Metric("ms", "99th percentile of the times of requests"),
    "request_response_ms_max": Metric("ms", "longest time of a request and its reply"),
    "completion_time_ms_mean": Metric(
        "ms", "transfer, web: mean time from connect() to the last byte of the file or object"
    ),
    "completion_time_ms_p50": Metric("ms", "median of the completion times"),
    "completion_time_ms_p95": Metric("ms", "95th percentile of the completion times"),
    "page_time_ms_mean": Metric(
        "ms", "web: mean time from connect() for a page's first object to the end of its last"
    ),
    "page_time_ms_p50": Metric("ms", "median of the page times"),
    "page_time_ms_p95": Metric("ms", "95th percentile of the page times"),
    "command_time_ms_mean": Metric("ms", "command: mean time from its start to its end"),
    "command_time_ms_p50": Metric("ms", "median of the command's run times"),
    "command_time_ms_p95": Metric("ms", "95th percentile of the command's run times"),
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
    "tcp_rtt_ms_p50": Metric("ms", "median of the samples of the smoothed RTT"),
    "tcp_rtt_ms_p95": Metric("ms", "95th percentile of the samples of the smoothed RTT"),
    "ping_rtt_ms_p50": Metric("ms", "median round-trip time of ping during the transfer"),
    "ping_rtt_ms_p95": Metric(
        "ms", "95th percentile of the round-trip time of ping during the transfer"
    ),
    "ping_loss_share": Metric(
        "", "share of the pings during the transfer that were not answered, up to the last answer"
    ),
    "ping_idle_ms_p50": Metric(
        "ms", "median round-trip time of ping before and after the transfer"
    ),
    "udp_ping_rtt_ms_p50": Metric(
        "ms", "median round-trip time of UDP requests during the transfer, over all classes"
    ),
    "udp_ping_rtt_ms_p95": Metric(
        "ms", "95th percentile of the round-trip time of UDP requests during the transfer"
    ),
    "udp_ping_loss_share": Metric("", "share of the UDP requests that were not answered"),
    "udp_lost_share": Metric(
        "",
        "share of the UDP datagrams that were lost, up to the last one that arrived before the "
        "sender's end-of-transfer message",
    ),
    "udp_reordered_share": Metric(
        "", "share of the UDP datagrams that arrived after one sent later"
    ),
    "udp_jitter_ms": Metric(
        "ms", "jitter of UDP at the end of the transfer (RFC 3550, 6.4.1), mean of the streams"
    ),
    "cwnd_segments_mean": Metric(
        "segments", "mean of the sender's congestion window, sampled periodically"
    ),
    "cwnd_segments_max": Metric("segments", "maximum of the sampled congestion windows"),
    "ampdu_mpdus_mean": Metric("MPDUs", "mean number of MPDUs in a PPDU that carries data"),
    "airtime_data_share": Metric(
        "",
        "share of the transfer's time taken by data: each exchange, from RTS or PPDU to the "
        "response, is shared between data and TCP ACKs in proportion to their octets",
    ),
    "airtime_ack_share": Metric(
        "",
        "share of the transfer's time taken by TCP ACKs without data: their share of the octets "
        "of each exchange",
    ),
    "airtime_idle_share": Metric(
        "",
        "share of the transfer's time without an exchange or a collision: AIFS, backoff, nothing "
        "to send, lost responses; null if exchanges take more than all of the time",
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
        "all stations; needs capture: air; null if stations scan or join other access points",
    ),
    "station_rx_share": Metric(
        "",
        "share of the captured part of the transfer in which a station's radio receives, mean of "
        "all stations: frames on channels that overlap its own, whoever they are for; "
        "while it dozes, what its access point sends to groups; null where station_tx_share is",
    ),
    "station_doze_share": Metric(
        "",
        "share of the captured part of the transfer in which a station's radio dozes (power_save), "
        "mean of all stations; null where station_tx_share is",
    ),
    "station_wakeups_per_s": Metric(
        "1/s",
        "how often per second a station's radio stops dozing to send or receive, mean of all "
        "stations; null where station_tx_share is",
    ),
    "station_power_w": Metric(
        "W",
        "mean power of a station's radio, with the power that ns-3 assumes in each state by "
        "default; null where station_tx_share is",
    ),
    "station_energy_j_per_gb": Metric(
        "J/GB",
        "energy of the radios of all stations per gigabyte of goodput; null where station_tx_share "
        "is, and if the capture is shorter than the transfer",
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

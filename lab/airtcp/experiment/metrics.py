# SPDX-License-Identifier: GPL-2.0-only
"""What is measured: the names of metrics, their units, and what each workload is about."""

from collections.abc import Mapping
from typing import NamedTuple

from airtcp import suggest

METRICS_IN = "all: docs/reference/metrics.md"
"""Where the list is, which is too long for a message."""


class Metric(NamedTuple):
    """What a metric is: its unit, and how it is measured."""

    unit: str
    how: str


METRICS: Mapping[str, Metric] = {
    "goodput_mbps": Metric(
        "Mbit/s",
        "payload bits that reached the receivers per second (iperf3 sum_received); several TCP "
        "transfers (stations, directions, classes): while all of them were at it; with a topology: "
        "over the whole run",
    ),
    "goodput_download_mbps": Metric("Mbit/s", "the same of what the stations receive"),
    "goodput_upload_mbps": Metric("Mbit/s", "the same of what the stations send"),
    "goodput_jain": Metric(
        "", "Jain's fairness index of the stations' goodputs: 1 when all are equal, 1/N at worst"
    ),
    "flow_jain": Metric("", "the same of the goodputs of all TCP flows while all were at it"),
    "request_response_ms_mean": Metric(
        "ms", "request_response: mean time from sending a request to the last byte of the reply"
    ),
    "request_response_ms_p50": Metric("ms", "median of that time"),
    "request_response_ms_p95": Metric("ms", "95th percentile of that time"),
    "request_response_ms_p99": Metric("ms", "99th percentile of that time"),
    "request_response_ms_max": Metric("ms", "longest of these times"),
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
    "retransmits": Metric(
        "segments", "segments that the sender sent again (its final tcpi_total_retrans)"
    ),
    "data_segments": Metric(
        "segments", "segments with data that the sender sent (its final tcpi_data_segs_out)"
    ),
    "delivery_share": Metric("", "data_segments that were not sent again, of all of them"),
    "acks_sent": Metric(
        "segments",
        "segments without data that the receiver sent: tcpi_segs_out - tcpi_data_segs_out,"
        " so its FIN counts, and its SYN where it connects",
    ),
    "acks_per_segment": Metric(
        "", "acks_sent per segment with data that reached the receiver (tcpi_data_segs_in)"
    ),
    "acks_filtered": Metric(
        "segments", "ACKs that the stages of ack_filter dropped, from association on"
    ),
    "router_utilisation": Metric(
        "", "share of the transfer's time that the router's processor had packets to work on"
    ),
    "host_utilisation": Metric("", "the same of the slow host's"),
    "tcp_rtt_ms_p50": Metric("ms", "median of the sender's smoothed RTT, sampled periodically"),
    "tcp_rtt_ms_p95": Metric(
        "ms", "95th percentile of the sender's smoothed RTT, sampled periodically"
    ),
    "ping_rtt_ms_p50": Metric("ms", "median round-trip time of ping beside the transfer"),
    "ping_rtt_ms_p95": Metric(
        "ms", "95th percentile of the round-trip time of ping beside the transfer"
    ),
    "ping_idle_ms_p50": Metric("ms", "the same before the transfer and after it"),
    "udp_ping_rtt_ms_p50": Metric(
        "ms", "median round-trip time of UDP requests beside the transfer, of all classes"
    ),
    "udp_ping_rtt_ms_p95": Metric("ms", "95th percentile of that time"),
    "udp_ping_loss_share": Metric("", "share of these requests that had no answer"),
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
    "tx_drops": Metric("MPDUs", "MPDUs that the radios gave up after their last attempt"),
    "collisions": Metric("PPDUs", "PPDUs and RTS that another one spoiled at their receiver"),
}


class Headline(NamedTuple):
    """The metric that a workload is about. Of a time less is better, of the others more.

    Of times the mean: a median says nothing of a policy that now and then waits for a timer.
    """

    metric: str
    title: str

    @property
    def slug(self) -> str:
        """What its figure's files are called."""
        return self.title.replace(" ", "-")

    @property
    def unit(self) -> str:
        return METRICS[self.metric].unit

    @property
    def less_is_better(self) -> bool:
        return self.unit == "ms"


HEADLINES: Mapping[str, Headline] = {
    "bulk": Headline("goodput_mbps", "goodput"),
    "request_response": Headline("request_response_ms_mean", "mean latency"),
    "transfer": Headline("completion_time_ms_mean", "mean completion time"),
    "web": Headline("page_time_ms_mean", "mean page time"),
}


def unknown_metric(name: str) -> str:
    """What is wrong with a name that no metric has."""
    return f"unknown metric {name!r}; {suggest.allowed(name, METRICS, METRICS_IN)}"

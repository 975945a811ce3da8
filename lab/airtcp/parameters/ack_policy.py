# SPDX-License-Identifier: GPL-2.0-only
"""The ACK policy of hosts that receive data. All its parameters may change during a run."""

from typing import Annotated

from airtcp.parameters.kernelnames import Policy
from airtcp.parameters.quantity import OnOff, count, duration, fraction
from airtcp.parameters.section import KERNEL, Section, Sysctl, parameter


class AckPolicy(Section):
    """The policy and the parameters of all policies.

    Parameters of other policies are not a conflict: policies are compared with equal parameters.
    """

    ack_policy: Policy = parameter(
        "ack_policy", "default", "ACK policy of the data receiver (net.ipv4.tcp_ack_policy)"
    )
    ack_delay_bound: OnOff = parameter(
        "ack_delay_bound",
        True,
        "limit the time that an ACK may be delayed (RFC 1122, RFC 5681); off: only the policy does",
    )
    aad_alpha: Annotated[
        float | None, fraction(0, 1, KERNEL), Sysctl("tcp_aad_alpha_percent", 100)
    ] = parameter("aad_alpha", None, "AAD: weight of the minimum inter-arrival time")
    aad_beta: Annotated[
        float | None, fraction(0.01, 100, KERNEL), Sysctl("tcp_aad_beta_percent", 100)
    ] = parameter("aad_beta", None, "AAD: timer as a multiple of the estimated inter-arrival time")
    aad_min_iat_s: Annotated[
        float | None, duration(0, 1, KERNEL), Sysctl("tcp_aad_min_iat_us", 1e6)
    ] = parameter(
        "aad_min_iat", None, "AAD: shorter inter-arrival times are taken to be within an aggregate"
    )
    aad_reset_s: Annotated[
        float | None, duration(0.001, 3600, KERNEL), Sysctl("tcp_aad_reset_ms", 1e3)
    ] = parameter(
        "aad_reset", None, "AAD: interval at which the minimum inter-arrival time is reset"
    )
    aad_segments: Annotated[int | None, count(1, 65535, KERNEL), Sysctl("tcp_aad_segments")] = (
        parameter(
            "aad_segments", None, "AAD: number of segments before the estimated timer is used"
        )
    )
    aad_max_delay_s: Annotated[
        float | None, duration(1e-6, 0.5, KERNEL), Sysctl("tcp_aad_max_delay_us", 1e6)
    ] = parameter("aad_max_delay", None, "AAD: maximum time that an ACK may be delayed")
    ack_limit: Annotated[int | None, count(0, (1 << 31) - 1, KERNEL), Sysctl("tcp_ack_limit")] = (
        parameter(
            "ack_limit",
            None,
            "limit: segments received before it starts; 0 or 1: computed from the window by eq. "
            "2.5 of Statkus (2017)",
        )
    )
    ack_limit_max: Annotated[int | None, count(1, 65535, KERNEL), Sysctl("tcp_ack_limit_max")] = (
        parameter(
            "ack_limit_max",
            None,
            "limit: upper bound of n; more than n unacknowledged segments trigger an ACK",
        )
    )
    ack_count: Annotated[int | None, count(1, 65535, KERNEL), Sysctl("tcp_ack_count")] = parameter(
        "ack_count", None, "count: segments per ACK"
    )
    ack_count_delay_s: Annotated[
        float | None, duration(1e-6, 0.5, KERNEL), Sysctl("tcp_ack_count_delay_us", 1e6)
    ] = parameter("ack_count_delay", None, "count: maximum time that an ACK may be delayed")
    tack_segments: Annotated[int | None, count(1, 65535, KERNEL), Sysctl("tcp_tack_segments")] = (
        parameter("tack_segments", None, "TACK: L, full-sized segments per ACK at low rates")
    )
    tack_beta: Annotated[int | None, count(1, 65535, KERNEL), Sysctl("tcp_tack_beta")] = parameter(
        "tack_beta", None, "TACK: maximum number of ACKs per minimum RTT"
    )
    auto_min_interval_s: Annotated[
        float | None, duration(1e-6, 0.5, KERNEL), Sysctl("tcp_auto_min_interval_us", 1e6)
    ] = parameter(
        "auto_min_interval",
        None,
        "auto: upper bound of Tmin, the shortest T and the silence after which an ACK is sent; "
        "queues that delay data for at most 1.5 times this are nearly empty (rule: "
        "docs/explanation/auto.md)",
    )
    auto_max_interval_s: Annotated[
        float | None, duration(1e-6, 0.5, KERNEL), Sysctl("tcp_auto_max_interval_us", 1e6)
    ] = parameter(
        "auto_max_interval",
        None,
        "auto: longest time from the first unacknowledged segment to the arrival that triggers "
        "its ACK (T); with bursts three times as long",
    )
    divack: Annotated[int | None, count(0, 64, KERNEL), Sysctl("tcp_divack")] = parameter(
        "divack", None, "divack: partial ACKs sent before each full one"
    )
    divack_spread_s: Annotated[
        float | None, duration(0, 0.5, KERNEL), Sysctl("tcp_divack_spread_us", 1e6)
    ] = parameter(
        "divack_spread", None, "divack: time over which they are spread; 0ms: sent back to back"
    )

# SPDX-License-Identifier: GPL-2.0-only
"""TCP of hosts that send data."""

from collections.abc import Iterator
from typing import Annotated

from airtcp.parameters.kernelnames import CongestionControl
from airtcp.parameters.quantity import OnOff, count, duration, fraction
from airtcp.parameters.section import KERNEL, Conflict, OnlyWith, Section, Sysctl, parameter
from airtcp.parameters.small_queue import SmallQueue

# By how much a pacing ratio in percent may differ from a whole number.
_PERCENT = 0.01


class SenderSysctls(Section):
    """Sysctls of a sender, which may change during a run."""

    divack_sender: Annotated[int | None, count(0, 64, KERNEL), Sysctl("tcp_divack_sender")] = (
        parameter(
            "divack_sender",
            None,
            "partial ACKs of one segment that may each grow cwnd in slow start "
            "(net.ipv4.tcp_divack_sender)",
        )
    )
    tso_rtt_log: Annotated[int | None, count(0, 31, KERNEL), Sysctl("tcp_tso_rtt_log")] = parameter(
        "tso_rtt_log",
        None,
        "how far a small RTT raises TSO bursts above 1 ms of data at the pacing rate "
        "(net.ipv4.tcp_tso_rtt_log); 0: not at all, as before Linux 5.18",
    )
    tsq: Annotated[SmallQueue, Sysctl("tcp_small_queue")] = parameter(
        "tsq",
        None,
        "TCP small queues: limit per socket (net.ipv4.tcp_small_queue) as a time at the pacing "
        "rate, bytes or packets, or packets times the pacing ratio (40paced); off; driver: what "
        "the driver requests; kernel: sysctl not set",
    )
    tsq_burst_s: Annotated[
        float | None, duration(1e-6, 1, KERNEL), Sysctl("tcp_small_queue_burst_us", 1e6)
    ] = parameter(
        "tsq_burst",
        None,
        "largest burst, as a time at the pacing rate (net.ipv4.tcp_small_queue_burst_us), to "
        "which tso_rtt_log adds at short RTTs; BBR adds three such bursts to its data in flight; "
        "kernel: as long as tsq, if that is a time, or what the driver requests",
    )
    pacing_factor: Annotated[float, fraction(0.1, 5)] = parameter(
        "pacing_factor",
        1.0,
        "factor on the sender's pacing ratios, BBR's too; 2 is called 2p in the literature",
    )

    def own_conflicts(self) -> Iterator[Conflict]:
        # BBR's ratio, and that of others in congestion avoidance. Each is 1/100 of a whole number.
        percents = [percent * self.pacing_factor for percent in (100, 120)]
        if all(abs(percent - round(percent)) > _PERCENT for percent in percents):
            yield Conflict(
                "pacing_factor",
                f"{self.pacing_factor} would be rounded; allowed: multiples of 0.01, and of 1/120 "
                "as in 1.3333",
            )


class Sender(SenderSysctls):
    """All parameters of a sender."""

    congestion_control: CongestionControl = parameter(
        "congestion_control",
        "cubic",
        "congestion control of the sender; bbr_plain: BBR without its allowance for aggregation",
    )
    initcwnd_segments: Annotated[int | None, count(1, 1000, KERNEL)] = parameter(
        "initcwnd",
        None,
        "initial congestion window in segments (initcwnd of ip route; Linux: 10)",
    )
    ssthresh_segments: Annotated[int | None, count(2, 1000000, KERNEL)] = parameter(
        "ssthresh",
        None,
        "slow-start threshold of new connections in segments (ssthresh of ip route and "
        "net.ipv4.tcp_no_ssthresh_metrics_save 0, only in the laboratory); Linux: none, but "
        "before 5.6 that of earlier connections to the same host",
    )
    bbr_probe_up_gain: Annotated[
        int | None,
        count(1, 1023, KERNEL),
        Sysctl("tcp_bbr_probe_up_gain"),
        OnlyWith("congestion_control", "bbr", "bbr_plain"),
    ] = parameter(
        "bbr_probe_up_gain",
        None,
        "BBR: pacing gain while it probes for bandwidth, in units of 1/256 "
        "(net.ipv4.tcp_bbr_probe_up_gain; Linux: 320)",
    )
    forget_cwnd_limited: OnOff = parameter(
        "forget_cwnd_limited",
        False,
        "a flow forgets within a round that its congestion window limited it, as before Linux 6.1 "
        "(net.ipv4.tcp_forget_cwnd_limited, only in the laboratory)",
    )
    nagle: OnOff = parameter("nagle", True, "Nagle's algorithm; off: TCP_NODELAY (iperf3 -N)")


class Cubic(Section):
    """Module parameters of CUBIC, which all hosts share."""

    hystart: Annotated[OnOff, OnlyWith("congestion_control", "cubic")] = parameter(
        "hystart", True, "CUBIC: HyStart, which may end slow start before the first loss"
    )
    hystart_linux54: OnOff = parameter(
        "hystart_linux54", False, "CUBIC: HyStart as in Linux 5.4 (only in the laboratory)"
    )

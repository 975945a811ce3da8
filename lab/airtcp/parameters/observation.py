# SPDX-License-Identifier: GPL-2.0-only
"""How long and how closely a run is observed.

Changing one of these affects neither the design nor the comparison with published values.
"""

from collections.abc import Iterator
from typing import Annotated

from airtcp.parameters.path import Path
from airtcp.parameters.quantity import Capture, OnOff, duration, whole_seconds
from airtcp.parameters.section import (
    Conflict,
    OnlyWith,
    not_with,
    parameter,
)
from airtcp.parameters.workload import Workload
from airtcp.units import format_duration_s

_BULK = OnlyWith("workload", "bulk")


class Observation(Workload, Path):
    """Duration, probes, captures, traces."""

    duration_s: Annotated[float, whole_seconds(1, 86400)] = parameter(
        "duration", 10.0, "bulk: length of the transfer in virtual time, whole seconds"
    )
    baseline_s: Annotated[float, whole_seconds(0, 3600), _BULK] = parameter(
        "baseline",
        0.0,
        "bulk: length of the idle baseline before and after the transfer, when only ping runs; "
        "whole seconds",
    )
    ping_interval_s: Annotated[float, duration(0, 60)] = parameter(
        "ping_interval", 0.2, "bulk: interval of pings from station to server; 0ms: none"
    )
    udp_ping_interval_s: Annotated[float, duration(0, 60), _BULK] = parameter(
        "udp_ping_interval",
        0.0,
        "bulk: interval of UDP requests and replies between station and server; 0ms: none",
    )
    tcp_sample_s: Annotated[float | None, duration(0.001, 60, "auto")] = parameter(
        "tcp_sample",
        None,
        "interval at which the state of TCP is sampled; auto: 10ms, above 8 stations 100ms",
    )
    capture: Capture = parameter(
        "capture", (), "where packets are captured: off, or any of server,station,air"
    )
    capture_duration_s: Annotated[float | None, duration(0.001, 86400, "unlimited")] = parameter(
        "capture_duration", None, "how long packets are captured, from the start of the transfer"
    )
    cwnd_trace: OnOff = parameter(
        "cwnd_trace", False, "record cwnd of the sender at every ACK: cwnd-trace.txt"
    )
    ack_trace: OnOff = parameter(
        "ack_trace", False, "record every decision of ACK policies and every ACK: ack-trace.txt"
    )

    def own_conflicts(self) -> Iterator[Conflict]:
        # Goodput and fairness are those of the time in which all stations transfer.
        if (self.stations - 1) * self.start_interval_s > self.duration_s / 2:
            most_s = float(self.duration_s / 2 // (self.stations - 1))
            yield Conflict(
                "start_interval",
                f"the last of {self.stations} stations would start after half of duration "
                f"{format_duration_s(self.duration_s)}; allowed: up to {format_duration_s(most_s)}",
            )
        if "air" in self.capture and self.access != "wifi":
            yield not_with("capture", "air", f"access {self.access}", "server station")

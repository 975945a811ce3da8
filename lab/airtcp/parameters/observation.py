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
    Scale,
    not_with,
    parameter,
)
from airtcp.parameters.workload import Workload
from airtcp.units import format_duration_s

_BULK = OnlyWith("workload", "bulk")

# While ping waits for an answer, it waits at least so long.
_LEAST_PING_S, _MOST_PING_S = 0.01, 60
_PING_LIMIT = "ping does not send more often"
# Of the guest's program udpecho.
_MOST_UDP_PINGS = 1_000_000


class Observation(Workload, Path):
    """Duration, probes, captures, traces."""

    duration_s: Annotated[float, whole_seconds(1, 86400)] = parameter(
        "duration", 10.0, "bulk: length of the transfer in virtual time, whole seconds"
    )
    baseline_s: Annotated[float, whole_seconds(0, 3600), _BULK] = parameter(
        "baseline",
        0.0,
        "bulk: length of the idle baseline before and after the transfer, when only pings and "
        "UDP requests run; whole seconds",
    )
    ping_interval_s: Annotated[float, duration(0, _MOST_PING_S), Scale(1e3)] = parameter(
        "ping_interval",
        0.2,
        "bulk: interval of pings from station to server, 10ms or more; 0ms: none",
    )
    udp_ping_interval_s: Annotated[float, duration(0, 60), _BULK, Scale(1e6)] = parameter(
        "udp_ping_interval",
        0.0,
        "bulk: interval of UDP requests and replies between station and server; 0ms: none",
    )
    tcp_sample_s: Annotated[float | None, duration(0.001, 60, "auto"), Scale(1e6)] = parameter(
        "tcp_sample",
        None,
        "interval at which the state of TCP is sampled; auto: 10ms, above 8 stations 100ms",
    )
    capture: Capture = parameter(
        "capture",
        (),
        "where packets are captured: off, or any of server,station,air; packets that the server "
        "sends are captured after its delay, rate and loss have been applied",
    )
    capture_duration_s: Annotated[float | None, duration(0.001, 86400, "unlimited")] = parameter(
        "capture_duration",
        None,
        "how long packets are captured, from the start of the transfer",
    )
    cwnd_trace: OnOff = parameter(
        "cwnd_trace",
        False,
        "record cwnd of the sender at every ACK: cwnd-trace.txt; a longer run keeps only "
        "about the last 200,000 segments, counting both directions",
    )
    ack_trace: OnOff = parameter(
        "ack_trace",
        False,
        "record every decision of ACK policies and every ACK: ack-trace.txt; a longer run keeps "
        "only about the last 600,000",
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
        yield from self._of_probes()
        if self.lasts and self.protocol == "tcp" and (self.tcp_sample_s or 0) > self.duration_s:
            longest = f"longer than duration; allowed: 'auto', 1ms to {self.text('duration_s')}"
            yield Conflict("tcp_sample", f"{self.text('tcp_sample_s')}: {longest}")
        if "air" in self.capture and self.access != "wifi":
            yield not_with("capture", "air", f"access {self.access}", "server station")

    def _of_probes(self) -> Iterator[Conflict]:
        """Intervals that a probe does not keep, or with which it sends nothing in the transfer."""
        length_s = self.duration_s + 2 * self.baseline_s
        most_ping_s = self.duration_s if self.baseline_s else _MOST_PING_S
        too_many = f"more than {_MOST_UDP_PINGS} requests in {format_duration_s(length_s)}"
        least_udp_s, most_udp_s = length_s / _MOST_UDP_PINGS, self.duration_s
        for name, interval_s, least_s, most_s, too_short in (
            ("ping_interval", self.ping_interval_s, _LEAST_PING_S, most_ping_s, _PING_LIMIT),
            ("udp_ping_interval", self.udp_ping_interval_s, least_udp_s, most_udp_s, too_many),
        ):
            if interval_s and not least_s <= interval_s <= most_s:
                wrong = too_short if interval_s < least_s else "longer than duration"
                yield Conflict(
                    name,
                    f"{format_duration_s(interval_s)}: {wrong}; allowed: 0ms, "
                    f"{format_duration_s(least_s)} to {format_duration_s(most_s)}",
                )

# SPDX-License-Identifier: GPL-2.0-only
"""The wired link between a server and the access points."""

from collections.abc import Iterator
from typing import Annotated, Literal

from airtcp.parameters.quantity import count, duration, fraction, rate, size
from airtcp.parameters.section import (
    Conflict,
    OnlyWith,
    Scale,
    Section,
    parameter,
)
from airtcp.units import format_duration_s

# Before the transfer, a ping has to be answered within 10 s.
_MOST_RTT_S = 9.0


class Link(Section):
    """Properties of a link that may change during a run."""

    delay_s: Annotated[float, duration(0, 10), OnlyWith("path", "none"), Scale(1e6)] = parameter(
        "delay", 0.0, "one-way delay of the wired link, server to access point (netem)"
    )
    rate_bps: Annotated[float | None, rate("unlimited"), OnlyWith("path", "none")] = parameter(
        "rate", None, "rate of the wired link, server to access point (tbf)"
    )
    wire_loss: Annotated[float, fraction(0, 1), Scale(1e8)] = parameter(
        "wire_loss",
        0.0,
        "loss probability of frames on the wired link, server to access point; applies before the "
        "rate limit, and to the segments of a GSO packet one by one",
    )


class Cable(Link):
    """Properties of a link that do not change during a run."""

    rate_burst_bytes: Annotated[int, size(1600, 1 << 30)] = parameter(
        "rate_burst", 4000, "bucket size of tbf (4000B is the 32kbit of most tc examples)"
    )
    rate_latency_s: Annotated[float, duration(0.001, 60), Scale(1e6)] = parameter(
        "rate_latency",
        0.4,
        "size of tbf's queue as time at the rate, in addition to rate_burst; more is dropped. No "
        "effect with rate_at server and a delay, where packets wait in netem",
    )
    rate_at: Annotated[Literal["path", "server"], OnlyWith("access", "wifi")] = parameter(
        "rate_at",
        "path",
        "server: the server limits the rate in its own queue, before the delay (netem below tbf)",
    )
    wire_queue_packets: Annotated[int, count(1, 10**7)] = parameter(
        "wire_queue",
        1000,
        "queue limit of netem in packets, each as large as the server's GSO makes it (1000 is "
        "tc's default). netem refuses more: the server's TCP reduces its window and sends them "
        "again, which is no loss. No effect with a rate at the path, where rate_latency is the "
        "limit",
    )
    return_delay_s: Annotated[float, duration(0, 10), OnlyWith("path", "none"), Scale(1e6)] = (
        parameter("return_delay", 0.0, "one-way delay of the wired link, access point to server")
    )
    return_rate_bps: Annotated[float | None, rate("unlimited"), OnlyWith("path", "none")] = (
        parameter(
            "return_rate",
            None,
            "rate of the wired link, access point to server, Ethernet framing included",
        )
    )
    return_loss: Annotated[float, fraction(0, 1), Scale(1e8)] = parameter(
        "return_loss",
        0.0,
        "loss probability of frames on the wired link, access point to server; applies before "
        "return_rate, and to the segments of a GSO packet one by one",
    )
    return_queue_packets: Annotated[int, count(1, 10**6)] = parameter(
        "return_queue", 100, "return_rate: queue limit in packets"
    )

    def own_conflicts(self) -> Iterator[Conflict]:
        if self.delay_s + self.return_delay_s > _MOST_RTT_S:
            back, most = format_duration_s(self.return_delay_s), format_duration_s(_MOST_RTT_S)
            yield Conflict(
                "delay",
                f"{format_duration_s(self.delay_s)} and return_delay {back} are too long for the "
                f"ping before the transfer; allowed: up to {most} together",
            )

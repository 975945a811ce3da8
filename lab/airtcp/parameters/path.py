# SPDX-License-Identifier: GPL-2.0-only
"""The path between the hosts: link presets, a router, slow processors."""

from collections.abc import Iterator
from typing import Annotated, Literal

from airtcp.parameters.quantity import count, duration, rate
from airtcp.parameters.section import (
    Conflict,
    OnlyWith,
    Section,
    parameter,
)
from airtcp.units import format_duration_s

# Limit of a packet's cost in bytes in the token bucket of a processor.
_MOST_BYTES_OF_A_PACKET = 65535
# How exact that is, relatively.
_EXACT = 0.01

_ROUTER = OnlyWith("router", "custom")
_SLOW_HOST = OnlyWith("slow_host", "sender", "receiver")


class LinkPreset(Section):
    """The wired link as a whole."""

    path: Literal["none", "satellite", "adsl", "lte"] = parameter(
        "path",
        "none",
        "typical delays and rates of the wired link, where ACKs fill the return path "
        "(docs/explanation/ack-filter.md)",
    )


class Access(Section):
    """How a station is connected."""

    access: Literal["wifi", "ethernet"] = parameter(
        "access", "wifi", "what connects the stations to the bridge: radios or cables"
    )
    ethernet_rate_bps: Annotated[float, rate(), OnlyWith("access", "ethernet")] = parameter(
        "ethernet_rate", 1e9, "access ethernet: rate of each cable, both ways"
    )


class Router(Section):
    """A router between a server and the bridges."""

    router: Literal["none", "custom", "cisco881", "cisco1841"] = parameter(
        "router",
        "none",
        "router with one slow processor between server and bridge: a real model, or custom",
    )
    router_packet_s: Annotated[float, duration(0, 0.01), _ROUTER] = parameter(
        "router_packet", 0.0, "router custom: processing time per packet"
    )
    router_byte_s: Annotated[float, duration(1e-9, 1e-3), _ROUTER] = parameter(
        "router_byte", 1e-9, "router custom: processing time per byte, in addition"
    )
    router_queue: Annotated[int, count(1, 10**6), _ROUTER] = parameter(
        "router_queue", 1000, "router custom: packets that may wait for the processor"
    )


class SlowHost(Section):
    """A host's processor."""

    slow_host: Literal["none", "sender", "receiver"] = parameter(
        "slow_host", "none", "host with one slow processor"
    )
    host_packet_s: Annotated[float, duration(0, 0.01), _SLOW_HOST] = parameter(
        "host_packet", 0.0, "slow_host: processing time per packet sent or received"
    )
    host_byte_s: Annotated[float, duration(1e-9, 1e-3), _SLOW_HOST] = parameter(
        "host_byte", 1e-9, "slow_host: processing time per byte, in addition"
    )
    host_queue: Annotated[int, count(1, 10**6), _SLOW_HOST] = parameter(
        "host_queue", 1000, "slow_host: packets that may wait for the processor"
    )


class Path(SlowHost, Router, Access, LinkPreset):
    """The path from a server to the stations."""

    def own_conflicts(self) -> Iterator[Conflict]:
        if self.slow_host != "none" and not self.host_packet_s:
            yield Conflict("slow_host", "needs host_packet, as in 20us")
        default = Router.model_construct()
        for name, value, without in (
            ("router_byte", self.router_byte_s, default.router_byte_s),
            ("router_queue", self.router_queue, default.router_queue),
        ):
            if value != without and not self.router_packet_s:
                yield Conflict(name, "has no effect without router_packet, as in 20us")
        for packet, packet_s, byte, byte_s in (
            ("router_packet", self.router_packet_s, "router_byte", self.router_byte_s),
            ("host_packet", self.host_packet_s, "host_byte", self.host_byte_s),
        ):
            if abs(packet_s - round(packet_s / byte_s) * byte_s) > _EXACT * packet_s:
                yield Conflict(
                    packet,
                    f"{format_duration_s(packet_s)} would be rounded; allowed: multiples of "
                    f"{byte} {format_duration_s(byte_s)}",
                )
            if packet_s > (most_s := _MOST_BYTES_OF_A_PACKET * byte_s):
                yield Conflict(
                    packet,
                    f"is more than {_MOST_BYTES_OF_A_PACKET} bytes take; allowed with {byte} "
                    f"{round(byte_s * 1e9)}ns: up to {most_s * 1e6:.0f}us",
                )

    @property
    def station_device(self) -> Literal["wlan0", "eth0"]:
        """The only interface of a station."""
        return "wlan0" if self.access == "wifi" else "eth0"

# SPDX-License-Identifier: GPL-2.0-only
"""Slow routers and hosts: processor time of a packet."""

from collections.abc import Mapping
from dataclasses import dataclass

from airtcp.parameters import Parameters


@dataclass(frozen=True)
class Cost:
    """Processor time per packet and per byte, and the length of the queue."""

    packet_s: float
    byte_s: float
    queue_packets: int

    def time_s(self, packets: float, octets: float) -> float:
        return packets * self.packet_s + octets * self.byte_s


# The routers of A. Statkus' dissertation (2017), section 1.10. The rates for packets of 64 bytes
# (50,000 and 75,000 per second) are from the vendor's tables of router performance. Assumptions:
# the cost of bytes is negligible, so load depends only on packets, and the queue is the vendor's
# default input queue of 75 packets.
ROUTERS: Mapping[str, Cost] = {
    "cisco881": Cost(1 / 50_000, 1e-9, 75),
    "cisco1841": Cost(1 / 75_000, 1e-9, 75),
}


def of_router(parameters: Parameters) -> Cost | None:
    """Cost of forwarding; None without a router, or if forwarding costs no time."""
    if parameters.router == "none":
        return None
    if parameters.router in ROUTERS:
        return ROUTERS[parameters.router]
    return _cost(parameters.router_packet_s, parameters.router_byte_s, parameters.router_queue)


def of_host(parameters: Parameters, sends: bool, receives: bool) -> Cost | None:
    """Cost of packets at a host that sends or receives data; None: no cost."""
    slow = {"sender": sends, "receiver": receives}
    if not slow.get(parameters.slow_host):
        return None
    return _cost(parameters.host_packet_s, parameters.host_byte_s, parameters.host_queue)


def _cost(packet_s: float, byte_s: float, queue_packets: int) -> Cost | None:
    return Cost(packet_s, byte_s, queue_packets) if packet_s else None

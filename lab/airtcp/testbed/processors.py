# SPDX-License-Identifier: GPL-2.0-only
"""Slow routers and hosts: what a packet costs the one processor of a node."""

from collections.abc import Mapping
from dataclasses import dataclass

from airtcp.parameters import Parameters


@dataclass(frozen=True)
class Cost:
    """Processor time of a packet and of each of its bytes, and how many packets may wait."""

    packet_s: float
    byte_s: float
    queue_packets: int

    def time_s(self, packets: float, octets: float) -> float:
        return packets * self.packet_s + octets * self.byte_s


# The routers of A. Statkus' dissertation (2017), section 1.10. Known is what their maker's tables
# of router performance give for forwarding packets of 64 bytes (50,000 and 75,000 a second).
# Assumed: that bytes cost next to nothing, for which the measured load hangs on packets alone, and
# the queue, which is the maker's default of 75 packets at an input.
ROUTERS: Mapping[str, Cost] = {
    "cisco881": Cost(1 / 50_000, 1e-9, 75),
    "cisco1841": Cost(1 / 75_000, 1e-9, 75),
}


def of_router(parameters: Parameters) -> Cost | None:
    """What forwarding costs the router; None: it has time without end, or there is none."""
    if parameters.router == "none":
        return None
    if parameters.router in ROUTERS:
        return ROUTERS[parameters.router]
    return _cost(parameters.router_packet_s, parameters.router_byte_s, parameters.router_queue)


def of_host(parameters: Parameters, sends: bool, receives: bool) -> Cost | None:
    """What packets cost a host that sends data, or receives them; None: nothing."""
    slow = {"sender": sends, "receiver": receives}
    if not slow.get(parameters.slow_host):
        return None
    return _cost(parameters.host_packet_s, parameters.host_byte_s, parameters.host_queue)


def _cost(packet_s: float, byte_s: float, queue_packets: int) -> Cost | None:
    return Cost(packet_s, byte_s, queue_packets) if packet_s else None

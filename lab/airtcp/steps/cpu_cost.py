# SPDX-License-Identifier: GPL-2.0-only
"""Slow routers and hosts: every packet costs time on the one processor of the node.

All that comes in and, at a host, all that goes out passes one queue, that of an intermediate
functional block (ifb). It is served in order at a cost per packet and per byte, and it is finite.
The queue is a token bucket whose bytes are time: a byte takes byte_s, a packet as long as so many
bytes more. It may have saved up one packet's time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from airtcp.parameters import Parameters
from airtcp.steps import links
from airtcp.steps.step import Step, run

_DEVICE = "ifb0"


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
    return _own(parameters.router_packet_s, parameters.router_byte_s, parameters.router_queue)


def of_host(parameters: Parameters, node: Literal["server", "station"]) -> Cost | None:
    """What packets cost a host; None: nothing."""
    slow = {"sender": parameters.sender, "receiver": parameters.receiver}
    if slow.get(parameters.slow_host) != node:
        return None
    return _own(parameters.host_packet_s, parameters.host_byte_s, parameters.host_queue)


def _own(packet_s: float, byte_s: float, queue_packets: int) -> Cost | None:
    return Cost(packet_s, byte_s, queue_packets) if packet_s else None


def commands(cost: Cost, ingress: tuple[str, ...], egress: tuple[str, ...] = ()) -> list[Step]:
    """What passes these devices of the node costs its processor time."""
    bucket = (
        f"rate {round(8 / cost.byte_s)}bit overhead {round(cost.packet_s / cost.byte_s)} "
        f"burst {links.FRAME_BYTES}b limit 10000000"
    )
    queue = f"pfifo limit {cost.queue_packets}"
    ways = [(device, "ingress") for device in ingress] + [(device, "egress") for device in egress]
    redirect = f"prio 9 matchall action mirred egress redirect dev {_DEVICE}"
    found = [
        *links.functional_block(_DEVICE),
        run(f"tc qdisc add dev {_DEVICE} root handle 1: tbf {bucket}"),
        run(f"tc qdisc add dev {_DEVICE} parent 1:1 handle 2: {queue}"),
    ]
    for device, way in ways:
        found += [links.classified(device), run(f"tc filter add dev {device} {way} {redirect}")]
    return found


def nodes(parameters: Parameters) -> dict[str, Cost]:
    """The nodes that have a slow processor, and what it costs there."""
    costs = {
        "router": of_router(parameters),
        "server": of_host(parameters, "server"),
        "station": of_host(parameters, "station"),
    }
    return {node: cost for node, cost in costs.items() if cost is not None}


def snapshot(parameters: Parameters, when: Literal["before", "after"]) -> list[Step]:
    """What the processors have done until now."""
    return [
        run(f"tc -s -j qdisc show dev {_DEVICE}", node=node, stdout=file(node, when))
        for node in nodes(parameters)
    ]


def file(node: str, when: str) -> str:
    return f"processor-{node}-{when}.json"

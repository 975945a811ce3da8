# SPDX-License-Identifier: GPL-2.0-only
"""Slow routers and hosts: every packet costs processor time of the node.

All received packets and, at a host, all sent packets pass through the queue of one intermediate
functional block (ifb), which is served in order at a cost per packet and per byte, and is finite.
The cost is modelled by a token bucket: its rate is one byte per byte_s, and the cost of a packet is
expressed as a per-packet overhead in bytes. The burst is hardly more than one packet.
"""

from typing import Literal

from airtcp.steps import filters
from airtcp.steps.step import Step, run
from airtcp.testbed.cables import bucket_bytes
from airtcp.testbed.model import Testbed
from airtcp.testbed.processors import Cost

_DEVICE = "ifb0"


def commands(cost: Cost, ingress: tuple[str, ...], egress: tuple[str, ...] = ()) -> list[Step]:
    """Apply the cost to packets of these devices of the node."""
    rate_bps = 8 / cost.byte_s
    bucket = (
        f"rate {round(rate_bps)}bit overhead {round(cost.packet_s / cost.byte_s)} "
        f"burst {bucket_bytes(rate_bps)}b limit 10000000"
    )
    queue = f"pfifo limit {cost.queue_packets}"
    ways = [(device, "ingress") for device in ingress] + [(device, "egress") for device in egress]
    redirect = f"prio 9 matchall action mirred egress redirect dev {_DEVICE}"
    steps = [
        *filters.functional_block(_DEVICE),
        run(f"tc qdisc add dev {_DEVICE} root handle 1: tbf {bucket}"),
        run(f"tc qdisc add dev {_DEVICE} parent 1:1 handle 2: {queue}"),
    ]
    for device, way in ways:
        steps += [filters.clsact(device), run(f"tc filter add dev {device} {way} {redirect}")]
    return steps


def snapshot(testbed: Testbed, when: Literal["before", "after"]) -> list[Step]:
    """Save the counters of all slow processors."""
    return [
        run(f"tc -s -j qdisc show dev {_DEVICE}", node=node.name, stdout=file(node.name, when))
        for node in testbed.slow
    ]


def file(node: str, when: str) -> str:
    return f"processor-{node}-{when}.json"

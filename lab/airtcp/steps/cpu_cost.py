# SPDX-License-Identifier: GPL-2.0-only
"""Slow routers and hosts: every packet costs time on the one processor of the node.

All that comes in and, at a host, all that goes out passes one queue, that of an intermediate
functional block (ifb). It is served in order at a cost per packet and per byte, and it is finite.
The queue is a token bucket whose bytes are time: a byte takes byte_s, a packet as long as so many
bytes more. It may have saved up one packet's time.
"""

from typing import Literal

from airtcp.steps import filters
from airtcp.steps.step import Step, run
from airtcp.testbed.cables import FRAME_BYTES
from airtcp.testbed.model import Testbed
from airtcp.testbed.processors import Cost

_DEVICE = "ifb0"


def commands(cost: Cost, ingress: tuple[str, ...], egress: tuple[str, ...] = ()) -> list[Step]:
    """What passes these devices of the node costs its processor time."""
    bucket = (
        f"rate {round(8 / cost.byte_s)}bit overhead {round(cost.packet_s / cost.byte_s)} "
        f"burst {FRAME_BYTES}b limit 10000000"
    )
    queue = f"pfifo limit {cost.queue_packets}"
    ways = [(device, "ingress") for device in ingress] + [(device, "egress") for device in egress]
    redirect = f"prio 9 matchall action mirred egress redirect dev {_DEVICE}"
    found = [
        *filters.functional_block(_DEVICE),
        run(f"tc qdisc add dev {_DEVICE} root handle 1: tbf {bucket}"),
        run(f"tc qdisc add dev {_DEVICE} parent 1:1 handle 2: {queue}"),
    ]
    for device, way in ways:
        found += [filters.classified(device), run(f"tc filter add dev {device} {way} {redirect}")]
    return found


def snapshot(testbed: Testbed, when: Literal["before", "after"]) -> list[Step]:
    """What the processors have done until now."""
    return [
        run(f"tc -s -j qdisc show dev {_DEVICE}", node=node.name, stdout=file(node.name, when))
        for node in testbed.slow
    ]


def file(node: str, when: str) -> str:
    return f"processor-{node}-{when}.json"

# SPDX-License-Identifier: GPL-2.0-only
"""Cables and the paths behind them: delay, rate, loss and queues, as qdiscs at their ends.

Qdiscs see whole Ethernet frames without the FCS.
"""

from airtcp.steps import filters
from airtcp.steps.step import Step, run
from airtcp.testbed.cables import FRAME_BYTES
from airtcp.testbed.model import End

# Overhead of a frame on a cable (preamble, FCS, inter-frame gap), and the minimum length.
_ETHERNET = "overhead 24 mpu 84"
# About 200 m of cable.
_MIN_DELAY_US = 1


def shaped(end: End, verb: str = "add") -> list[Step]:
    """Shape the packets that leave a device. verb: `change` for a device that has a shaper."""
    shaper = end.shaper
    if shaper is None:
        return []
    steps: list[Step] = []
    at = "root"
    if way := shaper.way:
        delay_us = max(_MIN_DELAY_US, round(way.delay_s * 1e6))
        loss = f" loss {100 * way.loss:g}%" if way.loss else ""
        steps.append(
            run(
                f"tc qdisc {verb} dev {end.device} {at} handle 1: netem "
                f"delay {delay_us}us{loss} limit {shaper.wire_packets}"
            )
        )
        at = "parent 1:1"
    if shaper.rate_bps is None:
        return steps
    # Packets longer than a frame are segmented, as by a network card.
    bucket = f"{_ETHERNET} burst {FRAME_BYTES}b"
    if shaper.burst_bytes is not None:
        bucket = f"burst {shaper.burst_bytes}b"
    steps.append(
        run(
            f"tc qdisc {verb} dev {end.device} {at} handle 2: tbf "
            f"rate {round(shaper.rate_bps)}bit {bucket} latency {round(shaper.latency_s * 1e6)}us"
        )
    )
    if shaper.queue_packets is not None:
        queue = filters.cake(shaper.ack_filter) or f"pfifo limit {shaper.queue_packets}"
        steps.append(run(f"tc qdisc {verb} dev {end.device} parent 2:1 handle 3: {queue}"))
    return steps

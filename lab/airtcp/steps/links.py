# SPDX-License-Identifier: GPL-2.0-only
"""Cables and the paths behind them: delay, rate, loss and queues, as qdiscs at their ends.

Qdiscs see whole Ethernet frames without the FCS.
"""

from airtcp.steps import filters
from airtcp.steps.step import Step, run
from airtcp.testbed.cables import FRAME_BYTES, OneWayPath, Shaper, bucket_bytes
from airtcp.testbed.model import End

# Overhead of a frame on a cable (preamble, FCS, inter-frame gap), and the minimum length.
_ETHERNET = "overhead 24 mpu 84"
# About 200 m of cable.
_MIN_DELAY_US = 1
# Segments packets into frames. It is faster than any radio.
_SEGMENTS = f"tbf rate 100gbit burst {FRAME_BYTES}b latency 1s"
_UNLIMITED_PACKETS = 1_000_000
# tc computes the limit of tbf's queue from the latency, in 32 bits without a check.
_MOST_QUEUE_BYTES = 2**32 - 1


def shaped(end: End, verb: str = "add") -> list[Step]:
    """Shape the packets that leave a device. verb: `change` for a device that has a shaper."""
    shaper = end.shaper
    if shaper is None:
        return []
    qdiscs: list[tuple[int, str]] = []
    if shaper.way:
        qdiscs += _way(shaper.way, shaper.wire_packets, shaper.segments)
    if shaper.rate_bps is not None:
        place = 0 if shaper.rate_first else len(qdiscs)
        qdiscs.insert(place, (2, _rate(shaper, shaper.rate_bps)))
        if shaper.queue_packets is not None:
            queue = filters.cake(shaper.ack_filter) or f"pfifo limit {shaper.queue_packets}"
            qdiscs.append((3, queue))
    places = ["root", *(f"parent {handle}:1" for handle, _ in qdiscs)]
    return [
        run(f"tc qdisc {verb} dev {end.device} {place} handle {handle}: {qdisc}")
        for place, (handle, qdisc) in zip(places, qdiscs, strict=False)
    ]


def _way(way: OneWayPath, limit: int | None, segments: bool) -> list[tuple[int, str]]:
    """Delay and loss, with handles. netem loses a packet of many segments as a whole."""
    packets = _UNLIMITED_PACKETS if limit is None else limit
    delay = f"netem delay {max(_MIN_DELAY_US, round(way.delay_s * 1e6))}us"
    loss = f"loss {100 * way.loss:.9g}%"
    if not segments:
        return [(1, f"{delay} {loss} limit {packets}" if way.loss else f"{delay} limit {packets}")]
    return [
        (1, f"{delay} limit {packets}"),
        (4, _SEGMENTS),
        (5, f"netem {loss} limit {_UNLIMITED_PACKETS}"),
    ]


def _rate(shaper: Shaper, rate_bps: float) -> str:
    # Packets longer than a frame are segmented, as by a network card.
    burst_bytes, framing = bucket_bytes(rate_bps), f"{_ETHERNET} "
    if shaper.burst_bytes is not None:
        burst_bytes, framing = shaper.burst_bytes, ""
    most_us = int((_MOST_QUEUE_BYTES - burst_bytes) * 8e6 / rate_bps)
    latency_us = min(round(shaper.latency_s * 1e6), most_us)
    return f"tbf rate {round(rate_bps)}bit {framing}burst {burst_bytes}b latency {latency_us}us"

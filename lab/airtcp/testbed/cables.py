# SPDX-License-Identifier: GPL-2.0-only
"""Cables and the paths behind them: delay, rate, loss and queues, per direction."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from airtcp.parameters import Parameters

# An Ethernet frame with an MTU of 1500 bytes, without FCS, as a qdisc sees it.
FRAME_BYTES = 1514

# Timers of the guest expire half a microsecond late, or more. A token bucket of exactly one frame
# loses that time with each frame: at 1 Gbit/s it passes 4% less than its rate.
_LATE_S = 2e-6


def bucket_bytes(rate_bps: float) -> int:
    """The smallest bucket with which tbf keeps a rate: a frame, and what a late timer misses."""
    return FRAME_BYTES + round(rate_bps / 8 * _LATE_S)


@dataclass(frozen=True)
class OneWayPath:
    """A path in one direction. rate_bps: None: limited only by the cable."""

    delay_s: float
    rate_bps: float | None
    loss: float = 0.0


@dataclass(frozen=True)
class Path:
    """The path between the server and the access network."""

    forward: OneWayPath
    back: OneWayPath


# Rates so asymmetric that ACKs, one for two segments, fill the return path (RFC 3449, section 2):
# more than 44 to 1 with TCP timestamps. Delays are typical for such links.
PATHS: Mapping[str, Path] = {
    "satellite": Path(OneWayPath(0.270, 20e6), OneWayPath(0.270, 256e3)),
    "adsl": Path(OneWayPath(0.015, 8e6), OneWayPath(0.015, 128e3)),
    "lte": Path(OneWayPath(0.025, 50e6), OneWayPath(0.025, 1e6)),
}


def path(parameters: Parameters) -> Path:
    """The path of the parameters, or of their preset."""
    if parameters.path != "none":
        preset = PATHS[parameters.path]
        return Path(
            replace(preset.forward, loss=parameters.wire_loss),
            replace(preset.back, loss=parameters.return_loss),
        )
    return Path(
        OneWayPath(parameters.delay_s, parameters.rate_bps, parameters.wire_loss),
        OneWayPath(parameters.return_delay_s, parameters.return_rate_bps, parameters.return_loss),
    )


@dataclass(frozen=True)
class Shaper:
    """The qdiscs of a device for packets that leave by a cable.

    way: delay and loss; None: none. wire_packets: the limit of packets in flight, which include
    those that wait for the rate; None: none. segments: packets are segmented into frames before the
    loss. rate_bps: the rate after that, or before with rate_first, of whole Ethernet frames with
    their gaps. burst_bytes: size of bursts; None: hardly more than one frame. queue_packets: length
    of the queue; None: latency_s at this rate. ack_filter: the stage (parameters/ack_filter.py) in
    the queue.
    """

    way: OneWayPath | None = None
    wire_packets: int | None = None
    segments: bool = False
    rate_bps: float | None = None
    latency_s: float = 0.4
    burst_bytes: int | None = None
    queue_packets: int | None = None
    ack_filter: str = ""
    rate_first: bool = False


def cable(parameters: Parameters) -> Shaper:
    """An Ethernet cable."""
    return Shaper(rate_bps=parameters.ethernet_rate_bps, latency_s=parameters.rate_latency_s)


def forward(parameters: Parameters, lossy: bool) -> Shaper:
    """The path from a server to its access network.

    lossy: it loses packets at some time during the run.

    With radios there is always a delay, at least that of a cable: a delayed packet is no longer
    accounted to its socket, as after a network card has sent it. With rate_at server and without a
    delay, a packet is accounted until it has crossed the cable. With a rate the queue is tbf's,
    whose drops are losses for TCP. If netem refuses a packet, TCP enters CWR and retries instead.
    """
    way = path(parameters).forward
    if parameters.rate_at == "server":
        return Shaper(
            way if way.delay_s or lossy else None,
            parameters.wire_queue_packets,
            lossy,
            way.rate_bps,
            parameters.rate_latency_s,
            parameters.rate_burst_bytes,
            rate_first=True,
        )
    ethernet = parameters.access == "ethernet"
    rate_bps = _slower_bps(parameters) if ethernet else way.rate_bps
    return Shaper(
        way,
        parameters.wire_queue_packets if rate_bps is None else None,
        lossy,
        rate_bps,
        parameters.rate_latency_s,
        None if ethernet else parameters.rate_burst_bytes,
    )


def forward_near(parameters: Parameters) -> Shaper:
    """The first half of a path to wired stations: the rate.

    Packets in this queue are accounted to their socket.
    """
    return Shaper(rate_bps=_slower_bps(parameters), latency_s=parameters.rate_latency_s)


def forward_far(parameters: Parameters) -> Shaper:
    """The second half: delay and loss, then the cable to a station.

    The first half has segmented packets into frames.
    """
    way = path(parameters).forward
    return replace(cable(parameters), way=way, wire_packets=parameters.wire_queue_packets)


def _slower_bps(parameters: Parameters) -> float:
    rate_bps = path(parameters).forward.rate_bps
    return min(parameters.ethernet_rate_bps, rate_bps or parameters.ethernet_rate_bps)


def back(parameters: Parameters) -> Shaper | None:
    """The path from the access network to a server."""
    way, ethernet = path(parameters).back, parameters.access == "ethernet"
    if not ethernet and way == OneWayPath(0.0, None):
        return None
    rate_bps = way.rate_bps or (parameters.ethernet_rate_bps if ethernet else None)
    cake = [stage for stage in parameters.ack_filter if stage.startswith("cake")]
    return Shaper(
        way,
        parameters.wire_queue_packets,
        way.loss > 0,
        rate_bps,
        latency_s=parameters.rate_latency_s,
        queue_packets=parameters.return_queue_packets,
        ack_filter=cake[0] if cake else "",
    )

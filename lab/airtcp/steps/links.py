# SPDX-License-Identifier: GPL-2.0-only
"""Cables and what lies behind them: delay, rate, loss and queues, both ways.

    server eth0 --------- [eth0 router eth1] --------- eth0 bridge ...

What goes to the stations waits at the server (with cables to the stations: at their ports of the
bridge), what comes back from them at the bridge. Qdiscs see whole Ethernet frames without the FCS.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from airtcp.parameters import Parameters
from airtcp.steps.step import Run, Step, run

# A whole Ethernet frame of the usual MTU without its FCS, as a qdisc sees it.
FRAME_BYTES = 1514
# Of each frame on a cable, beside what a qdisc sees: preamble, FCS, inter-frame gap; the shortest.
_ETHERNET = "overhead 24 mpu 84"
# Some 200 m of cable.
_LEAST_DELAY_US = 1


@dataclass(frozen=True)
class Way:
    """A path in one direction. rate_bps None: no limit beyond that of the cable."""

    delay_s: float
    rate_bps: float | None
    loss: float = 0.0


@dataclass(frozen=True)
class Path:
    """Between the server and the access network."""

    forward: Way
    back: Way


# Rates of an asymmetry at which ACKs, one for two segments, fill the way back (RFC 3449, section
# 2): more than 44 to 1 with the timestamps of TCP. Delays as such accesses have them.
PATHS: Mapping[str, Path] = {
    "satellite": Path(Way(0.270, 20e6), Way(0.270, 256e3)),
    "adsl": Path(Way(0.015, 8e6), Way(0.015, 128e3)),
    "lte": Path(Way(0.025, 50e6), Way(0.025, 1e6)),
}


def path(parameters: Parameters) -> Path:
    """That of the parameters, or of the preset that they name."""
    if parameters.path != "none":
        preset = PATHS[parameters.path]
        return replace(preset, forward=replace(preset.forward, loss=parameters.wire_loss))
    return Path(
        Way(parameters.delay_s, parameters.rate_bps, parameters.wire_loss),
        Way(parameters.return_delay_s, parameters.return_rate_bps),
    )


def at_server(parameters: Parameters, verb: str = "add") -> list[Step]:
    """What leaves the server. verb: `change`, what has another delay, rate or loss by now.

    With radios there is always a delay, if only that of a cable. A delayed packet no longer counts
    against its socket, as when a network card has sent it.
    """
    way = path(parameters).forward
    if parameters.access == "ethernet":
        # The cable's own rate, at which packets count against their socket; delay comes after it.
        rate_bps = min(parameters.ethernet_rate_bps, way.rate_bps or parameters.ethernet_rate_bps)
        return [_cable("eth0", "root", rate_bps, parameters.rate_latency_s, verb)]
    lines: list[Step] = [_netem("eth0", "root", way, parameters.wire_queue_packets, verb)]
    if way.rate_bps is not None:
        lines.append(
            run(
                f"tc qdisc {verb} dev eth0 parent 1:1 handle 2: tbf "
                f"rate {round(way.rate_bps)}bit burst {parameters.rate_burst_bytes}b "
                f"latency {round(parameters.rate_latency_s * 1e6)}us"
            )
        )
    return lines


def to_station(parameters: Parameters, device: str) -> list[Step]:
    """What leaves a port of the bridge for a station on a cable."""
    rate_bps, latency_s = parameters.ethernet_rate_bps, parameters.rate_latency_s
    return [
        _netem(device, "root", path(parameters).forward, parameters.wire_queue_packets),
        _cable(device, "parent 1:1", rate_bps, latency_s),
    ]


def cable(parameters: Parameters, device: str) -> Run:
    """What leaves a device for a cable, and nothing else is on the way."""
    return _cable(device, "root", parameters.ethernet_rate_bps, parameters.rate_latency_s)


def back(parameters: Parameters, filtered: str = "", device: str = "eth0") -> list[Step]:
    """What leaves the bridge for the server. filtered: the qdisc at the bottleneck, else a FIFO."""
    way, ethernet = path(parameters).back, parameters.access == "ethernet"
    if not ethernet and way == Way(0.0, None):
        return []
    lines: list[Step] = [_netem(device, "root", way, parameters.wire_queue_packets)]
    rate_bps = way.rate_bps or (parameters.ethernet_rate_bps if ethernet else None)
    if rate_bps is not None:
        lines.append(_cable(device, "parent 1:1", rate_bps, parameters.rate_latency_s))
        queue = filtered or f"pfifo limit {parameters.return_queue_packets}"
        lines.append(run(f"tc qdisc add dev {device} parent 2:1 handle 3: {queue}"))
    return lines


def _netem(device: str, at: str, way: Way, queue_packets: int, verb: str = "add") -> Run:
    delay_us = max(_LEAST_DELAY_US, round(way.delay_s * 1e6))
    loss = f" loss {100 * way.loss:g}%" if way.loss else ""
    return run(
        f"tc qdisc {verb} dev {device} {at} handle 1: netem "
        f"delay {delay_us}us{loss} limit {queue_packets}"
    )


def _cable(device: str, at: str, rate_bps: float, latency_s: float, verb: str = "add") -> Run:
    # What is longer than a frame is taken apart, as a network card does.
    return run(
        f"tc qdisc {verb} dev {device} {at} handle 2: tbf rate {round(rate_bps)}bit "
        f"{_ETHERNET} burst {FRAME_BYTES}b latency {round(latency_s * 1e6)}us"
    )


def functional_block(name: str) -> list[Step]:
    """A device of the node (ifb) through whose queue packets of others are sent."""
    return [run(f"ip link add {name} type ifb"), run(f"ip link set {name} up")]


def classified(device: str) -> Run:
    """Filters may be added to what enters and leaves a device; once or again."""
    return run(f"tc qdisc replace dev {device} clsact")

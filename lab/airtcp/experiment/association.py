# SPDX-License-Identifier: GPL-2.0-only
"""Checks whether a station and its access point receive each other."""

from collections.abc import Iterator

from airtcp.experiment.topology import Network
from airtcp.parameters import Parameters
from airtcp.parameters.ieee80211 import STANDARDS, Rate
from airtcp.parameters.mobility import ORIGIN


def signal(network: Network, parameters: Parameters, name: str, access_point: str) -> Iterator[str]:
    """Errors if a station that does not move is out of range of an access point that it joins, or
    has a higher SNR than the access point's transmit power allows.
    """
    station, joined = (network.of_node(each, parameters) for each in (name, access_point))
    where = network.topology.access_points[access_point].position or ORIGIN
    for _, text in (*station.out_of_reach(joined, where), *station.too_strong(joined)):
        yield text


def rates(name: str, access_point: Parameters, station: Parameters) -> Iterator[str]:
    """Fixed rates of a station and of its access point that the other one cannot receive."""
    if station.rate_control == "fixed":
        if lack := _lack(station.radio_rate, access_point):
            yield f"its fixed rate needs {lack}, which {name} does not have; give it a lower one"
    elif access_point.rate_control == "fixed" and (lack := _lack(access_point.radio_rate, station)):
        yield (
            f"{name} sends at a fixed rate that needs {lack}, which it does not have; give it "
            f"rate_control fixed and its rate, or {name} rate_control minstrel or ideal"
        )


def _lack(rate: Rate, receiver: Parameters) -> str:
    """What a node lacks to receive a rate; empty if nothing."""
    formats = list(STANDARDS)
    of_rate = next(name for name in formats if STANDARDS[name].format == rate.format)
    if formats.index(of_rate) > formats.index(receiver.standard):
        return of_rate
    if rate.streams > receiver.streams:
        return f"{rate.streams} streams"
    if rate.width_mhz > receiver.width_mhz:
        return f"{rate.width_mhz}MHz"
    return ""

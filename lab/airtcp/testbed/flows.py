# SPDX-License-Identifier: GPL-2.0-only
"""The transfers of the workload bulk: an iperf3 that sends, one that receives at another node.

All run at the same time: one for each station and direction, and where flows are marked for each of
their classes.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

from airtcp.parameters import Parameters
from airtcp.testbed.addresses import (
    SERVER_ADDRESS,
    numbered,
    server_address,
    station_address,
    station_node,
)

Direction = Literal["download", "upload"]

PORT = 5201

# Classes of the RRUL test with their differentiated services code points, a flow each in turn.
RRUL_CLASSES = {"BE": 0, "BK": 8, "CS5": 40, "EF": 46}

# Payload that fills an Ethernet frame: 1500 less the headers of IPv4 and UDP.
UDP_PAYLOAD_BYTES = 1472


Transport = Literal["tcp", "udp"]


class Pair(Protocol):
    """An iperf3 that sends and one that receives, whatever the network; addresses as in the files.

    start_s: when it starts, since the run's transfers do. station: the number or name of the
    station at one end. flows: how many go beside each other. label: a name of the only one.
    """

    @property
    def sender(self) -> str: ...
    @property
    def receiver(self) -> str: ...
    @property
    def sender_address(self) -> str: ...
    @property
    def receiver_address(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def protocol(self) -> Transport: ...
    @property
    def start_s(self) -> float: ...
    @property
    def station(self) -> int | str: ...
    @property
    def direction(self) -> str: ...
    @property
    def service(self) -> str | None: ...
    @property
    def flows(self) -> int: ...
    @property
    def label(self) -> str: ...

    def file(self, role: Literal["client", "server"]) -> str: ...


@dataclass(frozen=True)
class Transfer:
    """The flows of a station in one direction, or those of one class among them.

    kind is what its files have in their names to tell them from those of others of the station.
    All start together, and have no names.
    """

    station: int
    direction: Direction
    flows: int
    service: str | None
    kind: str
    protocol: Transport = "tcp"
    start_s: float = 0.0
    label: str = ""

    @property
    def sender(self) -> str:
        return "server" if self.direction == "download" else station_node(self.station)

    @property
    def receiver(self) -> str:
        return station_node(self.station) if self.direction == "download" else "server"

    @property
    def sender_address(self) -> str:
        return SERVER_ADDRESS if self.direction == "download" else station_address(self.station)

    @property
    def receiver_address(self) -> str:
        if self.direction == "download":
            return station_address(self.station)
        return server_address(self.station)

    @property
    def port(self) -> int:
        """That of the receiver."""
        return PORT if self.service is None else PORT + list(RRUL_CLASSES).index(self.service)

    def file(self, role: Literal["client", "server"]) -> str:
        """iperf3's document at the sender, which is its client, or at the receiver."""
        return numbered(f"iperf3-{role}{self.kind}", self.station, ".json")


def directions(parameters: Parameters) -> tuple[Direction, ...]:
    return ("download", "upload") if parameters.direction == "both" else (parameters.direction,)


def transfers(parameters: Parameters) -> list[Transfer]:
    """All of a run, station by station."""
    return [
        Transfer(
            *(station, direction, flows, service, _kind(parameters, direction, service)),
            protocol=parameters.protocol,
        )
        for station in range(1, parameters.stations + 1)
        for direction in directions(parameters)
        for service, flows in _classes(parameters).items()
    ]


def _classes(parameters: Parameters) -> dict[str | None, int]:
    """How many flows of a direction are of each class; None where flows are not marked."""
    if parameters.dscp == "none":
        return {None: parameters.flows}
    dealt = (parameters.flows + 3 - number for number in range(len(RRUL_CLASSES)))
    return {name: n // 4 for name, n in zip(RRUL_CLASSES, dealt, strict=True) if n >= 4}


def _kind(parameters: Parameters, direction: Direction, service: str | None) -> str:
    parts = [direction] if parameters.direction == "both" else []
    return "".join(f"-{part}" for part in (*parts, *((service,) if service else ())))


def udp_probes(parameters: Parameters) -> tuple[str, ...]:
    """The classes of UDP requests that probe latency beside the transfers."""
    if not parameters.udp_ping_interval_s:
        return ()
    return ("BE",) if parameters.dscp == "none" else ("BE", "BK", "EF")


def udp_probe_file(service: str) -> str:
    return f"udp-ping-{service}.csv"


def last_port(parameters: Parameters) -> int:
    return max(transfer.port for transfer in transfers(parameters))


def access_rate_bps(parameters: Parameters) -> float:
    """The rate at which the access sends data, overhead aside; with minstrel at most."""
    if parameters.access == "ethernet":
        return parameters.ethernet_rate_bps
    return parameters.radio_rate.bps


def unlimited_bps(parameters: Parameters) -> float:
    """What `unlimited` UDP sends in a direction of a station: its share of the access's rate.

    Overhead always takes a part of that rate. In virtual time a program is infinitely fast: a
    sender that nothing limits would let no time pass, and one far above what that can carry
    costs time for packets that only drop.
    """
    return access_rate_bps(parameters) / (parameters.stations * len(directions(parameters)))

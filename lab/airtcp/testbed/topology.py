# SPDX-License-Identifier: GPL-2.0-only
"""A custom topology of a cell: nodes with addresses and radios, streams with ports.

    server --cable-- switch ---- access point ~~radio~~ station
    server --cable--   |   ----- access point ~~radio~~ station
                                              ~~radio~~ station

All are of one network; the switch and the access points are bridges. Radios are numbered from 0,
those of the access points first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from airtcp.experiment.experiment import Case
from airtcp.experiment.topology import Flow, Network, flow_names, rest_s
from airtcp.parameters import Parameters
from airtcp.parameters.ieee80211 import spanned
from airtcp.testbed.addresses import radio_mac
from airtcp.testbed.flows import PORT, Transport

Kind = Literal["servers", "access_points", "stations"]
_FIRST_HOST: Mapping[Kind, int] = {"servers": 1, "stations": 101}


@dataclass(frozen=True)
class Node:
    """A node and its own parameters.

    number counts those of its kind from 1. radio is None at servers; cell is the access point of a
    station.
    """

    name: str
    kind: Kind
    number: int
    parameters: Parameters
    radio: int | None = None
    cell: str = ""

    @property
    def address(self) -> str:
        """Of a host; access points have none."""
        return f"10.0.0.{_FIRST_HOST[self.kind] + self.number - 1}"

    @property
    def mac(self) -> str:
        """Of a host: that by which others reach it."""
        return self.wire_mac if self.radio is None else radio_mac(self.radio)

    @property
    def wire_mac(self) -> str:
        """Of the end of a cable to the switch."""
        return f"02:00:00:00:{'11' if self.kind == 'servers' else '12'}:{self.number:02x}"

    @property
    def port(self) -> str:
        """The other end of the cable, at the switch."""
        return f"{'server' if self.kind == 'servers' else 'ap'}{self.number}"

    @property
    def device(self) -> str:
        """A host's only interface."""
        return "eth0" if self.kind == "servers" else "wlan0"


@dataclass(frozen=True)
class Stream:
    """A flow with everything decided: one of flows.Pair.

    station: that which receives, or sends.
    """

    label: str
    sender: str
    receiver: str
    sender_address: str
    receiver_address: str
    port: int
    protocol: Transport
    congestion_control: str
    nagle: bool
    rate_bps: float | None
    start_s: float
    duration_s: float
    station: str
    direction: Literal["download", "upload", "across"]
    service: None = None
    flows: int = 1

    def file(self, role: Literal["client", "server"]) -> str:
        """iperf3's document at the sender, which is its client, or at the receiver."""
        return f"iperf3-{role}-{self.label}.json"


@dataclass(frozen=True)
class Scene:
    """What a run is about: the network, and the parameters of its cell.

    The properties raise pydantic's ValidationError or KeyError for what topology_checks.problems()
    finds.
    """

    network: Network
    parameters: Parameters

    @cached_property
    def servers(self) -> list[Node]:
        return [
            Node(name, "servers", number, self._with(name))
            for number, name in enumerate(self.network.topology.servers, start=1)
        ]

    @cached_property
    def access_points(self) -> list[Node]:
        return [
            Node(name, "access_points", number + 1, self._with(name), radio=number)
            for number, name in enumerate(self.network.topology.access_points)
        ]

    @cached_property
    def stations(self) -> list[Node]:
        first = len(self.network.topology.access_points)
        return [
            Node(
                *(name, "stations", number + 1, self._with(name)),
                radio=first + number,
                cell=station.access_point,
            )
            for number, (name, station) in enumerate(self.network.topology.stations.items())
        ]

    def _with(self, name: str) -> Parameters:
        return self.parameters.replace(self.network.own(name))

    @property
    def hosts(self) -> list[Node]:
        return [*self.servers, *self.stations]

    @property
    def radios(self) -> list[Node]:
        """By their numbers."""
        return [*self.access_points, *self.stations]

    @cached_property
    def nodes(self) -> dict[str, Node]:
        return {node.name: node for node in (*self.servers, *self.radios)}

    @cached_property
    def streams(self) -> list[Stream]:
        """The flows in their order, each with a port of its own."""
        labels = flow_names(self.network)
        return [
            self._stream(flow, label, PORT + number)
            for number, (flow, label) in enumerate(zip(self.network.flows, labels, strict=True))
        ]

    def _stream(self, flow: Flow, label: str, port: int) -> Stream:
        sender, receiver = self.nodes[flow.sender], self.nodes[flow.receiver]
        ends = [node for node in (receiver, sender) if node.kind == "stations"]
        directions: Mapping[tuple[Kind, Kind], Literal["download", "upload"]] = {
            ("servers", "stations"): "download",
            ("stations", "servers"): "upload",
        }
        return Stream(
            label=label,
            sender=sender.name,
            receiver=receiver.name,
            sender_address=sender.address,
            receiver_address=receiver.address,
            port=port,
            protocol=flow.protocol,
            congestion_control=flow.congestion_control or sender.parameters.congestion_control,
            nagle=sender.parameters.nagle,
            rate_bps=flow.rate_bps,
            start_s=flow.start_s,
            duration_s=flow.duration_s or rest_s(self.parameters, flow),
            station=ends[0].name if ends else "",
            direction=directions.get((sender.kind, receiver.kind), "across"),
        )

    @property
    def media(self) -> int:
        """How many there are: cells whose channels overlap share one."""
        found: list[set[int]] = []
        for node in self.access_points:
            own = set(spanned(node.parameters.channel, node.parameters.width_mhz))
            own = own.union(*(one for one in found if one & own))
            found = [*(one for one in found if not one & own), own]
        return len(found)

    def sends(self, node: Node) -> bool:
        return any(stream.sender == node.name for stream in self.streams)

    def receives(self, node: Node) -> bool:
        return any(stream.receiver == node.name for stream in self.streams)

    def peers(self, node: Node) -> list[Node]:
        """The hosts that a host has flows with, each once."""
        ends = [{stream.sender, stream.receiver} for stream in self.streams]
        others = [name for pair in ends if node.name in pair for name in pair - {node.name}]
        return [self.nodes[name] for name in dict.fromkeys(others)]

    def changes(self) -> "list[tuple[float, Node, Parameters, Parameters]]":
        """(time, node, its parameters until then and from then on), in order of time."""
        now = {name: node.parameters for name, node in self.nodes.items()}
        found = []
        for change in sorted(self.network.schedule, key=lambda one: one.at_s):
            before = now[change.node]
            now[change.node] = before.replace(change.settings.plain())
            found.append((change.at_s, self.nodes[change.node], before, now[change.node]))
        return found


def scene_of(case: Case) -> Scene | None:
    """The custom topology of a case with its parameters; None for the default topology."""
    return Scene(case.network, case.parameters) if case.network else None

# SPDX-License-Identifier: GPL-2.0-only
"""What a run is about, as one value: a testbed, all of it decided.

default.py makes it of parameters alone, custom.py of an experiment's topology.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from airtcp.parameters import Parameters
from airtcp.parameters.ieee80211 import spanned
from airtcp.testbed.cables import Shaper
from airtcp.testbed.processors import Cost

Kind = Literal["server", "router", "switch", "access_point", "station"]
Direction = Literal["download", "upload", "across"]
Transport = Literal["tcp", "udp"]

PORT = 5201

# Classes of the RRUL test with their differentiated services code points, a flow each in turn.
RRUL_CLASSES = {"BE": 0, "BK": 8, "CS5": 40, "EF": 46}

AIR = "air"
"""The capture point of what all radios send."""
AIR_DEVICE = "airsim0"


@dataclass(frozen=True)
class Node:
    """A node, and its own parameters.

    number counts those of its kind from 1. device is a host's only interface, mac the address of
    it. access_point: the bridge that joins a station, by radio if it has one; ssid: the name of an
    access point's network. router: between a server and all others. sends, receives: data, for
    which there are parameters of senders and of receivers. cost: of a slow processor.
    """

    name: str
    kind: Kind
    parameters: Parameters
    number: int = 1
    addresses: tuple[str, ...] = ()
    device: str = ""
    mac: str = ""
    radio: int | None = None
    access_point: str = ""
    ssid: str = ""
    router: str = ""
    sends: bool = False
    receives: bool = False
    cost: Cost | None = None


@dataclass(frozen=True)
class End:
    """One end of a cable, and what packets meet that leave by it. mac: empty, any."""

    node: str
    device: str
    mac: str = ""
    shaper: Shaper | None = None


@dataclass(frozen=True)
class Link:
    one: End
    other: End


@dataclass(frozen=True)
class Radio:
    """A radio, where it is at the start of the run; None: where others have no place either."""

    number: int
    node: str
    x_mm: int | None = None


@dataclass(frozen=True)
class Flow:
    """What is sent from a host to another, with everything decided.

    station: the number or name of the station at one end. flows: how many connections go beside
    each other, rate_bps what each may send. service: its class. start_s: since flows begin;
    duration_s None: until all has been exchanged. label: a name for users. suffix: what its files
    have in their names to tell them from those of others. bind: the receiver listens at its address
    alone.
    """

    workload: str
    sender: str
    receiver: str
    sender_address: str
    receiver_address: str
    station: int | str
    direction: Direction
    parameters: Parameters
    number: int = 1
    port: int = PORT
    protocol: Transport = "tcp"
    congestion_control: str = "cubic"
    flows: int = 1
    rate_bps: float | None = None
    service: str | None = None
    start_s: float = 0.0
    duration_s: float | None = None
    label: str = ""
    suffix: str = ""
    bind: bool = False

    def file(self, role: Literal["client", "server"]) -> str:
        """iperf3's document at the sender, which is its client, or at the receiver."""
        return f"iperf3-{role}{self.suffix}.json"

    @property
    def exchanges_file(self) -> str:
        return f"exchanges{self.suffix}.csv"

    @property
    def pages_file(self) -> str:
        return f"pages{self.suffix}.txt"


@dataclass(frozen=True)
class Probe:
    """Latency is probed from a node to another, by ping or by UDP requests of a class."""

    tool: Literal["ping", "udp"]
    node: str
    peer: str
    address: str
    interval_s: float
    file: str
    service: str = ""


@dataclass(frozen=True)
class AckFlow:
    """Whose ACKs a filter is for: the receiver of the data, and where they come in."""

    device: str
    source: str
    destination: str


@dataclass(frozen=True)
class AckFilter:
    """A stage that thins ACKs (parameters/ack_filter.py); file: what it has counted.

    node, device: where it is, unless in radios. flows, rate_bps, burst_bytes: of police and shape.
    """

    stage: str
    file: str = ""
    node: str = ""
    device: str = ""
    flows: tuple[AckFlow, ...] = ()
    rate_bps: float = 0.0
    burst_bytes: int = 0


@dataclass(frozen=True)
class Change:
    """A node's parameters until some time, since flows begin, and from then on."""

    at_s: float
    node: str
    before: Parameters
    after: Parameters


@dataclass(frozen=True)
class Move:
    """A radio begins to move, from a place."""

    at_s: float
    radio: int
    x_mm: int
    mm_per_s: int


@dataclass(frozen=True)
class QueueFile:
    """Where to keep mac80211's queues of a radio for another; optional: if there are any."""

    radio: int
    peer: int
    file: str
    optional: bool = False


@dataclass(frozen=True)
class Testbed:
    """parameters: of the whole case. captures: devices by capture point, a node or AIR.

    counted: nodes whose counters are kept, beside those of queues. memory_mb: what a guest needs.
    """

    parameters: Parameters
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    radios: tuple[Radio, ...]
    flows: tuple[Flow, ...]
    probes: tuple[Probe, ...]
    filters: tuple[AckFilter, ...]
    events: tuple[Change | Move, ...]
    captures: Mapping[str, str]
    counted: tuple[str, ...]
    queues: tuple[QueueFile, ...]
    hidden: tuple[tuple[int, int], ...] = ()
    memory_mb: int = 512

    @cached_property
    def by_name(self) -> dict[str, Node]:
        return {node.name: node for node in self.nodes}

    def of_kind(self, *kinds: Kind) -> list[Node]:
        return [node for node in self.nodes if node.kind in kinds]

    @property
    def servers(self) -> list[Node]:
        return self.of_kind("server")

    @property
    def access_points(self) -> list[Node]:
        return self.of_kind("access_point")

    @property
    def stations(self) -> list[Node]:
        return self.of_kind("station")

    @property
    def hosts(self) -> list[Node]:
        return self.of_kind("server", "station")

    @property
    def slow(self) -> list[Node]:
        """The nodes with a slow processor, routers first."""
        found = [node for node in self.nodes if node.cost]
        return sorted(found, key=lambda node: node.kind != "router")

    def ends(self, node: str) -> list[End]:
        """Those of the cables at a node."""
        return [end for link in self.links for end in (link.one, link.other) if end.node == node]

    def radio(self, node: str) -> int:
        """The number of the node's radio. Raises KeyError for one without."""
        return {radio.node: radio.number for radio in self.radios}[node]

    def peers(self, node: str) -> list[tuple[str, str]]:
        """(host, address) of those that a host has flows with, each once."""
        found = [(flow.receiver, flow.receiver_address) for flow in self.flows]
        pairs = zip(self.flows, found, strict=True)
        return list(
            dict.fromkeys(
                other if flow.sender == node else (flow.sender, flow.sender_address)
                for flow, other in pairs
                if node in (flow.sender, flow.receiver)
            )
        )

    def next_mac(self, node: str, peer: str) -> str:
        """The address to which a host sends what is for another."""
        own, other = self.by_name[node], self.by_name[peer]
        if own.router:
            return self.ends(own.router)[0].mac
        return self.ends(other.router)[1].mac if other.router else other.mac

    def over(self, protocol: Transport) -> list[Flow]:
        """The flows of bulk data over a transport."""
        return [flow for flow in self.bulk if flow.protocol == protocol]

    @cached_property
    def bulk(self) -> list[Flow]:
        """The flows that last for a time, whatever they send."""
        return [flow for flow in self.flows if flow.duration_s is not None]

    @property
    def exchanges(self) -> list[Flow]:
        """The flows that last until all has been exchanged."""
        return [flow for flow in self.flows if flow.duration_s is None]

    @property
    def staggered(self) -> bool:
        """Flows do not all begin together."""
        return any(flow.start_s for flow in self.flows)

    @property
    def simultaneous(self) -> bool:
        """The flows of bulk data are there for the whole of the run."""
        length_s = self.parameters.duration_s
        return all((flow.start_s, flow.duration_s) == (0, length_s) for flow in self.bulk)

    @property
    def media(self) -> int:
        """How many there are: cells whose channels overlap share one."""
        found: list[set[int]] = []
        for node in self.access_points:
            if node.radio is not None:
                own = set(spanned(node.parameters.channel, node.parameters.width_mhz))
                own = own.union(*(one for one in found if one & own))
                found = [*(one for one in found if not one & own), own]
        return len(found)

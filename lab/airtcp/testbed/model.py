# SPDX-License-Identifier: GPL-2.0-only
"""The testbed of a run as one value, with all decisions made.

default.py makes it from parameters, custom.py from an experiment's topology.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from airtcp.parameters import Parameters
from airtcp.parameters.ieee80211 import STANDARDS, spanned_mhz
from airtcp.parameters.mobility import Position
from airtcp.testbed.addresses import radio_mac
from airtcp.testbed.cables import Shaper
from airtcp.testbed.processors import Cost

Kind = Literal["server", "router", "switch", "access_point", "station"]
Direction = Literal["download", "upload", "across"]
Transport = Literal["tcp", "udp"]

PORT = 5201

# Classes of the RRUL test with their DSCPs; flows are assigned to them in turn.
RRUL_CLASSES = {"BE": 0, "BK": 8, "CS5": 40, "EF": 46}

AIR = "air"
"""The capture point of all radios."""
AIR_DEVICE = "airsim0"


@dataclass(frozen=True)
class Node:
    """A node with its parameters.

    number: counted from 1 for each kind. device: a host's only interface; mac: its address.
    access_point: of a station, connected by radio if it has one; at first, if the station roams.
    roam_below_dbm: signal below which it looks for a stronger access point; None: it does not roam.
    ssid: of an access point. router: the one between a server and all other nodes. sends, receives:
    whether the node sends or receives data. cost: of a slow processor.
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
    roam_below_dbm: float | None = None
    ssid: str = ""
    router: str = ""
    sends: bool = False
    receives: bool = False
    cost: Cost | None = None

    @property
    def spanned_mhz(self) -> set[int]:
        """Centres of the 20 MHz channels that its radio uses, at first."""
        return set(spanned_mhz(self.parameters.channel, self.parameters.width_mhz))


@dataclass(frozen=True)
class End:
    """One end of a cable, with the shaper of packets that leave by it. mac: empty: any."""

    node: str
    device: str
    mac: str = ""
    shaper: Shaper | None = None


@dataclass(frozen=True)
class Link:
    """A cable."""

    one: End
    other: End


@dataclass(frozen=True)
class Radio:
    """A radio with its position at the start of the run; None: no radio has a position."""

    number: int
    node: str
    position: Position | None = None


@dataclass(frozen=True)
class Flow:
    """Traffic from one host to another.

    station: the number or name of the station at one end. connections: in parallel.
    rate_bps: limit of each. service: its class. start_s: since the start of the flows. duration_s:
    None: until all data have been exchanged. label: a name for users. suffix: part of the names of
    its files. bind: the receiver listens only at its address. via: the server that forwards it.
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
    connections: int = 1
    rate_bps: float | None = None
    service: str | None = None
    start_s: float = 0.0
    duration_s: float | None = None
    label: str = ""
    suffix: str = ""
    bind: bool = False
    via: str = ""

    def file(self, role: Literal["client", "server"]) -> str:
        """The JSON document of the client, which is the sender, or of the server."""
        program = "udpflow" if self.protocol == "udp" else "iperf3"
        return f"{program}-{role}{self.suffix}.json"

    @property
    def exchanges_file(self) -> str:
        return f"exchanges{self.suffix}.csv"

    @property
    def pages_file(self) -> str:
        return f"pages{self.suffix}.txt"


@dataclass(frozen=True)
class Probe:
    """A latency probe from one node to another, by ping or by UDP requests of a class."""

    tool: Literal["ping", "udp"]
    node: str
    peer: str
    address: str
    interval_s: float
    file: str
    service: str = ""


@dataclass(frozen=True)
class AckFlow:
    """ACKs that a filter handles: from the receiver of the data, entering by a device."""

    device: str
    source: str
    destination: str


@dataclass(frozen=True)
class AckFilter:
    """A stage that filters ACKs (parameters/ack_filter.py). file: its counters.

    node, device: its location, unless it is in radios. flows, rate_bps, burst_bytes: for police and
    shape. all_packets: police limits all packets to the destinations, and no others pass.
    """

    stage: str
    file: str = ""
    node: str = ""
    device: str = ""
    flows: tuple[AckFlow, ...] = ()
    rate_bps: float = 0.0
    burst_bytes: int = 0
    all_packets: bool = False


@dataclass(frozen=True)
class Change:
    """A change of a node. at_s: time since the start of the flows.

    access_point: that of a station after the change. joins: it is another one than before.
    """

    at_s: float
    node: str
    before: Parameters
    after: Parameters
    access_point: str = ""
    joins: bool = False


@dataclass(frozen=True)
class Move:
    """A radio starts to move from a position."""

    at_s: float
    radio: int
    start: Position
    m_per_s: tuple[float, float]


@dataclass(frozen=True)
class QueueFile:
    """The file for counters of mac80211's queues of a radio for a peer. optional: may not exist."""

    radio: int
    peer: int
    file: str
    optional: bool = False


def guest_memory_mb(parts: int, flows: Iterable[Flow]) -> int:
    """Memory of a guest with a network of so many parts besides the smallest one.

    iperf3 has a file of 128 KiB in memory for each end of a connection, besides the sockets.
    """
    connections = sum(flow.connections for flow in flows)
    return 512 + 16 * parts + max(0, connections - 256) // 2


@dataclass(frozen=True)
class Testbed:
    """The testbed of a run.

    parameters: of the whole case. captures: devices by capture point, a node or AIR. counted: nodes
    whose network counters are saved. memory_mb: memory of the guest.
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

    def wireless(self, kind: Kind) -> list[Node]:
        """The nodes of a kind that have a radio."""
        return [node for node in self.of_kind(kind) if node.radio is not None]

    @property
    def handovers(self) -> list[Change]:
        """The changes by which stations join other access points."""
        return [event for event in self.events if isinstance(event, Change) and event.joins]

    @property
    def roaming(self) -> list[Node]:
        """The stations that choose their access points, which then share a network name."""
        return [node for node in self.stations if node.roam_below_dbm is not None]

    def bssid(self, access_point: str) -> str:
        """The address by which a station chooses an access point; empty if its name is enough."""
        return radio_mac(self.radio(access_point)) if self.roaming else ""

    @property
    def servers(self) -> list[Node]:
        return self.of_kind("server")

    @property
    def access_points(self) -> list[Node]:
        return self.of_kind("access_point")

    @property
    def eht_channels(self) -> list[int]:
        """The channels of the access points of 802.11be."""
        return [
            node.parameters.channel
            for node in self.access_points
            if node.radio is not None and STANDARDS[node.parameters.standard].has("eht")
        ]

    @property
    def stations(self) -> list[Node]:
        return self.of_kind("station")

    @property
    def hosts(self) -> list[Node]:
        return self.of_kind("server", "station")

    @property
    def slow(self) -> list[Node]:
        """The nodes with a slow processor, routers first."""
        nodes = [node for node in self.nodes if node.cost]
        return sorted(nodes, key=lambda node: node.kind != "router")

    def ends(self, node: str) -> list[End]:
        """The ends of cables at a node."""
        return [end for link in self.links for end in (link.one, link.other) if end.node == node]

    def radio(self, node: str) -> int:
        """The number of the node's radio. Raises KeyError if it has none."""
        return {radio.node: radio.number for radio in self.radios}[node]

    def on_channel(self, node: Node) -> list[int]:
        """The numbers of all radios whose channels overlap with that of the node's, its own too."""
        return [
            radio.number
            for radio in self.radios
            if self.by_name[radio.node].spanned_mhz & node.spanned_mhz
        ]

    def peers(self, node: str) -> list[tuple[str, str]]:
        """(host, address) of the hosts with which a host has flows, without duplicates."""
        peers = [
            (flow.receiver, flow.receiver_address)
            if flow.sender == node
            else (flow.sender, flow.sender_address)
            for flow in self.flows
            if node in (flow.sender, flow.receiver)
        ]
        return list(dict.fromkeys(peers))

    def forwarded(self, node: str) -> list[tuple[str, str]]:
        """(host, address) of the ends of the flows that a host forwards, without duplicates."""
        flows = [flow for flow in self.flows if flow.via == node]
        ends = [(flow.sender, flow.sender_address) for flow in flows]
        return list(
            dict.fromkeys(ends + [(flow.receiver, flow.receiver_address) for flow in flows])
        )

    def next_mac(self, node: str, peer: str) -> str:
        """The MAC address to which a host sends packets for another host."""
        router = self.by_name[node].router
        return self.ends(router)[0].mac if router else self.routed_mac(node, peer)

    def routed_mac(self, node: str, peer: str) -> str:
        """The MAC address to which a host, or its router, sends packets for another host."""
        hops = (flow.via for flow in self.flows if {flow.sender, flow.receiver} == {node, peer})
        receiver = self.by_name[next(hops, "") or peer]
        return self.ends(receiver.router)[1].mac if receiver.router else receiver.mac

    def over(self, protocol: Transport) -> list[Flow]:
        """The flows of bulk data over a transport."""
        return [flow for flow in self.bulk if flow.protocol == protocol]

    @cached_property
    def bulk(self) -> list[Flow]:
        """The flows with a duration, whatever they send."""
        return [flow for flow in self.flows if flow.duration_s is not None]

    @property
    def exchanges(self) -> list[Flow]:
        """The flows that last until all data have been exchanged."""
        return [flow for flow in self.flows if flow.duration_s is None]

    @property
    def tcp_sample_s(self) -> float:
        """The interval at which the state of TCP is sampled at all hosts."""
        return self.parameters.tcp_sample_s or (0.01 if len(self.stations) <= 8 else 0.1)

    @property
    def staggered(self) -> bool:
        """Whether flows start at different times."""
        return any(flow.start_s for flow in self.flows)

    @property
    def simultaneous(self) -> bool:
        """Whether goodput is that of the time in which all bulk flows were active."""
        if self.parameters.start_interval_s:
            return True
        length_s = self.parameters.duration_s
        return all((flow.start_s, flow.duration_s) == (0, length_s) for flow in self.bulk)

    @property
    def media(self) -> int:
        """The number of media; BSSs whose channels overlap share one."""
        groups: list[set[int]] = []
        for node in self.access_points:
            if node.radio is not None:
                channels = node.spanned_mhz
                channels = channels.union(*(group for group in groups if group & channels))
                groups = [*(group for group in groups if not group & channels), channels]
        return len(groups)

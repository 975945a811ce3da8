# SPDX-License-Identifier: GPL-2.0-only
"""The testbed of a custom topology, from an experiment's nodes, flows and changes.

    server --cable-- switch ---- access point ~~radio~~ station
    server --cable-- router --   |        `-- cable -- station
                                 `--- access point ~~radio~~ station

All nodes are in one subnet; the switch and the access points are bridges. Radios are numbered from
0, those of access points first. All functions raise pydantic's ValidationError or KeyError for
topologies that topology_checks.problems() rejects.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count

from airtcp.experiment.topology import ROUTER, SWITCH, Network, flow_names, rest_s
from airtcp.parameters import Parameters
from airtcp.parameters.ack_filter import ACKHOLD, RADIO_STAGES
from airtcp.parameters.mobility import ORIGIN
from airtcp.testbed import cables, processors
from airtcp.testbed.addresses import bridge_port, radio_mac
from airtcp.testbed.default import (
    SSID,
    ackhold,
    classes,
    limiting,
    moves,
    of_radios,
    position_of,
    udp_classes,
)
from airtcp.testbed.model import (
    AIR,
    AIR_DEVICE,
    PORT,
    AckFilter,
    AckFlow,
    Change,
    Direction,
    End,
    Flow,
    Kind,
    Link,
    Move,
    Node,
    Probe,
    QueueFile,
    Radio,
    Testbed,
    guest_memory_mb,
)

_DIRECTIONS: Mapping[tuple[Kind, Kind], Direction] = {
    ("server", "station"): "download",
    ("station", "server"): "upload",
}


def testbed(network: Network, parameters: Parameters) -> Testbed:
    """The testbed of a case with a topology."""
    nodes = {node.name: node for node in _nodes(network, parameters)}
    flows = tuple(_flows(network, parameters, nodes))
    for node in list(nodes.values()):
        nodes[node.name] = _with_roles(node, flows)
    numbers = {node.name: node.radio for node in nodes.values() if node.radio is not None}
    changes = tuple(_changes(network, nodes))
    built = Testbed(
        parameters=parameters,
        nodes=tuple(nodes.values()),
        links=tuple(_links(nodes, changes)),
        radios=tuple(_radios(network, nodes)),
        flows=flows,
        probes=(),
        filters=(),
        events=(*changes, *_moves(nodes)),
        captures=_captures(parameters, nodes),
        counted=tuple(node.name for node in nodes.values() if node.device),
        queues=tuple(_queues(network, nodes)),
        hidden=tuple(
            (numbers[first], numbers[second]) for first, second in network.topology.hidden
        ),
        memory_mb=guest_memory_mb(len(nodes) - 1 + len(flows), flows),
    )
    return replace(built, probes=tuple(_probes(built)), filters=tuple(_filters(built)))


def _nodes(network: Network, parameters: Parameters) -> Iterator[Node]:
    settings = {name: network.of_node(name, parameters) for name in network.topology.names}
    radios, topology = count(), network.topology
    wireless = {name: settings[name].access == "wifi" for name in topology.stations}
    yield Node(SWITCH, "switch", parameters)
    for number, name in enumerate(topology.servers, start=1):
        routed = settings[name].router != "none"
        router = f"{ROUTER}{name}" if routed else ""
        yield Node(
            *(name, "server", settings[name], number),
            addresses=(f"10.0.0.{number}",),
            device="eth0",
            mac=f"02:00:00:00:11:{number:02x}",
            router=router,
        )
        if routed:
            yield Node(
                router, "router", settings[name], number, cost=processors.of_router(settings[name])
            )
    for number, name in enumerate(topology.access_points, start=1):
        joined = [
            wireless[station]
            for station in topology.stations
            if name in network.access_points_of(station)
        ]
        radio = next(radios) if any(joined or [settings[name].access == "wifi"]) else None
        ssid = SSID if network.roaming else name
        yield Node(name, "access_point", settings[name], number, radio=radio, ssid=ssid)
    for number, (name, station) in enumerate(topology.stations.items(), start=1):
        radio = next(radios) if wireless[name] else None
        yield Node(
            *(name, "station", settings[name], number),
            addresses=(f"10.0.0.{100 + number}",),
            device="eth0" if radio is None else "wlan0",
            mac=f"02:00:00:00:15:{number:02x}" if radio is None else radio_mac(radio),
            radio=radio,
            access_point=station.access_point,
            roam_below_dbm=station.roam_below_dbm,
        )


def _with_roles(node: Node, flows: tuple[Flow, ...]) -> Node:
    """The node with its roles as a sender and a receiver, and the resulting processor cost."""
    sends = any(flow.sender == node.name for flow in flows)
    receives = any(flow.receiver == node.name for flow in flows)
    cost = processors.of_host(node.parameters, sends, receives) if node.device else node.cost
    return replace(node, sends=sends, receives=receives, cost=cost)


def _links(nodes: Mapping[str, Node], changes: Iterable[Change]) -> Iterator[Link]:
    lossy = {change.node for change in changes if change.after.wire_loss}
    lossy |= {node.name for node in nodes.values() if node.parameters.wire_loss}
    for node in nodes.values():
        parameters, number = node.parameters, node.number
        wired = parameters.access == "ethernet"
        cable = cables.cable(parameters) if wired else None
        if node.kind == "server":
            port = End(SWITCH, f"server{number}", shaper=cables.back(parameters))
            forward = cables.forward(parameters, node.name in lossy)
            server = End(node.name, "eth0", node.mac, forward)
            if not node.router:
                yield Link(server, port)
            else:
                near, far = (f"02:00:00:00:{side}:{number:02x}" for side in ("13", "14"))
                yield Link(server, End(node.router, "eth0", near, cable))
                yield Link(End(node.router, "eth1", far, cable), port)
        elif node.kind == "access_point":
            uplink = End(node.name, "eth0", f"02:00:00:00:12:{number:02x}")
            yield Link(uplink, End(SWITCH, f"ap{number}"))
        elif node.kind == "station" and node.radio is None:
            port = End(node.access_point, bridge_port(number), shaper=cable)
            yield Link(End(node.name, "eth0", node.mac, cable), port)


def _radios(network: Network, nodes: Mapping[str, Node]) -> Iterator[Radio]:
    """The radios. If any has a position, stations without one are at their access points."""
    with_radio = [(node, node.radio) for node in nodes.values() if node.radio is not None]
    given = {name: each.position for name, each in network.topology.access_points.items()}
    given |= {
        node.name: position_of(node.parameters) for node, _ in with_radio if node.kind == "station"
    }
    anywhere = any(position is not None for position in given.values())
    for node, number in with_radio:
        position = given[node.name] or given.get(node.access_point) or ORIGIN
        yield Radio(number, node.name, position if anywhere else None)


def _moves(nodes: Mapping[str, Node]) -> Iterator[Move]:
    for node in nodes.values():
        if node.kind == "station" and node.radio is not None:
            yield from moves(node.parameters, [node.radio])


def _changes(network: Network, nodes: Mapping[str, Node]) -> Iterator[Change]:
    now = {name: node.parameters for name, node in nodes.items()}
    access_points = {name: node.access_point for name, node in nodes.items()}
    for change in sorted(network.schedule, key=lambda change: change.at_s):
        before = now[change.node]
        now[change.node] = after = before.override(change.settings.plain())
        joined = change.settings.access_point
        access_points[change.node] = joined or access_points[change.node]
        yield Change(
            *(change.at_s, change.node, before, after),
            access_point=access_points[change.node],
            joins=joined is not None,
        )


def _flows(network: Network, parameters: Parameters, nodes: Mapping[str, Node]) -> Iterator[Flow]:
    """The flows in order; each class of a flow is a flow with its own port."""
    numbers = count(1)
    for flow, label in zip(network.flows, flow_names(network), strict=True):
        sender, receiver = nodes[flow.sender], nodes[flow.receiver]
        ends = [node.name for node in (receiver, sender) if node.kind == "station"]
        settings = sender.parameters.override(flow.overrides())
        lasting = flow.duration_s or rest_s(parameters, flow)
        for service, connections in classes(settings).items():
            name = f"{label}-{service.lower()}" if service else label
            number = next(numbers)
            yield Flow(
                workload=settings.workload,
                sender=sender.name,
                receiver=receiver.name,
                sender_address=sender.addresses[0],
                receiver_address=receiver.addresses[0],
                station=ends[0] if ends else "",
                direction=_DIRECTIONS.get((sender.kind, receiver.kind), "across"),
                parameters=settings,
                number=number,
                port=PORT + number - 1,
                protocol=settings.protocol,
                congestion_control=settings.congestion_control,
                connections=connections,
                rate_bps=_rate_bps(flow.rate_bps, settings),
                service=service,
                start_s=flow.start_s,
                duration_s=lasting if settings.lasts else None,
                label=name,
                suffix=f"-{name}",
                via=flow.via or "",
            )


def _rate_bps(given_bps: float | None, settings: Parameters) -> float | None:
    """The rate of each connection of a flow."""
    rate_bps = given_bps or (settings.udp_rate_bps if settings.protocol == "udp" else None)
    return None if rate_bps is None else rate_bps / settings.flows


def _captures(parameters: Parameters, nodes: Mapping[str, Node]) -> dict[str, str]:
    """Capture points; `server` and `station` mean all nodes of that kind."""
    points = {
        node.name: node.device
        for kind in ("server", "station")
        if kind in parameters.capture
        for node in nodes.values()
        if node.kind == kind
    }
    return points | ({AIR: AIR_DEVICE} if AIR in parameters.capture else {})


def _queues(network: Network, nodes: Mapping[str, Node]) -> Iterator[QueueFile]:
    """mac80211's queues in both directions with the last access point of each station.

    A station that lost its association has none. A station that roams can have some with several
    access points, because those that it has left are not notified.
    """
    for node in nodes.values():
        if node.kind == "station" and node.radio is not None:
            joined = network.access_points_of(node.name)
            for name in joined if node.roam_below_dbm is not None else joined[-1:]:
                station, radio = node.radio, nodes[name].radio or 0
                file = f"queues-{name}.{node.name}.txt"  # names may contain dashes
                yield QueueFile(radio, station, file, optional=True)
                yield QueueFile(station, radio, f"queues-{node.name}.txt", optional=True)


def _probes(built: Testbed) -> Iterator[Probe]:
    """Probes from stations with bulk flows to the peer of their first flow."""
    for node in built.stations:
        flows = [flow for flow in built.bulk if node.name in (flow.sender, flow.receiver)]
        if not flows:
            continue
        [(peer, address), *_] = built.peers(node.name)
        ends = (node.name, peer, address)
        if built.parameters.ping_interval_s:
            interval_s = built.parameters.ping_interval_s
            yield Probe("ping", *ends, interval_s, f"ping-{node.name}.txt")
        marked = next((flow for flow in flows if flow.service), flows[0])
        for service in udp_classes(marked.parameters):
            file = f"udp-ping-{service}-{node.name}.csv"
            yield Probe("udp", *ends, built.parameters.udp_ping_interval_s, file, service)


def _filters(built: Testbed) -> Iterator[AckFilter]:
    """Filters of the ACKs that a host sends, by its parameters; one for all radios together."""
    shapers = count(1)
    for node in built.hosts:
        parameters = node.parameters
        for stage in parameters.ack_filter:
            if stage in ("police", "shape"):
                for where, flows in _ack_flows(built, node).items():
                    # tc lists all policers of a node at once.
                    end = f"{where}.txt" if stage == "police" else f"{where}-{node.name}.json"
                    file = f"ack-filter-{stage}-{end}"
                    device = f"ifb{next(shapers)}" if stage == "shape" else ""
                    yield limiting(parameters, stage, file, where, device, flows)
            if stage.startswith("cake") and node.kind == "server":
                port = f"server{node.number}"
                yield AckFilter(stage, f"qdisc-switch-{node.name}.json", SWITCH, port)
            if stage == ACKHOLD and node.kind == "station" and node.radio is not None:
                yield ackhold(node.name)
    stages = {
        stage: None
        for radio in built.radios
        for stage in built.by_name[radio.node].parameters.ack_filter
        if stage in RADIO_STAGES
    }
    files = {of_radios(stage): stage for stage in stages}
    for file, stage in files.items():
        yield AckFilter(stage, file)


def _ack_flows(built: Testbed, node: Node) -> dict[str, list[AckFlow]]:
    """By node: where ACKs of a receiver enter it on the way to the senders."""
    ack_flows: dict[str, list[AckFlow]] = {}
    for flow in built.flows:
        if flow.receiver == node.name:
            where, device = _entering(node, built.by_name[flow.sender])
            acks = AckFlow(device, flow.receiver_address, flow.sender_address)
            ack_flows.setdefault(where, []).append(acks)
    return ack_flows


def _entering(receiver: Node, sender: Node) -> tuple[str, str]:
    """(node, device) where ACKs enter the router or bridge that filters them."""
    if receiver.parameters.ack_filter_at == "router":
        if receiver.router:
            return receiver.router, "eth0"
        return sender.router, "eth1"
    if receiver.kind == "station":
        inner = "wlan0" if receiver.radio is not None else bridge_port(receiver.number)
        return receiver.access_point, inner
    if sender.kind == "station":
        return sender.access_point, "eth0"
    return SWITCH, f"server{receiver.number}"

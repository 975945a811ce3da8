# SPDX-License-Identifier: GPL-2.0-only
"""A custom topology, made of what an experiment says of its nodes, flows and changes.

    server --cable-- switch ---- access point ~~radio~~ station
    server --cable-- router --   |        `-- cable -- station
                                 `--- access point ~~radio~~ station

All are of one network; the switch and the access points are bridges. Radios are numbered from 0,
those of the access points first. Everything raises pydantic's ValidationError or KeyError for what
topology_checks.problems() finds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count

from airtcp.experiment.topology import ROUTER, SWITCH, Network, flow_names, rest_s
from airtcp.parameters import Parameters, mobility
from airtcp.parameters.ack_filter import RADIO_STAGES
from airtcp.testbed import cables, processors
from airtcp.testbed.addresses import bridge_port, radio_mac
from airtcp.testbed.default import classes, of_radios, udp_classes
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
    built = Testbed(
        parameters=parameters,
        nodes=tuple(nodes.values()),
        links=tuple(_links(nodes)),
        radios=tuple(_radios(nodes)),
        flows=flows,
        probes=(),
        filters=(),
        events=(*_changes(network, nodes), *_moves(nodes)),
        captures=_captures(parameters, nodes),
        counted=tuple(node.name for node in nodes.values() if node.device),
        queues=tuple(_queues(nodes)),
        hidden=tuple((numbers[one], numbers[other]) for one, other in network.topology.hidden),
        memory_mb=512 + 16 * (len(nodes) - 1 + len(flows)),
    )
    return replace(built, probes=tuple(_probes(built)), filters=tuple(_filters(built)))


def _nodes(network: Network, parameters: Parameters) -> Iterator[Node]:
    own = {name: network.of_node(name, parameters) for name in network.topology.names}
    radios, of = count(), network.topology
    wireless = {name: own[name].access == "wifi" for name in of.stations}
    yield Node(SWITCH, "switch", parameters)
    for number, name in enumerate(of.servers, start=1):
        routed = own[name].router != "none"
        router = f"{ROUTER}{name}" if routed else ""
        yield Node(
            *(name, "server", own[name], number),
            addresses=(f"10.0.0.{number}",),
            device="eth0",
            mac=f"02:00:00:00:11:{number:02x}",
            router=router,
        )
        if routed:
            yield Node(router, "router", own[name], number, cost=processors.of_router(own[name]))
    for number, name in enumerate(of.access_points, start=1):
        joined = [wireless[one] for one in of.stations if of.stations[one].access_point == name]
        radio = next(radios) if any(joined or [own[name].access == "wifi"]) else None
        yield Node(name, "access_point", own[name], number, radio=radio, ssid=name)
    for number, (name, station) in enumerate(of.stations.items(), start=1):
        radio = next(radios) if wireless[name] else None
        yield Node(
            *(name, "station", own[name], number),
            addresses=(f"10.0.0.{100 + number}",),
            device="eth0" if radio is None else "wlan0",
            mac=f"02:00:00:00:15:{number:02x}" if radio is None else radio_mac(radio),
            radio=radio,
            access_point=station.access_point,
        )


def _with_roles(node: Node, flows: tuple[Flow, ...]) -> Node:
    """Hosts that send data have the parameters of senders, those that receive of receivers."""
    sends = any(flow.sender == node.name for flow in flows)
    receives = any(flow.receiver == node.name for flow in flows)
    cost = processors.of_host(node.parameters, sends, receives) if node.device else node.cost
    return replace(node, sends=sends, receives=receives, cost=cost)


def _links(nodes: Mapping[str, Node]) -> Iterator[Link]:
    for node in nodes.values():
        parameters, number = node.parameters, node.number
        wired = parameters.access == "ethernet"
        cable = cables.cable(parameters) if wired else None
        if node.kind == "server":
            port = End(SWITCH, f"server{number}", shaper=cables.back(parameters))
            server = End(node.name, "eth0", node.mac, cables.forward(parameters))
            if not node.router:
                yield Link(server, port)
            else:
                near, far = (f"02:00:00:00:{side}:{number:02x}" for side in ("13", "14"))
                yield Link(server, End(node.router, "eth0", near, cable))
                yield Link(End(node.router, "eth1", far, cable), port)
        elif node.kind == "access_point":
            own = End(node.name, "eth0", f"02:00:00:00:12:{number:02x}")
            yield Link(own, End(SWITCH, f"ap{number}"))
        elif node.kind == "station" and node.radio is None:
            port = End(node.access_point, bridge_port(number), shaper=cable)
            yield Link(End(node.name, "eth0", node.mac, cable), port)


def _radios(nodes: Mapping[str, Node]) -> Iterator[Radio]:
    """Where any has a place the access points are at 0."""
    found = [(node, node.radio) for node in nodes.values() if node.radio is not None]
    places = {node.name: _place(node) for node, _ in found}
    anywhere = any(place is not None for place in places.values())
    for node, number in found:
        yield Radio(number, node.name, (places[node.name] or 0) if anywhere else None)


def _place(node: Node) -> int | None:
    parameters = node.parameters
    if node.kind != "station":
        return None
    if parameters.walk:
        return mobility.legs(parameters.walk)[0].from_mm
    return None if parameters.distance_m is None else round(parameters.distance_m * 1000)


def _moves(nodes: Mapping[str, Node]) -> Iterator[Move]:
    for node in nodes.values():
        if node.kind == "station" and node.radio is not None and node.parameters.walk:
            at_s = 0.0
            for leg in mobility.legs(node.parameters.walk):
                yield Move(at_s, node.radio, leg.from_mm, leg.mm_per_s)
                at_s += leg.seconds or 0.0


def _changes(network: Network, nodes: Mapping[str, Node]) -> Iterator[Change]:
    now = {name: node.parameters for name, node in nodes.items()}
    for change in sorted(network.schedule, key=lambda one: one.at_s):
        before = now[change.node]
        now[change.node] = after = before.override(change.settings.plain())
        yield Change(change.at_s, change.node, before, after)


def _flows(network: Network, parameters: Parameters, nodes: Mapping[str, Node]) -> Iterator[Flow]:
    """The flows in their order, and of each its classes, each with a port of its own."""
    numbers = count(1)
    for flow, label in zip(network.flows, flow_names(network), strict=True):
        sender, receiver = nodes[flow.sender], nodes[flow.receiver]
        ends = [node.name for node in (receiver, sender) if node.kind == "station"]
        own = sender.parameters.override(flow.overrides())
        lasting = flow.duration_s or rest_s(parameters, flow)
        for service, connections in classes(own).items():
            name = f"{label}-{service.lower()}" if service else label
            number = next(numbers)
            yield Flow(
                workload=own.workload,
                sender=sender.name,
                receiver=receiver.name,
                sender_address=sender.addresses[0],
                receiver_address=receiver.addresses[0],
                station=ends[0] if ends else "",
                direction=_DIRECTIONS.get((sender.kind, receiver.kind), "across"),
                parameters=own,
                number=number,
                port=PORT + number - 1,
                protocol=own.protocol,
                congestion_control=own.congestion_control,
                flows=connections,
                rate_bps=_rate_bps(flow.rate_bps, own),
                service=service,
                start_s=flow.start_s,
                duration_s=lasting if own.lasts else None,
                label=name,
                suffix=f"-{name}",
            )


def _rate_bps(given_bps: float | None, own: Parameters) -> float | None:
    """Of each connection of a flow."""
    rate_bps = given_bps or (own.udp_rate_bps if own.protocol == "udp" else None)
    return None if rate_bps is None else rate_bps / own.flows


def _captures(parameters: Parameters, nodes: Mapping[str, Node]) -> dict[str, str]:
    """`server` and `station` are all of their kind."""
    points = {
        node.name: node.device
        for kind in ("server", "station")
        if kind in parameters.capture
        for node in nodes.values()
        if node.kind == kind
    }
    return points | ({AIR: AIR_DEVICE} if AIR in parameters.capture else {})


def _queues(nodes: Mapping[str, Node]) -> Iterator[QueueFile]:
    """mac80211's own queues, both ways; a station that was lost on the way has none."""
    for node in nodes.values():
        if node.kind == "station" and node.radio is not None:
            access_point, station = nodes[node.access_point], node.radio
            radio = access_point.radio or 0
            file = f"queues-{access_point.name}-{node.name}.txt"
            yield QueueFile(radio, station, file, optional=True)
            yield QueueFile(station, radio, f"queues-{node.name}.txt", optional=True)


def _probes(built: Testbed) -> Iterator[Probe]:
    """From the stations with data, to the host of their first flow."""
    for node in built.stations:
        own = [flow for flow in built.bulk if node.name in (flow.sender, flow.receiver)]
        if not own:
            continue
        [(peer, address), *_] = built.peers(node.name)
        ends = (node.name, peer, address)
        if built.parameters.ping_interval_s:
            interval_s = built.parameters.ping_interval_s
            yield Probe("ping", *ends, interval_s, f"ping-{node.name}.txt")
        marked = next((flow for flow in own if flow.service), own[0])
        for service in udp_classes(marked.parameters):
            file = f"udp-ping-{service}-{node.name}.csv"
            yield Probe("udp", *ends, built.parameters.udp_ping_interval_s, file, service)


def _filters(built: Testbed) -> Iterator[AckFilter]:
    """Of ACKs that a host sends, as its parameters have it; those in radios, of all at once."""
    shapers = count(1)
    for node in built.hosts:
        parameters = node.parameters
        for stage in parameters.ack_filter:
            if stage in ("police", "shape"):
                for where, flows in _ack_flows(built, node).items():
                    end = "txt" if stage == "police" else "json"
                    yield AckFilter(
                        stage,
                        f"ack-filter-{stage}-{where}-{node.name}.{end}",
                        where,
                        f"ifb{next(shapers)}" if stage == "shape" else "",
                        flows=tuple(dict.fromkeys(flows)),
                        rate_bps=parameters.ack_filter_rate_bps or 0.0,
                        burst_bytes=parameters.ack_filter_burst_bytes,
                    )
            if stage.startswith("cake") and node.kind == "server":
                port = f"server{node.number}"
                yield AckFilter(stage, f"qdisc-switch-{node.name}.json", SWITCH, port)
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
    """By node: where ACKs of a receiver enter it on their way to its senders."""
    found: dict[str, list[AckFlow]] = {}
    for flow in built.flows:
        if flow.receiver == node.name:
            where, device = _entering(built, node, built.by_name[flow.sender])
            acks = AckFlow(device, flow.receiver_address, flow.sender_address)
            found.setdefault(where, []).append(acks)
    return found


def _entering(built: Testbed, receiver: Node, sender: Node) -> tuple[str, str]:
    """(node, device) where ACKs enter the router, or the bridge, that is to filter them."""
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

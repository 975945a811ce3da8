# SPDX-License-Identifier: GPL-2.0-only
"""The testbed of the default topology, from parameters only.

    server --cable-- [router --cable--] ap ~~radio~~ station
                                           ~~radio~~ station2 ...

`access: ethernet` replaces the radios with cables. Stations are numbered from 1; a station's radio
has the same number.
"""

from collections.abc import Iterable, Iterator

from airtcp.parameters import Parameters
from airtcp.parameters.ack_filter import ACKHOLD
from airtcp.parameters.mobility import ORIGIN, Position, legs
from airtcp.testbed import cables, processors
from airtcp.testbed.addresses import (
    AP_ADDRESS,
    AP_WIRE_MAC,
    ROUTER_LAN_MAC,
    ROUTER_SERVER_MAC,
    SERVER_ADDRESS,
    SERVER_MAC,
    bridge_port,
    numbered,
    radio_mac,
    server_address,
    station_address,
    station_node,
)
from airtcp.testbed.model import (
    AIR,
    AIR_DEVICE,
    PORT,
    RRUL_CLASSES,
    AckFilter,
    AckFlow,
    Direction,
    End,
    Flow,
    Link,
    Move,
    Node,
    Probe,
    QueueFile,
    Radio,
    Testbed,
    guest_memory_mb,
)

SSID = "airtcp"


def testbed(parameters: Parameters) -> Testbed:
    """The testbed of a case without a topology."""
    wireless = parameters.access == "wifi"
    leaves = parameters.may_leave(parameters)
    flows = tuple(_flows(parameters))
    queues = (
        QueueFile(0, 1, "queues-ap.txt", optional=leaves),
        QueueFile(1, 0, "queues-station.txt", optional=leaves),
    )
    devices = {"server": "eth0", "station": parameters.station_device, AIR: AIR_DEVICE}
    return Testbed(
        parameters=parameters,
        nodes=tuple(_nodes(parameters)),
        links=tuple(_links(parameters)),
        radios=tuple(_radios(parameters)) if wireless else (),
        flows=flows,
        probes=tuple(_probes(parameters)),
        filters=tuple(_filters(parameters)),
        events=tuple(moves(parameters, parameters.station_numbers)),
        captures={point: devices[point] for point in parameters.capture},
        counted=("server", "station"),
        queues=queues if wireless else (),
        memory_mb=guest_memory_mb(parameters.stations - 1, flows),
    )


def _nodes(parameters: Parameters) -> Iterator[Node]:
    numbers, wireless = parameters.station_numbers, parameters.access == "wifi"
    sends = {node: node == parameters.sender for node in ("server", "station")}
    receives = {node: node in parameters.receivers for node in ("server", "station")}
    # With data in both directions, the station is the sender and the server the receiver.
    costs = {
        node: processors.of_host(parameters, sends[node], node == parameters.receiver)
        for node in ("server", "station")
    }
    routed = parameters.router != "none"
    yield Node(
        "server",
        "server",
        parameters,
        addresses=tuple(dict.fromkeys(_server_addresses(parameters))),
        device="eth0",
        mac=SERVER_MAC,
        router="router" if routed else "",
        sends=sends["server"],
        receives=receives["server"],
        cost=costs["server"],
    )
    if routed:
        yield Node("router", "router", parameters, cost=processors.of_router(parameters))
    ap_radio = 0 if wireless else None
    yield Node("ap", "access_point", parameters, addresses=(AP_ADDRESS,), radio=ap_radio, ssid=SSID)
    of_stations = parameters.of_stations()
    for number in numbers:
        yield Node(
            station_node(number),
            "station",
            of_stations,
            number,
            addresses=(station_address(number),),
            device=parameters.station_device,
            mac=radio_mac(number),
            radio=number if wireless else None,
            access_point="ap",
            sends=sends["station"],
            receives=receives["station"],
            cost=costs["station"] if number == 1 else None,
        )


def _server_addresses(parameters: Parameters) -> Iterator[str]:
    """The server's addresses that stations use."""
    for number in parameters.station_numbers:
        if parameters.direction != "upload":
            yield SERVER_ADDRESS
        if parameters.direction != "download":
            yield server_address(number)


def _links(parameters: Parameters) -> Iterator[Link]:
    wired = parameters.access == "ethernet"
    cable = cables.cable(parameters) if wired else None
    lossy = parameters.wire_loss > 0
    forward = cables.forward_near(parameters) if wired else cables.forward(parameters, lossy)
    server = End("server", "eth0", SERVER_MAC, forward)
    ap = End("ap", "eth0", AP_WIRE_MAC, cables.back(parameters))
    if parameters.router == "none":
        yield Link(server, ap)
    else:
        yield Link(server, End("router", "eth0", ROUTER_SERVER_MAC, cable))
        yield Link(ap, End("router", "eth1", ROUTER_LAN_MAC, cable))
    if wired:
        far = cables.forward_far(parameters)
        for number in parameters.station_numbers:
            station = End(station_node(number), "eth0", radio_mac(number), cable)
            yield Link(station, End("ap", bridge_port(number), shaper=far))


def _radios(parameters: Parameters) -> Iterator[Radio]:
    """The radios. If stations have a position, the access point is at 0."""
    position = position_of(parameters)
    yield Radio(0, "ap", None if position is None else ORIGIN)
    for number in parameters.station_numbers:
        yield Radio(number, station_node(number), position)


def position_of(parameters: Parameters) -> Position | None:
    """The position of a station at the start of the run; None if it has none."""
    if parameters.walk:
        return parameters.walk[0].position
    return None if parameters.distance_m is None else Position(parameters.distance_m)


def moves(parameters: Parameters, radios: Iterable[int]) -> Iterator[Move]:
    """The movements of radios that walk together."""
    at_s = 0.0
    for leg in legs(parameters.walk or ()):
        for radio in radios:
            yield Move(at_s, radio, leg.start, leg.m_per_s)
        at_s += leg.seconds or 0.0


def directions(parameters: Parameters) -> tuple[Direction, ...]:
    return ("download", "upload") if parameters.direction == "both" else (parameters.direction,)


def _flows(parameters: Parameters) -> Iterator[Flow]:
    """The flows, station by station."""
    for station in parameters.station_numbers:
        for direction in directions(parameters):
            for service, connections in classes(parameters).items():
                yield _flow(parameters, station, direction, service, connections)


def _flow(
    parameters: Parameters,
    station: int,
    direction: Direction,
    service: str | None,
    connections: int,
) -> Flow:
    ends = [("server", SERVER_ADDRESS), (station_node(station), station_address(station))]
    if direction == "upload":
        ends = [ends[1], ("server", server_address(station))]
    (sender, sender_address), (receiver, receiver_address) = ends
    udp_bps = parameters.udp_rate_bps or unlimited_bps(parameters)
    start_s = (station - 1) * parameters.start_interval_s
    return Flow(
        workload=parameters.workload,
        sender=sender,
        receiver=receiver,
        sender_address=sender_address,
        receiver_address=receiver_address,
        station=station,
        direction=direction,
        parameters=parameters,
        port=PORT if service is None else PORT + list(RRUL_CLASSES).index(service),
        protocol=parameters.protocol,
        congestion_control=parameters.congestion_control,
        connections=connections,
        rate_bps=udp_bps / parameters.flows if parameters.protocol == "udp" else None,
        service=service,
        start_s=start_s,
        duration_s=parameters.duration_s - start_s if parameters.lasts else None,
        suffix=numbered(_kind(parameters, direction, service), station),
        bind=direction == "upload" and parameters.stations > 1,
    )


def classes(parameters: Parameters) -> dict[str | None, int]:
    """The number of connections of a direction by class; None: not marked."""
    if parameters.dscp == "none":
        return {None: parameters.flows}
    dealt = (parameters.flows + 3 - number for number in range(len(RRUL_CLASSES)))
    return {name: n // 4 for name, n in zip(RRUL_CLASSES, dealt, strict=True) if n >= 4}


def _kind(parameters: Parameters, direction: Direction, service: str | None) -> str:
    parts = [direction] if parameters.direction == "both" else []
    return "".join(f"-{part}" for part in (*parts, *((service,) if service else ())))


def access_rate_bps(parameters: Parameters) -> float:
    """The rate of the access network without overhead; with minstrel its maximum."""
    if parameters.access == "ethernet":
        return parameters.ethernet_rate_bps
    return parameters.radio_rate.bps


def unlimited_bps(parameters: Parameters) -> float:
    """Rate of `unlimited` UDP per station and direction: its share of the access network's rate.

    The share always exceeds the capacity, because of overhead. In virtual time a program is
    infinitely fast: with an unlimited sender no time would pass, and a sender far above the
    capacity costs processor time for packets that are dropped.
    """
    return access_rate_bps(parameters) / (parameters.stations * len(directions(parameters)))


def udp_classes(parameters: Parameters) -> tuple[str, ...]:
    """The classes of UDP requests that probe latency during the flows."""
    if not parameters.udp_ping_interval_s:
        return ()
    return ("BE",) if parameters.dscp == "none" else ("BE", "BK", "EF")


def _probes(parameters: Parameters) -> Iterator[Probe]:
    if not parameters.lasts:
        return
    ends = ("station", "server", SERVER_ADDRESS)
    if parameters.ping_interval_s:
        yield Probe("ping", *ends, parameters.ping_interval_s, "ping.txt")
    for service in udp_classes(parameters):
        file = f"udp-ping-{service}.csv"
        yield Probe("udp", *ends, parameters.udp_ping_interval_s, file, service)


def _filters(parameters: Parameters) -> Iterator[AckFilter]:
    at = "ap" if parameters.ack_filter_at == "bridge" else "router"
    for stage in parameters.ack_filter:
        if stage in ("police", "shape"):
            file = f"ack-filter-{stage}.{'txt' if stage == 'police' else 'json'}"
            device = "ifb1" if stage == "shape" else ""
            yield limiting(parameters, stage, file, at, device, _ack_flows(parameters))
        elif stage.startswith("cake"):
            yield AckFilter(stage, "qdisc-bridge.json", "ap", "eth0")
        elif stage == ACKHOLD:
            for number in parameters.station_numbers:
                yield ackhold(station_node(number))
        else:
            yield AckFilter(stage, of_radios(stage))


def limiting(
    parameters: Parameters, stage: str, file: str, node: str, device: str, flows: Iterable[AckFlow]
) -> AckFilter:
    """A stage that limits the rate of ACKs."""
    return AckFilter(
        *(stage, file, node, device),
        flows=tuple(dict.fromkeys(flows)),
        rate_bps=parameters.ack_filter_rate_bps or 0.0,
        burst_bytes=parameters.ack_filter_burst_bytes,
        all_packets=parameters.ack_filter_match == "destination",
    )


def ackhold(node: str) -> AckFilter:
    """The qdisc ackhold at a station."""
    return AckFilter(ACKHOLD, f"qdisc-ackhold-{node}.json", node, "wlan0")


def of_radios(stage: str) -> str:
    """The file with the counters of a stage of all radios; empty if it has no counters."""
    files = {"hold": "airsim-after.txt", "multicast": ""}
    return files.get(stage, "ack-filter-txq.txt")


def _ack_flows(parameters: Parameters) -> Iterator[AckFlow]:
    """For each receiver: where its ACKs enter the node that filters them."""
    numbers = parameters.station_numbers
    if parameters.ack_filter_stations == "first":
        numbers = numbers[:1]
    for number in numbers:
        station = station_address(number)
        if parameters.direction != "upload":
            inner = "wlan0" if parameters.access == "wifi" else bridge_port(number)
            device = "eth1" if parameters.ack_filter_at == "router" else inner
            yield AckFlow(device, station, SERVER_ADDRESS)
        if parameters.direction != "download":
            yield AckFlow("eth0", server_address(number), station)

# SPDX-License-Identifier: GPL-2.0-only
"""The default topology, built in the guest with ip, tc, iw, hostapd and ethtool.

    server --cable-- [router --cable--] bridge ~~radio~~ station
                                               ~~radio~~ station2 ...

The bridge is the access point's (node ap: br0 = eth0 + wlan0, hostapd). Where stations are joined
by cables it has a port for each of them.
"""

from airtcp.parameters import Parameters
from airtcp.steps import cpu_cost, filters, hosts, links, wifi
from airtcp.steps.step import In, Jobs, Note, Start, Step, Sysctl, Wait, WriteFile, run
from airtcp.testbed.addresses import (
    AP_ADDRESS,
    AP_WIRE_MAC,
    ROUTER_LAN_MAC,
    ROUTER_SERVER_MAC,
    SERVER_ADDRESS,
    SERVER_MAC,
    bridge_port,
    radio_mac,
    server_address,
    station_address,
    station_node,
)

_AT_ONCE = "All stations at once, for most of the time they wait; the shell waits for the first."


def plan(parameters: Parameters) -> list[Step]:
    """The network is built; the stations are joined at the end."""
    wireless = parameters.access == "wifi"
    return [
        *(_radios(parameters) if wireless else []),
        *_nodes(parameters),
        Note(),
        In("server", _server(parameters)),
        *_router(parameters),
        Note(),
        *(_joined(parameters) if wireless else _cabled(parameters)),
        Note(),
        *(wifi.errors(parameters) if wireless else []),
    ]


def _radios(parameters: Parameters) -> list[Step]:
    radio = run(f"airsim radio add {wifi.radio_keys(parameters)}")
    why = "The radios. Their errors start after the warm-up: how stations associate is not what is"
    return [Note(f"{why} measured."), *[radio] * (parameters.stations + 1), Note()]


def _joined(parameters: Parameters) -> list[Step]:
    """By radio."""
    conf = "/tmp/hostapd.conf"
    first, *others = (
        In(station_node(number), _station(parameters, number))
        for number in parameters.station_numbers
    )
    return [
        WriteFile(conf, wifi.hostapd_conf(parameters)),
        Note(),
        In("ap", _access_point(parameters, conf)),
        Note(),
        Note(_AT_ONCE),
        Jobs(("joining",)),
        *(Start([station], "joining") for station in reversed(others)),
        first,
        Wait("joining", "a station has not joined: see above"),
        *_txq(parameters),
    ]


def _txq(parameters: Parameters) -> list[Step]:
    radios = range(parameters.stations + 1)
    return [one for radio in radios for one in filters.txq(parameters.ack_filter, radio)]


def _cabled(parameters: Parameters) -> list[Step]:
    ports = [bridge_port(number) for number in parameters.station_numbers]
    bridge = [
        *_bridge(parameters),
        *(run(f"ip link set {port} up master br0") for port in ports),
        *(one for port in ports for one in links.to_station(parameters, port)),
    ]
    stations = (
        In(station_node(number), _station(parameters, number))
        for number in parameters.station_numbers
    )
    return [In("ap", bridge), *stations]


def _server_addresses(parameters: Parameters, number: int) -> list[str]:
    """Those of the server that a station has to do with."""
    sending = [] if parameters.direction == "upload" else [SERVER_ADDRESS]
    receiving = [] if parameters.direction == "download" else [server_address(number)]
    return list(dict.fromkeys([*sending, *receiving]))


def _all_server_addresses(parameters: Parameters) -> list[str]:
    numbers = parameters.station_numbers
    return list(
        dict.fromkeys(own for number in numbers for own in _server_addresses(parameters, number))
    )


def _nodes(parameters: Parameters) -> list[Step]:
    stations = [station_node(number) for number in parameters.station_numbers]
    routed = parameters.router != "none"
    names = ["server", *(["router"] if routed else []), "ap", *stations]
    links = [("server", SERVER_MAC, "ap", "eth0", AP_WIRE_MAC)]
    if routed:
        links = [
            ("server", SERVER_MAC, "router", "eth0", ROUTER_SERVER_MAC),
            ("ap", AP_WIRE_MAC, "router", "eth1", ROUTER_LAN_MAC),
        ]
    if parameters.access == "ethernet":
        links += [
            (name, radio_mac(number), "ap", bridge_port(number), "")
            for number, name in zip(parameters.station_numbers, stations, strict=True)
        ]
    lines: list[Step] = [run(f"ip netns add {name}") for name in names]
    lines += [
        run(
            f"ip link add eth0 netns {node} address {mac} type veth "
            f"peer name {device} netns {peer}{f' address {peer_mac}' if peer_mac else ''}"
        )
        for node, mac, peer, device, peer_mac in links
    ]
    if parameters.access == "wifi":
        lines += [
            run(f"iw phy phy{index} set netns name {name}")
            for index, name in enumerate(["ap", *stations])
        ]
    return lines


def _server(parameters: Parameters) -> list[Step]:
    next_hop = None if parameters.router == "none" else ROUTER_SERVER_MAC
    return [
        run("ip link set lo up"),
        *(
            run(f"ip address add {address}/24 dev eth0")
            for address in _all_server_addresses(parameters)
        ),
        run("ip link set eth0 up"),
        *(
            hosts.neighbour(station_address(number), next_hop or radio_mac(number), "eth0")
            for number in parameters.station_numbers
        ),
        *hosts.gso_segments(parameters, "eth0"),
        *_initcwnd(parameters, "server", "eth0"),
        *hosts.offloads(parameters, "eth0"),
        *links.at_server(parameters),
        *_slow(parameters, "server", "eth0"),
        *_tcp(parameters, "server"),
    ]


def _router(parameters: Parameters) -> list[Step]:
    """Between the server and the bridge, whose addresses are of one network: by host routes."""
    if parameters.router == "none":
        return []
    cost = cpu_cost.of_router(parameters)
    ends = [(address, SERVER_MAC, "eth0") for address in _all_server_addresses(parameters)]
    ends += [
        (station_address(number), radio_mac(number), "eth1")
        for number in parameters.station_numbers
    ]
    devices = ("eth0", "eth1")
    cables = devices if parameters.access == "ethernet" else ()
    steps: list[Step] = [run("ip link set lo up")]
    steps += [run(f"ip link set {device} up") for device in devices]
    for address, mac, device in ends:
        steps.append(run(f"ip route add {address}/32 dev {device}"))
        steps.append(hosts.neighbour(address, mac, device))
    steps += [run(f"ethtool -K {device} gro off gso off tso off") for device in devices]
    steps.append(Sysctl("ip_forward", "1"))
    steps += [links.cable(parameters, device) for device in cables]
    steps += _filters(parameters, "router")
    steps += cpu_cost.commands(cost, devices) if cost else []
    return [Note(), In("router", steps)]


def _bridge(parameters: Parameters) -> list[Step]:
    return [
        run("ip link set lo up"),
        run("ip link add br0 type bridge"),
        run(f"ip address add {AP_ADDRESS}/24 dev br0"),
        run("ip link set eth0 up master br0"),
        run("ip link set br0 up"),
        *hosts.offloads(parameters, "eth0"),
        *links.back(parameters, filters.cake(parameters.ack_filter)),
        *_filters(parameters, "bridge"),
    ]


def _access_point(parameters: Parameters, conf: str) -> list[Step]:
    return [
        *_bridge(parameters),
        *hosts.offloads(parameters, "wlan0"),
        *wifi.beaconing(conf),
        *wifi.rts(parameters, 0),
        *([filters.to_group("wlan0")] if "multicast" in parameters.ack_filter else []),
    ]


def _filters(parameters: Parameters, where: str) -> list[Step]:
    """Policing and shaping of ACKs, at the node where they are to be."""
    stages, rate_bps = parameters.ack_filter, parameters.ack_filter_rate_bps
    if rate_bps is None or where != parameters.ack_filter_at:
        return []
    flows = _ack_flows(parameters)
    if "shape" in stages:
        return filters.shape(flows, rate_bps)
    return [
        one
        for number, flow in enumerate(flows, start=1)
        for one in filters.police(flow, number, rate_bps, parameters.ack_filter_burst_bytes)
    ]


def _ack_flows(parameters: Parameters) -> list[filters.Flow]:
    """By receiver: where its ACKs enter the node that filters them."""
    numbers = parameters.station_numbers
    if parameters.ack_filter_stations == "first":
        numbers = numbers[:1]
    flows = []
    for number in numbers:
        station = station_address(number)
        if parameters.direction != "upload":
            inner = "wlan0" if parameters.access == "wifi" else bridge_port(number)
            device = "eth1" if parameters.ack_filter_at == "router" else inner
            flows.append(filters.Flow(device, station, SERVER_ADDRESS))
        if parameters.direction != "download":
            flows.append(filters.Flow("eth0", server_address(number), station))
    return flows


def _slow(parameters: Parameters, node: str, device: str) -> list[Step]:
    """A host with a slow processor: what it receives and what it sends."""
    cost = cpu_cost.nodes(parameters).get(node)
    return cpu_cost.commands(cost, (device,), (device,)) if cost else []


def _station(parameters: Parameters, number: int) -> list[Step]:
    servers, device = _server_addresses(parameters, number), parameters.station_device
    next_hop = SERVER_MAC if parameters.router == "none" else ROUTER_LAN_MAC
    radio = parameters.access == "wifi"
    return [
        run("ip link set lo up"),
        # A host calls its only radio wlan0.
        *([run(f"ip link set wlan{number} name wlan0")] if radio else []),
        run(f"ip address add {station_address(number)}/24 dev {device}"),
        run(f"ip link set {device} up"),
        *(hosts.neighbour(server, next_hop, device) for server in servers),
        *hosts.gso_segments(parameters, device),
        *_initcwnd(parameters, "station", device),
        *hosts.offloads(parameters, device),
        *([] if radio else [links.cable(parameters, device)]),
        *_slow(parameters, station_node(number), device),
        *_tcp(parameters, "station"),
        *(_associating(parameters, number) if radio else []),
        Note("One ping proves the path and opens the radio's sessions."),
        run(f"ping -nq -c 1 -w 10 {servers[0]}", stdout="/dev/null"),
    ]


def _associating(parameters: Parameters, number: int) -> list[Step]:
    address, group = station_address(number), "multicast" in parameters.ack_filter
    return [
        *wifi.associating(parameters),
        *([filters.from_group("wlan0", address, radio_mac(number))] if group else []),
        *wifi.rts(parameters, number),
    ]


def _initcwnd(parameters: Parameters, node: str, device: str) -> list[Step]:
    return hosts.initcwnd(parameters, device) if node == parameters.sender else []


def _tcp(parameters: Parameters, node: str) -> list[Step]:
    return hosts.tcp(parameters, node in parameters.receivers, node == parameters.sender)

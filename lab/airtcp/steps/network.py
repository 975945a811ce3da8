# SPDX-License-Identifier: GPL-2.0-only
"""The default topology, built in the guest with ip, tc, iw, hostapd and ethtool.

    server --cable-- [router --cable--] bridge ~~radio~~ station
                                               ~~radio~~ station2 ...

The bridge is the access point's (node ap: br0 = eth0 + wlan0, hostapd). Where stations are joined
by cables it has a port for each of them. The plan is a shell script (script.py) and a pure function
of the parameters.
"""

from airtcp.parameters import Parameters
from airtcp.steps import cpu_cost, filters, hosts, links, script, wifi
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


def plan(parameters: Parameters) -> str:
    """The shell script that builds the network and waits until the stations are joined."""
    radios, joining, errors = "", _cabled(parameters), ""
    if parameters.access == "wifi":
        radios, joining, errors = _radios(parameters), _joined(parameters), wifi.errors(parameters)
    return f"""\
{script.beginning()}\
{radios}\
{_nodes(parameters)}
in_node server <<'END'
{_server(parameters)}END
{_router(parameters)}\
{joining}
{errors}"""


def _radios(parameters: Parameters) -> str:
    radio = f"must airsim radio add {wifi.radio_keys(parameters)}\n"
    return f"""\
# The radios. Their errors start after the warm-up: how stations associate is not what is measured.
{radio * (parameters.stations + 1)}
"""


def _joined(parameters: Parameters) -> str:
    """By radio."""
    return f"""\

keep /dev/stdin /tmp/hostapd.conf <<'END'
{wifi.hostapd_conf(parameters)}END

in_node ap <<'END'
{_access_point(parameters)}END

# All stations at once, for most of the time they wait; the shell waits for the first.
joining=
{"".join(_joining(parameters, number) for number in reversed(parameters.station_numbers))}\
for pid in $joining; do wait "$pid" || fail "a station has not joined: see above"; done
{_txq(parameters)}"""


def _txq(parameters: Parameters) -> str:
    radios = range(parameters.stations + 1)
    return "".join(filters.txq(parameters.ack_filter, radio) for radio in radios)


def _cabled(parameters: Parameters) -> str:
    ports = [bridge_port(number) for number in parameters.station_numbers]
    up = "".join(f"must ip link set {port} up master br0\n" for port in ports)
    wired = "".join(links.to_station(parameters, port) for port in ports)
    stations = "".join(
        f"in_node {station_node(number)} <<'END'\n{_station(parameters, number)}END\n"
        for number in parameters.station_numbers
    )
    return f"""\

in_node ap <<'END'
{_bridge(parameters)}\
{up}\
{wired}END
{stations}"""


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


def _nodes(parameters: Parameters) -> str:
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
    lines = [f"must ip netns add {name}\n" for name in names]
    lines += [
        f"must ip link add eth0 netns {node} address {mac} type veth "
        f"peer name {device} netns {peer}{f' address {peer_mac}' if peer_mac else ''}\n"
        for node, mac, peer, device, peer_mac in links
    ]
    if parameters.access == "wifi":
        lines += [
            f"must iw phy phy{index} set netns name {name}\n"
            for index, name in enumerate(["ap", *stations])
        ]
    return "".join(lines)


def _server(parameters: Parameters) -> str:
    addresses = _all_server_addresses(parameters)
    own = "".join(f"must ip address add {address}/24 dev eth0\n" for address in addresses)
    next_hop = None if parameters.router == "none" else ROUTER_SERVER_MAC
    neighbours = "".join(
        hosts.neighbour(station_address(number), next_hop or radio_mac(number), "eth0")
        for number in parameters.station_numbers
    )
    return f"""\
must ip link set lo up
{own}\
must ip link set eth0 up
{neighbours}\
{hosts.gso_segments(parameters, "eth0")}\
{_initcwnd(parameters, "server", "eth0")}\
{hosts.offloads(parameters, "eth0")}\
{links.at_server(parameters)}\
{_slow(parameters, "server", "eth0")}\
{_tcp(parameters, "server")}"""


def _router(parameters: Parameters) -> str:
    """Between the server and the bridge, whose addresses are of one network: by host routes."""
    if parameters.router == "none":
        return ""
    cost = cpu_cost.of_router(parameters)
    ends = [(address, SERVER_MAC, "eth0") for address in _all_server_addresses(parameters)]
    ends += [
        (station_address(number), radio_mac(number), "eth1")
        for number in parameters.station_numbers
    ]
    routes = "".join(
        f"must ip route add {address}/32 dev {device}\n{hosts.neighbour(address, mac, device)}"
        for address, mac, device in ends
    )
    devices = ("eth0", "eth1")
    cables = "".join(links.cable(parameters, device) for device in devices)
    up = "".join(f"must ip link set {device} up\n" for device in devices)
    whole = "".join(f"must ethtool -K {device} gro off gso off tso off\n" for device in devices)
    return f"""
in_node router <<'END'
must ip link set lo up
{up}\
{routes}\
{whole}\
set_sysctl ip_forward 1
{cables if parameters.access == "ethernet" else ""}\
{_filters(parameters, "router")}\
{cpu_cost.commands(cost, devices) if cost else ""}END
"""


def _bridge(parameters: Parameters) -> str:
    return f"""\
must ip link set lo up
must ip link add br0 type bridge
must ip address add {AP_ADDRESS}/24 dev br0
must ip link set eth0 up master br0
must ip link set br0 up
{hosts.offloads(parameters, "eth0")}\
{links.back(parameters, filters.cake(parameters.ack_filter))}\
{_filters(parameters, "bridge")}"""


def _access_point(parameters: Parameters) -> str:
    group = filters.to_group("wlan0") if "multicast" in parameters.ack_filter else ""
    return f"""\
{_bridge(parameters)}\
{hosts.offloads(parameters, "wlan0")}\
{wifi.beaconing("/tmp/hostapd.conf")}\
{wifi.rts(parameters, 0)}\
{group}"""


def _filters(parameters: Parameters, where: str) -> str:
    """Policing and shaping of ACKs, at the node where they are to be."""
    stages, rate_bps = parameters.ack_filter, parameters.ack_filter_rate_bps
    if rate_bps is None or where != parameters.ack_filter_at:
        return ""
    flows = _ack_flows(parameters)
    if "shape" in stages:
        return filters.shape(flows, rate_bps)
    return "".join(
        filters.police(flow, number, rate_bps, parameters.ack_filter_burst_bytes)
        for number, flow in enumerate(flows, start=1)
    )


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


def _slow(parameters: Parameters, node: str, device: str) -> str:
    """A host with a slow processor: what it receives and what it sends."""
    cost = cpu_cost.nodes(parameters).get(node)
    return cpu_cost.commands(cost, (device,), (device,)) if cost else ""


def _joining(parameters: Parameters, number: int) -> str:
    script = f"in_node {station_node(number)} <<'END'\n{_station(parameters, number)}END\n"
    return f'{{\n{script}}} & joining="$joining $!"\n' if number > 1 else script


def _station(parameters: Parameters, number: int) -> str:
    servers, device = _server_addresses(parameters, number), parameters.station_device
    next_hop = SERVER_MAC if parameters.router == "none" else ROUTER_LAN_MAC
    neighbours = "".join(hosts.neighbour(server, next_hop, device) for server in servers)
    radio = parameters.access == "wifi"
    # A host calls its only radio wlan0.
    named = f"must ip link set wlan{number} name wlan0\n" if radio else ""
    cable = "" if radio else links.cable(parameters, device)
    return f"""\
must ip link set lo up
{named}\
must ip address add {station_address(number)}/24 dev {device}
must ip link set {device} up
{neighbours}\
{hosts.gso_segments(parameters, device)}\
{_initcwnd(parameters, "station", device)}\
{hosts.offloads(parameters, device)}\
{cable}\
{_slow(parameters, station_node(number), device)}\
{_tcp(parameters, "station")}\
{_associating(parameters, number) if radio else ""}\
# One ping proves the path and opens the radio's sessions.
must ping -nq -c 1 -w 10 {servers[0]} >/dev/null
"""


def _associating(parameters: Parameters, number: int) -> str:
    group = ""
    if "multicast" in parameters.ack_filter:
        group = filters.from_group("wlan0", station_address(number), radio_mac(number))
    return f"""\
{wifi.associating(parameters)}\
{group}\
{wifi.rts(parameters, number)}"""


def _initcwnd(parameters: Parameters, node: str, device: str) -> str:
    return hosts.initcwnd(parameters, device) if node == parameters.sender else ""


def _tcp(parameters: Parameters, node: str) -> str:
    return hosts.tcp(parameters, node in parameters.receivers, node == parameters.sender)

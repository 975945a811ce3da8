# SPDX-License-Identifier: GPL-2.0-only
"""The network of a testbed, built with ip, tc, iw, hostapd and ethtool."""

from airtcp.steps import cpu_cost, filters, hosts, links, wifi
from airtcp.steps.step import In, Note, Sleep, Step, Sysctl, WriteFile, run
from airtcp.testbed.model import Node, Testbed

_CONF = "/tmp/hostapd.conf"

_RADIOS = (
    "The radios. Their errors start after the warm-up: how stations associate is not what is "
    "measured."
)
_AT_ONCE = "All stations at once, for most of the time they wait."


def plan(testbed: Testbed) -> list[Step]:
    """Build the network; stations associate at the end."""
    return [
        *_radios(testbed),
        *_nodes(testbed),
        Note(),
        *(In(node.name, _switch(testbed, node)) for node in testbed.of_kind("switch")),
        *(In(node.name, _host(testbed, node)) for node in testbed.servers),
        *(step for node in testbed.of_kind("router") for step in _router(testbed, node)),
        *(step for node in testbed.access_points for step in _access_point(testbed, node)),
        *(
            In(node.name, [*_host(testbed, node), *_early_ping(testbed, node)])
            for node in testbed.stations
            if node.radio is None
        ),
        # A station that roams joins the access point with the strongest signal.
        *(_propagation(testbed) if testbed.roaming else []),
        *_joining(testbed),
        *_late_pings(testbed),
        Note(),
        *([] if testbed.roaming else _propagation(testbed)),
        *_errors(testbed),
    ]


def _radios(testbed: Testbed) -> list[Step]:
    if not testbed.radios:
        return []
    nodes = (testbed.by_name[radio.node] for radio in testbed.radios)
    keys = (wifi.radio_keys(node.parameters, node.kind == "station") for node in nodes)
    return [
        Note(_RADIOS),
        *(run(f"airsim radio add {words}") for words in keys),
        *_own_rates(testbed),
        Note(),
    ]


def _own_rates(testbed: Testbed) -> list[Step]:
    """The rates of stations that differ from those of their access points."""
    steps: list[Step] = []
    for node in testbed.wireless("station"):
        access_point = testbed.by_name[node.access_point]
        ends = access_point.parameters, node.parameters
        if ends[0].radio_rate != ends[1].radio_rate:
            radios = testbed.radio(access_point.name), testbed.radio(node.name)
            steps += wifi.link_rate(*ends, *radios)
    return steps


def _nodes(testbed: Testbed) -> list[Step]:
    def cable(end: str) -> str:
        return f" address {end}" if end else ""

    return [
        *(run(f"ip netns add {node.name}") for node in testbed.nodes),
        *(
            run(
                f"ip link add {near.device} netns {near.node}{cable(near.mac)} type veth "
                f"peer name {far.device} netns {far.node}{cable(far.mac)}"
            )
            for near, far in ((link.one, link.other) for link in testbed.links)
        ),
        *(run(f"iw phy phy{radio.number} set netns name {radio.node}") for radio in testbed.radios),
    ]


def _switch(testbed: Testbed, node: Node) -> list[Step]:
    ends = testbed.ends(node.name)
    return [
        run("ip link add br0 type bridge"),
        *(run(f"ip link set {end.device} up master br0") for end in ends),
        run("ip link set br0 up"),
        *(step for end in ends for step in links.shaped(end)),
        *_filters(testbed, node),
    ]


# All hosts are in one subnet, but must not learn the direct way from redirects.
_FORWARDING = (
    ("conf/all/send_redirects", "0"),
    ("conf/eth0/send_redirects", "0"),
    ("ip_forward", "1"),
)


def _host(testbed: Testbed, node: Node) -> list[Step]:
    parameters, device = node.parameters, node.device
    peers, forwarded = testbed.peers(node.name), testbed.forwarded(node.name)
    return [
        run("ip link set lo up"),
        *_named(node),
        *(run(f"ip address add {address}/24 dev {device}") for address in node.addresses),
        run(f"ip link set {device} up"),
        *(
            hosts.neighbour(address, testbed.next_mac(node.name, peer), device)
            for peer, address in (*peers, *forwarded)
        ),
        *(Sysctl(name, value) for name, value in (_FORWARDING if forwarded else ())),
        *hosts.gso_segments(parameters, device),
        *hosts.initial_windows(parameters, device, node.sends),
        *hosts.offloads(parameters, device),
        *hosts.tcp(parameters, node.receives, node.sends),
        *(step for end in testbed.ends(node.name) for step in links.shaped(end)),
        *(cpu_cost.commands(node.cost, (device,), (device,)) if node.cost else []),
    ]


def _named(node: Node) -> list[Step]:
    """Name the only radio of a node wlan0."""
    return [run(f"ip link set wlan{node.radio} name wlan0")] if node.radio else []


def _router(testbed: Testbed, node: Node) -> list[Step]:
    """A router between a server and the bridges: all are in one subnet, so it has host routes."""
    near, far = testbed.ends(node.name)
    [server] = [server for server in testbed.servers if server.router == node.name]
    routes = [(address, server.mac, near.device) for address in server.addresses]
    others = (*testbed.peers(server.name), *testbed.forwarded(server.name))
    for peer, address in dict.fromkeys(others):
        routes.append((address, testbed.routed_mac(server.name, peer), far.device))
    devices = (near.device, far.device)
    steps: list[Step] = [run("ip link set lo up")]
    steps += [run(f"ip link set {device} up") for device in devices]
    for address, mac, device in routes:
        steps.append(run(f"ip route add {address}/32 dev {device}"))
        steps.append(hosts.neighbour(address, mac, device))
    steps += [run(f"ethtool -K {device} gro off gso off tso off") for device in devices]
    steps.append(Sysctl("ip_forward", "1"))
    steps += [step for end in (near, far) for step in links.shaped(end)]
    steps += _filters(testbed, node)
    steps += cpu_cost.commands(node.cost, devices) if node.cost else []
    return [Note(), In(node.name, steps)]


def _access_point(testbed: Testbed, node: Node) -> list[Step]:
    uplink, *ports = testbed.ends(node.name)
    steps: list[Step] = [
        run("ip link set lo up"),
        *_named(node),
        run("ip link add br0 type bridge"),
        *(run(f"ip address add {address}/24 dev br0") for address in node.addresses),
        run(f"ip link set {uplink.device} up master br0"),
        run("ip link set br0 up"),
        *hosts.offloads(node.parameters, uplink.device),
        *links.shaped(uplink),
        *_filters(testbed, node),
        *(run(f"ip link set {port.device} up master br0") for port in ports),
        *(step for port in ports for step in links.shaped(port)),
    ]
    if node.radio is None:
        return [Note(), In(node.name, steps)]
    conf = f"/tmp/hostapd-{node.name}.conf" if len(testbed.access_points) > 1 else _CONF
    steps += [
        *hosts.offloads(node.parameters, "wlan0"),
        *_between_beacons(testbed, node),
        *wifi.beaconing(conf),
        *wifi.phy(node.parameters, node.radio),
    ]
    if "multicast" in node.parameters.ack_filter:
        steps.append(filters.to_group())
    contents = wifi.hostapd_conf(node.parameters, node.ssid)
    return [Note(), WriteFile(conf, contents), Note(), In(node.name, steps)]


def _between_beacons(testbed: Testbed, node: Node) -> list[Step]:
    """Wait so that the beacons of access points are spread evenly over the beacon interval.

    Beacons are sent without backoff: those of access points that start together always collide at
    stations between them, and also if the medium was busy.
    """
    wireless = testbed.wireless("access_point")
    return [] if node == wireless[0] else [Sleep(wifi.BEACON_INTERVAL_S / len(wireless))]


def _filters(testbed: Testbed, node: Node) -> list[Step]:
    """Filters of ACKs at this node."""
    return filters.at_node(
        [ack_filter for ack_filter in testbed.filters if ack_filter.node == node.name]
    )


def _joining(testbed: Testbed) -> list[Step]:
    """Associate all wireless stations."""
    stations = testbed.wireless("station")
    if not stations:
        return []
    return [
        Note(),
        *(
            step
            for node in testbed.wireless("access_point")
            for step in wifi.secrets(node.parameters, node.ssid)
        ),
        *_roaming(testbed),
        *(In(node.name, _host(testbed, node)) for node in stations),
        Note(_AT_ONCE),
        *(In(node.name, _associating(testbed, node)) for node in stations),
        *(In(node.name, _associated(testbed, node)) for node in stations),
        *(
            step
            for radio in testbed.radios
            for step in filters.txq(testbed.by_name[radio.node].parameters.ack_filter, radio.number)
        ),
        *(
            run(f"airsim link set {sender} {receiver} blocked")
            for pair in testbed.hidden
            for sender, receiver in (pair, pair[::-1])
        ),
    ]


def _roaming(testbed: Testbed) -> list[Step]:
    """The configuration of roaming stations."""
    ssid = testbed.access_points[0].ssid
    return [
        wifi.roaming_conf(node.name, ssid, _channels(testbed), node.roam_below_dbm)
        for node in testbed.stations
        if node.roam_below_dbm is not None
    ]


def _channels(testbed: Testbed) -> list[int]:
    """The channels that roaming stations scan."""
    return [node.parameters.channel for node in testbed.wireless("access_point")]


def _associating(testbed: Testbed, node: Node) -> list[Step]:
    if node.roam_below_dbm is not None:
        return wifi.roaming(node.name, _channels(testbed))
    ssid = testbed.by_name[node.access_point].ssid
    return wifi.associating(node.parameters, ssid, testbed.bssid(node.access_point))


def _associated(testbed: Testbed, node: Node) -> list[Step]:
    """Settings of a station that has associated."""
    roams = node.roam_below_dbm is not None
    steps = wifi.await_association() if roams else wifi.associated(node.parameters)
    steps += wifi.power_save(node.parameters)
    steps += _filters(testbed, node)
    if "multicast" in node.parameters.ack_filter:
        steps.append(filters.from_group(node.addresses[0], node.mac))
    if node.radio is not None:
        steps += wifi.phy(node.parameters, node.radio)
    return [*steps, *_early_ping(testbed, node)]


_PING = "ping -nq -c 1 -w 10"


def _early_ping(testbed: Testbed, node: Node) -> list[Step]:
    """Ping a server, which already exists, from a station."""
    return [
        step
        for peer, address in testbed.peers(node.name)[:1]
        if testbed.by_name[peer].kind == "server"
        for step in (
            Note("One ping proves the path and opens the radio's sessions."),
            run(f"{_PING} {address}", stdout="/dev/null"),
        )
    ]


def _late_pings(testbed: Testbed) -> list[Step]:
    """Ping stations from other stations after all have associated."""
    return [
        run(f"{_PING} {address}", node=node.name, stdout="/dev/null")
        for node in testbed.stations
        for peer, address in testbed.peers(node.name)[:1]
        if testbed.by_name[peer].kind != "server"
    ]


def _propagation(testbed: Testbed) -> list[Step]:
    """Settings of the air, and the positions of radios."""
    if not testbed.radios:
        return []
    steps = wifi.air(testbed.parameters)
    return steps + [
        run(f"airsim radio set {radio.number} {wifi.position_keys(radio.position)}")
        for radio in testbed.radios
        if radio.position is not None
    ]


def _errors(testbed: Testbed) -> list[Step]:
    """Turn on fading and the frame errors of radios."""
    steps: list[Step] = []
    for node in testbed.wireless("station"):
        access_point = testbed.by_name[node.access_point]
        radios = (testbed.radio(access_point.name), testbed.radio(node.name))
        steps += wifi.loss(access_point.parameters, node.parameters, *radios)
    return [
        *steps,
        *wifi.fading(testbed.parameters),
        *(
            run(
                f"airsim radio set {radio.number} "
                f"{wifi.error_keys(testbed.by_name[radio.node].parameters)}"
            )
            for radio in testbed.radios
        ),
    ]

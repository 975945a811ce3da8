# SPDX-License-Identifier: GPL-2.0-only
"""A custom topology, built in the guest: nodes, cables, radios, and what changes there."""

from airtcp.experiment.topology import SWITCH
from airtcp.parameters import Parameters
from airtcp.paths import REPOSITORY
from airtcp.steps import hosts, links, wifi
from airtcp.steps.step import In, Jobs, Note, Sleep, Start, Step, Wait, WriteFile, run
from airtcp.testbed.topology import Node, Scene

# What gives sockets another ACK policy: here, and in the guest.
_SET_POLICY = REPOSITORY / "lab" / "guest" / "set_policy.py"
_IN_GUEST = "/tmp/repolicy.py"


def plan(scene: Scene) -> list[Step]:
    """The network is built; the stations are joined at the end."""
    why = "The radios. Their errors start after the warm-up: how stations associate is not what is"
    return [
        Note(f"{why} measured."),
        *(run(f"airsim radio add {wifi.radio_keys(node.parameters)}") for node in scene.radios),
        Note(),
        *_nodes(scene),
        Note(),
        In(SWITCH, _switch(scene)),
        *(In(node.name, _server(scene, node)) for node in scene.servers),
        *(one for node in scene.access_points for one in _access_point(node)),
        Note(),
        Note("All stations at once, for most of the time they wait."),
        Jobs(("joining",)),
        *(Start([In(node.name, _station(scene, node))], "joining") for node in scene.stations),
        Wait("joining", "a station has not joined: see above"),
        *_hidden(scene),
        *(one for node in scene.stations for one in _first_ping(scene, node)),
        Note(),
        *_errors(scene),
    ]


def _nodes(scene: Scene) -> list[Step]:
    return [
        *(run(f"ip netns add {name}") for name in (SWITCH, *scene.nodes)),
        *(
            run(
                f"ip link add eth0 netns {node.name} address {node.wire_mac} type veth "
                f"peer name {node.port} netns {SWITCH}"
            )
            for node in (*scene.servers, *scene.access_points)
        ),
        *(run(f"iw phy phy{node.radio} set netns name {node.name}") for node in scene.radios),
    ]


def _switch(scene: Scene) -> list[Step]:
    ports = [node.port for node in (*scene.servers, *scene.access_points)]
    backs = (links.back(node.parameters, device=node.port) for node in scene.servers)
    return [
        run("ip link add br0 type bridge"),
        *(run(f"ip link set {port} up master br0") for port in ports),
        run("ip link set br0 up"),
        *(one for back in backs for one in back),
    ]


def _server(scene: Scene, node: Node) -> list[Step]:
    return [*_host(scene, node), *links.at_server(node.parameters)]


def _host(scene: Scene, node: Node) -> list[Step]:
    parameters, device = node.parameters, node.device
    return [
        run("ip link set lo up"),
        *_named(node),
        run(f"ip address add {node.address}/24 dev {device}"),
        run(f"ip link set {device} up"),
        *(hosts.neighbour(peer.address, peer.mac, device) for peer in scene.peers(node)),
        *hosts.gso_segments(parameters, device),
        *(hosts.initcwnd(parameters, device) if scene.sends(node) else []),
        *hosts.offloads(parameters, device),
        *hosts.tcp(parameters, scene.receives(node), scene.sends(node)),
    ]


def _named(node: Node) -> list[Step]:
    """A node calls its only radio wlan0."""
    return [run(f"ip link set wlan{node.radio} name wlan0")] if node.radio else []


def _access_point(node: Node) -> list[Step]:
    conf = f"/tmp/hostapd-{node.name}.conf"
    steps = [
        run("ip link set lo up"),
        *_named(node),
        run("ip link add br0 type bridge"),
        run("ip link set eth0 up master br0"),
        run("ip link set br0 up"),
        *hosts.offloads(node.parameters, "eth0"),
        *hosts.offloads(node.parameters, "wlan0"),
        *wifi.beaconing(conf),
        *wifi.rts(node.parameters, node.radio or 0),
    ]
    contents = wifi.hostapd_conf(node.parameters, ssid=node.name)
    return [Note(), WriteFile(conf, contents), In(node.name, steps)]


def _station(scene: Scene, node: Node) -> list[Step]:
    return [
        *_host(scene, node),
        *wifi.associating(node.parameters, ssid=node.cell),
        *wifi.rts(node.parameters, node.radio or 0),
    ]


def _first_ping(scene: Scene, node: Node) -> list[Step]:
    """It proves the path and opens the radio's sessions."""
    return [
        run(f"ping -nq -c 1 -w 10 {peer.address}", node=node.name, stdout="/dev/null")
        for peer in scene.peers(node)[:1]
    ]


def _hidden(scene: Scene) -> list[Step]:
    links = []
    for pair in scene.network.topology.hidden:
        one, other = (scene.nodes[name].radio for name in pair)
        links += [f"{one} {other}", f"{other} {one}"]
    return [run(f"airsim link set {link} blocked") for link in links]


def _errors(scene: Scene) -> list[Step]:
    steps = wifi.air(scene.parameters)
    for node in scene.stations:
        steps += wifi.loss(node.parameters, scene.nodes[node.cell].radio or 0, node.radio or 0)
    steps += [
        run(f"airsim radio set {node.radio} {wifi.error_keys(node.parameters)}")
        for node in scene.radios
    ]
    return steps


def programs(scene: Scene) -> list[Step]:
    """What changes() needs."""
    policies = {(node.name, after.ack_policy) for _, node, _, after in scene.changes()}
    if policies <= {(node.name, node.parameters.ack_policy) for node in scene.nodes.values()}:
        return []
    return [WriteFile(_IN_GUEST, _SET_POLICY.read_text(encoding="utf-8"))]


def changes(scene: Scene) -> list[Step]:
    """What the schedule says, from now on; it ends with the last change."""
    steps: list[Step] = []
    clock_s = 0.0
    for at_s, node, before, after in scene.changes():
        if at_s > clock_s:
            steps.append(Sleep(at_s - clock_s))
            clock_s = at_s
        steps += _change(scene, node, before, after)
    return steps


def _change(scene: Scene, node: Node, before: Parameters, after: Parameters) -> list[Step]:
    inside = hosts.changed(before, after)
    if before.ack_policy != after.ack_policy:
        inside.append(run(f"python3 -B {_IN_GUEST} {after.ack_policy}"))
    if node.kind == "servers" and links.path(before) != links.path(after):
        inside += links.at_server(after, "change")
    found: list[Step] = [In(node.name, inside)] if inside else []
    if node.radio is None:
        return found
    if keys := wifi.changed(before, after):
        found.append(run(f"airsim radio set {node.radio} {keys}"))
    if node.cell and before.snr_db != after.snr_db:
        found += wifi.loss(after, scene.nodes[node.cell].radio or 0, node.radio)
    return found

# SPDX-License-Identifier: GPL-2.0-only
"""A custom topology, built in the guest: nodes, cables, radios, and what changes there."""

from airtcp.experiment.topology import SWITCH
from airtcp.parameters import Parameters
from airtcp.paths import REPOSITORY
from airtcp.steps import hosts, links, script, wifi
from airtcp.testbed.topology import Node, Scene

# What gives sockets another ACK policy: here, and in the guest.
_SET_POLICY = REPOSITORY / "lab" / "guest" / "set_policy.py"
_IN_GUEST = "/tmp/repolicy.py"


def plan(scene: Scene) -> str:
    """The shell script that builds the network and waits until the stations are joined."""
    return f"""\
{script.beginning()}\
# The radios. Their errors start after the warm-up: how stations associate is not what is measured.
{"".join(_radio(node) for node in scene.radios)}
{_nodes(scene)}\
{_in(SWITCH, _switch(scene))}\
{"".join(_in(node.name, _server(scene, node)) for node in scene.servers)}\
{"".join(_access_point(node) for node in scene.access_points)}
# All stations at once, for most of the time they wait.
joining=
{"".join(_joining(scene, node) for node in scene.stations)}\
for pid in $joining; do wait "$pid" || fail "a station has not joined: see above"; done
{_hidden(scene)}\
{"".join(_first_ping(scene, node) for node in scene.stations)}
{_errors(scene)}"""


def _in(node: str, commands: str) -> str:
    return f"in_node {node} <<'END'\n{commands}END\n"


def _radio(node: Node) -> str:
    return f"must airsim radio add {wifi.radio_keys(node.parameters)}\n"


def _nodes(scene: Scene) -> str:
    names = "".join(f"must ip netns add {name}\n" for name in (SWITCH, *scene.nodes))
    moved = "".join(
        f"must iw phy phy{node.radio} set netns name {node.name}\n" for node in scene.radios
    )
    cables = "".join(
        f"must ip link add eth0 netns {node.name} address {node.wire_mac} type veth "
        f"peer name {node.port} netns {SWITCH}\n"
        for node in (*scene.servers, *scene.access_points)
    )
    return f"""\
{names}\
{cables}\
{moved}
"""


def _switch(scene: Scene) -> str:
    ports = [node.port for node in (*scene.servers, *scene.access_points)]
    up = "".join(f"must ip link set {port} up master br0\n" for port in ports)
    back = "".join(links.back(node.parameters, device=node.port) for node in scene.servers)
    return f"""\
must ip link add br0 type bridge
{up}\
must ip link set br0 up
{back}"""


def _server(scene: Scene, node: Node) -> str:
    return f"""\
{_host(scene, node)}\
{links.at_server(node.parameters)}"""


def _host(scene: Scene, node: Node) -> str:
    parameters, device = node.parameters, node.device
    neighbours = (hosts.neighbour(peer.address, peer.mac, device) for peer in scene.peers(node))
    return f"""\
must ip link set lo up
{_named(node)}\
must ip address add {node.address}/24 dev {device}
must ip link set {device} up
{"".join(neighbours)}\
{hosts.gso_segments(parameters, device)}\
{hosts.initcwnd(parameters, device) if scene.sends(node) else ""}\
{hosts.offloads(parameters, device)}\
{hosts.tcp(parameters, scene.receives(node), scene.sends(node))}"""


def _named(node: Node) -> str:
    """A node calls its only radio wlan0."""
    return f"must ip link set wlan{node.radio} name wlan0\n" if node.radio else ""


def _access_point(node: Node) -> str:
    conf = f"/tmp/hostapd-{node.name}.conf"
    commands = f"""\
must ip link set lo up
{_named(node)}\
must ip link add br0 type bridge
must ip link set eth0 up master br0
must ip link set br0 up
{hosts.offloads(node.parameters, "eth0")}\
{hosts.offloads(node.parameters, "wlan0")}\
{wifi.beaconing(conf)}\
{wifi.rts(node.parameters, node.radio or 0)}"""
    return f"""
keep /dev/stdin {conf} <<'END'
{wifi.hostapd_conf(node.parameters, ssid=node.name)}END
{_in(node.name, commands)}"""


def _joining(scene: Scene, node: Node) -> str:
    commands = f"""\
{_host(scene, node)}\
{wifi.associating(node.parameters, ssid=node.cell)}\
{wifi.rts(node.parameters, node.radio or 0)}"""
    return f'{{\n{_in(node.name, commands)}}} & joining="$joining $!"\n'


def _first_ping(scene: Scene, node: Node) -> str:
    """It proves the path and opens the radio's sessions."""
    return "".join(
        f"must node {node.name} ping -nq -c 1 -w 10 {peer.address} >/dev/null\n"
        for peer in scene.peers(node)[:1]
    )


def _hidden(scene: Scene) -> str:
    links = []
    for pair in scene.network.topology.hidden:
        one, other = (scene.nodes[name].radio for name in pair)
        links += [f"{one} {other}", f"{other} {one}"]
    return "".join(f"must airsim link set {link} blocked\n" for link in links)


def _errors(scene: Scene) -> str:
    lines = wifi.air(scene.parameters)
    for node in scene.stations:
        lines += wifi.loss(node.parameters, scene.nodes[node.cell].radio or 0, node.radio or 0)
    lines += [
        f"airsim radio set {node.radio} {wifi.error_keys(node.parameters)}" for node in scene.radios
    ]
    return "".join(f"must {line}\n" for line in lines)


def programs(scene: Scene) -> str:
    """Shell: what changes() needs."""
    policies = {(node.name, after.ack_policy) for _, node, _, after in scene.changes()}
    if policies <= {(node.name, node.parameters.ack_policy) for node in scene.nodes.values()}:
        return ""
    source = _SET_POLICY.read_text(encoding="utf-8")
    return f"keep /dev/stdin {_IN_GUEST} <<'END'\n{source}END\n"


def changes(scene: Scene) -> str:
    """Shell: what the schedule says, from now on; it ends with the last change."""
    lines, clock_s = [], 0.0
    for at_s, node, before, after in scene.changes():
        if at_s > clock_s:
            lines.append(f"sleep {at_s - clock_s:.9g}\n")
            clock_s = at_s
        lines.append(_change(scene, node, before, after))
    return "".join(lines)


def _change(scene: Scene, node: Node, before: Parameters, after: Parameters) -> str:
    inside = hosts.changed(before, after)
    if before.ack_policy != after.ack_policy:
        inside += f"must python3 -B {_IN_GUEST} {after.ack_policy}\n"
    if node.kind == "servers" and links.at_server(before) != links.at_server(after):
        inside += links.changed_at_server(after)
    found = _in(node.name, inside) if inside else ""
    if node.radio is None:
        return found
    if keys := wifi.changed(before, after):
        found += f"must airsim radio set {node.radio} {keys}\n"
    if node.cell and before.snr_db != after.snr_db:
        radio = scene.nodes[node.cell].radio or 0
        found += "".join(f"must {line}\n" for line in wifi.loss(after, radio, node.radio))
    return found

# SPDX-License-Identifier: GPL-2.0-only
"""What is sent in a custom topology: flows, changes, and the instruments beside them.

Every flow has an iperf3 at both ends and a port of its own. The files are left in the directory of
the run, which is the plan's working directory.
"""

from airtcp.paths import BEGAN
from airtcp.steps import instruments, topology_network, wifi
from airtcp.steps.iperf3 import in_node
from airtcp.testbed.flows import PORT, UDP_PAYLOAD_BYTES
from airtcp.testbed.topology import Node, Scene, Stream


def plan(scene: Scene) -> str:
    """The shell script of the flows; it follows topology_network.plan(scene)."""
    parameters = scene.parameters
    names = [node.name for node in scene.hosts]
    points = captures(scene)
    return f"""\
{instruments.HELPERS}
{instruments.watch(parameters, names, PORT, PORT + len(scene.streams) - 1)}\
{"".join(instruments.capture(parameters, point, points[point]) for point in points)}\
{instruments.traces(parameters)}
waiting=
{"".join(_receiver(scene, stream) for stream in scene.streams)}\
{topology_network.programs(scene)}\
sleep {instruments.LEAD_S}
check

must keep /sys/kernel/debug/airsim/stats airsim-before.txt
date +%s%N >{BEGAN}
{_changing(scene)}\
{"".join(_ping(scene, node) for node in scene.stations)}\
{"".join(_sender(scene, stream) for stream in scene.streams)}\
sleep {parameters.duration_s:g}
for pid in $waiting; do wait "$pid" || fail "a flow, a ping or a change: see above"; done
must keep /sys/kernel/debug/airsim/stats airsim-after.txt
{"".join(_queues(scene, node) for node in scene.stations)}\
closed
stop
{instruments.traces_end(parameters)}\
{"".join(_counted(node) for node in scene.hosts)}\
must airsim radio show >radios.txt
must keep /proc/uptime uptime
"""


def captures(scene: Scene) -> dict[str, str]:
    """The device of each capture point: `server` and `station` are all of their kind."""
    points: dict[str, str] = {}
    for word, nodes in (("server", scene.servers), ("station", scene.stations)):
        if word in scene.parameters.capture:
            points |= {node.name: node.device for node in nodes}
    if instruments.AIR in scene.parameters.capture:
        points[instruments.AIR] = instruments.AIR_DEVICE
    return points


def ping_file(node: str) -> str:
    return f"ping-{node}.txt"


def pinging(scene: Scene) -> list[Node]:
    """The stations from which there is ping, to the host of their first flow."""
    if not scene.parameters.ping_interval_s:
        return []
    return [node for node in scene.stations if scene.peers(node)]


def _receiver(scene: Scene, stream: Stream) -> str:
    command = in_node(scene.parameters, stream.receiver, f"iperf3 -4 -s -1 -J -p {stream.port}")
    return f'{command} >{stream.file("server")} & waiting="$waiting $!"\n'


def _sender(scene: Scene, stream: Stream) -> str:
    command = in_node(scene.parameters, stream.sender, _client(stream))
    start = f"sleep {stream.start_s:.9g}; " if stream.start_s else ""
    run = f"{{ {start}must {command} >{stream.file('client')}; }}"
    return f'{run} & waiting="$waiting $!"\n'


def _client(stream: Stream) -> str:
    words = [f"iperf3 -4 -J -c {stream.receiver_address} -p {stream.port}"]
    words.append(f"-t {round(stream.duration_s)}")
    if stream.rate_bps is not None:
        words.append(f"-b {round(stream.rate_bps)}")
    if stream.protocol == "udp":
        words.append(f"-u -l {UDP_PAYLOAD_BYTES}")
    else:
        words.append(f"-C {stream.congestion_control}{'' if stream.nagle else ' -N'}")
    return " ".join(words)


def _changing(scene: Scene) -> str:
    changes = topology_network.changes(scene)
    return f'{{\n{changes}}} & waiting="$waiting $!"\n' if changes else ""


def _ping(scene: Scene, node: Node) -> str:
    if node not in pinging(scene):
        return ""
    interval_s, length_s = scene.parameters.ping_interval_s, round(scene.parameters.duration_s)
    peer = scene.peers(node)[0].address
    return (
        f"node {node.name} ping -n -D -i {interval_s:g} -w {length_s} {peer} "
        f'>{ping_file(node.name)} & waiting="$waiting $!"\n'
    )


def _queues(scene: Scene, node: Node) -> str:
    """mac80211's own queues, both ways; a station that was lost on the way has none."""
    station, ap = node.radio or 0, scene.nodes[node.cell].radio or 0
    files = {
        f"queues-{node.cell}-{node.name}.txt": wifi.queues(ap, station),
        f"queues-{node.name}.txt": wifi.queues(station, ap),
    }
    return "".join(f"[ ! -r {path} ] || must keep {path} {name}\n" for name, path in files.items())


def _counted(node: Node) -> str:
    qdisc = ""
    if node.kind == "servers":
        qdisc = f"must node {node.name} tc -s -j qdisc show dev eth0"
        qdisc += f" >qdisc-{node.name}.json\n"
    return f"{qdisc}must node {node.name} nstat -azsj >nstat-{node.name}.json\n"

# SPDX-License-Identifier: GPL-2.0-only
"""What is sent in a custom topology: flows, changes, and the instruments beside them.

Every flow has an iperf3 at both ends and a port of its own. The files are left in the directory of
the run, which is the plan's working directory.
"""

from airtcp.paths import BEGAN
from airtcp.steps import instruments, topology_network, wifi
from airtcp.steps.iperf3 import in_node
from airtcp.steps.step import (
    CheckInstruments,
    EndInstruments,
    Jobs,
    Keep,
    Note,
    Run,
    Sleep,
    Start,
    Step,
    Wait,
    run,
)
from airtcp.testbed.flows import PORT, UDP_PAYLOAD_BYTES
from airtcp.testbed.topology import Node, Scene, Stream


def plan(scene: Scene) -> list[Step]:
    """The flows; they follow topology_network.plan(scene)."""
    parameters = scene.parameters
    names = [node.name for node in scene.hosts]
    points = captures(scene)
    airsim = "/sys/kernel/debug/airsim/stats"
    return [
        *instruments.watch(parameters, names, PORT, PORT + len(scene.streams) - 1),
        *(one for at in points for one in instruments.capture(parameters, at, points[at])),
        *instruments.traces(parameters),
        Jobs(("waiting",)),
        *(_receiver(scene, stream) for stream in scene.streams),
        *topology_network.programs(scene),
        Sleep(instruments.LEAD_S),
        CheckInstruments(),
        Note(),
        Keep(((airsim, "airsim-before.txt"),)),
        Run(("date", "+%s%N"), stdout=BEGAN, required=False),
        *_changing(scene),
        *(one for node in scene.stations for one in _ping(scene, node)),
        *(_sender(scene, stream) for stream in scene.streams),
        Sleep(parameters.duration_s),
        Wait("waiting", "a flow, a ping or a change: see above"),
        Keep(((airsim, "airsim-after.txt"),)),
        *(one for node in scene.stations for one in _queues(scene, node)),
        EndInstruments(),
        *instruments.traces_end(parameters),
        *(one for node in scene.hosts for one in _counted(node)),
        run("airsim radio show", stdout="radios.txt"),
        Keep((("/proc/uptime", "uptime"),)),
    ]


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


def _receiver(scene: Scene, stream: Stream) -> Step:
    command, file = f"iperf3 -4 -s -1 -J -p {stream.port}", stream.file("server")
    return Start([in_node(scene.parameters, stream.receiver, command, file)], "waiting")


def _sender(scene: Scene, stream: Stream) -> Step:
    command, file = _client(stream), stream.file("client")
    sender = in_node(scene.parameters, stream.sender, command, file, required=True)
    return Start([Sleep(stream.start_s), sender] if stream.start_s else [sender], "waiting")


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


def _changing(scene: Scene) -> list[Step]:
    changes = topology_network.changes(scene)
    return [Start(changes, "waiting")] if changes else []


def _ping(scene: Scene, node: Node) -> list[Step]:
    if node not in pinging(scene):
        return []
    interval_s, length_s = scene.parameters.ping_interval_s, round(scene.parameters.duration_s)
    words = f"ping -n -D -i {interval_s:g} -w {length_s} {scene.peers(node)[0].address}"
    ping = Run(tuple(words.split()), node.name, ping_file(node.name), required=False)
    return [Start([ping], "waiting")]


def _queues(scene: Scene, node: Node) -> list[Step]:
    """mac80211's own queues, both ways; a station that was lost on the way has none."""
    station, ap = node.radio or 0, scene.nodes[node.cell].radio or 0
    files = (
        (wifi.queues(ap, station), f"queues-{node.cell}-{node.name}.txt"),
        (wifi.queues(station, ap), f"queues-{node.name}.txt"),
    )
    return [Keep((file,), optional=True) for file in files]


def _counted(node: Node) -> list[Step]:
    own = (node.name, "tc -s -j qdisc show dev eth0", f"qdisc-{node.name}.json")
    queues = [run(own[1], node=own[0], stdout=own[2])] if node.kind == "servers" else []
    return [*queues, run("nstat -azsj", node=node.name, stdout=f"nstat-{node.name}.json")]

# SPDX-License-Identifier: GPL-2.0-only
"""What is sent in the default topology, and the instruments beside it.

Bulk: iperf3's transfers, all at the same time; from the first station to the server there is ping,
and where asked a UDP request and its answer. The other workloads: at the receiver the guest's
program exchange asks, at the sender it answers. tcpwatch reads the state of TCP at both ends;
tcpdump captures where asked; nstat, tc, mac80211 and airsim count. The files are left in the
directory of the run, which is the plan's working directory.
"""

from typing import NamedTuple

from airtcp.parameters import Parameters, mobility
from airtcp.steps import cpu_cost, filters, wifi
from airtcp.steps.instruments import (
    AIR,
    AIR_DEVICE,
    HELPERS,
    LEAD_S,
    capture,
    traces,
    traces_end,
    watch,
)
from airtcp.steps.iperf3 import client, in_node, server
from airtcp.steps.web import PAGES
from airtcp.testbed.addresses import ADDRESSES, SERVER_ADDRESS, station_node
from airtcp.testbed.flows import (
    PORT,
    RRUL_CLASSES,
    Transfer,
    last_port,
    transfers,
    udp_probe_file,
    udp_probes,
)


class _Work(NamedTuple):
    """What a workload does: what listens, what comes before and after that which is measured."""

    listening: str
    before: str
    measured: str
    after: str


def plan(parameters: Parameters) -> str:
    """The shell script of the transfers; it follows network.plan(parameters)."""
    kinds = {"bulk": _bulk, "web": _pages}
    work = kinds.get(parameters.workload, _exchanges)(parameters)
    filtering = "ap" if parameters.ack_filter_at == "bridge" else "router"
    return f"""\
{HELPERS}
{_instruments(parameters)}\
{work.listening}\
sleep {LEAD_S}
check

{work.before}\
must keep /sys/kernel/debug/airsim/stats airsim-before.txt
{cpu_cost.snapshot(parameters, "before")}\
{_walk(parameters)}\
{work.measured}\
must keep /sys/kernel/debug/airsim/stats airsim-after.txt{_queues(parameters)}
{cpu_cost.snapshot(parameters, "after")}\
{_walk_end(parameters)}\
{work.after}\
closed
stop
{traces_end(parameters)}\
must node server tc -s -j qdisc show dev eth0 >qdisc-server.json
{filters.counted(parameters.ack_filter, filtering)}\
must node server nstat -azsj >nstat-server.json
must node station nstat -azsj >nstat-station.json
must airsim radio show >radios.txt
must keep /proc/uptime uptime
"""


def _queues(parameters: Parameters) -> str:
    """More words for `keep`: mac80211's own queues, what they hold, sent and dropped."""
    if parameters.access != "wifi":
        return ""
    return f""" \\
	{wifi.queues(0, 1)} queues-ap.txt \\
	{wifi.queues(1, 0)} queues-station.txt"""


def _bulk(parameters: Parameters) -> _Work:
    pairs = transfers(parameters)
    senders = [_sender(parameters, pair, last=pair is pairs[0]) for pair in reversed(pairs)]
    where = "receivers" if parameters.direction == "both" else parameters.receiver
    probes = _ping(parameters) + _udp_probes(parameters)
    idle = f"sleep {round(parameters.baseline_s)}\n" if parameters.baseline_s else ""
    return _Work(
        listening=f"""\
receivers= senders=
{"".join(_receiver(parameters, pair) for pair in pairs)}\
{_udp_echo(parameters)}""",
        before=probes + idle if idle else "",
        measured=f"""\
{"" if idle else probes}\
# The first station's last: until it ends the shell waits for it.
{"".join(senders)}\
for pid in $senders; do wait "$pid" || exit 1; done
for pid in $receivers; do wait "$pid" || fail "iperf3 at the {where}"; done
""",
        after=idle + _probes_end(parameters),
    )


def _exchanges(parameters: Parameters) -> _Work:
    """Small messages, or files."""
    request, options = parameters.message_bytes, _options(parameters)
    verb, reply, connections = {
        "request_response": ("ask", request, 1),
        "transfer": ("fetch", parameters.transfer_size_bytes, parameters.transfers),
    }[parameters.workload]
    sender, receiver = parameters.sender, parameters.receiver
    return _Work(
        listening=f"node {sender} exchange {options} serve {request} {reply} "
        f"{connections} & server=$!\n",
        before="",
        measured=f"must node {receiver} exchange {options} {verb} {ADDRESSES[sender]} "
        f"{request} {reply} {parameters.exchange_count} >exchanges.csv\n"
        f'wait "$server" || fail "exchange at the {sender}"\n',
        after="",
    )


def _pages(parameters: Parameters) -> _Work:
    """Pages of the web, as pages.txt in the directory of the run has them."""
    sender, options = parameters.sender, _options(parameters)
    return _Work(
        listening=f"start node {sender} exchange {options} host\n",
        before="",
        measured=f"must node {parameters.receiver} exchange {options} browse "
        f"{ADDRESSES[sender]} {PAGES} >exchanges.csv\n",
        after="",
    )


def _options(parameters: Parameters) -> str:
    return f"-C {parameters.congestion_control}" + ("" if parameters.nagle else " -N")


def _receiver(parameters: Parameters, transfer: Transfer) -> str:
    command = in_node(parameters, transfer.receiver, server(parameters, transfer))
    return f'{command} >{transfer.file("server")} & receivers="$receivers $!"\n'


def _sender(parameters: Parameters, transfer: Transfer, last: bool) -> str:
    command = in_node(parameters, transfer.sender, client(parameters, transfer))
    others = "" if last else ' & senders="$senders $!"'
    return f"must {command} >{transfer.file('client')}{others}\n"


def _instruments(parameters: Parameters) -> str:
    nodes = ["server", *(station_node(number) for number in parameters.station_numbers)]
    points = parameters.capture
    return "".join(
        [
            watch(parameters, nodes, PORT, last_port(parameters)),
            *(capture(parameters, point, capture_device(parameters, point)) for point in points),
            traces(parameters),
        ]
    )


def capture_device(parameters: Parameters, point: str) -> str:
    """The network device of a capture point."""
    return {"server": "eth0", AIR: AIR_DEVICE}.get(point, parameters.station_device)


def _probe_s(parameters: Parameters) -> int:
    """How long latency is probed."""
    return round(parameters.duration_s + 2 * parameters.baseline_s)


def _ping(parameters: Parameters) -> str:
    if not parameters.ping_interval_s:
        return ""
    return (
        f"node station ping -n -D -i {parameters.ping_interval_s:g} "
        f"-w {_probe_s(parameters)} {SERVER_ADDRESS} >ping.txt &\nping=$!\n"
    )


def _udp_echo(parameters: Parameters) -> str:
    return "start node server udpecho serve\n" if parameters.udp_ping_interval_s else ""


def _udp_probes(parameters: Parameters) -> str:
    """UDP requests of each class that the RRUL test has; unmarked where flows are not marked."""
    if not parameters.udp_ping_interval_s:
        return ""
    lines = [
        f"node station udpecho probe {SERVER_ADDRESS} {RRUL_CLASSES[service]} "
        f"{round(parameters.udp_ping_interval_s * 1e6)} {_probe_s(parameters)} "
        f'>{udp_probe_file(service)} & probes="$probes $!"\n'
        for service in udp_probes(parameters)
    ]
    return "".join(["probes=\n", *lines])


def _probes_end(parameters: Parameters) -> str:
    # They end by themselves, when the transfer does or so long after it.
    ping = 'wait "$ping" || fail "ping had no answer"\n' if parameters.ping_interval_s else ""
    if not parameters.udp_ping_interval_s:
        return ping
    return ping + 'for pid in $probes; do wait "$pid" || fail "udpecho at the station"; done\n'


def _walk(parameters: Parameters) -> str:
    if not parameters.walk:
        return ""
    steps = "".join(_leg(parameters, leg) for leg in mobility.legs(parameters.walk))
    return f"walk() {{\n{steps}}}\nwalk & walker=$!\n"


def _leg(parameters: Parameters, leg: mobility.Leg) -> str:
    lines = [
        f"\tmust airsim radio set {number} x_mm {leg.from_mm} vx_mm_per_s {leg.mm_per_s}\n"
        for number in parameters.station_numbers
    ]
    if leg.seconds is not None:
        lines.append(f"\tsleep {leg.seconds:g}\n")
    return "".join(lines)


def _walk_end(parameters: Parameters) -> str:
    if not parameters.walk:
        return ""
    # 143: ended by this kill, for those who are still on their way.
    return """\
kill "$walker" 2>/dev/null
wait "$walker"
case $? in 0 | 143) ;; *) fail "the stations could not walk" ;; esac
"""

# SPDX-License-Identifier: GPL-2.0-only
"""What is sent in the default topology, and the instruments beside it.

Bulk: iperf3's transfers, all at the same time; from the first station to the server there is ping,
and where asked a UDP request and its answer. The other workloads: at the receiver the guest's
program exchange asks, at the sender it answers. tcpwatch reads the state of TCP at both ends;
tcpdump captures where asked; nstat, tc, mac80211 and airsim count. The files are left in the
directory of the run, which is the plan's working directory.
"""

from dataclasses import dataclass, field

from airtcp.parameters import Parameters, mobility
from airtcp.steps import cpu_cost, filters, wifi
from airtcp.steps.instruments import (
    AIR,
    AIR_DEVICE,
    LEAD_S,
    capture,
    traces,
    traces_end,
    watch,
)
from airtcp.steps.iperf3 import client, in_node, server
from airtcp.steps.step import (
    Cancel,
    CheckInstruments,
    EndInstruments,
    Instrument,
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

_AIRSIM = "/sys/kernel/debug/airsim/stats"


@dataclass(frozen=True)
class _Work:
    """What a workload does: what listens, what comes before and after that which is measured."""

    listening: list[Step]
    measured: list[Step]
    before: list[Step] = field(default_factory=list)
    after: list[Step] = field(default_factory=list)


def plan(parameters: Parameters) -> list[Step]:
    """The transfers; they follow network.plan(parameters)."""
    kinds = {"bulk": _bulk, "web": _pages}
    work = kinds.get(parameters.workload, _exchanges)(parameters)
    filtering = "ap" if parameters.ack_filter_at == "bridge" else "router"
    return [
        *_instruments(parameters),
        *work.listening,
        Sleep(LEAD_S),
        CheckInstruments(),
        Note(),
        *work.before,
        Keep(((_AIRSIM, "airsim-before.txt"),)),
        *cpu_cost.snapshot(parameters, "before"),
        *_walk(parameters),
        *work.measured,
        Keep(((_AIRSIM, "airsim-after.txt"), *_queues(parameters))),
        *cpu_cost.snapshot(parameters, "after"),
        *_walk_end(parameters),
        *work.after,
        EndInstruments(),
        *traces_end(parameters),
        run("tc -s -j qdisc show dev eth0", node="server", stdout="qdisc-server.json"),
        *filters.counted(parameters.ack_filter, filtering),
        run("nstat -azsj", node="server", stdout="nstat-server.json"),
        run("nstat -azsj", node="station", stdout="nstat-station.json"),
        run("airsim radio show", stdout="radios.txt"),
        Keep((("/proc/uptime", "uptime"),)),
    ]


def _queues(parameters: Parameters) -> list[tuple[str, str]]:
    """mac80211's own queues: what they hold, sent and dropped."""
    if parameters.access != "wifi":
        return []
    return [
        (wifi.queues(0, 1), "queues-ap.txt"),
        (wifi.queues(1, 0), "queues-station.txt"),
    ]


def _bulk(parameters: Parameters) -> _Work:
    first, *others = transfers(parameters)
    where = "receivers" if parameters.direction == "both" else parameters.receiver
    probes = _ping(parameters) + _udp_probes(parameters)
    idle: list[Step] = [Sleep(round(parameters.baseline_s))] if parameters.baseline_s else []
    return _Work(
        listening=[
            Jobs(("receivers", "senders")),
            *(_receiver(parameters, pair) for pair in (first, *others)),
            *_udp_echo(parameters),
        ],
        before=probes + idle if idle else [],
        measured=[
            *([] if idle else probes),
            Note("The first station's last: until it ends the shell waits for it."),
            *(Start([_sender(parameters, pair)], "senders") for pair in reversed(others)),
            _sender(parameters, first),
            Wait("senders"),
            Wait("receivers", f"iperf3 at the {where}"),
        ],
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
    serve = f"exchange {options} serve {request} {reply} {connections}"
    ask = f"exchange {options} {verb} {ADDRESSES[sender]} {request} {reply} "
    return _Work(
        listening=[
            Start([Run(tuple(serve.split()), node=sender, required=False)], "server", only=True)
        ],
        measured=[
            run(f"{ask}{parameters.exchange_count}", node=receiver, stdout="exchanges.csv"),
            Wait("server", f"exchange at the {sender}", only=True),
        ],
    )


def _pages(parameters: Parameters) -> _Work:
    """Pages of the web, as pages.txt in the directory of the run has them."""
    sender, options = parameters.sender, _options(parameters)
    browse = f"exchange {options} browse {ADDRESSES[sender]} {PAGES}"
    return _Work(
        listening=[Instrument(run(f"exchange {options} host", node=sender))],
        measured=[run(browse, node=parameters.receiver, stdout="exchanges.csv")],
    )


def _options(parameters: Parameters) -> str:
    return f"-C {parameters.congestion_control}" + ("" if parameters.nagle else " -N")


def _receiver(parameters: Parameters, transfer: Transfer) -> Step:
    command = server(parameters, transfer)
    file = transfer.file("server")
    return Start([in_node(parameters, transfer.receiver, command, file)], "receivers")


def _sender(parameters: Parameters, transfer: Transfer) -> Step:
    command, file = client(parameters, transfer), transfer.file("client")
    return in_node(parameters, transfer.sender, command, file, required=True)


def _instruments(parameters: Parameters) -> list[Step]:
    nodes = ["server", *(station_node(number) for number in parameters.station_numbers)]
    captures = (
        capture(parameters, point, capture_device(parameters, point))
        for point in parameters.capture
    )
    return [
        *watch(parameters, nodes, PORT, last_port(parameters)),
        *(one for found in captures for one in found),
        *traces(parameters),
    ]


def capture_device(parameters: Parameters, point: str) -> str:
    """The network device of a capture point."""
    return {"server": "eth0", AIR: AIR_DEVICE}.get(point, parameters.station_device)


def _probe_s(parameters: Parameters) -> int:
    """How long latency is probed."""
    return round(parameters.duration_s + 2 * parameters.baseline_s)


def _probe(words: str, file: str, job: str, only: bool = False) -> Step:
    probe = Run(tuple(words.split()), node="station", stdout=file, required=False)
    return Start([probe], job, only)


def _ping(parameters: Parameters) -> list[Step]:
    if not parameters.ping_interval_s:
        return []
    ping = f"ping -n -D -i {parameters.ping_interval_s:g} -w {_probe_s(parameters)} "
    return [_probe(f"{ping}{SERVER_ADDRESS}", "ping.txt", "ping", only=True)]


def _udp_echo(parameters: Parameters) -> list[Step]:
    asked = parameters.udp_ping_interval_s
    return [Instrument(run("udpecho serve", node="server"))] if asked else []


def _udp_probes(parameters: Parameters) -> list[Step]:
    """UDP requests of each class that the RRUL test has; unmarked where flows are not marked."""
    if not parameters.udp_ping_interval_s:
        return []
    every = f"{round(parameters.udp_ping_interval_s * 1e6)} {_probe_s(parameters)}"
    return [
        Jobs(("probes",)),
        *(
            _probe(
                f"udpecho probe {SERVER_ADDRESS} {RRUL_CLASSES[service]} {every}",
                udp_probe_file(service),
                "probes",
            )
            for service in udp_probes(parameters)
        ),
    ]


def _probes_end(parameters: Parameters) -> list[Step]:
    # They end by themselves, when the transfer does or so long after it.
    ends: list[Step] = []
    if parameters.ping_interval_s:
        ends.append(Wait("ping", "ping had no answer", only=True))
    if parameters.udp_ping_interval_s:
        ends.append(Wait("probes", "udpecho at the station"))
    return ends


def _walk(parameters: Parameters) -> list[Step]:
    if not parameters.walk:
        return []
    legs = mobility.legs(parameters.walk)
    steps = [one for leg in legs for one in _leg(parameters, leg)]
    return [Start(steps, "walker", only=True)]


def _leg(parameters: Parameters, leg: mobility.Leg) -> list[Step]:
    moved = f"x_mm {leg.from_mm} vx_mm_per_s {leg.mm_per_s}"
    return [
        *(run(f"airsim radio set {number} {moved}") for number in parameters.station_numbers),
        *([] if leg.seconds is None else [Sleep(leg.seconds)]),
    ]


def _walk_end(parameters: Parameters) -> list[Step]:
    return [Cancel("walker", "the stations cannot walk")] if parameters.walk else []

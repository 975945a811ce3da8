# SPDX-License-Identifier: GPL-2.0-only
"""What is sent in a testbed, and the instruments beside it.

Flows begin together, or when they are to; from stations there is ping to the other end of their
first flow, and where asked UDP requests. tcpwatch reads the state of TCP at all hosts; tcpdump
captures where asked; nstat, tc, mac80211 and airsim count. The files are left in the directory of
the run.
"""

from collections.abc import Sequence

from airtcp.paths import BEGAN
from airtcp.steps import cpu_cost, events, filters, wifi
from airtcp.steps.instruments import LEAD_S, instruments, traces_end
from airtcp.steps.step import (
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
from airtcp.steps.workloads import WORKLOADS
from airtcp.testbed.model import RRUL_CLASSES, Flow, Probe, Testbed

_AIRSIM = "/sys/kernel/debug/airsim/stats"


def plan(testbed: Testbed) -> list[Step]:
    """The flows; they follow network.plan(testbed)."""
    listening = [one for flow in testbed.flows for one in WORKLOADS[flow.workload].listening(flow)]
    probes, idle = _probes(testbed), _idle(testbed)
    queues = [
        ((wifi.queues(one.radio, one.peer), one.file), one.optional) for one in testbed.queues
    ]
    return [
        *instruments(testbed),
        *([Jobs(("receivers", "senders"))] if _has_jobs(testbed, listening) else []),
        *listening,
        *_udp_echo(testbed),
        *events.programs(testbed),
        Sleep(LEAD_S),
        CheckInstruments(),
        Note(),
        *(probes + idle if idle else []),
        Keep(((_AIRSIM, "airsim-before.txt"),)),
        *cpu_cost.snapshot(testbed, "before"),
        *([_clock(BEGAN)] if testbed.staggered else []),
        *events.start(testbed),
        *([] if idle else probes),
        *_flows(testbed, listening),
        Keep(((_AIRSIM, "airsim-after.txt"), *(file for file, optional in queues if not optional))),
        *(Keep((file,), optional=True) for file, optional in queues if optional),
        *cpu_cost.snapshot(testbed, "after"),
        *events.end(testbed),
        *idle,
        *_probes_end(testbed),
        EndInstruments(),
        *traces_end(testbed.parameters),
        *(
            run("tc -s -j qdisc show dev eth0", node=node.name, stdout=f"qdisc-{node.name}.json")
            for node in testbed.servers
        ),
        *filters.counted(testbed),
        *(run("nstat -azsj", node=node, stdout=f"nstat-{node}.json") for node in testbed.counted),
        run("airsim radio show", stdout="radios.txt"),
        Keep((("/proc/uptime", "uptime"),)),
    ]


def _clock(file: str) -> Step:
    return Run(("date", "+%s%N"), stdout=file, required=False)


def _idle(testbed: Testbed) -> list[Step]:
    idle_s = testbed.parameters.baseline_s
    return [Sleep(round(idle_s))] if idle_s else []


def _has_jobs(testbed: Testbed, listening: Sequence[Step]) -> bool:
    """Whether programs go on in the background of others."""
    shared = (isinstance(one, Start) and not one.only for one in listening)
    return len(testbed.flows) > 1 or any(shared)


def _flows(testbed: Testbed, listening: Sequence[Step]) -> list[Step]:
    """All of them, until their ends."""
    first, *others = testbed.flows
    ending = [one for flow in testbed.flows for one in WORKLOADS[flow.workload].ending(flow)]
    if not _has_jobs(testbed, listening):
        return [*_measured(first), *ending]
    kinds = {testbed.by_name[flow.receiver].kind for flow in testbed.bulk}
    where = min(kinds) if len(kinds) == 1 else "receivers"
    return [
        *_rest(testbed),
        Note("The first station's last: until it ends the shell waits for it."),
        *(Start(_measured(flow), "senders") for flow in reversed(others)),
        *_measured(first),
        Wait("senders"),
        Wait("receivers", f"iperf3 at the {where}"),
        *ending,
    ]


def _measured(flow: Flow) -> list[Step]:
    measured = WORKLOADS[flow.workload].client(flow)
    return [Sleep(flow.start_s), measured] if flow.start_s else [measured]


def _rest(testbed: Testbed) -> list[Step]:
    """The run lasts for its duration, though no flow does."""
    length_s = testbed.parameters.duration_s
    ends_s = [flow.start_s + flow.duration_s for flow in testbed.flows if flow.duration_s]
    if testbed.exchanges or max(ends_s) >= length_s:
        return []
    return [Start([Sleep(length_s)], "senders")]


def _udp_echo(testbed: Testbed) -> list[Step]:
    peers = dict.fromkeys(probe.peer for probe in testbed.probes if probe.tool == "udp")
    return [Instrument(run("udpecho serve", node=peer)) for peer in peers]


def _probes(testbed: Testbed) -> list[Step]:
    """They end by themselves, when the flows do or so long after that."""
    pings = [probe for probe in testbed.probes if probe.tool == "ping"]
    udp = [probe for probe in testbed.probes if probe.tool == "udp"]
    alone = len(pings) == 1
    return [
        *([Jobs(("ping",))] if len(pings) > 1 else []),
        *(Start([_probe(testbed, one)], "ping", only=alone) for one in pings),
        *([Jobs(("probes",))] if udp else []),
        *(Start([_probe(testbed, one)], "probes") for one in udp),
    ]


def _probe(testbed: Testbed, probe: Probe) -> Run:
    parameters = testbed.parameters
    length_s = round(parameters.duration_s + 2 * parameters.baseline_s)
    words = f"ping -n -D -i {probe.interval_s:g} -w {length_s} {probe.address}"
    if probe.tool == "udp":
        every = f"{RRUL_CLASSES[probe.service]} {round(probe.interval_s * 1e6)}"
        words = f"udpecho probe {probe.address} {every} {length_s}"
    return Run(tuple(words.split()), node=probe.node, stdout=probe.file, required=False)


def _probes_end(testbed: Testbed) -> list[Step]:
    tools = [probe.tool for probe in testbed.probes]
    ends: list[Step] = []
    if "ping" in tools:
        ends.append(Wait("ping", "ping had no answer", only=tools.count("ping") == 1))
    if "udp" in tools:
        ends.append(Wait("probes", "udpecho at the station"))
    return ends

# SPDX-License-Identifier: GPL-2.0-only
"""The traffic in a testbed, and its measurement.

Flows start together, or at their start times. Stations ping the other end of their first flow and
optionally send UDP requests. tcpwatch reads the state of TCP at all hosts, tcpdump captures at the
capture points, and nstat, tc, mac80211 and airsim provide counters. All files are in the directory
of the run.
"""

from collections.abc import Sequence

from airtcp.parameters import Parameters
from airtcp.parameters.mobility import ORIGIN
from airtcp.paths import BEGAN
from airtcp.steps import cpu_cost, events, filters, wifi
from airtcp.steps.instruments import CAPTURE_FLUSH_S, LEAD_S, instruments, traces_end
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
_PEERS = "/sys/kernel/debug/airsim/peers"


def plan(testbed: Testbed) -> list[Step]:
    """The steps of the traffic, after those of network.plan(testbed)."""
    listening = [
        step for flow in testbed.flows for step in WORKLOADS[flow.workload].listening(flow)
    ]
    probes, idle = _probes(testbed), _idle(testbed)
    queues = [
        ((wifi.queues(queue.radio, queue.peer), queue.file), queue.optional)
        for queue in testbed.queues
    ]
    return [
        *instruments(testbed),
        *([Jobs(("receivers", "senders"))] if _has_jobs(testbed, listening) else []),
        *listening,
        *_udp_echo(testbed),
        *_scans(testbed),
        *_returns(testbed),
        Sleep(LEAD_S),
        CheckInstruments(),
        Note(),
        *(probes + idle if idle else []),
        Keep(((_AIRSIM, "airsim-before.txt"),)),
        *cpu_cost.snapshot(testbed, "before"),
        *([Run(("date", "+%s%N"), stdout=BEGAN, required=False)] if testbed.staggered else []),
        *events.start(testbed),
        *([] if idle else probes),
        *_flows(testbed, listening),
        Keep(((_AIRSIM, "airsim-after.txt"), *(file for file, optional in queues if not optional))),
        *(Keep((file,), optional=True) for file, optional in queues if optional),
        *cpu_cost.snapshot(testbed, "after"),
        *events.end(testbed),
        *idle,
        *_probes_end(testbed),
        *([Sleep(CAPTURE_FLUSH_S)] if testbed.captures else []),
        EndInstruments(),
        *traces_end(testbed.parameters),
        *(
            run("tc -s -j qdisc show dev eth0", node=node.name, stdout=f"qdisc-{node.name}.json")
            for node in testbed.servers
        ),
        *filters.counted(testbed),
        *(run("nstat -azsj", node=node, stdout=f"nstat-{node}.json") for node in testbed.counted),
        run("airsim radio show", stdout="radios.txt"),
        *_airtimes(testbed),
        Keep((("/proc/uptime", "uptime"),)),
    ]


def _airtimes(testbed: Testbed) -> list[Step]:
    """Save the airtime of what several stations and their access points have sent each other."""
    if len(testbed.wireless("station")) < 2:
        return []
    return [Keep(((_PEERS, "airtimes.txt"),))]


def _idle(testbed: Testbed) -> list[Step]:
    idle_s = testbed.parameters.baseline_s
    return [Sleep(round(idle_s))] if idle_s else []


def _has_jobs(testbed: Testbed, listening: Sequence[Step]) -> bool:
    """Whether several programs run in the background."""
    shared = (isinstance(step, Start) and not step.only for step in listening)
    return len(testbed.flows) > 1 or any(shared)


def _flows(testbed: Testbed, listening: Sequence[Step]) -> list[Step]:
    """Run all flows until they end."""
    ending = [step for flow in testbed.flows for step in WORKLOADS[flow.workload].ending(flow)]
    if not _has_jobs(testbed, listening):
        return [*_measured(testbed.flows[0]), *ending]
    starts = [Start(_measured(flow), "senders") for flow in reversed(testbed.flows)]
    kinds = {testbed.by_name[flow.receiver].kind for flow in testbed.bulk}
    where = min(kinds) if len(kinds) == 1 else "receivers"
    return [
        *_rest(testbed),
        *(starts if len(starts) > 1 else _measured(testbed.flows[0])),
        Wait("senders"),
        Wait("receivers", f"iperf3 at the {where}"),
        *ending,
    ]


def _measured(flow: Flow) -> list[Step]:
    measured = WORKLOADS[flow.workload].client(flow)
    return [Sleep(flow.start_s), measured] if flow.start_s else [measured]


def _rest(testbed: Testbed) -> list[Step]:
    """Extend the run to its duration if all flows end earlier."""
    length_s = testbed.parameters.duration_s
    ends_s = [flow.start_s + flow.duration_s for flow in testbed.flows if flow.duration_s]
    if testbed.exchanges or max(ends_s) >= length_s:
        return []
    return [Start([Sleep(length_s)], "senders")]


def _udp_echo(testbed: Testbed) -> list[Step]:
    peers = dict.fromkeys(probe.peer for probe in testbed.probes if probe.tool == "udp")
    return [Instrument(run("udpecho serve", node=peer)) for peer in peers]


def _scans(testbed: Testbed) -> list[Step]:
    return [
        step
        for node in testbed.wireless("station")
        for step in wifi.scanning(node.parameters, node.name)
    ]


def _returns(testbed: Testbed) -> list[Step]:
    """Associate stations again that may leave, or lose all beacons to hidden radios.

    Those with handovers are associated only when they join an access point, and those that roam by
    wpa_supplicant.
    """
    positions = {radio.node: radio.position or ORIGIN for radio in testbed.radios}
    others = {change.node for change in testbed.handovers}
    others |= {node.name for node in testbed.roaming}
    return [
        step
        for node in testbed.wireless("station")
        if node.name not in others
        if testbed.hidden
        or node.parameters.may_leave(
            testbed.by_name[node.access_point].parameters, positions[node.access_point]
        )
        for step in wifi.reassociating(
            node.parameters,
            testbed.by_name[node.access_point].ssid,
            testbed.bssid(node.access_point),
            node.name,
        )
    ]


def _probes(testbed: Testbed) -> list[Step]:
    """Start the probes; they end by themselves, with the flows or after the baseline."""
    pings = [probe for probe in testbed.probes if probe.tool == "ping"]
    udp = [probe for probe in testbed.probes if probe.tool == "udp"]
    alone = len(pings) == 1
    return [
        *([Jobs(("ping",))] if len(pings) > 1 else []),
        *(Start([_probe(testbed, probe)], "ping", only=alone) for probe in pings),
        *([Jobs(("probes",))] if udp else []),
        *(Start([_probe(testbed, probe)], "probes") for probe in udp),
    ]


def _probe(testbed: Testbed, probe: Probe) -> Run:
    argv = probe_command(testbed.parameters, probe)
    # In the last 10 ms before it sends, ping polls. At longer intervals that hardly costs time.
    blocking = probe.tool == "ping" and probe.interval_s < Parameters().ping_interval_s
    return Run(argv, node=probe.node, stdout=probe.file, required=False, blocking=blocking)


def probe_command(parameters: Parameters, probe: Probe) -> tuple[str, ...]:
    """The command at the probe's node; it ends by itself."""
    length_s = round(parameters.duration_s + 2 * parameters.baseline_s)
    command = f"ping -n -D -i {probe.interval_s:g} -w {length_s} {probe.address}"
    if probe.tool == "udp":
        options = f"{RRUL_CLASSES[probe.service]} {round(probe.interval_s * 1e6)}"
        command = f"udpecho probe {probe.address} {options} {length_s}"
    return tuple(command.split())


def _probes_end(testbed: Testbed) -> list[Step]:
    tools = [probe.tool for probe in testbed.probes]
    ends: list[Step] = []
    if "ping" in tools:
        ends.append(Wait("ping", "ping had no answer", only=tools.count("ping") == 1))
    if "udp" in tools:
        ends.append(Wait("probes", "udpecho at the station"))
    return ends

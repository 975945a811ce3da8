# SPDX-License-Identifier: GPL-2.0-only
"""Events during the flows: changes of nodes, and movement of radios."""

from dataclasses import replace

from airtcp.steps import hosts, links, wifi
from airtcp.steps.step import Cancel, In, Run, Sleep, Start, Step, run
from airtcp.testbed import cables
from airtcp.testbed.model import Change, Move, Testbed

_JOB = "events"


def start(testbed: Testbed) -> list[Step]:
    """Run all events at their times. A handover takes time and must not delay other events."""
    steps = _timed(testbed)
    return [
        *([Start(steps, _JOB, only=True)] if steps else []),
        *(
            Start([Sleep(change.at_s), *_joining(testbed, change)], job, only=True)
            for job, change in _handovers(testbed)
        ),
    ]


def end(testbed: Testbed) -> list[Step]:
    """Cancel the remaining events."""
    failed = "a change or a move failed: see the console"
    return [
        *([Cancel(_JOB, failed)] if _timed(testbed) else []),
        *(
            Cancel(job, f"{change.node} did not join {change.access_point}: see the console")
            for job, change in _handovers(testbed)
        ),
    ]


def _timed(testbed: Testbed) -> list[Step]:
    """All changes and moves at their times, without the handovers."""
    steps: list[Step] = []
    clock_s = 0.0
    for event in sorted(testbed.events, key=lambda event: event.at_s):
        changing = _change(testbed, event) if isinstance(event, Change) else [_move(event)]
        if isinstance(event, Change) and event.joins and not changing:
            continue  # only a handover
        if event.at_s > clock_s:
            steps.append(Sleep(event.at_s - clock_s))
            clock_s = event.at_s
        steps += changing
    return steps


def _handovers(testbed: Testbed) -> list[tuple[str, Change]]:
    """The handovers with the names of their jobs."""
    return [(f"handover{number}", each) for number, each in enumerate(testbed.handovers, start=1)]


def _move(move: Move) -> Step:
    vx_mm_per_s, vy_mm_per_s = (round(1000 * each) for each in move.m_per_s)
    return run(
        f"airsim radio set {move.radio} {wifi.position_keys(move.start)} "
        f"vx_mm_per_s {vx_mm_per_s} vy_mm_per_s {vy_mm_per_s}"
    )


def _change(testbed: Testbed, change: Change) -> list[Step]:
    node, before, after = testbed.by_name[change.node], change.before, change.after
    inside = hosts.changed(before, after)
    if before.ack_policy != after.ack_policy:
        inside.append(run(f"set_policy {after.ack_policy}"))
    if node.kind == "server" and cables.path(before) != cables.path(after):
        [end] = testbed.ends(node.name)
        lossy = end.shaper is not None and end.shaper.segments
        inside += links.shaped(replace(end, shaper=cables.forward(after, lossy)), "change")
    steps: list[Step] = [In(node.name, inside)] if inside else []
    if node.radio is None:
        return steps
    if keys := wifi.changed(before, after):
        steps.append(run(f"airsim radio set {node.radio} {keys}"))
    if change.access_point:
        access_point = testbed.by_name[change.access_point].parameters
        radio = testbed.radio(change.access_point)
        if change.joins or before.radio_rate != after.radio_rate:
            steps += wifi.link_rate(access_point, after, radio, node.radio)
        if change.joins or before.snr_db != after.snr_db:
            steps += wifi.loss(access_point, after, radio, node.radio)
    return steps


def _joining(testbed: Testbed, change: Change) -> list[Step]:
    """Leave the access point, if the station is still associated, and join another one."""
    access_point = testbed.by_name[change.access_point]
    return [
        Run(("iw", "dev", "wlan0", "disconnect"), node=change.node, required=False),
        In(
            change.node,
            wifi.associating(
                access_point.parameters, access_point.ssid, testbed.bssid(access_point.name)
            ),
        ),
    ]

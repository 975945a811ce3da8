# SPDX-License-Identifier: GPL-2.0-only
"""Events during the flows: changes of parameters of nodes, and movement of radios."""

from dataclasses import replace

from airtcp.steps import hosts, links, wifi
from airtcp.steps.step import Cancel, In, Sleep, Start, Step, run
from airtcp.testbed import cables
from airtcp.testbed.model import Change, Move, Testbed


def start(testbed: Testbed) -> list[Step]:
    """Run all events at their times."""
    steps: list[Step] = []
    clock_s = 0.0
    for event in sorted(testbed.events, key=lambda event: event.at_s):
        if event.at_s > clock_s:
            steps.append(Sleep(event.at_s - clock_s))
            clock_s = event.at_s
        steps += _change(testbed, event) if isinstance(event, Change) else [_move(event)]
    return [Start(steps, "events", only=True)] if steps else []


def end(testbed: Testbed) -> list[Step]:
    """Cancel the remaining events."""
    if not start(testbed):
        return []
    return [Cancel("events", "a change or a move failed: see the console")]


def _move(move: Move) -> Step:
    return run(f"airsim radio set {move.radio} x_mm {move.x_mm} vx_mm_per_s {move.mm_per_s}")


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
    if node.access_point and before.radio_rate != after.radio_rate:
        access_point = testbed.by_name[node.access_point]
        radio = testbed.radio(access_point.name)
        steps += wifi.link_rate(access_point.parameters, after, radio, node.radio)
    if node.access_point and before.snr_db != after.snr_db:
        steps += wifi.loss(after, testbed.radio(node.access_point), node.radio)
    return steps

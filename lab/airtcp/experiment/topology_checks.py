# SPDX-License-Identifier: GPL-2.0-only
"""Checks of a custom topology: errors and their location in the file."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pydantic import ValidationError

from airtcp import suggest
from airtcp.experiment import association, flow_paths
from airtcp.experiment.topology import (
    MODELS,
    PLACES,
    ROUTER,
    SWITCH,
    Flow,
    Network,
    Settings,
    flow_names,
    rest_s,
)
from airtcp.parameters import Parameters
from airtcp.parameters.ieee80211 import is_2ghz, is_6ghz
from airtcp.parameters.quantity import Plain
from airtcp.parameters.radio import DataRate
from airtcp.parameters.section import (
    KERNEL,
    PRESET,
    DefaultTopologyOnly,
    facts,
    key_of,
    keys,
    listed,
)
from airtcp.units import format_duration_s

MOST_STATIONS = 64
MOST_OTHERS = 16

_NAME = re.compile("[a-z][a-z0-9-]{0,19}")
_LIKE = "up to 20 lower-case letters, digits and dashes, a letter first"
# Names that the plan uses for a node, a capture and a file.
_RESERVED = (SWITCH, "air", "helpers")

# A handover takes up to this long while both access points are in range.
_HANDOVER_S = 1.0

# Words for the value at boot, which is not known later.
_AT_BOOT = (KERNEL, PRESET)


class Problem(NamedTuple):
    """An error and the keys that lead to its location."""

    at: tuple[str | int, ...]
    text: str


def problems(network: Network, parameters: Parameters) -> Iterator[Problem]:
    """Problems of a case; later checks run only if earlier ones find none."""
    for kind in (_names, _links, _nodes, _flows, _schedule):
        messages = list(kind(network, parameters))
        yield from messages
        if messages:
            return


def _names(network: Network, parameters: Parameters) -> Iterator[Problem]:
    topology = network.topology
    groups: dict[str, tuple[Mapping[str, object], int, int]] = {
        "servers": (topology.servers, 0, MOST_OTHERS),
        "access_points": (topology.access_points, 1, MOST_OTHERS),
        "stations": (topology.stations, 1, MOST_STATIONS),
    }
    seen: dict[str, str] = {}
    for group, (nodes, least, most) in groups.items():
        at = ("topology", group)
        if not least <= len(nodes) <= most:
            yield Problem(at, f"{len(nodes)} given; allowed: {least} to {most}")
        for name in nodes:
            if not _NAME.fullmatch(name) or name in _RESERVED:
                text = f"not a node name; allowed: {_LIKE}, but not {listed(_RESERVED)}"
                yield Problem((*at, name), text)
            elif name.removeprefix(ROUTER) in topology.servers and name.startswith(ROUTER):
                yield Problem((*at, name), f"{ROUTER}SERVER is the name of a server's router")
            elif name in seen:
                yield Problem((*at, name), f"the name is already used in {seen[name]}")
            seen[name] = group


def _links(network: Network, parameters: Parameters) -> Iterator[Problem]:
    topology = network.topology
    known = topology.access_points
    for name, station in topology.stations.items():
        if station.access_point not in known:
            yield Problem(
                ("topology", "stations", name, "access_point"),
                f"unknown access point {_unknown(station.access_point, known)}",
            )
    wireless = [name for name in topology.stations if _access(network, name, parameters) == "wifi"]
    radios = [*topology.access_points, *wireless]
    for number, pair in enumerate(topology.hidden):
        at = ("topology", "hidden", number)
        if unknown := [name for name in pair if name not in radios]:
            yield Problem(at, f"unknown radio {_unknown(unknown[0], radios)}")
        elif pair[0] == pair[1]:
            yield Problem(at, f"{pair[0]!r} given twice; give two different radios")
        for one, other in (pair, reversed(pair)):
            if one in topology.stations and topology.stations[one].access_point == other:
                yield Problem(at, f"{one!r} could not reach its access point {other!r}")


def _access(network: Network, name: str, parameters: Parameters) -> str:
    return str(network.topology.stations[name].plain().get("access", parameters.access))


def _nodes(network: Network, parameters: Parameters) -> Iterator[Problem]:
    for attribute, _ in facts(Parameters, DefaultTopologyOnly):
        name = key_of(Parameters, attribute)
        if (value := parameters.text(attribute)) != (default := Parameters.defaults()[name]):
            yield Problem(
                ("parameters", name),
                f"{value} is not allowed with a topology; allowed: {default}",
            )
            return
    topology = network.topology
    at = {name: ("topology", str(topology.group(name)), name) for name in topology.names}
    found = list(_positions(network, parameters)) or [
        problem
        for name in topology.names
        if (problem := _conflict(parameters, network.own(name), at[name]))
    ]
    if found:
        yield from found
        return
    accesses = {_access(network, name, parameters) for name in topology.stations}
    if "air" in parameters.capture and "wifi" not in accesses:
        text = "air is not allowed without a station that has a radio; allowed: server station"
        yield Problem(("parameters", "capture"), text)
    for name in topology.stations:
        found_here = _association_problems(network, name, parameters)
        yield from (Problem(at[name], text) for text in found_here)
    for name in network.roaming:
        key = (*at[name], "roam_below")
        yield from (Problem(key, text) for text in _roaming_problems(network, name, parameters))


def _positions(network: Network, parameters: Parameters) -> Iterator[Problem]:
    """Positions without effect, and those that conflict with other keys of the node."""
    for group in ("access_points", "stations"):
        for name, node in getattr(network.topology, group).items():
            if node.position is None:
                continue
            at = ("topology", group, name, "position")
            if parameters.error_model != "snr":
                text = f"is not allowed with error_model {parameters.error_model}; allowed: snr"
                yield Problem(at, text)
            elif group == "stations" and _access(network, name, parameters) != "wifi":
                yield Problem(at, "is not allowed for a station on a cable")
            elif group == "stations" and (others := [key for key in PLACES if key in node.plain()]):
                yield Problem(at, f"is not allowed with {others[0]}; give only one of them")


def _association_problems(network: Network, name: str, parameters: Parameters) -> Iterator[str]:
    """Problems of a station with its access point."""
    station = network.of_node(name, parameters)
    joined = network.topology.stations[name].access_point
    access_point = network.of_node(joined, parameters)
    if any(text for _, text in station.missing_place()):
        yield (
            "error_model snr needs a position here, or one of snr, distance, walk: here, at its "
            "access point or in parameters"
        )
    if station.access == "wifi":
        yield from association.rates(joined, access_point, station)
    if name not in network.roaming:
        yield from association.signal(network, parameters, name, joined)
    stages = [node.ack_filter for node in (station, access_point)]
    if station.access == "wifi" and len({"multicast" in stage for stage in stages}) > 1:
        yield "ack_filter multicast: give it to the access point and all of its stations"


def _roaming_problems(network: Network, name: str, parameters: Parameters) -> Iterator[str]:
    """Why a station cannot roam."""
    station = network.of_node(name, parameters)
    first, *others = network.access_points_of(name)
    if not others:
        yield "there is no other access point"
    if station.access != "wifi":
        yield "a station on a cable cannot roam"
        return
    if station.error_model != "snr" or station.snr_db is not None:
        yield "needs error_model snr, and distance, walk or position instead of snr"
    elif station.rate_control == "fixed":
        yield "needs rate_control minstrel or ideal"
    for other in others:
        yield from _joining_problems(network, parameters, name, first, other)


def _conflict(
    base: Parameters, values: Mapping[str, Plain], at: tuple[str | int, ...]
) -> Problem | None:
    """The conflict of these parameters with others; each value is valid by itself."""
    try:
        base.override(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        return Problem((*at, name), str(first["msg"]))
    return None


def _flows(network: Network, parameters: Parameters) -> Iterator[Problem]:
    topology = network.topology
    hosts = [*topology.servers, *topology.stations]
    if not network.flows:
        yield Problem(("flows",), "give at least one, as in {from: SERVER, to: STATION}")
    for number, flow in enumerate(network.flows):
        at = ("flows", number)
        for key, name in (("from", flow.sender), ("to", flow.receiver)):
            if name not in hosts:
                yield Problem((*at, key), f"unknown host {_unknown(name, hosts)}")
        yield from (Problem((*at, "via"), text) for text in flow_paths.via(network, flow))
        if flow.sender == flow.receiver:
            yield Problem((*at, "to"), f"from {flow.sender!r} to itself; give another host")
        yield from (Problem((*at, key), text) for key, text in _times(parameters, flow))
        if flow.sender in hosts and (problem := _traffic_problem(network, parameters, flow, at)):
            yield problem
    for number, flow in enumerate(network.flows):
        if flow.name is not None and not _NAME.fullmatch(flow.name):
            yield Problem(("flows", number, "name"), f"not a flow name; allowed: {_LIKE}")
    names = flow_names(network)
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        second = [number for number, name in enumerate(names) if name == twice[0]][1]
        yield Problem(("flows", second), f"two flows are named {twice[0]!r}; give one a `name`")


def _times(parameters: Parameters, flow: Flow) -> Iterator[tuple[str, str]]:
    rest = rest_s(parameters, flow)
    length = format_duration_s(parameters.duration_s)
    if rest < 1:
        most = format_duration_s(parameters.duration_s - 1)
        yield "start", f"the run has a duration of {length}; allowed: 0ms to {most}"
    elif flow.duration_s is not None and flow.duration_s > rest:
        yield (
            "duration",
            f"the run ends earlier, after {length}; allowed: 1s to {format_duration_s(rest)}",
        )


def _traffic_problem(
    network: Network, parameters: Parameters, flow: Flow, at: tuple[str | int, ...]
) -> Problem | None:
    """A problem with the parameters of a flow."""
    sender = network.of_node(flow.sender, parameters)
    if problem := _conflict(sender, flow.overrides(), at):
        return problem
    settings = sender.override(flow.overrides())
    for name, text in settings.missing_traffic():
        return Problem((*at, name), text)
    if settings.protocol == "udp":
        if flow.rate_bps is None and settings.udp_rate_bps is None:
            return Problem((*at, "protocol"), "udp needs a rate, such as 5Mbit")
        if flow.congestion_control is not None:
            return Problem((*at, "congestion_control"), "not allowed with udp")
    lasts_s, sample_s = flow.duration_s or rest_s(parameters, flow), parameters.tcp_sample_s or 0
    if settings.lasts and settings.protocol == "tcp" and sample_s > lasts_s:
        shorter = f"less than tcp_sample {parameters.text('tcp_sample_s')}"
        return Problem(at, f"it lasts {format_duration_s(lasts_s)}, {shorter}")
    of_bulk = {"rate": flow.rate_bps, "duration": flow.duration_s}
    given = [name for name, value in of_bulk.items() if value is not None]
    if given and not settings.lasts:
        text = f"is not allowed with workload {settings.workload}; allowed: workload bulk"
        return Problem((*at, given[0]), text)
    if network.topology.group(flow.receiver) is None:
        return None
    for check in (
        flow_paths.router(network, parameters, flow),
        flow_paths.limit(network, parameters, flow, settings),
    ):
        for text in check:
            return Problem(at, text)
    return None


def _schedule(network: Network, parameters: Parameters) -> Iterator[Problem]:
    duration_s = parameters.duration_s
    now: dict[str, Parameters] = {}
    access_points = {
        name: station.access_point for name, station in network.topology.stations.items()
    }
    joined_s: dict[str, float] = {}
    given: set[tuple[float, str, str]] = set()
    order = sorted(range(len(network.schedule)), key=lambda number: network.schedule[number].at_s)
    for number in order:
        change, at = network.schedule[number], ("schedule", number)
        group = network.topology.group(change.node)
        if group is None:
            known = network.topology.names
            yield Problem((*at, "node"), f"unknown node {_unknown(change.node, known)}")
            continue
        if change.at_s >= duration_s:
            length = format_duration_s(duration_s)
            yield Problem((*at, "at"), f"the run has ended by then; allowed: less than {length}")
        before = now.get(change.node) or network.of_node(change.node, parameters)
        values = change.settings.given()
        if not values:
            yield Problem((*at, "set"), f"give at least one; allowed: {listed(_changeable(group))}")
        for key, value in values.items():
            text = _unchangeable(group, before, key, value)
            if (change.at_s, change.node, key) in given:
                text = f"{change.node} already has a change of {key} at that time; remove one"
            if text:
                yield Problem((*at, "set", key), text)
                return
            given.add((change.at_s, change.node, key))
        if (joined := change.settings.access_point) is not None:
            left = access_points[change.node]
            for text in _handover_problems(network, parameters, change.node, left, joined):
                yield Problem((*at, "set", "access_point"), text)
                return
            if change.at_s < joined_s.get(change.node, -math.inf) + _HANDOVER_S:
                text = f"less than {format_duration_s(_HANDOVER_S)} after the one before"
                yield Problem((*at, "at"), f"{text}, which may not have ended")
            access_points[change.node], joined_s[change.node] = joined, change.at_s
        if problem := _conflict(before, change.settings.plain(), (*at, "set")):
            yield problem
            return
        now[change.node] = before.override(change.settings.plain())


def _handover_problems(
    network: Network, parameters: Parameters, name: str, left: str, joined: str
) -> Iterator[str]:
    """Why a station cannot change to another access point by a scheduled handover."""
    if name in network.roaming:
        yield f"{name} chooses its access point by roam_below"
    yield from _joining_problems(network, parameters, name, left, joined)
    if joined in network.topology.access_points:
        yield from association.signal(network, parameters, name, joined)


def _joining_problems(
    network: Network, parameters: Parameters, name: str, left: str, joined: str
) -> Iterator[str]:
    """Why a station cannot change from one access point to another, by handover or roaming."""
    topology = network.topology
    if joined not in topology.access_points:
        yield f"unknown access point {_unknown(joined, topology.access_points)}"
        return
    if joined == left:
        yield f"{name} is already at {joined}; give another access point"
        return
    if {name, joined} in [set(pair) for pair in topology.hidden]:
        yield f"{name!r} could not reach its access point {joined!r}"
    station = network.of_node(name, parameters)
    if station.access != "wifi":
        yield "a station on a cable cannot join another access point"
        return
    old, new = (network.of_node(each, parameters) for each in (left, joined))
    bands = [(is_2ghz(each.channel), is_6ghz(each.channel)) for each in (old, new)]
    if bands[0] != bands[1] or is_6ghz(new.channel):
        yield (
            f"{left} is on channel {old.channel}, {joined} on channel {new.channel}; allowed: two "
            "channels at 2.4 GHz or two at 5 GHz"
        )
    if ("multicast" in station.ack_filter) != ("multicast" in new.ack_filter):
        yield "ack_filter multicast: give it to the access points and all of their stations"
    yield from association.rates(joined, new, station)
    # A flow to an unknown host is reported later.
    for flow in (flow for flow in network.flows if flow.receiver in topology.names):
        # ACKs are filtered at the access point of the receiver, or of the sender if it has none.
        filtering = flow.receiver if flow.receiver in topology.stations else flow.sender
        receiver = network.of_node(flow.receiver, parameters)
        stages = [stage for stage in receiver.ack_filter if stage in ("police", "shape")]
        if name == filtering and stages and receiver.ack_filter_at != "router":
            yield f"ack_filter {stages[0]} would stay at {left}; allowed: ack_filter_at router"


def _changeable(group: str) -> list[str]:
    """The keys of a node of this kind that may change; a BSS has an SNR for each station."""
    known = [name for name in keys(Settings) if name in keys(MODELS[group])]
    return [name for name in known if (group, name) != ("access_points", "snr")]


def _unchangeable(group: str, before: Parameters, key: str, value: Plain) -> str | None:
    if key not in _changeable(group):
        return f"cannot change for {group}; allowed: {listed(_changeable(group))}"
    if value in _AT_BOOT:
        return f"{value!r} is the value at boot; give an explicit value"
    if key == "rate" and (before.rate_bps is None or value == "unlimited"):
        return "can change only if the cable has a rate from the start, and only to another rate"
    if key in keys(DataRate) and before.rate_control != "fixed":
        return f"rate_control {before.rate_control} chooses the rate; allowed with fixed"
    if key == "snr" and value == "none":
        return "'none' is not a ratio; give one, such as 20dB"
    return None


def _unknown(word: str, known: Iterable[str]) -> str:
    return f"{word!r}; {suggest.allowed(word, known)}"

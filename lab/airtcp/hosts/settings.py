# SPDX-License-Identifier: GPL-2.0-only
"""The settings of a case on each host, as calls of agent.sh, which saves what they replace."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from airtcp.errors import AirtcpError
from airtcp.hosts.inventory import EndEntry, HostEntry, Inventory, Role
from airtcp.hosts.preflight import Facts, Needs
from airtcp.kernel.policies import BASELINE
from airtcp.parameters import Parameters
from airtcp.steps import hosts, links
from airtcp.steps.step import Put, Run, Sysctl
from airtcp.testbed import cables
from airtcp.testbed.model import End, Testbed

Call = Sequence[object]

_IPV4 = "/proc/sys/net/ipv4"

# The congestion controls that pace by a sysctl of their own, which plain Linux does not have.
_OWN_PACING = {
    "tcp_bbr_pacing_percent": ("bbr", "bbr_plain", "bbrp"),
    "tcp_bbr2_pacing_percent": ("bbr2",),
}


def of_host(role: Role, facts: Facts, inventory: Inventory, testbed: Testbed) -> list[Call]:
    """The settings of a host."""
    entries: dict[Role, HostEntry] = dict(inventory.entries)
    entry = entries[role]
    calls: list[Call] = []
    if facts.radio is not None and entry.power_save == "off":
        calls.append(("power_save", entry.interface, "off"))
    if not isinstance(entry, EndEntry):
        return calls
    node, parameters = testbed.by_name[role], testbed.parameters
    peer = inventory.station if role == "server" else inventory.server
    calls += _tcp(parameters, node.receives, node.sends)
    for feature in hosts.OFFLOADS:
        state = "on" if getattr(parameters, feature) else "off"
        calls.append(("offload", entry.interface, feature, state))
    if parameters.gso_segments is not None:
        calls.append(("segments", entry.interface, parameters.gso_segments))
    for step in hosts.initial_windows(parameters, entry.interface, node.sends):
        assert isinstance(step, Run)
        options = step.argv[step.argv.index("dev") + 2 :]
        calls.append(("windows", entry.interface, peer.address, *options))
    if role == "server":
        calls += _wire(parameters, entry.interface)
    return calls


def _tcp(parameters: Parameters, receives: bool, sends: bool) -> Iterator[Call]:
    # Only the laboratory's kernel has the sysctl that removes the bound.
    bounded = parameters.model_copy(update={"ack_delay_bound": True})
    control = parameters.congestion_control
    unused = {name for name, controls in _OWN_PACING.items() if control not in controls}
    for step in hosts.tcp(bounded, receives, sends):
        if isinstance(step, Sysctl) and step.name not in unused:
            yield "put", f"{_IPV4}/{step.name}", step.value
        elif isinstance(step, Put) and sends:  # of CUBIC
            yield "put", step.path, step.value
    # Plans omit what is the guest's default anyway.
    if receives and parameters.ack_policy == BASELINE:
        yield "put_default", f"{_IPV4}/tcp_ack_policy", BASELINE
    if sends and control == "cubic" and parameters.hystart:
        yield "put_default", f"{hosts.CUBIC}/hystart", 1
    if sends and parameters.pacing_factor == 1:
        for name, percent in hosts.PACING_PERCENT.items():
            if name not in unused:
                yield "put_default", f"{_IPV4}/{name}", percent


def _wire(parameters: Parameters, device: str) -> Iterator[Call]:
    """The qdiscs of the server; without delay and loss there is only that for the rate."""
    way = cables.path(parameters).forward
    # A cable to the station, which has a rate, is not applied.
    wireless = parameters.model_copy(update={"access": "wifi"})
    shaper = cables.forward(wireless, way.loss > 0)
    if not (way.delay_s or way.loss):
        shaper = replace(shaper, way=None)
    for step in links.shaped(End("server", device, shaper=shaper)):
        assert isinstance(step, Run)
        _tc, _qdisc, _add, _dev, where, *words = step.argv
        yield "qdisc", where, *words


def needs(runs: Sequence[Parameters]) -> dict[Role, Needs]:
    """What the runs need, by role."""
    return {
        role: Needs(
            frozenset(one.ack_policy for one in runs if role in one.receivers),
            frozenset(one.congestion_control for one in runs if role in one.senders),
        )
        for role in get_args(Role)
    }


def check_case(parameters: Parameters, facts: Mapping[str, Facts]) -> None:
    """Raise AirtcpError if a host does not have the ACK policy or the congestion control."""
    policy, control = parameters.ack_policy, parameters.congestion_control
    for role in parameters.receivers:
        known = facts[role].policies or (BASELINE,)
        if policy not in known:
            why = (
                f", or cannot load its module tcp-ackpol-{policy}; loaded"
                if facts[role].policies
                else ", as it runs plain Linux; allowed"
            )
            raise AirtcpError(
                f"ack_policy {policy}: {facts[role].name} does not have it{why}: {' '.join(known)}"
            )
    for role in parameters.senders:
        known = facts[role].congestion_controls
        if control not in known:
            raise AirtcpError(
                f"congestion_control {control}: {facts[role].name} does not have it, or cannot "
                f"load its module tcp_{control}, or allows it only to root "
                f"(net.ipv4.tcp_allowed_congestion_control); allowed: {' '.join(known)}"
            )

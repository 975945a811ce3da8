# SPDX-License-Identifier: GPL-2.0-only
"""Checks of what is between the two hosts of a flow."""

from collections.abc import Iterator

from airtcp import suggest
from airtcp.experiment.topology import Flow, Network
from airtcp.parameters import Parameters


def via(network: Network, flow: Flow) -> Iterator[str]:
    """Errors in the choice of the server that forwards what the hosts send to each other."""
    ends = {flow.sender, flow.receiver}
    if flow.via is None:
        return
    if flow.via not in network.topology.servers:
        yield f"unknown server {flow.via!r}; {suggest.allowed(flow.via, network.topology.servers)}"
    elif flow.via in ends:
        yield f"{flow.via!r} is an end of the flow; give another server"
    elif any(
        {other.sender, other.receiver} == ends and other.via != flow.via for other in network.flows
    ):
        yield "all flows between two hosts need the same `via`"
    elif any(
        other.via and flow.via in (others := {other.sender, other.receiver}) and others & ends
        for other in network.flows
    ):
        yield (
            f"{flow.via!r} is also an end of another flow of these hosts that has a `via`; remove "
            "one of the two"
        )


def router(network: Network, parameters: Parameters, flow: Flow) -> Iterator[str]:
    """An error if the flow's ACKs are to be filtered at a router that does not exist."""
    if network.of_node(flow.receiver, parameters).ack_filter_at != "router":
        return
    ends = [name for name in (flow.receiver, flow.sender) if name in network.topology.servers]
    if all(network.of_node(name, parameters).router == "none" for name in ends):
        yield f"{flow.receiver} has ack_filter_at router, but neither end of the flow has a router"


def limit(
    network: Network, parameters: Parameters, flow: Flow, settings: Parameters
) -> Iterator[str]:
    """An error if nothing limits the rate of bulk data between two servers.

    In virtual time, in which processing takes no time, such a transfer would be nearly endless.
    settings: the parameters of the flow.
    """
    names = {flow.sender, flow.receiver, *filter(None, [flow.via])}
    if not settings.lasts or names - set(network.topology.servers):
        return
    sender, receiver = (network.of_node(x, parameters) for x in (flow.sender, flow.receiver))
    limits = [flow.rate_bps, settings.read_rate_bps, sender.rate_bps, receiver.return_rate_bps]
    if settings.protocol == "udp":
        limits.append(settings.udp_rate_bps)
    for node in (network.of_node(name, parameters) for name in names):
        limits += [node.delay_s, node.return_delay_s]
        limits += [name != "none" for name in (node.path, node.router, node.slow_host)]
    if not any(limits):
        yield f"nothing limits its rate; give {flow.sender} a rate or a delay, or the flow a rate"

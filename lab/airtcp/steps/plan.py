# SPDX-License-Identifier: GPL-2.0-only
"""The plan of a run: the network, then what is sent in it, as one shell script for the guest."""

from airtcp.parameters import Parameters
from airtcp.steps import network, script, topology_network, topology_traffic, workload
from airtcp.testbed.topology import Scene


def plan(parameters: Parameters, scene: Scene | None = None) -> str:
    """The shell script that the guest runs. scene: a custom topology."""
    if scene:
        parts = topology_network.plan(scene), topology_traffic.plan(scene)
    else:
        parts = network.plan(parameters), workload.plan(parameters)
    return script.batched("\n".join(parts))

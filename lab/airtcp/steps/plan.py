# SPDX-License-Identifier: GPL-2.0-only
"""The plan of a run: the network, then what is sent in it."""

from airtcp.parameters import Parameters
from airtcp.steps import network, topology_network, topology_traffic, workload
from airtcp.steps.step import Step
from airtcp.testbed.topology import Scene


def plan(parameters: Parameters, scene: Scene | None = None) -> list[Step]:
    """All steps. scene: a custom topology."""
    if scene:
        return [*topology_network.plan(scene), *topology_traffic.plan(scene)]
    return [*network.plan(parameters), *workload.plan(parameters)]

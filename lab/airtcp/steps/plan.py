# SPDX-License-Identifier: GPL-2.0-only
"""The plan of a run: the network, then the traffic."""

from airtcp.steps import network, traffic
from airtcp.steps.step import Step
from airtcp.testbed.model import Testbed


def plan(testbed: Testbed) -> list[Step]:
    """All steps of a run."""
    return [*network.plan(testbed), *traffic.plan(testbed)]

# SPDX-License-Identifier: GPL-2.0-only
"""The plan of a run: the network, then what is sent in it."""

from airtcp.steps import network, traffic
from airtcp.steps.step import Step
from airtcp.testbed.model import Testbed


def plan(testbed: Testbed) -> list[Step]:
    """All steps."""
    return [*network.plan(testbed), *traffic.plan(testbed)]

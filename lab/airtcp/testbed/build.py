# SPDX-License-Identifier: GPL-2.0-only
"""The testbed of a case."""

from airtcp.experiment.experiment import Case
from airtcp.experiment.topology import Network
from airtcp.parameters import Parameters
from airtcp.testbed import custom, default
from airtcp.testbed.model import Testbed


def build(parameters: Parameters, network: Network | None = None) -> Testbed:
    """The testbed of parameters. network: a custom topology; None: the default topology."""
    return custom.testbed(network, parameters) if network else default.testbed(parameters)


def testbed_of(case: Case) -> Testbed:
    return build(case.parameters, case.network)

# SPDX-License-Identifier: GPL-2.0-only
"""A custom topology as text, for `show` and reports."""

from collections.abc import Iterator, Mapping
from typing import Any

from airtcp.experiment.casenames import display_name
from airtcp.experiment.topology import Network


def lines(network: Network) -> Iterator[str]:
    """One line per node, flow and change."""
    topology = network.topology.model_dump(mode="json", exclude_unset=True)
    for group, kind in (
        ("servers", "server"),
        ("access_points", "access point"),
        ("stations", "station"),
    ):
        for name, settings in topology.get(group, {}).items():
            yield f"{kind} {name}{_values(settings)}"
    for pair in network.topology.hidden:
        yield f"hidden from each other: {' and '.join(pair)}"
    for flow in network.flows:
        given = flow.model_dump(mode="json", exclude_unset=True)
        yield f"flow {given.pop('from')} to {given.pop('to')}{_values(given)}"
    for change in network.schedule:
        given = change.model_dump(mode="json", exclude_unset=True)
        yield f"at {given['at']} {given['node']}{_values(given['set'])}"


def _values(given: Mapping[str, Any]) -> str:
    text = ", ".join(f"{display_name(name)} {value}" for name, value in given.items())
    return f": {text}" if text else ""

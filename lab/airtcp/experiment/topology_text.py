# SPDX-License-Identifier: GPL-2.0-only
"""A custom topology as text for `show`, and the tables of its keys for the docs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from airtcp.experiment.casenames import display_name
from airtcp.experiment.topology import (
    AccessPoint,
    Change,
    Flow,
    Network,
    Server,
    Settings,
    Station,
    Topology,
)
from airtcp.parameters import PARAMETER_NAMES

_KEYS: Mapping[str, type[BaseModel]] = {
    "topology": Topology,
    "flows[]": Flow,
    "schedule[]": Change,
}
_NODES: Mapping[str, type[BaseModel]] = {
    "server": Server,
    "access point": AccessPoint,
    "station": Station,
    "schedule": Settings,
}


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


def tables() -> str:
    """Markdown tables of the keys of nodes, flows and changes."""
    parts = [
        _table([f"`{at}`", "Meaning"], [[f"`{key}`", text] for key, text in _keys(model).items()])
        for at, model in _KEYS.items()
    ]
    known = {who: _keys(model) for who, model in _NODES.items()}
    meanings = {key: text for keys in known.values() for key, text in keys.items()}
    first = ("access_point", "roam_below", "position")
    order = [key for key in (*first, *PARAMETER_NAMES) if key in meanings]
    rows = [
        [f"`{key}`", *("x" if key in keys else "" for keys in known.values()), meanings[key]]
        for key in order
    ]
    return "\n\n".join([*parts, _table(["Parameter", *known, "Meaning"], rows)])


def _keys(model: type[BaseModel]) -> dict[str, str]:
    fields = model.model_fields.items()
    return {field.alias or name: str(field.description) for name, field in fields}


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(
        f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in line)}|" for line in lines
    )

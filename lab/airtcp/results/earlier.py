# SPDX-License-Identifier: GPL-2.0-only
"""Upgrades results of earlier versions to the current names of parameters."""

import json
from typing import Any

import pyarrow

from airtcp.experiment.figures import FACTOR_KEYS
from airtcp.parameters.renames import RENAMED, warn

# The keys of results.json below which keys are names of parameters.
_BY_PARAMETER = frozenset({"parameters", "factors", "relative_to", "network"})


def document(recorded: Any, where: str) -> Any:
    """results.json. where: its path, for the warning."""
    found: set[str] = set()
    made = _renamed(recorded, False, found)
    if found:
        warn(sorted(found), where)
    return made


def _renamed(part: Any, by_parameter: bool, found: set[str]) -> Any:
    if isinstance(part, list):
        return [_renamed(one, by_parameter, found) for one in part]
    if not isinstance(part, dict):
        return part
    made = {}
    for name, value in part.items():
        if by_parameter and name in RENAMED:
            found.add(name)
            made[RENAMED[name]] = value
        elif name in FACTOR_KEYS and value in RENAMED:
            found.add(value)
            made[name] = RENAMED[value]
        else:
            made[name] = _renamed(value, by_parameter or name in _BY_PARAMETER, found)
    return made


def table(recorded: pyarrow.Table, where: str) -> pyarrow.Table:
    """results.parquet. where: its path, for the warning."""
    found = [name for name in recorded.column_names if name in RENAMED]
    if not found:
        return recorded
    warn(sorted(found), where)
    about = dict(recorded.schema.metadata)
    factors = json.loads(about[b"airtcp.factors"])
    about[b"airtcp.factors"] = json.dumps([RENAMED.get(name, name) for name in factors]).encode()
    names = [RENAMED.get(name, name) for name in recorded.column_names]
    return recorded.rename_columns(names).replace_schema_metadata(about)

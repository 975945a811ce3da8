# SPDX-License-Identifier: GPL-2.0-only
"""Upgrades results of earlier versions to the current names of parameters."""

import json
from typing import Any

import pyarrow

from airtcp.experiment.figures import FACTOR_KEYS
from airtcp.parameters.renames import RENAMED, warn
from airtcp.results.jsonfile import JsonObject

# The keys of documents below which keys are names of parameters.
_BY_PARAMETER = frozenset({"parameters", "factors", "relative_to", "network"})


def document(recorded: JsonObject) -> JsonObject:
    """result.json or results.json of schema 1."""
    return {name: _renamed(value, name in _BY_PARAMETER) for name, value in recorded.items()}


def _renamed(part: Any, by_parameter: bool) -> Any:
    if isinstance(part, list):
        return [_renamed(one, by_parameter) for one in part]
    if not isinstance(part, dict):
        return part
    made = {}
    for name, value in part.items():
        if by_parameter and name in RENAMED:
            made[RENAMED[name]] = value
        elif name in FACTOR_KEYS and value in RENAMED:
            made[name] = RENAMED[value]
        else:
            made[name] = _renamed(value, by_parameter or name in _BY_PARAMETER)
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

# SPDX-License-Identifier: GPL-2.0-only
"""Earlier names of parameters in results: upgraded when read, and written for one version."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BeforeValidator, PlainSerializer

from airtcp.experiment.figures import FACTOR_KEYS
from airtcp.parameters.renames import RENAMED, warn
from airtcp.results.jsonfile import JsonObject

if TYPE_CHECKING:  # takes a tenth of a second to load, and few commands need it
    import pyarrow

# Keys of documents whose values are mappings by parameter name.
_BY_PARAMETER = frozenset({"parameters", "factors", "relative_to", "network"})

V = TypeVar("V")


def _with_earlier(values: Mapping[str, V]) -> dict[str, V]:
    return {**values, **{old: values[new] for old, new in RENAMED.items() if new in values}}


def _without_earlier(values: Any) -> Any:
    if not isinstance(values, Mapping):
        return values
    return {name: value for name, value in values.items() if name not in RENAMED}


ByParameter = Annotated[
    Mapping[str, V], BeforeValidator(_without_earlier), PlainSerializer(_with_earlier)
]
"""Values by parameter. Documents have them by the earlier names, too."""


def document(recorded: JsonObject) -> JsonObject:
    """Rename parameters in result.json or results.json of schema 1."""
    return {name: _renamed(value, name in _BY_PARAMETER) for name, value in recorded.items()}


def _renamed(part: Any, by_parameter: bool) -> Any:
    if isinstance(part, list):
        return [_renamed(item, by_parameter) for item in part]
    if not isinstance(part, dict):
        return part
    renamed = {}
    for name, value in part.items():
        if by_parameter and name in RENAMED:
            renamed[RENAMED[name]] = value
        elif name in FACTOR_KEYS and value in RENAMED:
            renamed[name] = RENAMED[value]
        else:
            renamed[name] = _renamed(value, by_parameter or name in _BY_PARAMETER)
    return renamed


def table(recorded: "pyarrow.Table", where: str) -> "pyarrow.Table":
    """Rename parameters in results.parquet. where: its path, for the warning."""
    renamed = [name for name in recorded.column_names if name in RENAMED]
    if not renamed:
        return recorded
    warn(sorted(renamed), where)
    metadata = dict(recorded.schema.metadata)
    factors = [RENAMED.get(name, name) for name in json.loads(metadata[b"airtcp.factors"])]
    metadata[b"airtcp.factors"] = json.dumps(factors).encode()
    names = [RENAMED.get(name, name) for name in recorded.column_names]
    return recorded.rename_columns(names).replace_schema_metadata(metadata)

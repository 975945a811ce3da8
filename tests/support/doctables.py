# SPDX-License-Identifier: GPL-2.0-only
"""Tables of docs: in experiments.md (`make tables`), topologies.md, and those of benchmarks."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from airtcp.errors import AirtcpError
from airtcp.experiment.schema import schema
from airtcp.experiment.topology import (
    AccessPoint,
    Change,
    Flow,
    Server,
    Settings,
    Station,
    Topology,
)
from airtcp.parameters import PARAMETER_NAMES
from airtcp.parameters.jsonschema import HINT, Json

_BEGIN, _END = "<!-- table: {} -->\n", "<!-- end -->\n"
_HEAD = "| Key | Default | Allowed | What it is |\n|---|---|---|---|\n"

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


def with_table(page: str, name: str, new: str) -> str:
    """The page with a new table between `<!-- table: NAME -->` and `<!-- end -->`.

    Raises AirtcpError if it has none.
    """
    before, begin, rest = page.partition(_BEGIN.format(name))
    _, end, after = rest.partition(_END)
    if not end:
        raise AirtcpError(f"no {_BEGIN.format(name).strip()} with {_END.strip()} in the page")
    return before + begin + new + end + after


def with_tables(page: str) -> str:
    """The page with new tables of those models for which it has one."""
    made = schema()
    for name, model in {"Experiment": made, **made["$defs"]}.items():
        if _BEGIN.format(name) in page:
            page = with_table(page, name, _HEAD + "".join(_rows(model)))
    return page


def _rows(model: Json) -> Iterable[str]:
    for key, described in model["properties"].items():
        default = "required" if key in model.get("required", ()) else described.get("default", "")
        what = described.get("description", "").partition(". Allowed: ")[0]
        cells = (f"`{key}`", str(default), _allowed(described), what)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _allowed(described: dict[str, Any]) -> str:
    if HINT in described:
        return str(described[HINT])
    # A word that YAML may read as another type is also listed with that type.
    words = [word for word in described.get("enum", ()) if isinstance(word, str)]
    return " ".join(words) or "see below"


def topology_tables() -> str:
    """Markdown tables of the keys of nodes, flows and changes, for topologies.md."""
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


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        path = Path(argument)
        path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")

# SPDX-License-Identifier: GPL-2.0-only
"""Writes the tables of docs/reference/experiments.md from the schema (`make tables`)."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from airtcp.experiment.schema import schema
from airtcp.parameters.jsonschema import HINT, Json

_BEGIN, _END = "<!-- table: {} -->\n", "<!-- end -->\n"
_HEAD = "| Key | Default | Allowed | What it is |\n|---|---|---|---|\n"


def with_tables(page: str) -> str:
    """The page with new tables between `<!-- table: MODEL -->` and `<!-- end -->`."""
    made = schema()
    for name, model in {"Experiment": made, **made["$defs"]}.items():
        before, begin, rest = page.partition(_BEGIN.format(name))
        if begin:
            _, end, after = rest.partition(_END)
            page = before + begin + _HEAD + "".join(_rows(model)) + end + after
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


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        path = Path(argument)
        path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")

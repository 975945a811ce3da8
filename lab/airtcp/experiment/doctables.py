# SPDX-License-Identifier: GPL-2.0-only
"""Tables in pages of docs, and those of docs/reference/experiments.md (`make tables`)."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from airtcp.errors import AirtcpError
from airtcp.experiment.schema import schema
from airtcp.parameters.jsonschema import HINT, Json

_BEGIN, _END = "<!-- table: {} -->\n", "<!-- end -->\n"
_HEAD = "| Key | Default | Allowed | What it is |\n|---|---|---|---|\n"


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


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        path = Path(argument)
        path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")

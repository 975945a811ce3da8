# SPDX-License-Identifier: GPL-2.0-only
"""Writes a new experiment from template.yaml, which runs unchanged, and its schema."""

from pathlib import Path
from string import Template
from typing import get_args

from airtcp import atomicfile, interrupts
from airtcp.errors import InputError
from airtcp.experiment import schema, summaries
from airtcp.experiment.experiment import checked_name
from airtcp.experiment.figures import TimeFigure
from airtcp.experiment.metrics import METRICS
from airtcp.experiment.papers import Paper
from airtcp.kernel import names
from airtcp.parameters import Parameters

_TEMPLATE = Path(__file__).with_name("template.yaml")
SCHEMA = "airtcp.schema.json"


def write(name_or_path: str) -> list[Path]:
    """Write NAME.yaml, and the schema in the same directory unless it exists; returns their paths.

    Raises InputError for an invalid name or an existing file.
    """
    path = Path(name_or_path)
    if not path.name:
        raise InputError(f"new {name_or_path!r}: not a name; give NAME or the path of a file")
    if path.suffix not in (".yaml", ".yml"):
        path = path.with_name(f"{path.name}.yaml")
    try:
        name = checked_name(path.stem)
    except ValueError as error:
        raise InputError(f"new {name_or_path}: {error}") from None
    if name in summaries.names():
        raise InputError(
            f"new {name_or_path}: {name} is an experiment of airtcp, and both would use "
            f"results/{name}; give another name"
        )
    try:
        text = _text(name, path)
        with interrupts.deferred(), path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"{path}: already exists; not overwritten") from None
    except FileNotFoundError:
        raise InputError(f"{path}: the directory {path.parent} does not exist") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    described = path.with_name(SCHEMA)
    if described.exists():
        return [path]
    atomicfile.write(described, schema.text().encode())
    return [path, described]


def _text(name: str, path: Path) -> str:
    fields = Parameters.model_fields
    words = {
        key: f"One of: {' '.join(get_args(fields[key].annotation))}."
        for key in ("direction", "standard", "width", "guard_interval")
    }
    words |= {key: f"One of: {' '.join(known)}." for key, known in names.known().items()}
    words["paper"] = f"One of: {' '.join(get_args(Paper))}."
    words["metrics"] = " ".join(list(METRICS)[:3])
    words["over_time"] = " ".join(get_args(TimeFigure.model_fields["over_time"].annotation))
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        words, name=name, file=path.name
    )

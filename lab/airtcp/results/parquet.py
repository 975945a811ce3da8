# SPDX-License-Identifier: GPL-2.0-only
"""The runs of a sweep as one table with typed columns: results.parquet.

Equal sweeps give equal bytes: rows are in the order of cases and seeds, and contain nothing that
differs between equal runs, such as wall times, commands and hosts.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from airtcp import atomicfile
from airtcp.errors import InputError
from airtcp.experiment.experiment import KERNEL_FACTOR
from airtcp.experiment.metrics import METRICS
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain, Quantity
from airtcp.results import earlier
from airtcp.results.documents import SweepDocument
from airtcp.results.record import RunRecord

SCHEMA = 1
FILE = "results.parquet"

# The columns before parameters and metrics.
_RUN = {
    "experiment": pyarrow.string(),
    "seed": pyarrow.int64(),
    "status": pyarrow.string(),
    "error": pyarrow.string(),
    "identity": pyarrow.string(),
    KERNEL_FACTOR: pyarrow.string(),
    "kernel_version": pyarrow.string(),
    "kernel_hash": pyarrow.string(),
    "airtcp_version": pyarrow.string(),
}

_TYPES = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64()}


def columns() -> list[pyarrow.Field]:
    """All columns; a column has the same type in every sweep."""
    return [
        *(pyarrow.field(name, kind) for name, kind in _RUN.items()),
        *_parameter_columns().values(),
        *(_metric_column(name) for name in METRICS),
    ]


@cache
def _parameter_columns() -> Mapping[str, pyarrow.Field]:
    return {
        field.alias or name: _parameter_column(field.alias or name, field.metadata)
        for name, field in Parameters.model_fields.items()
    }


def _parameter_column(name: str, metadata: list[Any]) -> pyarrow.Field:
    """The column of a parameter, with values as in Parameters.plain().

    A word that replaces a number is null and is named in the column's metadata. A quantity with a
    unit is text.
    """
    for quantity in metadata:
        if isinstance(quantity, Quantity):
            if quantity.write not in (int, float):
                break
            word = {"null": quantity.none} if quantity.none else None
            return pyarrow.field(name, _TYPES[quantity.write], metadata=word)
    return pyarrow.field(name, _TYPES[type(Parameters.defaults()[name])])


def _metric_column(name: str) -> pyarrow.Field:
    unit = METRICS[name].unit
    return pyarrow.field(name, pyarrow.float64(), metadata={"unit": unit} if unit else None)


def table(document: SweepDocument, out_dir: Path) -> pyarrow.Table:
    """The runs of a document of documents.py, whose files are in out_dir."""
    metadata = {
        "airtcp.schema": str(SCHEMA),
        "airtcp.factors": json.dumps(list(document.runs[0].factors)),
        "airtcp.topology": json.dumps(document.runs[0].network),
        "airtcp.columns": _columns_hash(columns()),
        "airtcp.units": json.dumps({name: metric.unit for name, metric in METRICS.items()}),
    }
    rows = [_row(document, run, out_dir) for run in document.runs]
    return pyarrow.Table.from_pylist(rows, schema=pyarrow.schema(columns(), metadata=metadata))


def _row(document: SweepDocument, run: RunRecord, out_dir: Path) -> dict[str, Plain | None]:
    # Equal runs in different directories give equal rows.
    error = run.error and run.error.replace(f"{out_dir}/", "")
    columns: dict[str, Plain | None] = {
        "experiment": document.experiment,
        "seed": run.seed,
        "status": run.status,
        "error": error,
        "identity": run.identity,
        KERNEL_FACTOR: run.factors.get(KERNEL_FACTOR),
        "kernel_version": run.kernel.version,
        "kernel_hash": run.kernel.hash,
        "airtcp_version": run.provenance.version if run.provenance else None,
    }
    measured = {name: run.metrics.get(name) for name in METRICS}
    return columns | parameters(run.parameters) | measured


def parameters(plain: Mapping[str, Plain]) -> dict[str, Plain | None]:
    """The values of the columns of parameters."""
    return {
        name: None if _is_word(column, plain[name]) else plain[name]
        for name, column in _parameter_columns().items()
    }


def written(name: str, value: Plain | None) -> Plain:
    """The value of a parameter as --set takes it: the word that its column has as null."""
    if value is not None:
        return value
    column = _parameter_columns().get(name)
    word = column.metadata and column.metadata.get(b"null") if column else None
    return word.decode() if word else "none"


def _is_word(column: pyarrow.Field, value: object) -> bool:
    words = column.metadata or {}
    return isinstance(value, str) and words.get(b"null") == value.encode()


def write(out_dir: Path, document: SweepDocument) -> Path:
    """Write results.parquet into the directory of the runs."""
    path = out_dir / FILE
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(table(document, out_dir), sink, write_page_checksum=True)
    atomicfile.write(path, sink.getvalue().to_pybytes())
    return path


def read(out_dir: Path) -> pyarrow.Table:
    """Read results.parquet of a directory of runs. Raises InputError."""
    path = out_dir / FILE
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; give a directory that `run` wrote") from None
    try:
        # In this thread, because Arrow's threads sometimes abort the program at exit.
        file = parquet.ParquetFile(pyarrow.BufferReader(content), page_checksum_verification=True)
        rows = file.read(use_threads=False)
    except (pyarrow.ArrowException, OSError, ValueError):
        raise _damaged(path) from None
    metadata = rows.schema.metadata or {}
    if metadata.get(b"airtcp.schema") != str(SCHEMA).encode():
        raise InputError(f"{path}: not a table that this version of airtcp reads (schema {SCHEMA})")
    # Parquet has checksums only of values, not of the schema.
    columns_hash = metadata.get(b"airtcp.columns", b"").decode(errors="replace")
    if columns_hash and columns_hash != _columns_hash(rows.schema):
        raise _damaged(path)
    try:
        known = set(factors(rows)) <= set(rows.column_names)
    except (KeyError, TypeError, ValueError):
        known = False
    if not known:
        raise _damaged(path)
    return earlier.table(rows, str(path))


def _damaged(path: Path) -> InputError:
    return InputError(
        f"{path}: not Parquet, truncated or damaged; repeat its `run` to write it again"
    )


def _columns_hash(columns: Iterable[pyarrow.Field]) -> str:
    """SHA-256 of a line with name and type for each column."""
    lines = "".join(f"{column.name} {column.type}\n" for column in columns)
    return hashlib.sha256(lines.encode()).hexdigest()


def factors(recorded: pyarrow.Table) -> list[str]:
    """The factors of a table."""
    names: list[str] = json.loads(recorded.schema.metadata[b"airtcp.factors"])
    return names


def topology(recorded: pyarrow.Table) -> Any:
    """The custom topology of a table, as in results.json; None if it has none or is older."""
    return json.loads(recorded.schema.metadata.get(b"airtcp.topology", b"null"))

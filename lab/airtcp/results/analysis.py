# SPDX-License-Identifier: GPL-2.0-only
"""SQL over the runs of finished sweeps, and the comparison of two sweeps."""

import csv
import io
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pyarrow
import pyarrow.compute

from airtcp import interrupts
from airtcp.errors import InputError
from airtcp.experiment.casenames import case_name
from airtcp.experiment.experiment import KERNEL_FACTOR
from airtcp.experiment.metrics import METRICS, unknown_metric
from airtcp.parameters import PARAMETER_NAMES, Parameters
from airtcp.parameters.quantity import Plain
from airtcp.results import artifacts, documents, parquet
from airtcp.results.index import Index
from airtcp.results.record import RUNS, FlowRecord
from airtcp.results.table import aligned
from airtcp.statistics import paired_ratio, summarize
from airtcp.steps.workloads import headline_of
from airtcp.units import rounded

with interrupts.deferred():  # an interrupted import prints a traceback of its own
    import duckdb

Form = Literal["table", "csv", "json"]


@dataclass(frozen=True)
class Answer:
    """Rows with named columns."""

    names: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def column(self, name: str) -> list[Any]:
        """The values of a column, without None and 0."""
        number = self.names.index(name)
        return [row[number] for row in self.rows if row[number]]

    def text(self, form: Form) -> str:
        """The rows as text; None is - in a table, empty in CSV, null in JSON, like NaN there."""
        if form == "json":
            return json.dumps(self._objects(), indent=1, default=str) + "\n"
        return self._csv() if form == "csv" else self._table() + "\n"

    def _objects(self) -> list[dict[str, Any]]:
        return [
            {name: _as_json(value) for name, value in zip(self.names, row, strict=True)}
            for row in self.rows
        ]

    def _csv(self) -> str:
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        writer.writerow(self.names)
        writer.writerows(self.rows)
        return written.getvalue()

    def _table(self) -> str:
        texts = [
            number
            for number in range(len(self.names))
            if any(isinstance(row[number], str) for row in self.rows)
        ]
        return aligned([self.names, *(list(map(_shown, row)) for row in self.rows)], texts)


def _as_json(value: object) -> object:
    """JSON has neither infinity nor NaN, no decimal numbers, and only words as keys."""
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _as_json(item) for key, item in value.items()}
    return value


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        # Counts, such as segments, keep all their digits.
        return rounded(value, 6) if abs(value) >= 1 else f"{value:.6g}"
    return str(value)


Warn = Callable[[str], object]


def table(directory: Path, warn: Warn, *, verify: bool = False) -> pyarrow.Table:
    """Read results.parquet, without runs that have damaged files; warn is called for each.

    Files are read only if they have changed since they were verified, or with `verify`. Raises
    InputError if the directory has no tables of a sweep, or damaged ones.
    """
    known = None if verify else _as_indexed(directory)
    if known is not None:
        return known
    document = documents.read(directory)
    path = directory / parquet.FILE
    sha256 = document.tables.get(parquet.FILE)
    if sha256 and (problem := artifacts.change(path, sha256)):
        raise InputError(f"{path} {problem}; repeat its `run` to write it again")
    rows = parquet.read(directory)
    damaged = artifacts.damaged(document.runs, directory, verify=verify)
    for damage in damaged:
        warn(str(damage))
    excluded = {damage.run.identity for damage in damaged}
    return rows.filter(
        pyarrow.array([identity not in excluded for identity in rows["identity"].to_pylist()])
    )


def _as_indexed(directory: Path) -> pyarrow.Table | None:
    """The table of a sweep if nothing has changed since its tables and runs were verified."""
    index = Index(directory)
    if not (directory / RUNS).is_dir() or not index.has_tables():
        return None
    rows = parquet.read(directory)
    finished = pyarrow.compute.equal(rows["status"], "ok")
    identities = set(rows.filter(finished)["identity"].to_pylist())
    return rows if index.unchanged(identities) == identities else None


def runs(directories: Sequence[Path], warn: Warn, *, verify: bool = False) -> pyarrow.Table:
    """The concatenated runs of sweeps; the first column, sweep, is the directory."""
    tables = []
    for directory in directories:
        rows = table(directory, warn, verify=verify)
        names = pyarrow.array([str(directory)] * len(rows), pyarrow.string())
        tables.append(rows.add_column(0, "sweep", names))
    # A column that a sweep of another version does not have is null.
    return pyarrow.concat_tables(tables, promote_options="default")


# The other values of a flow are numbers.
_FLOW_TYPES: dict[Any, pyarrow.DataType] = {
    **{str: pyarrow.string(), str | None: pyarrow.string()},
    int | None: pyarrow.int64(),
}
_FLOW = pyarrow.schema(
    [
        *(pyarrow.field(name, pyarrow.string()) for name in ("sweep", "identity")),
        *(
            pyarrow.field(name, _FLOW_TYPES.get(field.annotation, pyarrow.float64()))
            for name, field in FlowRecord.model_fields.items()
        ),
    ]
)


def flows(directories: Sequence[Path], view: pyarrow.Table) -> pyarrow.Table:
    """The flows in the custom topologies of a view's runs, by sweep and identity of the run."""
    known = set(zip(view["sweep"].to_pylist(), view["identity"].to_pylist(), strict=True))
    rows = [
        {"sweep": str(directory), "identity": run.identity, **flow.model_dump(by_alias=False)}
        for directory in directories
        for run in documents.read(directory).runs
        if (str(directory), run.identity) in known
        for flow in run.flows
    ]
    return pyarrow.Table.from_pylist(rows, schema=_FLOW)


# SQL can access only these views: no files, no network, no variables of this program.
_CONFIGURATION: dict[str, Any] = {
    "allow_community_extensions": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
}


def query(sql: str, directories: Sequence[Path], warn: Warn, *, verify: bool = False) -> Answer:
    """Run SQL on the views `runs` and `flows` of sweeps.

    Raises InputError for invalid SQL, and for a directory that is given twice: its runs would count
    twice.
    """
    _check_different(directories)
    view = runs(directories, warn, verify=verify)
    with (
        duckdb.connect(config=_CONFIGURATION) as connection,
        # In a thread, because DuckDB rarely checks for Ctrl-C.
        ThreadPoolExecutor(1) as thread,
    ):
        connection.register("runs", view)
        if re.search(r"\bflows\b", sql, re.IGNORECASE):  # results.json takes longer to read
            connection.register("flows", flows(directories, view))
        connection.execute("SET lock_configuration = true")
        answer = thread.submit(_execute, connection, sql)
        try:
            return answer.result()
        except duckdb.Error as error:
            raise InputError(f"SQL: {_one_line(str(error))}") from None
        except KeyboardInterrupt:
            while not answer.done():
                connection.interrupt()
                wait([answer], timeout=0.05)
            raise


def _check_different(directories: Sequence[Path]) -> None:
    given: dict[Path, Path] = {}
    for directory in directories:
        if (first := given.setdefault(directory.resolve(), directory)) is not directory:
            raise InputError(f"{directory}: is the same directory as {first}; give each once")


def _execute(connection: duckdb.DuckDBPyConnection, sql: str) -> Answer:
    if (count := len(connection.extract_statements(sql))) != 1:
        contains = f"{count} statements" if count else "no statement"
        raise InputError(f"SQL: contains {contains}; give one, such as SELECT seed FROM runs")
    connection.execute(sql)
    names = [column[0] for column in connection.description or ()]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise InputError(f"SQL: two columns have the name {name}; name one with AS")
    return Answer(names, connection.fetchall())


def _one_line(message: str) -> str:
    """DuckDB's message, without the query that it repeats, or a traceback of Python."""
    return " ".join(re.split(r"\nLINE |\W*Traceback ", message)[0].split())


def export(directory: Path, warn: Warn, *, verify: bool = False) -> Answer:
    """The complete table of a sweep."""
    runs_table = table(directory, warn, verify=verify)
    rows = zip(*(column.to_pylist() for column in runs_table.columns), strict=True)
    return Answer(runs_table.column_names, list(rows))


_FACTORS = (KERNEL_FACTOR, *PARAMETER_NAMES)


@dataclass(frozen=True)
class Run:
    """A row of the table. parameters: all columns, and the defaults of parameters without one."""

    seed: int
    parameters: Mapping[str, Plain | None]
    metrics: Mapping[str, float | None]

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Run":
        # Parameters that are missing in a sweep of an older version have the current defaults.
        defaults = {KERNEL_FACTOR: None} | parquet.parameters(Parameters.defaults())
        return cls(row["seed"], {**defaults, **row}, {name: row.get(name) for name in METRICS})

    @property
    def key(self) -> "_Key":
        """Runs with the same key are compared."""
        return (*(self.parameters[name] for name in _FACTORS), self.seed)


_Key = tuple[Plain | None, ...]


@dataclass(frozen=True)
class Pairs:
    """Pairs of runs of two sweeps with equal parameters and seed: by case, then by seed.

    alone: number of runs in each sweep without a counterpart. differing: if there are no pairs,
    parameters (and seed) that have no value in common, as `delay (0ms; 10ms)`, or a text if there
    is no such parameter. topology: in the same form, the differences between custom topologies.
    """

    factors: Sequence[str]
    cases: Sequence[dict[int, tuple[Run, Run]]]
    alone: tuple[int, int]
    differing: Sequence[str] = ()
    topology: Sequence[str] = ()


def pair(first: Path, second: Path, warn: Warn, *, verify: bool = False) -> Pairs:
    """The runs that two sweeps have in common. Raises InputError as table() does."""
    tables = [table(directory, warn, verify=verify) for directory in (first, second)]
    first_runs, second_runs = (
        {run.key: run for run in map(Run.of, table.to_pylist())} for table in tables
    )
    cases: dict[_Key, dict[int, tuple[Run, Run]]] = {}
    for key, run in first_runs.items():
        if key in second_runs:
            cases.setdefault(key[:-1], {})[run.seed] = (run, second_runs[key])
    factors = dict.fromkeys(name for table in tables for name in parquet.factors(table))
    alone = len(first_runs.keys() - second_runs.keys()), len(second_runs.keys() - first_runs.keys())
    differing = () if cases else _differing(list(first_runs), list(second_runs))
    topology = _differences(*map(parquet.topology, tables))
    return Pairs(list(factors), list(cases.values()), alone, differing, topology)


def _differing(first: Sequence[_Key], second: Sequence[_Key]) -> list[str]:
    differing = []
    for number, name in enumerate((*_FACTORS, "seed")):
        values = [
            list(dict.fromkeys(str(parquet.written(name, key[number])) for key in keys))
            for keys in (first, second)
        ]
        if set(values[0]).isdisjoint(values[1]):
            differing.append(f"{name} ({'; '.join(' '.join(each) for each in values)})")
    return differing or ["combinations of parameters and seeds"]


def _differences(first: Any, second: Any, at: str = "") -> list[str]:
    """What differs between two topologies, as `topology.stations.phone.distance (5m; 7m)`.

    None, of a sweep of an older version or without a custom topology, differs in nothing.
    """
    if first == second or (not at and None in (first, second)):
        return []
    if isinstance(first, dict) and isinstance(second, dict):
        return [
            line
            for key in dict.fromkeys((*first, *second))
            for line in _differences(first.get(key), second.get(key), f"{at}.{key}".strip("."))
        ]
    if isinstance(first, list) and isinstance(second, list):
        numbered = [{str(n): each for n, each in enumerate(items, 1)} for items in (first, second)]
        return _differences(numbered[0], numbered[1], at)
    shown = ["none" if value is None else value for value in (first, second)]
    return [f"{at} ({shown[0]}; {shown[1]})"]


def compare(pairs: Pairs, metrics: Sequence[str]) -> Answer:
    """A row for each case and metric; default: the headline metric of the case's workload.

    first and second are means over the n runs that have the metric in both sweeps, ratio is the
    mean of second / first over pairs of runs, ci95 the half width of its 95% interval. Raises
    InputError for an unknown metric.
    """
    for metric in metrics:
        if metric not in METRICS:
            raise InputError(f"--metric: {unknown_metric(metric)}")
    rows = [
        _compared(pairs.factors, seeds, metric)
        for seeds in pairs.cases
        for metric in metrics or [_headline_metric(seeds)]
    ]
    return Answer(("case", "metric", "n", "first", "second", "ratio", "ci95"), rows)


def _headline_metric(seeds: dict[int, tuple[Run, Run]]) -> str:
    """Of the first run with metrics: failed ones have none."""
    runs = [run for run, _ in seeds.values()]
    succeeded = (run for run in runs if set(run.metrics.values()) != {None})
    run = next(succeeded, runs[0])
    return headline_of(str(run.parameters["workload"]), run.metrics).metric


def _compared(
    factors: Sequence[str], seeds: dict[int, tuple[Run, Run]], metric: str
) -> Sequence[Any]:
    run, _ = next(iter(seeds.values()))
    case = case_name({name: parquet.written(name, run.parameters[name]) for name in factors})
    first: dict[int, float] = {}
    second: dict[int, float] = {}
    for seed, (first_run, second_run) in seeds.items():
        values = first_run.metrics[metric], second_run.metrics[metric]
        if values[0] is not None and values[1] is not None:
            first[seed], second[seed] = values[0], values[1]
    if not first:
        return case, metric, 0, None, None, None, None
    means = [summarize(list(values.values())).mean for values in (first, second)]
    ratio = paired_ratio(first, second)
    interval = (ratio.mean, ratio.ci95) if ratio else (None, None)
    return case, metric, len(first), *means, *interval

# SPDX-License-Identifier: GPL-2.0-only
"""The sweeps in a directory, as the pages need them."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from airtcp.errors import AirtcpError, InputError
from airtcp.experiment.metrics import METRICS
from airtcp.report import model
from airtcp.report.model import Results, Run, run_name
from airtcp.results import analysis, documents, parquet
from airtcp.results.analysis import Answer, Warn
from airtcp.results.documents import SweepDocument

ROWS_PER_PAGE = 200
_DEPTH = 3
_KEPT = 4


@dataclass(frozen=True)
class Sweep:
    """name: its directory, relative to the one that is shown; the document of results.json."""

    name: str
    directory: Path
    document: SweepDocument

    @property
    def finished(self) -> int:
        return sum(run.ok for run in self.document.runs)

    @property
    def failed(self) -> int:
        return len(self.document.runs) - self.finished

    @property
    def factors(self) -> list[str]:
        """The factors with more than one value."""
        rows = [run.factors for run in self.document.runs]
        names = dict.fromkeys(name for row in rows for name in row)
        return [name for name in names if len({str(row.get(name)) for row in rows}) > 1]

    @property
    def metrics(self) -> list[str]:
        """The metrics that some run has."""
        measured = {name for run in self.document.runs for name in run.values}
        return [name for name in METRICS if name in measured]

    @property
    def has_report(self) -> bool:
        return (self.directory / "report.html").exists()


@dataclass(frozen=True)
class Broken:
    """A sweep that cannot be read, and why."""

    name: str
    problem: str


class Sweeps:
    """Finds the sweeps in a directory, and reads each again only after its results.json changed.

    Threads share it. One that needs what another is reading waits for it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._reading, self._loading = Lock(), Lock()
        self._documents: dict[Path, tuple[int, SweepDocument]] = {}
        self._results: OrderedDict[tuple[Path, int], Results] = OrderedDict()

    def all(self) -> list[Sweep | Broken]:
        """All sweeps, the newest first."""
        patterns = ["/".join([*["*"] * depth, documents.FILE]) for depth in range(_DEPTH)]
        found = {path for pattern in patterns for path in self.root.glob(pattern)}
        newest = sorted(found, key=lambda path: (-_changed_ns(path.parent), path))
        return [self._read(path.parent) for path in newest]

    def get(self, name: str) -> Sweep:
        """A sweep by its name. Raises InputError if there is none, or if it cannot be read."""
        directory = (self.root / name).resolve()
        if not directory.is_relative_to(self.root) or not (directory / documents.FILE).is_file():
            raise InputError(f"{name}: no such sweep")
        sweep = self._read(directory)
        if isinstance(sweep, Broken):
            raise InputError(sweep.problem)
        return sweep

    def results(self, sweep: Sweep) -> Results:
        """What the report of the sweep is made of; the last ones read are kept."""
        key = (sweep.directory, _changed_ns(sweep.directory))
        with self._loading:
            if key not in self._results:
                self._results[key] = model.load(sweep.directory)
                while len(self._results) > _KEPT:
                    self._results.popitem(last=False)
            self._results.move_to_end(key)
            return self._results[key]

    def _read(self, directory: Path) -> Sweep | Broken:
        name = str(directory.relative_to(self.root))
        changed_ns = _changed_ns(directory)
        with self._reading:
            known = self._documents.get(directory)
            if known is None or known[0] != changed_ns:
                try:
                    known = (changed_ns, documents.read(directory))
                except AirtcpError as error:
                    return Broken(name, str(error))
                self._documents[directory] = known
        return Sweep(name, directory, known[1])


def _changed_ns(directory: Path) -> int:
    """When results.json changed; 0 if it has been removed, which reading it reports."""
    try:
        return (directory / documents.FILE).stat().st_mtime_ns
    except OSError:
        return 0


def find_run(results: Results, name: str) -> Run:
    """A finished run by its name, CASE/seed-N. Raises InputError if there is none."""
    for run in results.runs:
        if run_name(run.directory) == name:
            return run
    raise InputError(f"{name}: no such finished run")


@dataclass(frozen=True)
class Selection:
    """Which rows and columns of the table of runs to show.

    chosen: values of factors. where: a condition in SQL, over the columns of results.parquet.
    """

    chosen: Mapping[str, str]
    where: str
    metrics: Sequence[str]
    order: str
    page: int


def select(sweep: Sweep, selection: Selection, warn: Warn) -> tuple[Answer, int]:
    """A page of the selected runs, and the number of all selected runs.

    The first columns are identity, factors, seed and status. warn is called for each run that has
    damaged files. Raises InputError for unknown columns and invalid conditions.
    """
    names = ["identity", *sweep.factors, "seed", "status", *selection.metrics]
    names = list(dict.fromkeys(names))
    order = selection.order.removeprefix("-")
    known = {field.name for field in parquet.columns()}
    for name in (*names, *selection.chosen, *([order] if order else ())):
        if name not in known:
            raise InputError(f"{name}: no such column")
    conditions = [_has_value(key, value) for key, value in selection.chosen.items()]
    if selection.where:
        conditions.append(f"({selection.where})")
    condition = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    ordered = f" ORDER BY {_name(order)}{_direction(selection)} NULLS LAST" if order else ""
    sql = f"SELECT {', '.join(map(_name, names))} FROM runs{condition}{ordered}"
    answer = analysis.query(sql, [sweep.directory], warn)
    rows = list(answer.rows)
    if not order:
        place = {run.identity: number for number, run in enumerate(sweep.document.runs)}
        rows.sort(key=lambda row: place.get(row[0], len(place)))  # the files may be newer
    first = max(0, selection.page - 1) * ROWS_PER_PAGE
    return Answer(answer.names, rows[first : first + ROWS_PER_PAGE]), len(rows)


def _has_value(column: str, value: str) -> str:
    """SQL: columns of numbers have a word, such as `kernel`, as null."""
    word = _text(str(parquet.written(column, None)))
    return f"COALESCE(CAST({_name(column)} AS VARCHAR), {word}) = {_text(value)}"


def _direction(selection: Selection) -> str:
    return " DESC" if selection.order.startswith("-") else ""


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def values_of(sweep: Sweep, factor: str) -> list[Any]:
    """The values of a factor, in their order in the sweep."""
    runs = sweep.document.runs
    return list(dict.fromkeys(run.factors[factor] for run in runs if factor in run.factors))

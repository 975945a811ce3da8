# SPDX-License-Identifier: GPL-2.0-only
"""The pages: all sweeps, the runs of one, a run, the comparison of two sweeps, files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote, urlencode

from airtcp.errors import AirtcpError, InputError
from airtcp.experiment.metrics import METRICS, unknown_metric
from airtcp.parameters import Parameters
from airtcp.report import inside, series, svg, timeline
from airtcp.report import page as report_page
from airtcp.report.model import Results, Run, readable, run_name
from airtcp.report.plot import Plot
from airtcp.report.policies import Policies
from airtcp.results import analysis, table
from airtcp.steps.workloads import HEADLINES
from airtcp.ui.sweeps import (
    ROWS_PER_PAGE,
    Selection,
    Sweep,
    Sweeps,
    find_run,
    select,
    values_of,
)
from airtcp.units import counted

_TEMPLATES = Path(__file__).parent / "templates"
_TIMELINE_STEP_MS = 50

_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".pdf": "application/pdf",
    ".json": "application/json",
    **dict.fromkeys((".csv", ".txt", ".log", ".sh", ".out", ".err"), "text/plain; charset=utf-8"),
}


@dataclass(frozen=True)
class Page:
    """An answer: body, content type, status."""

    body: bytes
    kind: str = "text/html; charset=utf-8"
    status: HTTPStatus = HTTPStatus.OK


def page(sweeps: Sweeps, base: str, path: str, given: Mapping[str, str]) -> Page:
    """The page at a path, with the values of the query string.

    base: the path of the first page. Raises AirtcpError if it cannot be shown.
    """
    if path.startswith("file/"):
        return _file(sweeps, path.removeprefix("file/"))
    pages: Mapping[str, Callable[[Sweeps, str, Mapping[str, str]], Page]] = {
        "": _index,
        "sweep": _sweep,
        "run": _run,
        "compare": _compare,
    }
    if path not in pages:
        raise InputError(f"{path}: no such page")
    return pages[path](sweeps, base, given)


def problem(base: str, message: str) -> Page:
    """A page that says what is wrong."""
    return _fill("problem.html", base, HTTPStatus.BAD_REQUEST, message=message)


def _fill(
    template: str, base: str, status: HTTPStatus = HTTPStatus.OK, /, **values: object
) -> Page:
    def link(path: str, **query: object) -> str:
        words = {key: str(value) for key, value in query.items() if value not in (None, "")}
        return f"{base}/{quote(path)}" + (f"?{urlencode(words)}" if words else "")

    body = report_page.fill(template, _TEMPLATES, link=link, **values).encode()
    return Page(body, status=status)


def _index(sweeps: Sweeps, base: str, _given: Mapping[str, str]) -> Page:
    return _fill("sweeps.html", base, root=sweeps.root, sweeps=sweeps.all())


def _number(given: Mapping[str, str], name: str, default: int) -> int:
    text = given.get(name, "")
    if text and not (text.isdecimal() and len(text) < 10):
        raise InputError(f"{name}={text}: not a whole number of at most 9 digits")
    return int(text) if text else default


def _sweep(sweeps: Sweeps, base: str, given: Mapping[str, str]) -> Page:
    """The table of its runs. After an error, the form keeps its contents."""
    sweep = sweeps.get(given.get("sweep", ""))
    metrics = given.get("metrics", "").replace(",", " ").split() or _headlines(sweep)
    chosen = {name: given[f"is_{name}"] for name in sweep.factors if given.get(f"is_{name}")}
    selection = Selection(
        chosen, given.get("where", ""), metrics, given.get("order", ""), _number(given, "page", 1)
    )
    damaged: list[str] = []
    wrong = ""
    try:
        answer, count = select(sweep, selection, damaged.append)
    except InputError as error:
        answer, count, wrong = analysis.Answer((), ()), 0, str(error)
    names = {run.identity: run_name(run.directory(sweep.directory)) for run in sweep.document.runs}
    return _fill(
        "sweep.html",
        base,
        HTTPStatus.BAD_REQUEST if wrong else HTTPStatus.OK,
        sweep=sweep,
        others=[
            other for other in sweeps.all() if isinstance(other, Sweep) and other.name != sweep.name
        ],
        selection=selection,
        damaged=damaged,
        wrong=wrong,
        given=dict(given),
        columns=answer.names[1:],
        units={name: METRICS[name].unit for name in METRICS},
        rows=[(names[row[0]], row[1:]) for row in answer.rows],
        count=count,
        pages=-(-count // ROWS_PER_PAGE),
        values={name: values_of(sweep, name) for name in sweep.factors},
    )


def _headlines(sweep: Sweep) -> list[str]:
    """The headline metrics of its workloads."""
    return [line.metric for line in HEADLINES.values() if line.metric in sweep.metrics]


def _run(sweeps: Sweeps, base: str, given: Mapping[str, str]) -> Page:
    sweep = sweeps.get(given.get("sweep", ""))
    results = sweeps.results(sweep)
    run = find_run(results, given.get("run", ""))
    at_ms = _number(given, "at", 0) if given.get("at") else None
    plots, notes = _plots(results, run, at_ms)
    defaults = Parameters.defaults()
    return _fill(
        "run.html",
        base,
        sweep=sweep,
        name=run_name(run.directory),
        run=run,
        units={name: METRICS[name].unit for name in METRICS},
        parameters={
            name: readable(value)
            for name, value in run.parameters.items()
            if value != defaults.get(name)
        },
        # Empty if only the tables of a sweep were kept.
        files=sorted(path.name for path in run.directory.glob("*") if path.is_file()),
        figures=[(plot, svg.draw(plot).svg) for plot in plots],
        notes=notes,
        at=_start_ms(plots, at_ms),
        step=_TIMELINE_STEP_MS,
    )


def _plots(results: Results, run: Run, at_ms: int | None) -> tuple[list[Plot], list[str]]:
    """Window, RTT and goodput over time, and the timeline of the medium; why one is missing."""
    notes: list[str] = []
    plots: list[Plot] = []
    policy = str(run.parameters["ack_policy"])
    title = "Congestion window, RTT and goodput over time"
    try:
        if run.testbed.over("tcp"):
            lines = {policy: series.over_time(run.directory, run.testbed)}
            figure = inside.over_time(lines, Policies(results.policies))
            plots.append(Plot("time", title, f"Seed {run.seed}.", title, figure))
        else:
            notes.append(f"{title}: available only for the workload bulk over TCP.")
    except AirtcpError as error:
        notes.append(str(error))
    try:
        timelines, left_out = timeline.plots(results, at_ms, run_name(run.directory))
    except AirtcpError as error:
        return plots, [*notes, str(error)]
    return [*plots, *timelines], [*notes, *left_out]


def _start_ms(plots: Sequence[Plot], wanted_ms: int | None) -> int | None:
    """Where the timeline starts; the wanted start if there is none, as after the capture's end."""
    pictures = [plot.figure for plot in plots if plot.figure.is_picture]
    return round(pictures[0].panels[0].x.limits[0]) if pictures else wanted_ms


def _compare(sweeps: Sweeps, base: str, given: Mapping[str, str]) -> Page:
    """The comparison of two sweeps. After an error, the form keeps its contents."""
    first, second = (sweeps.get(given.get(name, "")) for name in ("first", "second"))
    metrics = given.get("metrics", "").replace(",", " ").split()
    damaged: list[str] = []
    pairs = analysis.pair(first.directory, second.directory, damaged.append)
    wrong = next((unknown_metric(name) for name in metrics if name not in METRICS), "")
    answer = analysis.compare(pairs, metrics) if pairs.cases and not wrong else None
    few = table.note(answer.column("n"), "seeds") if answer else None
    return _fill(
        "compare.html",
        base,
        HTTPStatus.BAD_REQUEST if wrong else HTTPStatus.OK,
        first=first,
        second=second,
        metrics=metrics,
        pairs=pairs,
        alone=counted(pairs.alone[0], "run"),
        damaged=damaged,
        answer=answer,
        wrong=wrong,
        few=few.removeprefix("note: ") if few else "",
        known=[name for name in first.metrics if name in second.metrics],
    )


def _file(sweeps: Sweeps, path: str) -> Page:
    """A file below the directory that is shown; links do not lead out of it."""
    target = (sweeps.root / path).resolve()
    if sweeps.root not in target.parents or not target.is_file():
        raise InputError(f"{path}: no such file")
    try:
        content = target.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    return Page(content, _KINDS.get(target.suffix, "application/octet-stream"))

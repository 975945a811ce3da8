# SPDX-License-Identifier: GPL-2.0-only
"""The place of each measured case in a declared figure: its panel and its line."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from airtcp.experiment.figures import MetricFigure, TimeFigure
from airtcp.experiment.metrics import METRICS
from airtcp.parameters import NUMBERS, Parameters
from airtcp.report.figure import Axis
from airtcp.report.model import Measured, Published, factor, readable, words
from airtcp.statistics import Summary, paired_ratio

# Parts of the names of metrics as people write them. Units are written elsewhere.
_WORDS: Mapping[str, str] = {
    "mbps": "",
    "ms": "",
    "rtt": "RTT",
    "tcp": "TCP",
    "ack": "ACK",
    "acks": "ACKs",
    "jain": "(Jain's index)",
    "ampdu": "aggregate",
    "mpdus": "size",
    "segments": "",
    "mean": ", mean",
    "max": ", longest",
    "p50": ", median",
}


# Values that leave a parameter to somebody else, or out.
_NOT_CHOSEN = ("none", "kernel", "preset", "unlimited")


@dataclass(frozen=True)
class Place:
    """A measured case, and the labels of its panel, its line and its point."""

    row: str
    panel: str
    line: str
    along: str
    measured: Measured

    def published(self, metrics: Sequence[str]) -> list[Published] | None:
        """What others measured in the same case; None unless they did every one of these."""
        found = [self.measured.published.get(metric) for metric in metrics]
        return None if None in found else [one for one in found if one]


@dataclass(frozen=True)
class Layout:
    """The places in the order of the cases, and every label of each kind in that order."""

    places: Sequence[Place]

    @property
    def panels(self) -> list[tuple[str, str]]:
        """(row, panel), row by row; of those that have a case."""
        there = {(one.row, one.panel) for one in self.places}
        columns = _each(self.places, lambda one: one.panel)
        each = itertools.product(self.rows, columns)
        return [one for one in each if one in there]

    @property
    def rows(self) -> list[str]:
        return _each(self.places, lambda one: one.row)

    @property
    def lines(self) -> list[str]:
        return _each(self.places, lambda one: one.line)

    @property
    def alongs(self) -> list[str]:
        return _each(self.places, lambda one: one.along)

    def at(self, row: str, panel: str, line: str) -> list[Place]:
        return [one for one in self.places if (one.row, one.panel, one.line) == (row, panel, line)]


def lay_out(figure: MetricFigure | TimeFigure, cases: Sequence[Measured]) -> Layout:
    """Factors that the figure does not name but that differ make lines of their own."""
    parameters = [{**Parameters.defaults(), **case.runs[0].parameters} for case in cases]
    named = figure.factors()
    others = [name for name in differing(parameters) if name not in named.values()]

    def one(key: str, of: Mapping[str, Any]) -> str:
        return factor(named[key], of[named[key]]) if key in named else ""

    return Layout(
        [
            Place(
                row=one("rows", of),
                panel=one("panels", of),
                line=line([named["lines"]] if "lines" in named else [], others, of),
                along=readable(of[named["along"]]) if "along" in named else "",
                measured=case,
            )
            for case, of in zip(cases, parameters, strict=True)
        ]
    )


def with_factor(case: Measured, name: str) -> Measured:
    """The case with a number of its parameters among what was measured, and published."""
    value = NUMBERS[name].of(case.runs[0].settings)
    if value is None:
        return case
    return replace(
        case,
        summaries={**case.summaries, name: Summary(value, None, len(case.runs))},
        published={**case.published, name: Published(value, "", False)},
    )


def relative(figure: MetricFigure, cases: Sequence[Measured]) -> list[Measured]:
    """The cases beside the baseline, their metrics as ratios, seed by seed, to the baseline's."""
    lines = figure.factors()["lines"]
    others = [name for name in figure.factors().values() if name != lines]

    def key(case: Measured) -> tuple[str, ...]:
        return tuple(str(case.runs[0].parameters[name]) for name in others)

    def is_baseline(case: Measured) -> bool:
        return str(case.runs[0].parameters[lines]) == figure.relative_to

    baselines = {key(case): case for case in cases if is_baseline(case)}
    found = []
    for case in cases:
        if is_baseline(case) or key(case) not in baselines:
            continue
        base = baselines[key(case)]
        ratios = {y: paired_ratio(base.by_seed(y), case.by_seed(y)) for y in figure.y}
        known = {y: ratio for y, ratio in ratios.items() if ratio}
        found.append(replace(case, summaries={**case.summaries, **known}, published={}))
    return found


def points(places: Iterable[Place], x: str, y: str) -> list[tuple[str, Summary, Summary]]:
    """Of those that have both metrics: the label, and the means."""
    return [
        (one.along, one.measured.summaries[x], one.measured.summaries[y])
        for one in places
        if {x, y} <= one.measured.summaries.keys()
    ]


def differing(several: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names whose values are not the same in all."""
    names = several[0] if several else ()
    return [name for name in names if len({str(one.get(name)) for one in several}) > 1]


def line(own: Sequence[str], others: Sequence[str], of: Mapping[str, Any]) -> str:
    """The name of a line. A value of its factors that is a word stands without the factor's name.

    Factors whose value means that nothing was chosen are left out, unless all are such.
    """
    chosen = [name for name in (*own, *others) if str(of[name]) not in _NOT_CHOSEN]
    labels = [
        str(of[name]) if _is_word(of[name]) and name in own else factor(name, of[name])
        for name in chosen or own
    ]
    return ", ".join(labels)


def _is_word(value: object) -> bool:
    return str(value).isidentifier() and value not in ("on", "off")


def axis(metrics: Sequence[str], relative_to: str | None = None) -> Axis:
    """The axis of metrics of one unit: their names' common beginning, and the unit."""
    common = _common(metrics)
    if relative_to:
        return Axis(f"{common} relative to {relative_to}")
    own = NUMBERS if metrics[0] in NUMBERS else METRICS
    return Axis(common, own[metrics[0]].unit)


def _common(metrics: Sequence[str]) -> str:
    """The first words that all names have in common, or all the names."""
    named = [name(metric) for metric in metrics]
    columns = zip(*(one.split() for one in named), strict=False)
    same = itertools.takewhile(lambda column: len(set(column)) == 1, columns)
    return " ".join(first for first, *_ in same).rstrip(",") or " and ".join(named)


def name(metric: str) -> str:
    """The name of a metric or a factor: `ping_rtt_ms_p50` is ping RTT, median."""
    if metric in NUMBERS:
        return words(metric)
    parts = []
    for word in metric.split("_"):
        percentile = f", {word[1:]}th percentile" if word[:1] == "p" and word[1:].isdigit() else ""
        parts.append(_WORDS.get(word, percentile or word))
    return " ".join(part for part in parts if part).replace(" ,", ",")


def heading(name: str | None) -> str:
    """The head of a table's column of a factor."""
    return words(name) if name else "line"


def _each(places: Iterable[Place], label: Callable[[Place], str]) -> list[str]:
    return list(dict.fromkeys(map(label, places)))

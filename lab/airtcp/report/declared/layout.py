# SPDX-License-Identifier: GPL-2.0-only
"""The place of each measured case in a declared figure: its panel and its line."""

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from airtcp.experiment.casenames import display_name
from airtcp.experiment.experiment import KERNEL_FACTOR
from airtcp.experiment.figures import MetricFigure, TimeFigure
from airtcp.experiment.metrics import METRICS
from airtcp.parameters import NUMBERS
from airtcp.report.figure import Axis
from airtcp.report.model import Measured, factor, readable
from airtcp.results.documents import PublishedValue
from airtcp.statistics import Summary, paired_ratio
from airtcp.units import parse_duration_s, parse_rate_bps, parse_size_bytes

# Parts of metric names as they appear in labels; units are added separately.
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
    "max": ", maximum",
    "p50": ", median",
    "udp": "UDP",
    "mac": "MAC",
    "he": "HE",
    "tb": "TB",
    "ppdus": "PPDUs",
}
_UNIT = re.compile("_(per_s|w|j_per_gb)$")


_WORD = re.compile("[a-z][a-z0-9_+-]*")

# Values that turn a parameter off or leave it to the kernel or the preset.
_NOT_CHOSEN = ("none", "kernel", "preset", "unlimited")


@dataclass(frozen=True)
class Place:
    """A measured case, and the labels of its panel, its line and its point."""

    row: str
    panel: str
    line: str
    along: str
    measured: Measured
    along_at: float = 0.0

    def published(self, metrics: Sequence[str]) -> list[PublishedValue] | None:
        """The published values of this case; None unless all these metrics have one."""
        values = [self.measured.published.get(metric) for metric in metrics]
        return None if None in values else [value for value in values if value]


@dataclass(frozen=True)
class Layout:
    """The places in the order of the cases, and all labels of each kind in that order."""

    places: Sequence[Place]

    @property
    def panels(self) -> list[tuple[str, str]]:
        """(row, panel) of the panels that have a case, row by row."""
        used = {(place.row, place.panel) for place in self.places}
        columns = _each(self.places, lambda place: place.panel)
        each = itertools.product(self.rows, columns)
        return [cell for cell in each if cell in used]

    @property
    def rows(self) -> list[str]:
        return _each(self.places, lambda place: place.row)

    @property
    def lines(self) -> list[str]:
        return _each(self.places, lambda place: place.line)

    @property
    def alongs(self) -> list[str]:
        ordered = sorted(self.places, key=lambda place: place.along_at)
        return _each(ordered, lambda place: place.along)

    def at(self, row: str, panel: str, line: str) -> list[Place]:
        """The places of a line, in the order in which its points are joined."""
        found = [
            place
            for place in self.places
            if (place.row, place.panel, place.line) == (row, panel, line)
        ]
        return sorted(found, key=lambda place: place.along_at)


def lay_out(figure: MetricFigure | TimeFigure, cases: Sequence[Measured]) -> Layout:
    """Factors that differ but that the figure does not name distinguish lines."""
    parameters = [case.parameters for case in cases]
    named = figure.factors()
    others = [name for name in differing(parameters) if name not in named.values()]

    def label(key: str, values: Mapping[str, Any]) -> str:
        return factor(named[key], values[named[key]]) if key in named else ""

    alongs = [str(values[named["along"]]) for values in parameters if "along" in named]
    order = in_order(dict.fromkeys(alongs))

    return Layout(
        [
            Place(
                row=label("rows", values),
                panel=label("panels", values),
                line=line([named["lines"]] if "lines" in named else [], others, values),
                along=readable(values[named["along"]]) if "along" in named else "",
                measured=case,
                along_at=order.index(str(values[named["along"]])) if "along" in named else 0,
            )
            for case, values in zip(cases, parameters, strict=True)
        ]
    )


def with_factor(case: Measured, name: str) -> Measured:
    """The case with a numeric parameter added to its measured and published values."""
    value = NUMBERS[name].of(case.runs[0].settings)
    if value is None:
        return case
    published = PublishedValue(value=value, precision="exact", source="")
    return replace(
        case,
        summaries={**case.summaries, name: Summary(value, None, len(case.runs))},
        published={**case.published, name: published},
    )


def relative(figure: MetricFigure, cases: Sequence[Measured]) -> list[Measured]:
    """The other cases, with their metrics as ratios to the baseline, seed by seed.

    Without those that have no ratio: no seed is common, or a value of the baseline is 0.
    Of several baselines with the same values of the figure's factors, a case is compared with the
    one that has its values of the factors in which they differ.
    """
    lines = figure.factors()["lines"]
    others = [KERNEL_FACTOR, *(name for name in figure.factors().values() if name != lines)]

    def key(case: Measured, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(str(case.parameters.get(name)) for name in names)

    def is_baseline(case: Measured) -> bool:
        return str(case.parameters[lines]) == figure.relative_to

    alike: dict[tuple[str, ...], list[Measured]] = {}
    for case in filter(is_baseline, cases):
        alike.setdefault(key(case, others), []).append(case)
    apart = {
        values: differing([case.parameters for case in bases]) for values, bases in alike.items()
    }
    baselines = {
        (values, key(case, apart[values])): case
        for values, bases in alike.items()
        for case in bases
    }
    compared = []
    for case in cases:
        values = key(case, others)
        base = baselines.get((values, key(case, apart.get(values, ()))))
        if is_baseline(case) or base is None:
            continue
        ratios = {y: paired_ratio(base.by_seed(y), case.by_seed(y)) for y in figure.y}
        known = {y: ratio for y, ratio in ratios.items() if ratio}
        rest = {name: value for name, value in case.summaries.items() if name not in figure.y}
        if known:
            compared.append(replace(case, summaries={**rest, **known}, published={}))
    return compared


def in_order(values: Iterable[str]) -> list[str]:
    """Quantities of the same kind by size; other values in the given order."""
    listed = list(values)
    for parse in (float, parse_duration_s, parse_rate_bps, parse_size_bytes):
        try:
            return sorted(listed, key=parse)
        except ValueError:
            continue
    return listed


def points(places: Iterable[Place], x: str, y: str) -> list[tuple[str, Summary, Summary]]:
    """(label, mean of x, mean of y) of the places that have both metrics."""
    return [
        (place.along, place.measured.summaries[x], place.measured.summaries[y])
        for place in places
        if {x, y} <= place.measured.summaries.keys()
    ]


def differing(several: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names whose values differ."""
    names = several[0] if several else ()
    return [name for name in names if len({str(values.get(name)) for values in several}) > 1]


def line(own_names: Sequence[str], others: Sequence[str], values: Mapping[str, Any]) -> str:
    """The name of a line. If the value of its own factor is a word, the factor's name is omitted.

    Factors with a value of _NOT_CHOSEN are left out, unless all have one.
    """
    names = [name for name in (*own_names, *others) if str(values[name]) not in _NOT_CHOSEN]
    labels = [
        str(values[name])
        if _is_word(values[name]) and name in own_names
        else factor(name, values[name])
        for name in names or own_names or others
    ]
    return ", ".join(labels)


def _is_word(value: object) -> bool:
    return bool(_WORD.fullmatch(str(value))) and value not in ("on", "off")


def axis(metrics: Sequence[str], relative_to: str | None = None) -> Axis:
    """The axis of metrics of the same unit: the common prefix of their names, and the unit."""
    common = _common(metrics)
    if relative_to:
        return Axis(f"{common} relative to {relative_to}")
    known = NUMBERS if metrics[0] in NUMBERS else METRICS
    return Axis(common, known[metrics[0]].unit)


def _common(metrics: Sequence[str]) -> str:
    """The words with which all names start, or else all the names."""
    named = [name(metric) for metric in metrics]
    columns = zip(*(name.split() for name in named), strict=False)
    same = itertools.takewhile(lambda column: len(set(column)) == 1, columns)
    return " ".join(first for first, *_ in same).rstrip(",") or " and ".join(named)


def name(metric: str) -> str:
    """The label of a metric or a factor: `ping_rtt_ms_p50` is "ping RTT, median"."""
    if metric in NUMBERS:
        return display_name(metric)
    parts = []
    for word in _UNIT.sub("", metric).split("_"):
        percentile = f", {word[1:]}th percentile" if word[:1] == "p" and word[1:].isdigit() else ""
        parts.append(_WORDS.get(word, percentile or word))
    return " ".join(part for part in parts if part).replace(" ,", ",")


def _each(places: Iterable[Place], label: Callable[[Place], str]) -> list[str]:
    return list(dict.fromkeys(map(label, places)))

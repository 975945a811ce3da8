# SPDX-License-Identifier: GPL-2.0-only
"""Metrics against a metric or a factor: a point for each case, joined along a factor."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from airtcp.errors import AirtcpError
from airtcp.experiment.casenames import display_name
from airtcp.experiment.figures import MetricFigure
from airtcp.parameters import NUMBERS
from airtcp.report.declared import layout, panels
from airtcp.report.declared.layout import Layout, Place
from airtcp.report.figure import Entry, Figure, Labels, Line, Mark, Style, Text, floats
from airtcp.report.formats import with_interval
from airtcp.report.model import Measured, Results
from airtcp.report.plot import Plot
from airtcp.report.table import Table
from airtcp.results.documents import FigureRecord
from airtcp.statistics import Summary

_DASH = "\N{EN DASH}"
_PUBLISHED = "published"
_PUBLISHED_STYLE = Style("ink", marker="circle", size=4.6, edge=0.8, hollow=True)
_LABEL_POINTS = 5.5


def build(declared: FigureRecord, results: Results, slug: str, notes: list[str]) -> Plot:
    figure = declared.figure
    assert isinstance(figure, MetricFigure)
    shown = _cases(figure, results.cases, notes)
    laid_out = layout.lay_out(figure, shown)
    table = _table(figure, laid_out)
    heads = 1 + len(figure.y) + table.text_columns
    return Plot(
        slug,
        figure.title,
        _caption(figure, laid_out, shown),
        panels.described(table.rows, table.head[:heads]),
        describe(figure, laid_out),
        table,
    )


def _cases(figure: MetricFigure, cases: Sequence[Measured], notes: list[str]) -> list[Measured]:
    """The cases that have the metrics, as ratios if the figure shows ratios."""
    if figure.x in NUMBERS:
        cases = [layout.with_factor(case, figure.x) for case in cases]
    having = [
        case
        for case in cases
        if figure.x in case.summaries and any(metric in case.summaries for metric in figure.y)
    ]
    if not having:
        raise AirtcpError(f"left out: no run has both {figure.x} and {' or '.join(figure.y)}.")
    if lacking := len(cases) - len(having):
        notes.append(f"{panels.count_cases(lacking)} without these metrics left out.")
    if figure.relative_to:
        having = layout.relative(figure, having)
        if not having:
            raise AirtcpError(f"left out: no case can be compared with {figure.relative_to}.")
    return having


def _table(figure: MetricFigure, laid_out: Layout) -> Table:
    metrics = (figure.x, *figure.y)
    heads, texts = panels.case_columns(figure)
    if figure.along:
        heads.append(display_name(figure.along))
    rows, sources = [], []
    for place in laid_out.places:
        measured, published = place.measured, place.measured.published
        row = [*texts(place), *([place.along] if figure.along else [])]
        row += [with_interval(measured.summaries.get(metric)) for metric in metrics]
        row.append(
            str(
                max(
                    measured.summaries[metric].n
                    for metric in metrics
                    if metric in measured.summaries
                )
            )
        )
        for metric in metrics:
            value = published.get(metric)
            row.append(value.text() if value else _DASH)
            sources += [value.source] if value and value.source else []
        rows.append(row)
    titles = [layout.axis([figure.x]).title]
    titles += [layout.axis([metric], figure.relative_to).title for metric in figure.y]
    return Table(
        [*heads, *titles, "runs", *(f"published {title}" for title in titles)],
        len(heads),
        rows,
        [f"Published: {source}" for source in dict.fromkeys(sources)],
    )


def _caption(figure: MetricFigure, laid_out: Layout, shown: Sequence[Measured]) -> str:
    caption = ["Mean over seeds."]
    drawn = [case.summaries.get(metric) for case in shown for metric in (figure.x, *figure.y)]
    if any(summary and summary.ci95 is not None for summary in drawn):
        caption.append("Thin bars: 95% interval (Student t), which may extend beyond the axes.")
    if figure.along and len(laid_out.alongs) > 1:
        caption.append(
            f"Points of a line are joined along {display_name(figure.along)}: "
            f"{', '.join(laid_out.alongs)}."
        )
    if any(place.published((figure.x, metric)) for place in laid_out.places for metric in figure.y):
        caption.append("Hollow: published for the same case; sources below the values.")
    return " ".join(caption)


@dataclass
class _Shown:
    """The contents of a panel, in the order in which they are drawn and labelled.

    points: (x, half width of its interval, y, half width of its interval).
    """

    lines: list[Line] = field(default_factory=list)
    published: list[Line] = field(default_factory=list)
    labels: list[Text] = field(default_factory=list)
    more_labels: list[Text] = field(default_factory=list)
    points: list[tuple[float, float, float, float]] = field(default_factory=list)

    def marks(self, has_labels: bool) -> list[Mark]:
        labels = [*_ends_first(self.labels), *self.more_labels]
        return [*self.lines, *self.published, *([Labels(texts=labels)] if has_labels else [])]


def describe(figure: MetricFigure, laid_out: Layout) -> Figure:
    """Points with their 95% intervals, joined along a factor; hollow markers: published."""
    shown = {key: _panel(figure, laid_out, *key) for key in laid_out.panels}
    points = [point for panel in shown.values() for point in panel.points]
    has_labels = len(laid_out.alongs) > 1
    several = len(figure.y) > 1
    lines = [line for panel in shown.values() for line in panel.lines]
    joined = figure.joined and any(len(line.x) > 1 for line in lines)
    entries = panels.line_entries(laid_out, [None] if several else panels.LINE_MARKERS, joined)
    if several:
        entries += [
            Entry(layout.name(metric), Style("ink", marker=marker))
            for marker, metric in zip(panels.LINE_MARKERS, figure.y, strict=False)
        ]
    if any(panel.published for panel in shown.values()):
        entries.append(Entry(_PUBLISHED, _PUBLISHED_STYLE))
    x, y = layout.axis([figure.x]), layout.axis(figure.y, figure.relative_to)
    return panels.figure(
        laid_out,
        {key: panel.marks(has_labels) for key, panel in shown.items()},
        replace(x, limits=limits([(value, half) for value, half, _, _ in points])),
        replace(y, limits=limits([(value, half) for _, _, value, half in points])),
        entries,
    )


def _panel(figure: MetricFigure, laid_out: Layout, row: str, panel: str) -> _Shown:
    shown = _Shown()
    for line_number, line in enumerate(laid_out.lines):
        places = laid_out.at(row, panel, line)
        for metric_number, metric in enumerate(figure.y):
            several = len(figure.y) > 1
            index = metric_number if several else line_number
            marker = panels.LINE_MARKERS[index % len(panels.LINE_MARKERS)]
            style = panels.line_style(line_number, marker=marker)
            style = style if figure.joined else replace(style, dash=None)
            entries = [name for name in (line, layout.name(metric) if several else "") if name]
            _add_line(shown, layout.points(places, figure.x, metric), style, entries)
            _add_published(shown, places, (figure.x, metric), style, entries)
    return shown


def _add_line(
    shown: _Shown,
    points: Sequence[tuple[str, Summary, Summary]],
    style: Style,
    entries: Sequence[str],
) -> None:
    if not points:
        return
    alongs = [along for along, _, _ in points]
    shown.lines.append(
        Line(
            entries=entries,
            x=floats(x.mean for _, x, _ in points),
            y=floats(y.mean for _, _, y in points),
            x_half=floats(x.ci95 for _, x, _ in points),
            y_half=floats(y.ci95 for _, _, y in points),
            notes=alongs if any(alongs) else (),
            style=style,
        )
    )
    for along, x, y in points:
        shown.points.append((x.mean, x.ci95 or 0.0, y.mean, y.ci95 or 0.0))
        shown.labels.append(_label(along, x.mean, y.mean, style.colour, entries))


def _add_published(
    shown: _Shown,
    places: Sequence[Place],
    metrics: tuple[str, str],
    style: Style,
    entries: Sequence[str],
) -> None:
    look = replace(_PUBLISHED_STYLE, colour=style.colour, marker=style.marker)
    names = [*entries, _PUBLISHED]
    for place in places:
        if pair := place.published(metrics):
            x, y = (published.value for published in pair)
            shown.published.append(
                Line(entries=names, detail=place.along, x=floats([x]), y=floats([y]), style=look)
            )
            shown.points.append((x, 0.0, y, 0.0))
            shown.more_labels.append(_label(place.along, x, y, style.colour, names))


def _label(text: str, x: float, y: float, colour: str, entries: Sequence[str]) -> Text:
    return Text(text=text, x=x, y=y, colour=colour, size=_LABEL_POINTS, entries=entries)


def _ends_first(labels: Sequence[Text]) -> Iterator[Text]:
    """The labels at the ends of lines first: if not all have room, these are the most useful."""
    last = len(labels) - 1
    is_end = [
        number in (0, last)
        or label.colour != labels[number - 1].colour
        or label.colour != labels[number + 1].colour
        for number, label in enumerate(labels)
    ]
    yield from (label for label, end in zip(labels, is_end, strict=True) if end)
    yield from (label for label, end in zip(labels, is_end, strict=True) if not end)


def limits(values: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Limits around (value, half width), but long intervals do not compress the values.

    The limits start at zero unless all values are far from it, or slightly below for a value of
    zero, whose marker and interval would otherwise be on the axis.
    """
    low, high = min(value for value, _ in values), max(value for value, _ in values)
    room = (high - low or abs(high) or 1.0) * 0.2
    bottom = max(min(value - half for value, half in values), low - room) - room / 3
    if 0 <= low < high / 2 or bottom < 0 <= low:
        bottom = 0.0 if low else -room / 3
    return bottom, min(max(value + half for value, half in values), high + room) + room / 3

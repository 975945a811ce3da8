# SPDX-License-Identifier: GPL-2.0-only
"""Throughput and RTT over the limit of TCP small queues: measured points and model curves."""

from collections.abc import Iterator, Mapping, Sequence

import numpy

from airtcp.errors import AirtcpError
from airtcp.experiment.casenames import display_name
from airtcp.experiment.figures import ModelFigure
from airtcp.report.declared import layout, panels
from airtcp.report.figure import (
    COLUMN_IN,
    Axis,
    Entry,
    Figure,
    Line,
    Mark,
    Panel,
    Style,
    Text,
    floats,
    with_margin,
)
from airtcp.report.formats import number, with_interval
from airtcp.report.model import Results, readable
from airtcp.report.palette import policy_role
from airtcp.report.plot import Plot
from airtcp.report.table import Table
from airtcp.results.documents import FigureRecord
from airtcp.results.modelfit import THROUGHPUT, Compared, MeanAbsoluteError, Point, expected
from airtcp.statistics import Summary

_MEASURED, _MODEL = "measured", "model"
_SAMPLES = 400  # of each curve

Lines = Mapping[str, Sequence[Point]]
"""The points by the name of their line, which is empty if there is only one line."""


def build(declared: FigureRecord, results: Results, slug: str, notes: list[str]) -> Plot:
    figure, compared = declared.figure, declared.compared
    assert isinstance(figure, ModelFigure)
    if not compared or not (mean := compared.mean_absolute_error):
        raise AirtcpError(
            f"left out: no case has a tsq in packets, {THROUGHPUT} and {figure.rtt} together."
        )
    if lacking := len(results.cases) - len(compared.points):
        notes.append(
            f"{panels.count_cases(lacking)} without a tsq in packets, or without RTT, left out."
        )
    lines = _lines(compared.points)
    errors = (
        f"Mean absolute error: throughput {number(mean.throughput_mbps)} Mbit/s "
        f"({number(mean.throughput_percent)}%), RTT {number(mean.rtt_ms)} ms "
        f"({number(mean.rtt_percent)}%)."
    )
    return Plot(
        slug,
        figure.title,
        f"Points: goodput and {layout.name(figure.rtt)}, means over seeds with 95% intervals. "
        f"Lines: equations 1, 4 and 5; {_counted(figure)}. {errors}",
        errors,
        describe(figure, lines),
        _table(figure, lines, mean),
    )


def _lines(points: Sequence[Point]) -> Lines:
    """Points by the factors that differ, except the limit, which is the x axis."""
    names = layout.differing([point.factors for point in points])
    names.sort(key=lambda name: name != "pacing_factor")
    lines: dict[str, list[Point]] = {}
    for point in points:
        label = layout.line([], [name for name in names if name != "tsq"], point.factors)
        lines.setdefault(label, []).append(point)
    return lines


def _counted(figure: ModelFigure) -> str:
    if figure.payload_bytes is None:
        return "they count whole packets, goodput counts payload"
    return f"goodput counts {figure.payload_bytes} of the {figure.packet_bytes} bytes of a packet"


def _table(figure: ModelFigure, lines: Lines, mean: MeanAbsoluteError) -> Table:
    rows = []
    for label, points in lines.items():
        for point in points:
            row = [label, str(point.tsq_packets), number(point.backlog_packets)]
            for comparison in (point.throughput_mbps, point.rtt_ms):
                row += _compared(comparison)
            rows.append(row)
    rows.append(
        [
            *("mean absolute error", "", "", "", ""),
            *(number(mean.throughput_mbps), number(mean.throughput_percent), "", ""),
            *(number(mean.rtt_ms), number(mean.rtt_percent)),
        ]
    )
    set_up = figure.model_dump(mode="json", exclude={"title", "model"})
    settings = ", ".join(
        f"{display_name(name)} {readable(value)}" for name, value in set_up.items()
    )
    columns = ["line", "limit (packets)", "k (packets)"]
    for what, unit in (("throughput", "Mbit/s"), ("RTT", "ms")):
        columns += [f"{what} ({unit})", "model", "error", "error (%)"]
    notes = [f"The model's parameters: {settings}.", "Error: model less measured."]
    return Table(columns, 1, rows, notes)


def _compared(comparison: Compared) -> Iterator[str]:
    yield with_interval(Summary(comparison.measured, comparison.ci95, 0))
    yield from map(number, (comparison.model, comparison.error, comparison.error_percent))


def describe(figure: ModelFigure, lines: Lines) -> Figure:
    """Throughput above RTT."""
    styles = {
        label: Style(
            policy_role(index), marker=panels.LINE_MARKERS[index % len(panels.LINE_MARKERS)]
        )
        for index, label in enumerate(lines)
    }
    points = [point for line in lines.values() for point in line]
    high = 1.04 * max(point.tsq_packets for point in points)
    upper, lower = _curves(figure, lines, styles, high)
    for label, line in lines.items():
        for marks, compared in (
            (upper, [point.throughput_mbps for point in line]),
            (lower, [point.rtt_ms for point in line]),
        ):
            marks.append(
                Line(
                    entries=[label or _MEASURED],
                    x=floats(point.tsq_packets for point in line),
                    y=floats(comparison.measured for comparison in compared),
                    y_half=floats(comparison.ci95 for comparison in compared),
                    style=styles[label],
                )
            )
    x = Axis("limit of small queues", "packets", (0, high))
    entries = [Entry(label or _MEASURED, style) for label, style in styles.items()]
    legend, legend_in = panels.legend_above(
        [*entries, Entry(_MODEL, Style("ink", "solid"))], COLUMN_IN
    )
    return Figure(
        [
            Panel(x, Axis("throughput", "Mbit/s", _from_zero(upper)), upper, row=0),
            Panel(x, Axis("RTT", "ms", _from_zero(lower)), lower, row=1),
        ],
        4.0 + legend_in,
        legend=legend,
        shared="x",
    )


def _curves(
    figure: ModelFigure, lines: Lines, styles: Mapping[str, Style], high: float
) -> tuple[list[Mark], list[Mark]]:
    """The model's throughput and its RTT."""
    upper: list[Mark] = []
    lower: list[Mark] = []
    packets = numpy.unique(numpy.linspace(1, high, _SAMPLES).round())
    for (pacing, most), label in _each_curve(figure, lines).items():
        curve = numpy.array([expected(figure, float(limit), pacing, most) for limit in packets])
        style = Style(styles[label].colour if label in styles else "ink", "solid")
        for marks, column in ((upper, 1), (lower, 2)):
            marks.append(
                Line(entries=[_MODEL], detail=label, x=packets, y=curve[:, column], style=style)
            )
            marks += (
                text for text in _operating_points(figure, pacing, most, column) if text.x <= high
            )
    return upper, lower


def _operating_points(
    figure: ModelFigure, pacing: float, most: int | None, column: int
) -> Iterator[Text]:
    """A to D of the paper's Figure 2: where an aggregate is full, and where the buffer is.

    A and C are without aggregation, B and D with it.
    """
    packets_each = figure.pacing(pacing) * figure.backlog_factor
    if figure.buffer_packets is None or not packets_each:
        return
    names = ("A", "C") if most == 1 else ("B", "D")
    full = (figure.station(most).most_packets, figure.buffer_packets)
    for name, packets in zip(names, full, strict=True):
        limit = packets / packets_each
        value = expected(figure, limit, pacing, most)[column]
        yield Text(entries=[_MODEL], text=name, x=limit, y=value, up=4, right=0, size=8)


def _each_curve(figure: ModelFigure, lines: Lines) -> dict[tuple[float, int | None], str]:
    """(pacing factor, largest aggregate) that need a curve, with the line, "" if several."""
    curves: dict[tuple[float, int | None], tuple[float, str]] = {}
    for label, points in lines.items():
        for point in points:
            key = figure.pacing(point.pacing_factor), point.ampdu_mpdus
            known = curves.setdefault(key, (point.pacing_factor, label))
            if known[1] != label:
                curves[key] = (known[0], "")
    return {(pacing, most): label for (_, most), (pacing, label) in curves.items()}


def _from_zero(marks: Sequence[Mark]) -> tuple[float, float]:
    """Limits around all values and their intervals."""
    ends: list[float] = []
    for mark in marks:
        if not isinstance(mark, Line):
            continue
        halves = numpy.zeros(len(mark.y)) if mark.y_half is None else numpy.nan_to_num(mark.y_half)
        ends += [float((mark.y - halves).min()), float((mark.y + halves).max())]
    return with_margin(ends, low=0.0)

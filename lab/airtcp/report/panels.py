# SPDX-License-Identifier: GPL-2.0-only
"""Draws the figures that an experiment declares: panels with common axes, a legend above them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from airtcp.experiment.figures import MetricFigure, ModelFigure
from airtcp.report import layout
from airtcp.report.interactive import entries
from airtcp.report.layout import Layout, Place
from airtcp.report.plots import PALETTE, POLICY_COLOURS, WIDE_IN, WIDTH_IN, policy_role
from airtcp.results.modelfit import Compared, Point, expected

_INK = PALETTE["ink"][0]

# One for each line, or for each metric where there are several; colours come round sooner.
_MARKERS = "os^DvPX*<>hpd"
_Dash = Literal["-", "--", ":", "-.", "none"]
_DASHES: Sequence[_Dash] = ("-", "--", ":", "-.")
_POINT: Mapping[str, Any] = {"markersize": 3.6, "markeredgewidth": 0.5}
_HOLLOW: Mapping[str, Any] = {
    "linestyle": "none",
    "markersize": 4.6,
    "markerfacecolor": "none",
    "markeredgewidth": 0.8,
    "zorder": 4,
}
_PUBLISHED, _MEASURED, _MODEL = "published", "measured", "model"
_INTERVAL: Mapping[str, Any] = {"elinewidth": 0.5, "capsize": 0, "fmt": "none", "alpha": 0.6}

# Panels beside each other, and the height of each with its share of the axes' labels.
_MOST_COLUMNS = 3
_MOST_IN_ROW = 5
_PANEL_IN = 1.75
_ALONE_IN = 2.3
_LEGEND_ROW_IN = 0.14

# Where a label may stand, seen from its point, best first: points across, points up. The bars of
# an interval go straight across and up.
_PLACES = ((2.2, 1.6), (2.2, -1.6), (-2.2, 1.6), (-2.2, -1.6), (4, 0), (-4, 0), (0, 4), (0, -4))
_LABEL_POINTS = 5.5
_MODEL_SAMPLES = 400
_BINS = 40

_Values = tuple[NDArray[numpy.float64], NDArray[numpy.float64]]


@dataclass(frozen=True)
class Traces:
    """One thing over time in a place: a flow each. steps: of intervals, whose ends are given.

    apart: flows have dashes of their own.
    """

    place: Place
    flows: Sequence[_Values]
    steps: bool
    apart: bool = False


@dataclass(frozen=True)
class _Label:
    text: str
    at: tuple[float, float]
    colour: str
    entries: str


_Shown = tuple[float, float, float, float]  # x, half its interval, y, half its interval


def against(laid_out: Layout, figure: MetricFigure) -> Figure:
    """Points with their 95% intervals, joined along a factor; what was published, hollow."""
    drawn, panels = _panels(laid_out)
    labels: dict[Axes, list[_Label]] = {}
    shown: list[_Shown] = []
    published: list[_Shown] = []
    for (row, panel), axes in panels.items():
        own: list[_Label] = []
        others: list[_Label] = []
        for number, line in enumerate(laid_out.lines):
            places = laid_out.at(row, panel, line)
            colour = _colour(number)
            for which, metric in enumerate(figure.y):
                marker = _MARKERS[(which if len(figure.y) > 1 else number) % len(_MARKERS)]
                points = layout.points(places, figure.x, metric)
                named = [line, layout.name(metric) if len(figure.y) > 1 else ""]
                axes.plot(
                    [x.mean for _, x, _ in points],
                    [y.mean for _, _, y in points],
                    color=colour,
                    marker=marker,
                    linestyle=_dash(number) if figure.joined else "none",
                    zorder=3,
                    label=entries(*named, each=[along for along, _, _ in points]),
                    **_POINT,
                )
                for along, x, y in points:
                    axes.errorbar(
                        *(x.mean, y.mean, y.ci95, x.ci95), color=colour, zorder=2, **_INTERVAL
                    )
                    shown.append((x.mean, x.ci95 or 0.0, y.mean, y.ci95 or 0.0))
                    own.append(_Label(along, (x.mean, y.mean), colour, entries(*named)))
                for place in places:
                    if pair := place.published((figure.x, metric)):
                        x_y = (pair[0].value, pair[1].value)
                        label = entries(*named, _PUBLISHED, told=place.along)
                        axes.plot(
                            *x_y, marker=marker, markeredgecolor=colour, label=label, **_HOLLOW
                        )
                        published.append((x_y[0], 0.0, x_y[1], 0.0))
                        others.append(_Label(place.along, x_y, colour, label))
        labels[axes] = [*_ends_first(own), *others]
    first = next(iter(panels.values()))
    first.set_xlim(_limits([(x, half) for x, half, _, _ in (*shown, *published)]))
    first.set_ylim(_limits([(y, half) for _, _, y, half in (*shown, *published)]))
    y_axis = layout.axis(figure.y, figure.relative_to)
    _name_axes(drawn, panels, layout.axis([figure.x]), y_axis)
    several = len(figure.y) > 1
    handles = _line_handles(laid_out, [""] if several else _MARKERS)
    if several:
        handles += [
            Line2D([], [], color=_INK, marker=marker, linestyle="none", label=name, **_POINT)
            for marker, name in zip(_MARKERS, map(layout.name, figure.y), strict=False)
        ]
    if published:
        handles.append(
            Line2D([], [], marker="o", markeredgecolor=_INK, label=_PUBLISHED, **_HOLLOW)
        )
    _legend(drawn, handles)
    if len(laid_out.alongs) > 1:
        _label(drawn, labels)
    return drawn


def over_time(laid_out: Layout, traces: Sequence[Traces], what: str) -> Figure:
    """One line a flow."""
    drawn, panels = _panels(laid_out)
    for one in traces:
        axes = panels[one.place.row, one.place.panel]
        number = laid_out.lines.index(one.place.line)
        look: dict[str, Any] = {"color": _colour(number), "linestyle": _dash(number), "zorder": 3}
        look["label"] = one.place.line
        for which, (times_s, values) in enumerate(one.flows):
            if one.apart:
                look["linestyle"] = _DASHES[which % len(_DASHES)]
            if one.steps:
                axes.stairs(values, [0.0, *times_s], baseline=None, linewidth=0.9, **look)
            else:
                axes.plot(times_s, values, linewidth=0.8, **look)
    first = next(iter(panels.values()))
    longest_s = max(float(times_s[-1]) for one in traces for times_s, _ in one.flows)
    largest = max(float(numpy.max(values)) for one in traces for _, values in one.flows)
    first.set_xlim(0, longest_s)
    first.set_ylim(0, 1.06 * largest or 1.0)
    _name_axes(drawn, panels, "virtual time (s)", what)
    _legend(drawn, _line_handles(laid_out, [""]))
    return drawn


def histogram(laid_out: Layout, traces: Sequence[Traces], what: str) -> Figure:
    """How often each value is taken, in the same steps everywhere; all flows of a line together."""
    drawn, panels = _panels(laid_out)
    pooled = [numpy.concatenate([own for _, own in one.flows]) for one in traces]
    edges = numpy.histogram_bin_edges(numpy.concatenate(pooled), bins=_BINS)
    for one, values in zip(traces, pooled, strict=True):
        number = laid_out.lines.index(one.place.line)
        counts, _ = numpy.histogram(values, edges)
        panels[one.place.row, one.place.panel].stairs(
            100 * counts / len(values),
            edges,
            color=_colour(number),
            linestyle=_dash(number),
            linewidth=0.9,
            zorder=3,
            label=one.place.line,
        )
    first = next(iter(panels.values()))
    first.set_xlim(edges[0], edges[-1])
    first.set_ylim(bottom=0)
    _name_axes(drawn, panels, what, "share (%)")
    _legend(drawn, _line_handles(laid_out, [""]))
    return drawn


def model(figure: ModelFigure, lines: Mapping[str, Sequence[Point]]) -> Figure:
    """Throughput and RTT over the limit in packets: measured points upon the model's curves."""
    drawn = Figure(figsize=(WIDTH_IN, 4.0), layout="constrained")
    upper, lower = drawn.subplots(2, 1, sharex=True)
    points = [point for one in lines.values() for point in one]
    colours = {label: _colour(number) for number, label in enumerate(lines)}
    most = max(point.tsq_packets for point in points)
    packets = numpy.unique(numpy.linspace(1, 1.04 * most, _MODEL_SAMPLES).round())
    for pacing, label in _curves(figure, lines).items():
        told = [expected(figure, float(limit), pacing) for limit in packets]
        colour = colours.get(label, _INK)
        look: dict[str, Any] = {"color": colour, "zorder": 2, "label": entries(_MODEL, told=label)}
        upper.plot(packets, [mbps for _, mbps, _ in told], **look)
        lower.plot(packets, [rtt_ms for *_, rtt_ms in told], **look)
    for number, (label, own) in enumerate(lines.items()):
        for axes, compared in (
            (upper, [point.throughput_mbps for point in own]),
            (lower, [point.rtt_ms for point in own]),
        ):
            look = {"color": colours[label], "marker": _MARKERS[number % len(_MARKERS)]}
            look["label"] = label or _MEASURED
            _measured(axes, own, compared, look)
    for axes, text in ((upper, "throughput (Mbit/s)"), (lower, "RTT (ms)")):
        axes.set_ylabel(text)
        axes.set_ylim(bottom=0)
    lower.set_xlim(0, 1.04 * most)
    lower.set_xlabel("limit of small queues (packets)")
    drawn.align_ylabels()
    handles = [
        _handle(label or _MEASURED, number, marker, "none")
        for number, (label, marker) in enumerate(zip(lines, _MARKERS * 9, strict=False))
    ]
    _legend(drawn, [*handles, Line2D([], [], color=_INK, label=_MODEL)])
    return drawn


def _curves(figure: ModelFigure, lines: Mapping[str, Sequence[Point]]) -> dict[float, str]:
    """The pacing factors that need a curve; of each the line that it alone belongs to, or ""."""
    found: dict[float, tuple[float, str]] = {}
    for label, points in lines.items():
        for point in points:
            p = figure.pacing(point.pacing_factor)
            known = found.setdefault(p, (point.pacing_factor, label))
            if known[1] != label:
                found[p] = (known[0], "")
    return dict(found.values())


def _measured(
    axes: Axes, points: Sequence[Point], compared: Sequence[Compared], look: Mapping[str, Any]
) -> None:
    packets = [point.tsq_packets for point in points]
    values = [one.measured for one in compared]
    axes.plot(packets, values, linestyle="none", zorder=3, **look, **_POINT)
    for x, one in zip(packets, compared, strict=True):
        axes.errorbar(x, one.measured, one.ci95, color=look["color"], zorder=2, **_INTERVAL)


def _panels(laid_out: Layout) -> tuple[Figure, dict[tuple[str, str], Axes]]:
    """Axes for each panel, all alike; the panels of a row in a row, if they find room there."""
    which = laid_out.panels
    rows = len(laid_out.rows)
    columns = math.ceil(len(which) / rows)
    if columns > (_MOST_COLUMNS if rows == 1 else _MOST_IN_ROW) or rows * columns > len(which):
        rows = math.ceil(len(which) / _MOST_COLUMNS)
        columns = math.ceil(len(which) / rows)
    width, height = (WIDTH_IN, _ALONE_IN) if len(which) == 1 else (WIDE_IN, rows * _PANEL_IN)
    drawn = Figure(figsize=(width, 0.35 + height), layout="constrained")
    grid = drawn.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    flat = [axes for row in grid for axes in row]
    panels = dict(zip(which, flat, strict=False))
    for (row, panel), axes in panels.items():
        title = ", ".join(part for part in (panel, row) if part)
        if title:
            axes.set_title(title, fontsize=7, color=_INK)
    for number, axes in enumerate(flat[len(panels) :], start=len(panels)):
        axes.remove()
        flat[number - columns].tick_params(labelbottom=True)
    return drawn, panels


def _name_axes(
    drawn: Figure, panels: Mapping[tuple[str, str], Axes], x_text: str, y_text: str
) -> None:
    if len(panels) == 1:
        [axes] = panels.values()
        axes.set_xlabel(x_text)
        axes.set_ylabel(y_text)
    else:
        drawn.supxlabel(x_text, fontsize=7)
        drawn.supylabel(y_text, fontsize=7)


def _colour(number: int) -> str:
    return PALETTE[policy_role(number)][0]


def _dash(number: int) -> _Dash:
    """Of a line: colours come round before these do."""
    return _DASHES[number // POLICY_COLOURS % len(_DASHES)]


def _handle(label: str, number: int, marker: str, linestyle: _Dash) -> Line2D:
    return Line2D(
        *([], []),
        color=_colour(number),
        marker=marker,
        linestyle=linestyle,
        label=label,
        **_POINT,
    )


def _line_handles(laid_out: Layout, markers: Sequence[str]) -> list[Artist]:
    """Of lines that have a name."""
    return [
        _handle(label, number, markers[number % len(markers)], _dash(number))
        for number, label in enumerate(laid_out.lines)
        if label
    ]


def _legend(drawn: Figure, handles: Sequence[Artist]) -> None:
    """Above the axes, which keep their height."""
    if not handles:
        return
    letters = max(len(str(handle.get_label())) for handle in handles)
    columns = max(1, int(drawn.get_figwidth() * 72 / (26 + 3.6 * letters)))
    more_rows = math.ceil(len(handles) / columns) - 1
    drawn.set_figheight(drawn.get_figheight() + more_rows * _LEGEND_ROW_IN)
    drawn.legend(
        handles=handles,
        loc="outside upper center",
        ncols=min(len(handles), columns),
        columnspacing=1.2,
    )


def _limits(values: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """All points, and what of their intervals does not press them together.

    From zero, unless all points are far from it.
    """
    low, high = min(value for value, _ in values), max(value for value, _ in values)
    room = (high - low or abs(high) or 1.0) * 0.2
    bottom = max(min(value - half for value, half in values), low - room) - room / 3
    if 0 <= low < high / 2 or bottom < 0 <= low:
        bottom = 0.0
    return bottom, min(max(value + half for value, half in values), high + room) + room / 3


def _ends_first(labels: Sequence[_Label]) -> list[_Label]:
    """Where not all labels find room, those of the ends of lines say most."""
    ends = [
        number
        for number, label in enumerate(labels)
        if number in (0, len(labels) - 1)
        or label.colour != labels[number - 1].colour
        or label.colour != labels[number + 1].colour
    ]
    between = (number for number in range(len(labels)) if number not in ends)
    return [labels[number] for number in (*ends, *between)]


def _label(drawn: Figure, labels: Mapping[Axes, Sequence[_Label]]) -> None:
    """Put each label where it covers neither a point nor another label; leave out the others.

    The axes have their final places and limits after a first layout, which labels leave alone.
    """
    drawn.draw_without_rendering()
    for axes, wanted in labels.items():
        at = axes.transData.transform([label.at for label in wanted] or numpy.empty((0, 2)))
        size = _POINT["markersize"] * drawn.dpi / 72
        taken = [Bbox.from_bounds(x - size / 2, y - size / 2, size, size) for x, y in at]
        inside = axes.get_window_extent()
        for label in wanted:
            for right, up in _PLACES:
                text = axes.annotate(
                    label.text,
                    label.at,
                    xytext=(right, up),
                    textcoords="offset points",
                    horizontalalignment=_align(right, "left", "right"),
                    verticalalignment=_align(up, "bottom", "top"),
                    fontsize=_LABEL_POINTS,
                    color=label.colour,
                    label=label.entries,
                )
                text.set_in_layout(False)
                box = text.get_window_extent()
                fits = inside.x0 <= box.x0 and box.x1 <= inside.x1
                fits &= inside.y0 <= box.y0 and box.y1 <= inside.y1
                if fits and not box.count_overlaps(taken):
                    taken.append(box)
                    break
                text.remove()


def _align(offset: float, ahead: str, behind: str) -> str:
    return ahead if offset > 0 else behind if offset < 0 else "center"

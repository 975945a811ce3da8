# SPDX-License-Identifier: GPL-2.0-only
"""Draws figures with Matplotlib, for print."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import singledispatch
from pathlib import Path
from typing import Any, Literal

import matplotlib
import numpy
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as MplFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch, Rectangle
from matplotlib.path import Path as Outline
from matplotlib.ticker import NullFormatter

from airtcp.report import labels
from airtcp.report.figure import (
    FILL_OPACITY,
    Axis,
    Bars,
    Box,
    Dash,
    Entry,
    Figure,
    Labels,
    Legend,
    Line,
    Mark,
    Panel,
    Rule,
    Steps,
    Strokes,
    Style,
    Text,
)
from airtcp.report.labels import Area
from airtcp.report.markers import MARKERS
from airtcp.report.palette import print_colour
from airtcp.report.ticks import ticks
from airtcp.statistics import Floats, part_below

_DASHES: Mapping[Dash | None, Any] = {
    None: "none",
    "solid": "-",
    "dash": "--",
    "dot": ":",
    "dashdot": "-.",
    "longdash": (0, (9, 1.6)),
    "longdashdot": (0, (9, 1.6, 1, 1.6, 1, 1.6)),
}
_WHISKERS: Mapping[str, Mapping[str, Any]] = {
    "capped": {"capsize": 1.8, "elinewidth": 0.8, "capthick": 0.8},
    "thin": {"capsize": 0, "elinewidth": 0.5, "alpha": 0.6},
}

_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # part of Matplotlib: the output is the same everywhere
    "font.size": 7,
    "axes.labelsize": 7,
    "axes.linewidth": 0.6,
    "axes.edgecolor": print_colour("faint"),
    "axes.labelcolor": print_colour("ink"),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": print_colour("grid"),
    "grid.linewidth": 0.5,
    "text.parse_math": False,  # a command in a label may contain $
    "text.color": print_colour("ink"),
    "xtick.color": print_colour("faint"),
    "ytick.color": print_colour("faint"),
    "xtick.labelcolor": print_colour("ink"),
    "ytick.labelcolor": print_colour("ink"),
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 6.5,
    "legend.handlelength": 1.4,
    "lines.linewidth": 0.9,
    "hatch.linewidth": 0.5,
    "path.simplify_threshold": 0.5,
    "pdf.fonttype": 42,  # embedded as TrueType, as journals require
    "svg.fonttype": "none",
    "svg.hashsalt": "airtcp",
}


@contextmanager
def style() -> Iterator[None]:
    """Settings of Matplotlib; every figure must be drawn and saved within this context."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # ignore the user's matplotlibrc
        matplotlib.rcParams.update(_STYLE)
        yield


def save_in_docs(figure: MplFigure, path: Path) -> None:
    """Save a figure for a page of docs: on white, and the same bytes at any time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, facecolor="white", metadata={"Date": None})


def draw(figure: Figure) -> MplFigure:
    """Draw a figure within style()."""
    canvas = MplFigure(figsize=(figure.width_in, figure.height_in), layout="constrained")
    FigureCanvasAgg(canvas)
    all_axes = _axes(canvas, figure)
    for panel, axes in zip(figure.panels, all_axes, strict=True):
        for mark in panel.marks:
            _draw(mark, axes)
        _dress(axes, panel)
    _title_axes(canvas, figure, all_axes)
    _draw_legend(canvas, figure.legend)
    layout = canvas.get_layout_engine()
    assert layout
    layout.execute(canvas)
    # Laid out once, so that the files agree; None also saves an extra drawing for each file.
    canvas.set_layout_engine(None)
    # Where there is room for labels is known only now.
    for panel, axes in zip(figure.panels, all_axes, strict=True):
        for mark in panel.marks:
            if isinstance(mark, Labels):
                for text in labels.place(mark, panel, _area(axes)):
                    _draw(text, axes)
    return canvas


def _axes(canvas: MplFigure, figure: Figure) -> list[Axes]:
    """The axes of each panel."""
    grid = canvas.subplots(
        figure.rows,
        figure.columns,
        sharex="x" in figure.shared,
        sharey="y" in figure.shared,
        squeeze=False,
    )
    places = [(panel.row, panel.column) for panel in figure.panels]
    for place, axes in numpy.ndenumerate(grid):
        if place not in places:
            axes.remove()
            row, column = place
            if row:
                grid[row - 1, column].tick_params(labelbottom=True)
    return [grid[place] for place in places]


def _dress(axes: Axes, panel: Panel) -> None:
    """Scales, limits, ticks and the title of a panel."""
    _dress_axis(axes, "x", panel.x)
    _dress_axis(axes, "y", panel.y)
    if panel.title:
        axes.set_title(panel.title, fontsize=7, color=print_colour("ink"))


def _dress_axis(axes: Axes, name: Literal["x", "y"], described: Axis) -> None:
    axis = getattr(axes, f"{name}axis")
    if described.scale == "log":
        getattr(axes, f"set_{name}scale")("log")
        shown = ticks(described, 0)
        axis.set_ticks([tick.at for tick in shown], [tick.label for tick in shown])
        axis.set_minor_formatter(NullFormatter())
    getattr(axes, f"set_{name}lim")(*described.limits)
    if described.ticks:
        axis.set_ticks(
            [tick.at for tick in described.ticks], [tick.label for tick in described.ticks]
        )
        axes.tick_params(axis=name, length=0)
    elif described.step:
        low, high = described.limits
        axis.set_ticks(numpy.arange(low, high + described.step / 2, described.step))
        axis.set_major_formatter("{x:g}")
    if not described.grid:
        axes.grid(axis=name, visible=False)
    if not described.line:
        axes.spines["bottom" if name == "x" else "left"].set_visible(False)


def _title_axes(canvas: MplFigure, figure: Figure, all_axes: Sequence[Axes]) -> None:
    """Label axes at each panel (x only at the lowest panels), or once for the whole figure."""
    first = figure.panels[0]
    if figure.labels == "figure":
        canvas.supxlabel(first.x.title, fontsize=7)
        canvas.supylabel(first.y.title, fontsize=7)
        return
    for panel, axes in zip(figure.panels, all_axes, strict=True):
        axes.set_ylabel(panel.y.title)
        if panel.row == figure.rows - 1:
            axes.set_xlabel(panel.x.title)
    if figure.rows > 1:
        canvas.align_ylabels()


def _draw_legend(canvas: MplFigure, legend: Legend) -> None:
    """Draw the legend above the panels."""
    if legend.entries:
        canvas.legend(
            handles=[_handle(entry) for entry in legend.entries],
            loc="outside upper center",
            ncols=legend.columns,
            columnspacing=legend.spacing,
        )


def _handle(entry: Entry) -> Artist:
    if isinstance(entry.look, str):
        return Patch(color=print_colour(entry.look), label=entry.name)
    return Line2D([], [], label=entry.name, **_look(entry.look))


def _look(style: Style) -> dict[str, Any]:
    """Matplotlib's arguments for a style."""
    colour = print_colour(style.colour)
    look: dict[str, Any] = {"color": colour, "linestyle": _DASHES[style.dash]}
    look["linewidth"] = style.width
    if style.marker:
        look |= {"marker": MARKERS[style.marker].matplotlib, "markersize": style.size}
        look |= {"markeredgewidth": style.edge}
        look |= {"markerfacecolor": "none" if style.hollow else colour}
    return look


def _area(axes: Axes) -> Area:
    """The area of a panel after layout."""
    points_px = axes.figure.dpi / 72
    inside = axes.get_window_extent()
    box = (inside.x0, inside.y0, inside.x1, inside.y1)
    left, low, right, high = (px / points_px for px in box)

    def at(x: Floats, y: Floats) -> Floats:
        positions: Floats = axes.transData.transform(numpy.column_stack([x, y])) / points_px
        return positions

    def size(text: Text) -> tuple[float, float]:
        drawn = axes.text(0, 0, text.text, fontsize=text.size)
        extent = drawn.get_window_extent()
        drawn.remove()
        return extent.width / points_px, extent.height / points_px

    return Area((left, low, right, high), at, size)


@singledispatch
def _draw(mark: Mark, axes: Axes) -> None:
    """Draw a mark."""
    raise NotImplementedError(f"cannot draw a {type(mark).__name__}")


@_draw.register
def _draw_line(mark: Line, axes: Axes) -> None:
    style = mark.style
    axes.plot(
        mark.x,
        mark.y,
        zorder=4 if style.hollow else 3,
        clip_on=mark.clip,
        drawstyle="steps-post" if mark.steps else "default",
        **_look(style),
    )
    _draw_intervals(axes, mark.x, mark.y, mark.x_half, mark.y_half, style)


def _draw_intervals(axes: Axes, x: Any, y: Any, x_half: Any, y_half: Any, style: Style) -> None:
    known: dict[str, Any] = {
        name: [part_below(values, half), half]
        for name, values, half in (("xerr", x, x_half), ("yerr", y, y_half))
        if half is not None and not numpy.isnan(half).all()
    }
    if known:
        colour = print_colour(style.colour)
        look = _WHISKERS[style.whiskers]
        axes.errorbar(x, y, **known, fmt="none", ecolor=colour, zorder=2.5, **look)


@_draw.register
def _draw_bars(mark: Bars, axes: Axes) -> None:
    colour = print_colour(mark.colour)
    axes.barh(mark.y, mark.length, mark.height, mark.start, color=colour, linewidth=0)
    ends = mark.start + mark.length
    _draw_intervals(axes, ends, mark.y, mark.half, None, Style("ink", whiskers="capped"))


@_draw.register
def _draw_steps(mark: Steps, axes: Axes) -> None:
    colour = print_colour(mark.style.colour)
    look: dict[str, Any] = {"color": colour, "baseline": 0 if mark.closed else None}
    if mark.filled:
        look = {"fill": True, "facecolor": (colour, FILL_OPACITY), "edgecolor": colour}
    axes.stairs(
        mark.heights,
        mark.edges,
        linestyle=_DASHES[mark.style.dash],
        linewidth=mark.style.width,
        zorder=2 if mark.filled else 3,
        **look,
    )


@_draw.register
def _draw_strokes(mark: Strokes, axes: Axes) -> None:
    """Draw all as one path, as there may be thousands."""
    ends = numpy.empty((2 * len(mark.x), 2))
    ends[:, 0] = numpy.repeat(mark.x, 2)
    ends[::2, 1] = mark.low
    ends[1::2, 1] = mark.high
    codes = numpy.tile([Outline.MOVETO, Outline.LINETO], len(mark.x))
    look = {"edgecolor": print_colour(mark.colour), "facecolor": "none", "linewidth": mark.width}
    axes.add_artist(PathPatch(Outline(ends, codes), zorder=2, **look))


@_draw.register
def _draw_box(mark: Box, axes: Axes) -> None:
    axes.add_artist(
        Rectangle(
            (mark.left, mark.top),
            mark.right - mark.left,
            mark.bottom - mark.top,
            facecolor=print_colour(mark.colour),
            alpha=mark.opacity,
            linewidth=0,
            zorder=2,
        )
    )


@_draw.register
def _draw_rule(mark: Rule, axes: Axes) -> None:
    across = axes.axvline if mark.axis == "x" else axes.axhline
    across(mark.at, color=print_colour(mark.colour), linewidth=mark.width, zorder=1)


@_draw.register
def _draw_text(mark: Text, axes: Axes) -> None:
    axes.annotate(
        mark.text,
        (mark.x, mark.y),
        xytext=(mark.right, mark.up),
        textcoords="offset points",
        horizontalalignment=mark.align_x,
        verticalalignment=mark.align_y,
        fontsize=mark.size,
        color=print_colour(mark.colour),
    )


@_draw.register
def _draw_no_labels(mark: Labels, axes: Axes) -> None:
    """Labels are drawn after the layout, which determines where there is room."""

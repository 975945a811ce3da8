# SPDX-License-Identifier: GPL-2.0-only
"""A figure as data: panels with axes and marks, and a legend.

Builders (overview, inside, declared/, timeline) describe a figure with these types. svg.py draws it
for the page, plotly.py as the page's interactive plot, mpl.py for print, and table.py lists its
values. Colours are roles of palette.PALETTE.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy
from numpy.typing import NDArray

from airtcp.report import markers
from airtcp.statistics import Floats

COLUMN_IN = 3.5  # one column of a two-column paper, and about the width of a phone
PAGE_IN = 7.16  # both columns

# Longer lines are thinned to this many points, more than the page's width in pixels.
MOST_POINTS = 2000

# Of the area under filled steps.
FILL_OPACITY = 0.22

Dash = Literal["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"]


def floats(values: Iterable[float | None]) -> Floats:
    """An array; None becomes NaN."""
    return numpy.array([numpy.nan if value is None else value for value in values], dtype=float)


@dataclass(frozen=True)
class Tick:
    """A tick of an axis with a label in place of its number."""

    at: float
    label: str


@dataclass(frozen=True)
class Axis:
    """One axis of a panel.

    limits: (first, last) value shown; the first may be the larger one. ticks: replace numbers, if
    any. step: distance between ticks; None: the renderer chooses. grid: lines at the ticks. line:
    whether the axis itself is drawn.
    """

    name: str = ""
    unit: str = ""
    limits: tuple[float, float] = (0.0, 1.0)
    scale: Literal["linear", "log"] = "linear"
    ticks: Sequence[Tick] = ()
    step: float | None = None
    grid: bool = True
    line: bool = True

    @property
    def title(self) -> str:
        return f"{self.name} ({self.unit})" if self.unit else self.name

    def label_at(self, value: float) -> str:
        """The label of the nearest tick."""
        nearest = min(self.ticks, key=lambda tick: abs(tick.at - value))
        return nearest.label.replace("\n", " ")


@dataclass(frozen=True)
class Style:
    """The look of a line and its markers.

    dash: None: points are not joined. marker: None: no markers. hollow: the marker is an outline of
    width `edge`. width, size and edge are in points. whiskers: the look of intervals.
    """

    colour: str
    dash: Dash | None = None
    width: float = 0.9
    marker: markers.Name | None = None
    size: float = 3.6
    edge: float = 0.5
    hollow: bool = False
    whiskers: Literal["thin", "capped"] = "thin"


@dataclass(frozen=True, eq=False)
class Values:
    """The values of a mark: points, the half widths of their 95% intervals, a note on each point.

    Half widths are NaN where there is no interval.
    """

    x: Floats
    y: Floats
    x_half: Floats
    y_half: Floats
    notes: Sequence[str] = ()


def _values(x: Floats, y: Floats, x_half: Floats | None = None) -> Values:
    unknown = numpy.full(len(x), numpy.nan)
    return Values(x, y, unknown if x_half is None else x_half, unknown)


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Something drawn in a panel.

    entries: the legend's entries that hide and show it. detail: the rest of its name.
    """

    entries: Sequence[str] = ()
    detail: str = ""

    @property
    def name(self) -> str:
        return ", ".join([*self.entries, *([self.detail] if self.detail else [])])

    @property
    def is_visible(self) -> bool:
        """Whether it has anything to draw."""
        return True


@dataclass(frozen=True, eq=False)
class Line(Mark):
    """Points in order, joined, marked or both, with optional intervals.

    x_half, y_half: half widths of 95% intervals, NaN or None where there is none. notes: a text for
    each point. steps: y is constant until the next point. clip: False: markers may extend beyond
    the panel.
    """

    x: Floats
    y: Floats
    style: Style
    x_half: Floats | None = None
    y_half: Floats | None = None
    notes: Sequence[str] = ()
    steps: bool = False
    clip: bool = True

    @cached_property
    def values(self) -> Values:
        """The points that have both values; of a long line, the extremes of each section."""
        [known] = numpy.nonzero(~(numpy.isnan(self.x) | numpy.isnan(self.y)))
        kept = known[_thinned(self.y[known])]
        unknown = numpy.full(len(self.x), numpy.nan)
        x_half, y_half = (unknown if half is None else half for half in (self.x_half, self.y_half))
        notes = [self.notes[number] for number in kept] if self.notes else ()
        return Values(self.x[kept], self.y[kept], x_half[kept], y_half[kept], notes)

    @property
    def is_visible(self) -> bool:
        """Whether there is more than one point, or a marker for the only one."""
        return len(self.values.x) >= (1 if self.style.marker else 2)


@dataclass(frozen=True, eq=False)
class Bars(Mark):
    """Horizontal bars of one colour: from start, `length` long, centred at y."""

    length: Floats
    y: Floats
    colour: str
    start: Floats
    height: float = 0.8
    half: Floats | None = None

    @property
    def values(self) -> Values:
        return _values(self.length, self.y, self.half)


@dataclass(frozen=True, eq=False)
class Steps(Mark):
    """A value for each interval between edges; there is one more edge than values.

    filled: filled down to zero, in a lighter shade. closed: with lines down to zero at both ends.
    """

    heights: Floats
    edges: Floats
    style: Style
    filled: bool = False
    closed: bool = False

    @property
    def values(self) -> Values:
        return _values((self.edges[1:] + self.edges[:-1]) / 2, self.heights)


@dataclass(frozen=True, eq=False)
class Strokes(Mark):
    """Vertical lines at x, from low to high; high is the value."""

    x: Floats
    low: float
    high: Floats
    colour: str
    width: float

    @property
    def values(self) -> Values:
        return _values(self.x, self.high)


Valued = Line | Bars | Steps | Strokes
"""Marks that show values."""


@dataclass(frozen=True)
class Box(Mark):
    """A filled rectangle in a lane; top and bottom are values of y. tip: its tooltip."""

    left: float
    right: float
    top: float
    bottom: float
    colour: str
    opacity: float = 1.0
    tip: str = ""


@dataclass(frozen=True)
class Rule(Mark):
    """A straight line across the panel at a value of x, or of y."""

    axis: Literal["x", "y"]
    at: float
    colour: str
    width: float = 0.8


@dataclass(frozen=True)
class Text(Mark):
    """A text next to a point, offset by right and up in typographic points."""

    text: str
    x: float
    y: float
    right: float = 4
    up: float = 0
    colour: str = "ink"
    size: float = 6.5

    @property
    def align_x(self) -> Literal["left", "center", "right"]:
        """The side of the text that is next to the point."""
        return "left" if self.right > 0 else "right" if self.right < 0 else "center"

    @property
    def align_y(self) -> Literal["bottom", "center", "top"]:
        return "bottom" if self.up > 0 else "top" if self.up < 0 else "center"


@dataclass(frozen=True)
class Labels(Mark):
    """Texts that labels.place() puts next to their points, in order, where there is room.

    Those without room are left out. No text covers a point.
    """

    texts: Sequence[Text]


@dataclass(frozen=True, eq=False)
class Panel:
    """Axes with marks, drawn in order.

    row, column: its place in the figure. to_scale: x and y keep the same scale on the page.
    """

    x: Axis
    y: Axis
    marks: Sequence[Mark]
    title: str = ""
    row: int = 0
    column: int = 0
    to_scale: bool = False


@dataclass(frozen=True)
class Entry:
    """An entry of the legend: a patch of a colour, or a line with a style."""

    name: str
    look: Style | str


@dataclass(frozen=True)
class Legend:
    """columns: entries per row in print. spacing: between entries, in font sizes."""

    entries: Sequence[Entry] = ()
    columns: int = 1
    spacing: float = 1.2


@dataclass(frozen=True, eq=False)
class Figure:
    """A complete figure.

    shared: axes that are the same in all panels and zoom together. labels: axes are labelled at
    each panel, or once for the whole figure. is_picture: it has too many marks for Plotly; the page
    zooms into its SVG and shows the tooltips of its boxes.
    """

    panels: Sequence[Panel]
    height_in: float
    width_in: float = COLUMN_IN
    legend: Legend = field(default_factory=Legend)
    shared: Literal["", "x", "xy"] = ""
    labels: Literal["panel", "figure"] = "panel"
    is_picture: bool = False

    @property
    def rows(self) -> int:
        return max(panel.row for panel in self.panels) + 1

    @property
    def columns(self) -> int:
        return max(panel.column for panel in self.panels) + 1

    @property
    def is_wide(self) -> bool:
        return self.width_in > COLUMN_IN


def with_margin(
    values: Iterable[float], margin: float = 0.05, low: float | None = None
) -> tuple[float, float]:
    """Limits around values, with a margin as a share of their range. low: a fixed lower limit."""
    known = [value for value in values if numpy.isfinite(value)]
    if not known:
        return (0.0 if low is None else low, 1.0)
    least, most = min(known), max(known)
    start = least if low is None else low
    room = (most - start) * margin or abs(most) * margin or margin
    return (start - room if low is None else low), most + room


def _thinned(values: Floats) -> NDArray[numpy.intp] | slice:
    """Indices of the values to keep: the minimum and maximum of sections of equal length.

    values: no NaN.
    """
    if len(values) <= MOST_POINTS:
        return slice(None)
    bounds = numpy.linspace(0, len(values), MOST_POINTS // 2 + 1).astype(int)
    sections = numpy.repeat(numpy.arange(len(bounds) - 1), numpy.diff(bounds))
    kept = []
    for function in (numpy.minimum, numpy.maximum):
        extreme = function.reduceat(values, bounds[:-1])[sections]
        [places] = numpy.nonzero(values == extreme)
        _, firsts = numpy.unique(sections[places], return_index=True)
        kept.append(places[firsts])
    return numpy.union1d(*kept)

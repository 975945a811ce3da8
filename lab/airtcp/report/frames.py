# SPDX-License-Identifier: GPL-2.0-only
"""The layout of a figure in the page's SVG: places of panels, ticks, titles and legend.

Lengths are in typographic points, from the top left corner of the figure.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy

from airtcp.report.figure import Axis, Entry, Figure, Panel, Text, Tick
from airtcp.report.labels import Area
from airtcp.report.textsize import LINE_HEIGHT, width
from airtcp.report.ticks import ticks
from airtcp.statistics import Floats

POINTS_PER_IN = 72
TITLE_SIZE = 7.0  # of axes and panels
TICK_SIZE = 6.5
TICK_LENGTH = 2.5
LEGEND_SIZE = 6.5
HANDLE = 9.0  # width of a legend's symbol
HANDLE_GAP = 4.5

_PAD = 3.0
TITLE_MIDDLE = _PAD + 0.6 * TITLE_SIZE  # of the titles of axes, from the edge of the figure
_GAP = 7.0  # between panels
_LINE = TITLE_SIZE * LINE_HEIGHT + 1
_TICK_LINE = TICK_SIZE * LINE_HEIGHT
_LEGEND_LINE = 10.0
_X_TICK_ROOM = 34.0
_Y_TICK_ROOM = 15.0

_Values = TypeVar("_Values", float, Floats)


@dataclass(frozen=True)
class Frame:
    """The place of a panel. x_ticks, y_ticks: with their labels, empty where others show them."""

    panel: Panel
    left: float
    top: float
    width: float
    height: float
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]

    def x(self, values: _Values) -> _Values:
        return self.left + self.width * _shares(self.panel.x, values)

    def y(self, values: _Values) -> _Values:
        return self.top + self.height * (1 - _shares(self.panel.y, values))

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    @property
    def area(self) -> Area:
        """For placing labels, with y upwards."""
        box = (self.left, -self.bottom, self.right, -self.top)
        return Area(box, lambda x, y: numpy.column_stack([self.x(x), -self.y(y)]), text_size)


@dataclass(frozen=True)
class LegendEntry:
    """An entry of the legend; left and middle: of its symbol."""

    entry: Entry
    left: float
    middle: float


@dataclass(frozen=True)
class Frames:
    """The panels and the legend of a figure of this width and height."""

    width: float
    height: float
    frames: Sequence[Frame]
    legend: Sequence[LegendEntry]


def text_size(text: Text) -> tuple[float, float]:
    return width(text.text, text.size), text.size * LINE_HEIGHT


def lay_out(figure: Figure) -> Frames:
    """Lay out a figure."""
    whole_width, whole_height = figure.width_in * POINTS_PER_IN, figure.height_in * POINTS_PER_IN
    legend = list(_legend(figure, whole_width))
    legend_lines = len({entry.middle for entry in legend})
    top = _PAD + (legend_lines * _LEGEND_LINE + 3 if legend else 2)
    rows = _rows(figure, top, whole_height - _PAD)
    y_ticks = {
        id(panel): ticks(panel.y, rows[panel.row][1] / _Y_TICK_ROOM) for panel in figure.panels
    }
    sides = [
        max(
            [2.0]
            + [
                _label_width(y_ticks[id(panel)]) + (0 if panel.y.ticks else TICK_LENGTH) + 3
                for panel in figure.panels
                if panel.column == column and _has_y_labels(figure, panel)
            ]
        )
        for column in range(figure.columns)
    ]
    left = _PAD + (_LINE if any(panel.y.title for panel in figure.panels) else 0)
    room = whole_width - left - _PAD - sum(sides) - _GAP * (figure.columns - 1)
    right = max(_beyond(panel, room / figure.columns) for panel in figure.panels)
    panel_width = (room - right) / figure.columns
    frames = []
    for panel in figure.panels:
        before = sum(sides[: panel.column + 1]) + panel.column * (panel_width + _GAP)
        panel_top, panel_height = rows[panel.row]
        x_ticks = ticks(panel.x, panel_width / _X_TICK_ROOM)
        frames.append(
            Frame(
                panel,
                left + before,
                panel_top,
                panel_width,
                panel_height,
                x_ticks if has_x_labels(figure, panel) else _unlabelled(x_ticks),
                y_ticks[id(panel)]
                if _has_y_labels(figure, panel)
                else _unlabelled(y_ticks[id(panel)]),
            )
        )
    return Frames(whole_width, whole_height, frames, legend)


def has_x_labels(figure: Figure, panel: Panel) -> bool:
    """Whether a panel has labels at its x axis: it is the lowest, or its axis is its own."""
    below = any(other.column == panel.column and other.row > panel.row for other in figure.panels)
    return not ("x" in figure.shared and below)


def _has_y_labels(figure: Figure, panel: Panel) -> bool:
    return panel.column == 0 or "y" not in figure.shared


def _unlabelled(labelled: Sequence[Tick]) -> list[Tick]:
    return [Tick(tick.at, "") for tick in labelled]


def _rows(figure: Figure, top: float, bottom: float) -> list[tuple[float, float]]:
    """(top, height) of the panels of each row."""
    titles, labels = [], []
    for row in range(figure.rows):
        panels = [panel for panel in figure.panels if panel.row == row]
        titles.append(_LINE + 1 if any(panel.title for panel in panels) else 0.0)
        labelled = any(has_x_labels(figure, panel) for panel in panels)
        labels.append(_TICK_LINE + TICK_LENGTH + 2 if labelled else 0.0)
    below = _LINE if any(panel.x.title for panel in figure.panels) else 0.0
    room = bottom - top - below - sum(titles) - sum(labels) - _GAP * (figure.rows - 1)
    height = max(room / figure.rows, 1.0)
    rows = []
    for title, label in zip(titles, labels, strict=True):
        top += title
        rows.append((top, height))
        top += height + label + _GAP
    return rows


def _label_width(labelled: Sequence[Tick]) -> float:
    lines = [line for tick in labelled for line in tick.label.split("\n")]
    return max((width(line, TICK_SIZE) for line in lines), default=0.0)


def _beyond(panel: Panel, panel_width: float) -> float:
    """Room to the right of a panel, for half the last tick's label and for texts."""
    last = panel.x.ticks[-1].label if panel.x.ticks else f"{panel.x.limits[1]:.3g}"
    needed = [width(last, TICK_SIZE) / 2]
    for mark in panel.marks:
        if isinstance(mark, Text) and mark.right > 0:
            share = _shares(panel.x, mark.x)
            if 0 <= share <= 1:
                end = mark.right + text_size(mark)[0]
                # The panel becomes narrower by what it needs.
                needed.append((end - (1 - share) * panel_width) / max(share, 0.5))
    return max(needed)


def _shares(axis: Axis, values: _Values) -> _Values:
    """Positions along an axis: 0 at its first limit, 1 at its last."""
    first, last = axis.limits
    if axis.scale == "log":
        values = numpy.log10(numpy.maximum(values, min(axis.limits) / 1000))
        first, last = math.log10(first), math.log10(last)
    return (values - first) / ((last - first) or 1.0)


def _legend(figure: Figure, room: float) -> Iterator[LegendEntry]:
    """The entries in centred rows, in as many columns as fit."""
    legend = figure.legend
    gap = legend.spacing * LEGEND_SIZE
    for columns in range(min(legend.columns, len(legend.entries)), 0, -1):
        rows = [
            legend.entries[start : start + columns]
            for start in range(0, len(legend.entries), columns)
        ]
        widths = [
            max(HANDLE + HANDLE_GAP + width(entry.name, LEGEND_SIZE) for entry in column)
            for column in (legend.entries[start::columns] for start in range(columns))
        ]
        total = sum(widths) + gap * (columns - 1)
        if total <= room or columns == 1:
            break
    else:
        return
    for number, row in enumerate(rows):
        left = max(0.0, (room - total) / 2)
        for entry, entry_width in zip(row, widths, strict=False):
            yield LegendEntry(entry, left, _PAD + (number + 0.5) * _LEGEND_LINE)
            left += entry_width + gap

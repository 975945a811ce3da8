# SPDX-License-Identifier: GPL-2.0-only
"""Shared parts of declared figures: the grid of panels, the style of lines, the legend."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from airtcp.experiment.casenames import display_name
from airtcp.experiment.figures import MetricFigure, TimeFigure
from airtcp.report.declared.layout import Layout, Place
from airtcp.report.figure import (
    COLUMN_IN,
    PAGE_IN,
    Axis,
    Dash,
    Entry,
    Figure,
    Legend,
    Mark,
    Panel,
    Style,
)
from airtcp.report.markers import MARKERS, Name
from airtcp.report.palette import POLICY_COLOURS, policy_role

# One for each line, or for each metric if there are several; colours repeat sooner.
LINE_MARKERS: Sequence[Name] = [name for name, marker in MARKERS.items() if not marker.is_thin]
DASHES: Sequence[Dash] = get_args(Dash)

# Panels in a row, and the height of each with its share of the axes' labels.
_MOST_COLUMNS = 3
_MOST_IN_ROW = 5
_PANEL_IN = 1.75
_ALONE_IN = 2.3
_LEGEND_ROW_IN = 0.14

Marks = Mapping[tuple[str, str], Sequence[Mark]]
"""The marks of each panel, by its row and its panel in the layout."""


def figure(laid_out: Layout, marks: Marks, x: Axis, y: Axis, entries: Sequence[Entry]) -> Figure:
    """Panels with the same axes; the panels of a row side by side, if there is room."""
    cells = laid_out.panels
    rows = len(laid_out.rows)
    columns = math.ceil(len(cells) / rows)
    if columns > (_MOST_COLUMNS if rows == 1 else _MOST_IN_ROW) or rows * columns > len(cells):
        rows = math.ceil(len(cells) / _MOST_COLUMNS)
        columns = math.ceil(len(cells) / rows)
    is_alone = len(cells) == 1
    width_in = COLUMN_IN if is_alone else PAGE_IN
    panels = [
        Panel(
            x,
            y,
            marks.get((row, panel), ()),
            title=", ".join(part for part in (panel, row) if part),
            row=number // columns,
            column=number % columns,
        )
        for number, (row, panel) in enumerate(cells)
    ]
    legend, legend_in = legend_above(entries, width_in)
    return Figure(
        panels,
        0.35 + (_ALONE_IN if is_alone else rows * _PANEL_IN) + legend_in,
        width_in,
        legend,
        shared="xy",
        labels="panel" if is_alone else "figure",
    )


def legend_above(entries: Sequence[Entry], width_in: float) -> tuple[Legend, float]:
    """A legend, and the height in inches that it needs beyond one row."""
    if not entries:
        return Legend(), 0.0
    letters = max(len(entry.name) for entry in entries)
    columns = max(1, int(width_in * 72 / (26 + 3.6 * letters)))
    more_rows = math.ceil(len(entries) / columns) - 1
    return Legend(entries, min(len(entries), columns)), more_rows * _LEGEND_ROW_IN


def line_style(number: int, width: float = 0.9, marker: Name | None = None) -> Style:
    """The style of a line by its number: colours repeat sooner than dashes."""
    dash = DASHES[number // POLICY_COLOURS % len(DASHES)]
    return Style(policy_role(number), dash, width, marker)


def line_entries(
    laid_out: Layout, markers: Sequence[Name | None] = (None,), joined: bool = True
) -> list[Entry]:
    """The legend entries of lines that have a name; joined: the figure has lines, not only points.

    Points that have only a colour in common are shown by a patch of it.
    """
    entries = []
    for number, line in enumerate(laid_out.lines):
        style = line_style(number, marker=markers[number % len(markers)])
        if not joined:
            style = replace(style, dash=None)
        if line:
            entries.append(Entry(line, style if style.dash or style.marker else style.colour))
    return entries


def case_columns(
    figure: MetricFigure | TimeFigure,
) -> tuple[list[str], Callable[[Place], list[str]]]:
    """The columns of a table that identify a case: their headings, and the texts of a place."""
    heads = [display_name(figure.lines or "line")]
    heads += [display_name(factor) for factor in (figure.panels, figure.rows) if factor]

    def texts(place: Place) -> list[str]:
        cells = [place.line or "all"]
        cells += [place.panel] if figure.panels else []
        return [*cells, *([place.row] if figure.rows else [])]

    return heads, texts


def described(rows: Sequence[Sequence[str]], heads: Sequence[str]) -> str:
    """The rows of a table as text, for people who cannot see the figure."""
    return "; ".join(
        ", ".join(f"{head} {cell}" for head, cell in zip(heads, row, strict=False)) for row in rows
    )


def count_cases(count: int) -> str:
    return "one case" if count == 1 else f"{count} cases"

# SPDX-License-Identifier: GPL-2.0-only
"""Converts a figure to a Plotly document, which the page shows if scripts are allowed.

Colours are those of print; the page replaces them by those of its light or dark theme.
"""

import html
import math
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy

from airtcp.report.figure import (
    FILL_OPACITY,
    Axis,
    Bars,
    Entry,
    Figure,
    Labels,
    Line,
    Mark,
    Panel,
    Rule,
    Steps,
    Strokes,
    Style,
    Text,
    Valued,
    Values,
)
from airtcp.report.markers import MARKERS
from airtcp.report.palette import print_colour
from airtcp.report.table import texts
from airtcp.report.ticks import LEAST_DECADES
from airtcp.statistics import Floats, part_below
from airtcp.units import rounded

_PX_PER_IN = 150  # a column of a paper is as wide as the page shows a figure
_PX_PER_POINT = 2.0
_SPACE_POINTS = 4  # a text is farther from its point by the width of a space per further point
_LINE_WIDTH = 0.8 * _PX_PER_POINT
Trace = dict[str, Any]


def document(figure: Figure) -> dict[str, Any]:
    """Plotly's {data, layout}. layout.meta has the legend, which the page draws.

    Raises NotImplementedError for marks that Plotly does not show.
    """
    data: list[Trace] = []
    layout: dict[str, Any] = {}
    for number, panel in enumerate(figure.panels, start=1):
        ref = _ref(number)
        for mark in panel.marks:
            if isinstance(mark, Rule):
                layout.setdefault("shapes", []).append(_shape(mark, ref))
            else:
                data += _placed(mark, panel, ref)
        for letter, axis in (("x", panel.x), ("y", panel.y)):
            matches = number > 1 and letter in figure.shared
            layout[f"{letter}axis{ref}"] = _axis(axis, letter if matches else "")
        if panel.to_scale:
            layout[f"yaxis{ref}"]["scaleanchor"] = f"x{ref}"
        if panel.title:
            layout.setdefault("annotations", []).append(_title(panel.title, ref))
    layout |= {
        "height": round(figure.height_in * _PX_PER_IN),
        "grid": _grid(figure),
        "barmode": "overlay",
        "hovermode": "closest",
        "showlegend": False,
        "meta": {"legend": [_entry(entry) for entry in figure.legend.entries]},
    }
    return {"data": data, "layout": layout}


def _ref(number: int) -> str:
    """The suffix of x and y in the name of an axis: empty for the first."""
    return "" if number == 1 else str(number)


def _grid(figure: Figure) -> dict[str, Any]:
    """The arrangement of the panels."""
    places = [["" for _ in range(figure.columns)] for _ in range(figure.rows)]
    for number, panel in enumerate(figure.panels, start=1):
        places[panel.row][panel.column] = f"x{_ref(number)}y{_ref(number)}"
    return {"rows": figure.rows, "columns": figure.columns, "subplots": places}


def _axis(axis: Axis, matches: str) -> dict[str, Any]:
    is_log = axis.scale == "log"
    limits = [math.log10(limit) if is_log else limit for limit in axis.limits]
    described: dict[str, Any] = {
        "title": {"text": html.escape(axis.title)},
        "type": axis.scale,
        "range": [_number(limit) for limit in limits],
        "showgrid": axis.grid,
        "zeroline": False,
        "automargin": True,
    }
    if is_log:
        described["dtick"] = "D2" if limits[1] - limits[0] < LEAST_DECADES else 1
        described["tickformat"] = "~g"  # by default D2 shows only the first digit
    if axis.ticks:
        described |= {
            "tickvals": [tick.at for tick in axis.ticks],
            "ticktext": [html.escape(tick.label).replace("\n", "<br>") for tick in axis.ticks],
            "fixedrange": True,
        }
    if matches:
        described["matches"] = matches
    return described


def _title(title: str, ref: str) -> dict[str, Any]:
    """The title of a panel, above it."""
    return {
        "text": html.escape(title),
        "xref": f"x{ref} domain",
        "yref": f"y{ref} domain",
        "x": 0.5,
        "y": 1,
        "yanchor": "bottom",
        "showarrow": False,
    }


def _shape(rule: Rule, ref: str) -> dict[str, Any]:
    other = "y" if rule.axis == "x" else "x"
    return {
        "type": "line",
        f"{rule.axis}ref": f"{rule.axis}{ref}",
        f"{other}ref": f"{other}{ref} domain",
        f"{rule.axis}0": rule.at,
        f"{rule.axis}1": rule.at,
        f"{other}0": 0,
        f"{other}1": 1,
        "layer": "above",
        "line": {"color": print_colour(rule.colour), "width": 1},
    }


def _placed(mark: Mark, panel: Panel, ref: str) -> list[Trace]:
    """The traces of a mark; only the first shows values on hover, and texts show none."""
    traces = _traces(mark)
    for number, trace in enumerate(traces):
        trace |= {
            "name": html.escape(mark.name),
            "xaxis": f"x{ref}",
            "yaxis": f"y{ref}",
            "meta": {"entries": list(mark.entries)},
        }
        if number or isinstance(mark, Text):
            trace["hoverinfo"] = "skip"
        else:
            assert isinstance(mark, Valued)
            trace |= _hover(mark, panel)
    return traces


@singledispatch
def _traces(mark: Mark) -> list[Trace]:
    raise NotImplementedError(f"Plotly cannot show a {type(mark).__name__}")


@_traces.register
def _line_traces(mark: Line) -> list[Trace]:
    if not mark.is_visible:
        return []
    values, style = mark.values, mark.style
    trace: Trace = {"type": "scatter", "x": _plain(values.x), "y": _plain(values.y)}
    modes = []
    if style.dash is not None:
        modes.append("lines")
        trace["line"] = {**_line(style), "shape": "hv" if mark.steps else "linear"}
    if style.marker:
        modes.append("markers")
        trace["marker"] = _marker(style)
    trace["mode"] = "+".join(modes)
    width = 3 if style.whiskers == "capped" else 0
    return [trace | _intervals(values, style.colour, width)]


@_traces.register
def _bar_traces(mark: Bars) -> list[Trace]:
    trace: Trace = {
        "type": "bar",
        "orientation": "h",
        "x": _plain(mark.length),
        "y": _plain(mark.y),
        "base": _plain(mark.start),
        "width": mark.height,
        "marker": {"color": print_colour(mark.colour), "line": {"width": 0}},
    }
    return [trace | _intervals(mark.values, "ink", 3)]


@_traces.register
def _step_traces(mark: Steps) -> list[Trace]:
    colour = print_colour(mark.style.colour)
    outline: Trace = {
        "type": "scatter",
        "mode": "lines",
        "x": _plain(mark.edges),
        "y": _plain(numpy.append(mark.heights, mark.heights[-1:])),
        "line": {**_line(mark.style), "shape": "hv"},
    }
    if not mark.filled:
        return [outline]
    bars: Trace = {
        "type": "bar",
        "x": _plain(mark.values.x),
        "y": _plain(mark.heights),
        "width": _plain(numpy.diff(mark.edges)),
        "marker": {"color": colour, "opacity": FILL_OPACITY, "line": {"width": 0}},
    }
    return [bars, outline]


@_traces.register
def _stroke_traces(mark: Strokes) -> list[Trace]:
    """Strokes as bars, nearly as wide as the distance between strokes."""
    return [
        {
            "type": "bar",
            "x": _plain(mark.x),
            "y": _plain(mark.high),
            "width": 0.75,
            "marker": {"color": print_colour(mark.colour), "line": {"width": 0}},
        }
    ]


@_traces.register
def _text_traces(mark: Text) -> list[Trace]:
    up = {"bottom": "top", "top": "bottom", "center": "middle"}[mark.align_y]
    aside = {"left": "right", "right": "left", "center": "center"}[mark.align_x]
    space = "\N{NO-BREAK SPACE}" * max(1, round(abs(mark.right) - _SPACE_POINTS))
    return [
        {
            "type": "scatter",
            "mode": "text",
            "x": [_number(mark.x)],
            "y": [_number(mark.y)],
            "text": [html.escape(f"{space}{mark.text}{space}")],
            "textposition": f"{up} {aside}",
            "textfont": {"color": print_colour(mark.colour)},
            "cliponaxis": False,
        }
    ]


@_traces.register
def _no_traces(mark: Labels) -> list[Trace]:
    """svg.draw() has replaced the labels that have room by texts."""
    return []


def _line(style: Style) -> dict[str, Any]:
    colour = print_colour(style.colour)
    return {"color": colour, "width": style.width * _LINE_WIDTH, "dash": style.dash}


def _marker(style: Style) -> dict[str, Any]:
    assert style.marker
    marker = MARKERS[style.marker]
    has_outline = style.hollow or marker.is_thin
    return {
        "symbol": f"{marker.plotly}-open" if has_outline else marker.plotly,
        "color": print_colour(style.colour),
        "size": style.size * _PX_PER_POINT,
        "line": {"width": style.edge * _PX_PER_POINT if has_outline else 0},
    }


def _intervals(values: Values, colour: str, width: int) -> Trace:
    """Error bars of points with intervals; width: of their ends."""
    halves = {"x": (values.x, values.x_half), "y": (values.y, values.y_half)}

    def lengths(parts: Floats) -> list[float]:
        return [0 if math.isnan(value) else _number(value) for value in parts]

    return {
        f"error_{letter}": {
            "type": "data",
            "array": lengths(half),
            "arrayminus": lengths(part_below(centres, half)),
            "symmetric": False,
            "color": print_colour(colour),
            "thickness": 1.2,
            "width": width,
        }
        for letter, (centres, half) in halves.items()
        if not numpy.isnan(half).all()
    }


def _hover(mark: Valued, panel: Panel) -> Trace:
    """The tooltip of a point; customdata has everything except its values.

    It also has the length of a bar, of which Plotly knows only where the bar ends.
    """
    asides = _asides(mark, panel)
    lines = [f"<b>{html.escape(mark.name)}</b>"] if mark.name else []
    for number, (letter, axis) in enumerate((("x", panel.x), ("y", panel.y))):
        aside = f"%{{customdata[{number}]}}" if asides else ""
        if axis.ticks:
            lines.append(aside)
            continue
        value = aside if _is_length(mark, letter) else f"%{{{letter}:.4~r}}{aside}"
        value += f" {html.escape(axis.unit)}" if axis.unit else ""
        lines.append(f"{html.escape(axis.name)}: {value}" if axis.name else value)
    if mark.values.notes:
        lines.append("%{customdata[2]}")
    hover: Trace = {"hovertemplate": "<br>".join(lines) + "<extra></extra>"}
    return hover | ({"customdata": asides} if asides else {})


def _is_length(mark: Valued, letter: str) -> bool:
    return letter == "x" and isinstance(mark, Bars)


def _asides(mark: Valued, panel: Panel) -> list[tuple[str, ...]]:
    """For each point: for x and y, the interval or the label of a tick, and then its note."""
    values = mark.values
    columns = []
    for letter, axis, numbers, halves in (
        ("x", panel.x, values.x, values.x_half),
        ("y", panel.y, values.y, values.y_half),
    ):
        if axis.ticks or _is_length(mark, letter):
            columns.append([html.escape(text) for text in texts(axis, numbers, halves)])
        else:
            columns.append(
                ["" if math.isnan(half) else f" ± {rounded(half, 3)}" for half in halves]
            )
    if values.notes:
        columns.append([html.escape(note) for note in values.notes])
    return list(zip(*columns, strict=True)) if any(map(any, columns)) else []


def _entry(entry: Entry) -> dict[str, Any]:
    """An entry of the legend; path: the outline of its marker in a unit square."""
    look = entry.look
    if isinstance(look, str):
        return {"name": entry.name, "color": print_colour(look), "kind": "patch"}
    described: dict[str, Any] = {
        "name": entry.name,
        "color": print_colour(look.colour),
        "kind": "line",
    }
    if look.dash:
        described["dash"] = look.dash
    if look.marker:
        marker = MARKERS[look.marker]
        described |= {"path": marker.path, "hollow": look.hollow or marker.is_thin}
    return described


def _number(value: float) -> float:
    """Rounded to six significant digits, more than a plot can show."""
    return float(f"{value:.6g}")


def _plain(values: Floats | Sequence[float]) -> list[float]:
    return [_number(float(value)) for value in values]

# SPDX-License-Identifier: GPL-2.0-only
"""A finished matplotlib figure as a Plotly figure: what the page shows where it may run scripts.

Every figure is drawn once, by matplotlib; here its artists are read. An artist's label names the
entries of the legend that it belongs to (see entries()), by which the page hides and shows it.
Colours are those of print: the page puts its own, light or dark, in their places.
"""

import html
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex, to_rgba
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.patches import Patch, StepPatch
from matplotlib.text import Annotation
from matplotlib.ticker import FixedLocator
from numpy.typing import NDArray

_PX_PER_IN = 150  # a column of a paper is as wide as the page shows a figure
_PX_PER_POINT = 2.0
# Of longer lines as many points are kept, the least and the greatest of each stretch: more than
# the page has pixels.
MOST_POINTS = 2000

_DASHES = {"-": "solid", "--": "dash", ":": "dot", "-.": "dashdot"}
_SYMBOLS: Mapping[Any, str] = {
    "o": "circle",
    "s": "square",
    "^": "triangle-up",
    "v": "triangle-down",
    "<": "triangle-left",
    ">": "triangle-right",
    "D": "diamond",
    "d": "diamond-tall",
    "P": "cross",
    "X": "x",
    "*": "star",
    "h": "hexagon",
    "p": "pentagon",
    "|": "line-ns",
    "x": "x-thin",
}
_HOLLOW = ("none", "None")
_NO_MARKER = ("", "None", "none", None)
_BETWEEN = "\n"
_TOLD = "\t"  # begins what is no entry
_EACH = "\v"  # begins what a point is

_Floats = NDArray[numpy.float64]
_Trace = dict[str, Any]


def entries(*names: str, told: str = "", each: Sequence[str] = ()) -> str:
    """The label of an artist that is shown while all of these entries of the legend are.

    told: what it is beside that. each: what each of its points is.
    """
    own = [name for name in names if name]
    own += [_TOLD + told] if told else []
    return _BETWEEN.join([*own, *([_EACH + _EACH.join(each)] if any(each) else [])])


@dataclass
class Series:
    """Points of a panel that belong together; halves of their intervals, NaN where there is none.

    of_labels: which axis, if any, has labels in place of numbers, and the label of each point.
    each: what each point is beside its values.
    """

    panel: str
    name: str
    x_title: str
    y_title: str
    x: _Floats
    y: _Floats
    x_half: _Floats
    y_half: _Floats
    of_labels: str = ""
    labels: Sequence[str] = ()
    each: Sequence[str] = ()

    def values(self, axis: str) -> list[str]:
        """Of each point, with half of its interval."""
        if axis == self.of_labels:
            return list(self.labels)
        values, halves = (self.x, self.x_half) if axis == "x" else (self.y, self.y_half)
        return [
            f"{value:.4g}" + ("" if math.isnan(half) else f" ± {half:.3g}")
            for value, half in zip(values, halves, strict=True)
        ]


@dataclass
class Interactive:
    """A Plotly figure, and its series as they are."""

    data: list[_Trace] = field(default_factory=list)
    layout: dict[str, Any] = field(default_factory=dict)
    series: list[Series] = field(default_factory=list)

    @property
    def document(self) -> dict[str, Any]:
        return {"data": self.data, "layout": self.layout}


def convert(figure: Figure) -> Interactive:
    """Panels, lines, markers, intervals, bars, steps, labels, marks across; legend and axes.

    The figure must be laid out. layout.meta has its legend. Raises NotImplementedError for
    artists of other kinds.
    """
    found = Interactive()
    panels = figure.axes
    for number, axes in enumerate(panels, start=1):
        _Panel(found, figure, axes, number).read()
    found.layout |= {
        "height": round(figure.get_figheight() * _PX_PER_IN),
        "grid": _grid(panels),
        "barmode": "overlay",
        "hovermode": "closest",
        "showlegend": False,
        "meta": {"legend": [_entry(*one) for one in _handles(figure)]},
    }
    return found


def _grid(panels: Sequence[Axes]) -> dict[str, Any]:
    """Which panel is where."""
    places = {}
    rows = columns = 1
    for number, axes in enumerate(panels, start=1):
        spec = axes.get_subplotspec()
        assert spec is not None
        rows, columns = spec.get_gridspec().get_geometry()
        places[spec.rowspan.start, spec.colspan.start] = f"x{_ref(number)}y{_ref(number)}"
    return {
        "rows": rows,
        "columns": columns,
        "subplots": [
            [places.get((row, column), "") for column in range(columns)] for row in range(rows)
        ],
    }


def _ref(number: int) -> str:
    """What follows x and y in the name of an axis: nothing for the first."""
    return "" if number == 1 else str(number)


class _Panel:
    """Reads one panel of a figure."""

    def __init__(self, into: Interactive, figure: Figure, axes: Axes, number: int) -> None:
        self._into = into
        self._figure = figure
        self._axes = axes
        self._ref = _ref(number)
        self._title = axes.get_title()
        self._x_title = axes.get_xlabel() or figure.get_supxlabel() or _below(figure, axes)
        self._y_title = axes.get_ylabel() or figure.get_supylabel()
        self._own: list[tuple[_Trace, Series]] = []

    def read(self) -> None:
        axes = self._axes
        whiskers = [one for one in axes.containers if isinstance(one, ErrorbarContainer)]
        bars = [one for one in axes.containers if isinstance(one, BarContainer)]
        parts = {id(artist) for one in (*whiskers, *bars) for artist in one.get_children()}
        self._read_bars(bars)
        data_lines = (one.lines[0] for one in whiskers)
        for line in filter(None, data_lines):
            self._read_line(line, str(_labelled(whiskers, line).get_label()))
        for artist in (*axes.lines, *axes.collections, *axes.patches, *axes.texts):
            if id(artist) not in parts:
                self._read(artist)
        for one in whiskers:
            self._read_whiskers(one)
        for trace, series in self._own:
            self._into.series.append(series)
            trace["hovertemplate"] = _hover(series)
            if asides := _asides(series):
                trace["customdata"] = asides
        for name in ("x", "y"):
            self._into.layout[f"{name}axis{self._ref}"] = self._axis(name)
        if self._title:
            self._into.layout.setdefault("annotations", []).append(
                {
                    "text": html.escape(self._title),
                    "xref": f"x{self._ref} domain",
                    "yref": f"y{self._ref} domain",
                    "x": 0.5,
                    "y": 1,
                    "yanchor": "bottom",
                    "showarrow": False,
                }
            )

    def _read(self, artist: Artist) -> None:
        if isinstance(artist, Line2D):
            if artist.get_transform() == self._axes.get_xaxis_transform(which="grid"):
                self._read_across(artist)
            else:
                self._read_line(artist, str(artist.get_label()))
        elif isinstance(artist, StepPatch):
            self._read_steps(artist)
        elif isinstance(artist, LineCollection):
            self._read_columns(artist)
        elif isinstance(artist, Annotation):
            self._read_text(artist)
        else:
            raise NotImplementedError(f"no interactive figure of {artist}")

    def _add(self, trace: _Trace, label: str, series: Series | None) -> None:
        """A trace; without a series it is looks alone."""
        names = _names(label)
        trace |= {
            "name": html.escape(_told(label)),
            "xaxis": f"x{self._ref}",
            "yaxis": f"y{self._ref}",
            "meta": {"entries": names},
        }
        self._into.data.append(trace)
        if series is None:
            trace["hoverinfo"] = "skip"
            return
        for axis in ("x", "y"):
            ticks = _tick_labels(getattr(self._axes, f"{axis}axis"))
            if ticks:
                series.of_labels = axis
                values = getattr(series, axis)
                series.labels = [_nearest(ticks, float(value)) for value in values]
        self._own.append((trace, series))

    def _series(self, label: str, x: _Floats, y: _Floats) -> Series:
        none = numpy.full(len(x), math.nan)
        titles = (self._x_title, self._y_title)
        return Series(self._title, _told(label), *titles, x, y, none, none.copy())

    def _read_line(self, line: Line2D, label: str) -> None:
        x = numpy.asarray(line.get_xdata(orig=False), dtype=float)
        y = numpy.asarray(line.get_ydata(orig=False), dtype=float)
        known = ~(numpy.isnan(x) | numpy.isnan(y))
        x, y = _thinned(x[known], y[known])
        has_marker = line.get_marker() not in _NO_MARKER
        if len(x) < (1 if has_marker else 2):
            return  # nothing to be seen
        series = self._series(label, x, y)
        series.each = _each(label)
        trace: _Trace = {"type": "scatter", "x": _plain(x), "y": _plain(y)}
        modes = []
        if (dash := _DASHES.get(str(line.get_linestyle()))) is not None:
            modes.append("lines")
            trace["line"] = {
                "color": _hex(line.get_color()),
                "width": line.get_linewidth() * _PX_PER_POINT * 0.8,
                "dash": dash,
                "shape": "hv" if line.get_drawstyle() == "steps-post" else "linear",
            }
        if has_marker:
            modes.append("markers")
            trace["marker"] = _marker(line)
        trace["mode"] = "+".join(modes)
        self._add(trace, label, series)

    def _read_across(self, line: Line2D) -> None:
        x = float(numpy.asarray(line.get_xdata(orig=False), dtype=float)[0])
        self._into.layout.setdefault("shapes", []).append(
            {
                "type": "line",
                "xref": f"x{self._ref}",
                "yref": f"y{self._ref} domain",
                "x0": x,
                "x1": x,
                "y0": 0,
                "y1": 1,
                "layer": "above",
                "line": {"color": _hex(line.get_color()), "width": 1},
            }
        )

    def _read_steps(self, steps: StepPatch) -> None:
        values, edges, _ = steps.get_data()
        values, edges = numpy.asarray(values, float), numpy.asarray(edges, float)
        label = str(steps.get_label())
        middles = (edges[1:] + edges[:-1]) / 2
        if steps.get_fill():
            bars: _Trace = {
                "type": "bar",
                "x": _plain(middles),
                "y": _plain(values),
                "width": _plain(numpy.diff(edges)),
                "marker": {
                    "color": _hex(steps.get_facecolor()),
                    "opacity": round(to_rgba(steps.get_facecolor())[3], 3),
                    "line": {"width": 0},
                },
            }
            self._add(bars, label, self._series(label, middles, values))
        trace: _Trace = {
            "type": "scatter",
            "mode": "lines",
            "x": _plain(edges),
            "y": _plain(numpy.append(values, values[-1:])),
            "line": {
                "color": _hex(steps.get_edgecolor()),
                "width": steps.get_linewidth() * _PX_PER_POINT * 0.8,
                "dash": _DASHES.get(str(steps.get_linestyle()), "solid"),
                "shape": "hv",
            },
        }
        self._add(trace, label, None if steps.get_fill() else self._series(label, middles, values))

    def _read_columns(self, lines: LineCollection) -> None:
        """Lines that stand upon the same foot are bars."""
        ends = numpy.array(lines.get_segments(), dtype=float).reshape(-1, 4)
        if not len(ends):
            return
        if (ends[:, 0] != ends[:, 2]).any() or (ends[:, 1] != ends[0, 1]).any():
            raise NotImplementedError("no interactive figure of lines that are not columns")
        label = str(lines.get_label())
        x, y = ends[:, 0], ends[:, 3]
        trace: _Trace = {
            "type": "bar",
            "x": _plain(x),
            "y": _plain(y),
            "width": 0.75,
            "marker": {"color": _hex(lines.get_color()), "line": {"width": 0}},
        }
        self._add(trace, label, self._series(label, x, y))

    def _read_bars(self, containers: Sequence[BarContainer]) -> None:
        """Those of an entry and a colour together."""
        alike: dict[tuple[str, str], list[Any]] = {}
        for container in containers:
            for bar in container.patches:
                key = (str(container.get_label()), _hex(bar.get_facecolor()))
                alike.setdefault(key, []).append(bar)
        for (label, colour), bars in alike.items():
            ends = numpy.array([bar.get_width() for bar in bars], dtype=float)
            middles = numpy.array([bar.get_y() + bar.get_height() / 2 for bar in bars])
            trace: _Trace = {
                "type": "bar",
                "orientation": "h",
                "x": _plain(ends),
                "y": _plain(middles),
                "base": _plain(numpy.array([bar.get_x() for bar in bars])),
                "width": _plain(numpy.array([bar.get_height() for bar in bars])),
                "marker": {"color": colour, "line": {"width": 0}},
            }
            self._add(trace, label, self._series(label, ends, middles))

    def _read_text(self, text: Annotation) -> None:
        """Beside its point, as matplotlib puts it."""
        x, y = text.xy
        up = {"bottom": "top", "top": "bottom"}.get(text.get_verticalalignment(), "middle")
        aside = {"left": "right", "right": "left"}.get(text.get_horizontalalignment(), "center")
        trace: _Trace = {
            "type": "scatter",
            "mode": "text",
            "x": [_number(float(x))],
            "y": [_number(float(y))],
            "text": [html.escape(f"\N{NO-BREAK SPACE}{text.get_text()}\N{NO-BREAK SPACE}")],
            "textposition": f"{up} {aside}",
            "textfont": {"color": _hex(text.get_color())},
            "cliponaxis": False,
        }
        self._add(trace, str(text.get_label()), None)

    def _read_whiskers(self, container: ErrorbarContainer) -> None:
        """Intervals belong to the points about which they lie."""
        ways = [axis for axis in ("x", "y") if getattr(container, f"has_{axis}err")]
        for axis, lines in zip(ways, container.lines[2], strict=True):
            along = 0 if axis == "x" else 1
            for segment in lines.get_segments():
                low, high = numpy.asarray(segment, dtype=float)
                half = float(high[along] - low[along]) / 2
                self._give_interval((low + high) / 2, axis, half, _hex(lines.get_color()))

    def _give_interval(self, middle: _Floats, axis: str, half: float, colour: str) -> None:
        trace, series, place = min(
            (
                (trace, series, place)
                for trace, series in self._own
                for place in range(len(series.x))
            ),
            key=lambda one: math.hypot(one[1].x[one[2]] - middle[0], one[1].y[one[2]] - middle[1]),
        )
        halves = series.x_half if axis == "x" else series.y_half
        halves[place] = half
        trace[f"error_{axis}"] = {
            "type": "data",
            "array": [0 if math.isnan(one) else _number(one) for one in halves],
            "color": colour,
            "thickness": 1.2,
            "width": 3 if trace["type"] == "bar" else 0,
        }

    def _axis(self, name: str) -> dict[str, Any]:
        axis: Axis = getattr(self._axes, f"{name}axis")
        low, high = (float(end) for end in axis.get_view_interval())
        is_log = axis.get_scale() == "log"
        if is_log:
            low, high = math.log10(low), math.log10(high)
        ticks = _tick_labels(axis)
        found: dict[str, Any] = {
            "title": {"text": html.escape(self._x_title if name == "x" else self._y_title)},
            "type": "log" if is_log else "linear",
            "range": [_number(low), _number(high)],
            "showgrid": bool(axis.get_tick_params()["gridOn"]),
            "zeroline": False,
            "automargin": True,
        }
        if is_log:
            found["dtick"] = 1
        if ticks:
            found |= {
                "tickvals": list(ticks),
                "ticktext": [html.escape(text).replace("\n", "<br>") for text in ticks.values()],
                "fixedrange": True,
            }
        first = self._figure.axes[0]
        shared = getattr(first, f"get_shared_{name}_axes")()
        if first is not self._axes and shared.joined(first, self._axes):
            found["matches"] = name
        return found


def _labelled(containers: Sequence[ErrorbarContainer], line: Line2D) -> ErrorbarContainer:
    return next(one for one in containers if one.lines[0] is line)


def _below(figure: Figure, axes: Axes) -> str:
    """The title of an axis that is shared, and stands at the lowest panel."""
    shared = axes.get_shared_x_axes()
    titles = (one.get_xlabel() for one in figure.axes if shared.joined(axes, one))
    return next(filter(None, titles), "")


def _parts(label: str) -> list[str]:
    """Matplotlib's own labels, with a line before them, say nothing."""
    return [] if label.startswith("_") else [one for one in label.split(_BETWEEN) if one]


def _names(label: str) -> list[str]:
    """The entries that a label names."""
    return [one for one in _parts(label) if one[0] not in (_TOLD, _EACH)]


def _told(label: str) -> str:
    return ", ".join(one.removeprefix(_TOLD) for one in _parts(label) if one[0] != _EACH)


def _each(label: str) -> list[str]:
    return next((one[1:].split(_EACH) for one in _parts(label) if one[0] == _EACH), [])


def _tick_labels(axis: Axis) -> dict[float, str]:
    """Labels that stand in place of numbers, by where they stand."""
    if not isinstance(axis.get_major_locator(), FixedLocator):
        return {}
    texts = (label.get_text() for label in axis.get_ticklabels())
    return dict(zip(map(float, axis.get_ticklocs()), texts, strict=True))


def _nearest(ticks: Mapping[float, str], value: float) -> str:
    return ticks[min(ticks, key=lambda tick: abs(tick - value))].replace("\n", " ")


def _marker(line: Line2D) -> dict[str, Any]:
    hollow = str(line.get_markerfacecolor()) in _HOLLOW
    symbol = _SYMBOLS[line.get_marker()]
    thin = symbol in ("line-ns", "x-thin")
    colour = line.get_markeredgecolor() if hollow or thin else line.get_markerfacecolor()
    return {
        "symbol": f"{symbol}-open" if hollow or thin else symbol,
        "color": _hex(colour),
        "size": line.get_markersize() * _PX_PER_POINT,
        "line": {"width": line.get_markeredgewidth() * _PX_PER_POINT if hollow or thin else 0},
    }


_AXIS_TITLE = re.compile(r"(.*?) \(([^()]*)\)")


def _hover(series: Series) -> str:
    """What the page says of a point; what is not its values alone comes from _asides()."""
    lines = [f"<b>{html.escape(series.name)}</b>"] if series.name else []
    for number, (axis, title) in enumerate((("x", series.x_title), ("y", series.y_title))):
        aside = f"%{{customdata[{number}]}}" if _asides(series) else ""
        if axis == series.of_labels:
            lines.append(aside)
            continue
        match = _AXIS_TITLE.fullmatch(title)
        what, unit = match.groups() if match else (title, "")
        value = f"%{{{axis}:.4~g}}{aside}" + (f" {html.escape(unit)}" if unit else "")
        lines.append(f"{html.escape(what)}: {value}" if what else value)
    if series.each:
        lines.append("%{customdata[2]}")
    return "<br>".join(lines) + "<extra></extra>"


def _asides(series: Series) -> list[tuple[str, ...]]:
    """Of each point: what stands at its two values or in place of one, and what it is."""
    halves = {"x": series.x_half, "y": series.y_half}
    has_intervals = any(not numpy.isnan(one).all() for one in halves.values())
    if not (series.of_labels or series.each or has_intervals):
        return []
    texts = {
        axis: [html.escape(label) for label in series.labels]
        if axis == series.of_labels
        else ["" if math.isnan(one) else f" ± {one:.3g}" for one in halves[axis]]
        for axis in ("x", "y")
    }
    columns = [texts["x"], texts["y"]]
    if series.each:
        columns.append([html.escape(one) for one in series.each])
    return list(zip(*columns, strict=True))


def _handles(figure: Figure) -> Iterator[tuple[str, Artist]]:
    for legend in figure.legends:
        for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True):
            if handle is not None:
                yield text.get_text(), handle


def _entry(name: str, handle: Artist) -> dict[str, Any]:
    """An entry of the legend; path is that of its marker, in a square of 1 about the origin."""
    if isinstance(handle, Patch):
        return {"name": name, "color": _hex(handle.get_facecolor()), "kind": "patch"}
    assert isinstance(handle, Line2D)
    entry: dict[str, Any] = {"name": name, "color": _hex(handle.get_color()), "kind": "line"}
    if str(handle.get_linestyle()) in _DASHES:
        entry["dash"] = _DASHES[str(handle.get_linestyle())]
    if handle.get_marker() not in _NO_MARKER:
        hollow = str(handle.get_markerfacecolor()) in _HOLLOW
        style = MarkerStyle(handle.get_marker())
        outline = style.get_path().transformed(style.get_transform())
        thin = _SYMBOLS[handle.get_marker()] in ("line-ns", "x-thin")
        strokes = outline.to_polygons(closed_only=False)
        entry |= {
            "path": "".join(_path(stroke) + ("" if thin else "Z") for stroke in strokes),
            "color": _hex(handle.get_markeredgecolor() if hollow else handle.get_color()),
            "hollow": hollow or thin,
        }
    return entry


def _path(points: Any) -> str:
    return "M" + "L".join(f"{x:.2f} {-y:.2f}" for x, y in numpy.asarray(points, dtype=float))


def _hex(colour: Any) -> str:
    """Of several that are alike, too."""
    several = numpy.atleast_2d(colour) if isinstance(colour, numpy.ndarray | list) else [colour]
    first = several[0]
    return to_hex(tuple(first) if isinstance(first, numpy.ndarray) else first)


def _thinned(x: _Floats, y: _Floats) -> tuple[_Floats, _Floats]:
    """At most MOST_POINTS: of stretches alike the least and the greatest, in their order."""
    if len(x) <= MOST_POINTS:
        return x, y
    bounds = numpy.linspace(0, len(x), MOST_POINTS // 2 + 1).astype(int)
    kept: list[int] = []
    for start, end in itertools.pairwise(bounds):
        ends = {start + int(y[start:end].argmin()), start + int(y[start:end].argmax())}
        kept += sorted(ends)
    return x[kept], y[kept]


def _number(value: float) -> float:
    """As exact as anybody can see."""
    return float(f"{value:.6g}")


def _plain(values: _Floats) -> list[float]:
    return [_number(float(value)) for value in values]

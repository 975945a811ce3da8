# SPDX-License-Identifier: GPL-2.0-only
"""Draws figures as SVG elements of an HTML page, without Matplotlib.

Text stays text, and colours come from the page's style sheet, so the same drawing works with both
themes. Equal figures give equal bytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape

import numpy

from airtcp.report import frames, labels, svgmarks
from airtcp.report.figure import Axis, Figure, Line, Style
from airtcp.report.frames import Frame, Frames, LegendEntry
from airtcp.report.pen import Anchor, Pen
from airtcp.report.plot import Plot
from airtcp.report.svgmarks import Part
from airtcp.report.textsize import LINE_HEIGHT, width

_UNITS = 10  # of the SVG in a point
_UNITS_OF_PICTURE = 100  # the page enlarges pictures up to 200 times
_AXIS = Style("faint", width=0.6)
_GRID = Style("grid", width=0.5)


@dataclass(frozen=True)
class Drawing:
    """A figure after drawing. described: the description, with the labels placed as texts."""

    svg: str
    described: Figure


def draw(plot: Plot) -> Drawing:
    """Draw a figure as an accessible element of a page; ids start with the slug of the plot."""
    figure, slug = plot.figure, plot.slug
    laid_out = frames.lay_out(figure)
    pen = Pen(slug, _UNITS_OF_PICTURE if figure.is_picture else _UNITS)
    placed = [
        replace(frame, panel=labels.with_texts(frame.panel, frame.area))
        for frame in laid_out.frames
    ]
    parts = [
        pen.outlines(_styles(figure)),
        *(_legend_entry(entry, pen) for entry in laid_out.legend),
        *_titles(figure, laid_out, pen),
        *(part for number, frame in enumerate(placed) for part in _panel(number, frame, pen)),
    ]
    svg = (
        f'<svg viewBox="0 0 {pen.at(laid_out.width)} {pen.at(laid_out.height)}" role="img"'
        f' aria-labelledby="{slug}-t {slug}-d" xmlns="http://www.w3.org/2000/svg"'
        ' stroke-linejoin="round">'
        f'<title id="{slug}-t">{escape(plot.title)}</title>'
        f'<desc id="{slug}-d">{escape(plot.description)}</desc>'
        f"{''.join(parts)}</svg>"
    )
    return Drawing(svg, replace(figure, panels=[frame.panel for frame in placed]))


def _styles(figure: Figure) -> Iterator[Style]:
    for panel in figure.panels:
        yield from (mark.style for mark in panel.marks if isinstance(mark, Line))
    yield from (entry.look for entry in figure.legend.entries if isinstance(entry.look, Style))


def _legend_entry(placed: LegendEntry, pen: Pen) -> str:
    look, middle = placed.entry.look, placed.middle
    left, right = placed.left, placed.left + frames.HANDLE
    symbol = ""
    if isinstance(look, str):
        symbol = pen.rectangle((left, right), (middle - 2.3, middle + 2.3), look)
    else:
        if look.dash:
            symbol += pen.line(pen.horizontal(middle, left, right), look)
        if look.marker:
            symbol += pen.markers(numpy.array([(left + right) / 2]), numpy.array([middle]), look)
    name = placed.entry.name
    return symbol + pen.text(name, right + frames.HANDLE_GAP, middle, frames.LEGEND_SIZE, "start")


def _titles(figure: Figure, laid_out: Frames, pen: Pen) -> Iterator[str]:
    """The titles of the axes: at each panel (x only at the lowest), or once for the figure."""
    shown = laid_out.frames
    if figure.labels == "figure":
        left, right = min(frame.left for frame in shown), max(frame.right for frame in shown)
        top, bottom = min(frame.top for frame in shown), max(frame.bottom for frame in shown)
        yield from _x_title(shown[0].panel.x, (left + right) / 2, laid_out, pen)
        yield from _y_title(shown[0].panel.y, (top + bottom) / 2, pen)
        return
    for frame in shown:
        if frame.panel.row == figure.rows - 1:
            yield from _x_title(frame.panel.x, (frame.left + frame.right) / 2, laid_out, pen)
        yield from _y_title(frame.panel.y, (frame.top + frame.bottom) / 2, pen)


def _x_title(axis: Axis, x: float, laid_out: Frames, pen: Pen) -> Iterator[str]:
    if axis.title:
        y = laid_out.height - frames.TITLE_MIDDLE
        # A title wider than its panel stays within the figure.
        half = width(axis.title, frames.TITLE_SIZE) / 2
        x = max(min(x, laid_out.width - half), half)
        yield pen.text(axis.title, x, y, frames.TITLE_SIZE, "middle")


def _y_title(axis: Axis, y: float, pen: Pen) -> Iterator[str]:
    if axis.title:
        yield pen.upward_text(axis.title, frames.TITLE_MIDDLE, y, frames.TITLE_SIZE)


def _panel(number: int, frame: Frame, pen: Pen) -> Iterator[str]:
    """The axes and the marks of a panel."""
    if title := frame.panel.title:
        x, y = (frame.left + frame.right) / 2, frame.top - frames.TITLE_SIZE * 0.75
        yield pen.text(title, x, y, frames.TITLE_SIZE, "middle")
    parts = [Part(svgmarks.GRID, _grid(frame, pen))]
    parts += [part for mark in frame.panel.marks for part in svgmarks.draw(mark, frame, pen)]
    parts.sort(key=lambda part: part.order)
    inside = "".join(part.svg for part in parts if part.clip)
    yield pen.clip(number, (frame.left, frame.right), (frame.top, frame.bottom), inside)
    yield from _x_axis(frame, pen)
    yield from _y_axis(frame, pen)
    yield from (part.svg for part in parts if not part.clip)


def _grid(frame: Frame, pen: Pen) -> str:
    path = ""
    if frame.panel.x.grid:
        for tick in frame.x_ticks:
            path += pen.vertical(frame.x(tick.at), frame.top, frame.bottom)
    if frame.panel.y.grid:
        for tick in frame.y_ticks:
            path += pen.horizontal(frame.y(tick.at), frame.left, frame.right)
    return pen.line(path, _GRID) if path else ""


def _x_axis(frame: Frame, pen: Pen) -> Iterator[str]:
    """The line of the axis, with ticks and their labels. Named ticks have no lines."""
    axis, low = frame.panel.x, frame.bottom
    length = 0.0 if axis.ticks else frames.TICK_LENGTH
    path = pen.horizontal(low, frame.left, frame.right) if axis.line else ""
    for tick in frame.x_ticks:
        x = frame.x(tick.at)
        path += pen.vertical(x, low, low + length) if length else ""
        first = low + length + 1.5 + frames.TICK_SIZE * LINE_HEIGHT / 2
        yield from _tick_label(tick.label, x, first, "middle", pen)
    if path:
        yield pen.line(path, _AXIS)


def _y_axis(frame: Frame, pen: Pen) -> Iterator[str]:
    axis, left = frame.panel.y, frame.left
    length = 0.0 if axis.ticks else frames.TICK_LENGTH
    path = pen.vertical(left, frame.bottom, frame.top) if axis.line else ""
    for tick in frame.y_ticks:
        y = frame.y(tick.at)
        path += pen.horizontal(y, left - length, left) if length else ""
        first = y - tick.label.count("\n") * frames.TICK_SIZE * LINE_HEIGHT / 2
        yield from _tick_label(tick.label, left - length - 2, first, "end", pen)
    if path:
        yield pen.line(path, _AXIS)


def _tick_label(label: str, x: float, y: float, anchor: Anchor, pen: Pen) -> Iterator[str]:
    """The lines of a label; y: the middle of the first."""
    for number, line in enumerate(label.split("\n") if label else ()):
        below = number * frames.TICK_SIZE * LINE_HEIGHT
        yield pen.text(line, x, y + below, frames.TICK_SIZE, anchor)

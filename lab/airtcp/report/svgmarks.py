# SPDX-License-Identifier: GPL-2.0-only
"""Draws the marks of a panel as SVG."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Literal

import numpy

from airtcp.report.figure import (
    FILL_OPACITY,
    Bars,
    Box,
    Labels,
    Line,
    Mark,
    Rule,
    Steps,
    Strokes,
    Style,
    Text,
)
from airtcp.report.frames import Frame
from airtcp.report.pen import Anchor, Pen
from airtcp.report.textsize import LINE_HEIGHT
from airtcp.statistics import Floats, part_below

_CAP = 1.8  # half the length of the ends of an interval

# The order in which marks are drawn.
GRID, _RULES, _AREAS, _INTERVALS, _LINES, _HOLLOW, _TEXTS = range(7)


@dataclass(frozen=True)
class Part:
    """A piece of SVG. clip: whether it ends at the edge of its panel."""

    order: int
    svg: str
    clip: bool = True


@singledispatch
def draw(mark: Mark, frame: Frame, pen: Pen) -> Iterator[Part]:
    """Draw a mark. Raises NotImplementedError for marks of an unknown kind."""
    raise NotImplementedError(f"cannot draw a {type(mark).__name__}")


@draw.register
def _line(mark: Line, frame: Frame, pen: Pen) -> Iterator[Part]:
    if not mark.is_visible:
        return
    values, style = mark.values, mark.style
    x, y = frame.x(values.x), frame.y(values.y)
    order = _HOLLOW if style.hollow else _LINES
    if style.dash:
        corners = (numpy.repeat(x, 2)[1:], numpy.repeat(y, 2)[:-1]) if mark.steps else (x, y)
        yield Part(order, pen.line(pen.path(*corners), style), mark.clip)
    if style.marker:
        yield Part(order, pen.markers(x, y, style), mark.clip)
    yield from _intervals("x", values.x, values.y, values.x_half, style, frame, pen)
    yield from _intervals("y", values.x, values.y, values.y_half, style, frame, pen)


def _intervals(
    of: Literal["x", "y"],
    x: Floats,
    y: Floats,
    half: Floats,
    style: Style,
    frame: Frame,
    pen: Pen,
) -> Iterator[Part]:
    """Intervals of x or y, with ends if the style has them."""
    known = ~numpy.isnan(half)
    if not known.any():
        return
    x, y, half = x[known], y[known], half[known]
    cap = _CAP if style.whiskers == "capped" else 0.0
    along: Callable[[float, float, float], str]
    cross: Callable[[float, float, float], str]
    if of == "x":
        along, cross = pen.horizontal, pen.vertical
        ends, middles = (frame.x(x - part_below(x, half)), frame.x(x + half)), frame.y(y)
    else:
        along, cross = pen.vertical, pen.horizontal
        ends, middles = (frame.y(y - part_below(y, half)), frame.y(y + half)), frame.x(x)
    path = ""
    for low, high, middle in zip(ends[0].tolist(), ends[1].tolist(), middles.tolist(), strict=True):
        path += along(middle, low, high)
        if cap:
            path += "".join(cross(end, middle - cap, middle + cap) for end in (low, high))
    width, opacity = (0.8, 1.0) if cap else (0.5, 0.6)
    yield Part(_INTERVALS, pen.line(path, Style(style.colour, width=width), opacity))


@draw.register
def _bars(mark: Bars, frame: Frame, pen: Pen) -> Iterator[Part]:
    ends = mark.start + mark.length
    bounds = (
        *(frame.x(mark.start), frame.x(ends)),
        *(frame.y(mark.y + mark.height / 2), frame.y(mark.y - mark.height / 2)),
    )
    path = "".join(
        f"{pen.horizontal(top, left, right)}V{pen.at(low)}H{pen.at(left)}z"
        for left, right, top, low in zip(*(bound.tolist() for bound in bounds), strict=True)
    )
    yield Part(_AREAS, pen.area(path, mark.colour))
    if mark.half is not None:
        style = Style("ink", whiskers="capped")
        yield from _intervals("x", ends, mark.y, mark.half, style, frame, pen)


@draw.register
def _steps(mark: Steps, frame: Frame, pen: Pen) -> Iterator[Part]:
    x, y = frame.x(numpy.repeat(mark.edges, 2)[1:-1]), frame.y(numpy.repeat(mark.heights, 2))
    if mark.closed or mark.filled:
        zero = frame.y(numpy.zeros(1))
        x, y = numpy.concatenate([x[:1], x, x[-1:]]), numpy.concatenate([zero, y, zero])
    path = pen.path(x, y)
    if mark.filled:
        yield Part(_AREAS, pen.area(path, mark.style.colour, FILL_OPACITY))
    yield Part(_AREAS if mark.filled else _LINES, pen.line(path, mark.style))


@draw.register
def _strokes(mark: Strokes, frame: Frame, pen: Pen) -> Iterator[Part]:
    low = frame.y(mark.low)
    path = "".join(
        pen.vertical(x, low, high)
        for x, high in zip(frame.x(mark.x).tolist(), frame.y(mark.high).tolist(), strict=True)
    )
    yield Part(_AREAS, pen.line(path, Style(mark.colour, width=mark.width)))


@draw.register
def _box(mark: Box, frame: Frame, pen: Pen) -> Iterator[Part]:
    x, y = (frame.x(mark.left), frame.x(mark.right)), (frame.y(mark.top), frame.y(mark.bottom))
    yield Part(_AREAS, pen.rectangle(x, y, mark.colour, mark.opacity, mark.tip))


@draw.register
def _rule(mark: Rule, frame: Frame, pen: Pen) -> Iterator[Part]:
    if mark.axis == "x":
        path = pen.vertical(frame.x(mark.at), frame.bottom, frame.top)
    else:
        path = pen.horizontal(frame.y(mark.at), frame.left, frame.right)
    yield Part(_RULES, pen.line(path, Style(mark.colour, width=mark.width)))


@draw.register
def _text(mark: Text, frame: Frame, pen: Pen) -> Iterator[Part]:
    """A text, unless its point is outside the panel."""
    x, y = frame.x(mark.x), frame.y(mark.y)
    if not (frame.left <= x <= frame.right and frame.top <= y <= frame.bottom):
        return
    anchors: dict[str, Anchor] = {"left": "start", "center": "middle", "right": "end"}
    raised = {"bottom": 0.5, "center": 0, "top": -0.5}[mark.align_y] * mark.size * LINE_HEIGHT
    x, y = x + mark.right, y - mark.up - raised
    text = pen.text(mark.text, x, y, mark.size, anchors[mark.align_x], mark.colour)
    yield Part(_TEXTS, text, clip=False)


@draw.register
def _labels(mark: Labels, frame: Frame, pen: Pen) -> Iterator[Part]:
    """labels.with_texts() has replaced the labels that have room by texts."""
    yield from ()

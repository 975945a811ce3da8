# SPDX-License-Identifier: GPL-2.0-only
"""Places labels next to points where there is room."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy

from airtcp.report.figure import Labels, Line, Panel, Text
from airtcp.statistics import Floats

# Offsets of a label from its point, in typographic points (right, up), best first. Interval bars
# extend horizontally and vertically, so diagonal places are better.
_PLACES = ((2.2, 1.6), (2.2, -1.6), (-2.2, 1.6), (-2.2, -1.6), (4, 0), (-4, 0), (0, 4), (0, -4))

Box = tuple[float, float, float, float]
"""left, low, right, high, in typographic points"""


@dataclass(frozen=True)
class Area:
    """A panel as drawn, in typographic points; y is upwards.

    at: converts values of x and y to positions, one row each. size: the width and height of a text.
    """

    box: Box
    at: Callable[[Floats, Floats], Floats]
    size: Callable[[Text], tuple[float, float]]


def with_texts(panel: Panel, area: Area) -> Panel:
    """The panel with those of its labels that have room as texts."""
    marks = [
        placed
        for mark in panel.marks
        for placed in (place(mark, panel, area) if isinstance(mark, Labels) else (mark,))
    ]
    return replace(panel, marks=marks)


def place(labels: Labels, panel: Panel, area: Area) -> Iterator[Text]:
    """The labels that can be placed without covering a marker or another label."""
    taken = list(_markers(panel, area))
    sizes: dict[str, tuple[float, float]] = {}
    for text in labels.texts:
        if text.text not in sizes:
            sizes[text.text] = area.size(text)
        [(x, y)] = area.at(numpy.array([text.x]), numpy.array([text.y]))
        for right, up in _PLACES:
            placed = replace(text, right=right, up=up)
            box = box_of(placed, (x, y), sizes[text.text])
            if _is_within(box, area.box) and not _overlaps(box, taken):
                taken.append(box)
                yield placed
                break


def box_of(text: Text, at: tuple[float, float], size: tuple[float, float]) -> Box:
    """The box of a text with its point at `at`."""
    (x, y), (width, height) = at, size
    left = x + text.right - {"left": 0, "center": 0.5, "right": 1}[text.align_x] * width
    low = y + text.up - {"bottom": 0, "center": 0.5, "top": 1}[text.align_y] * height
    return left, low, left + width, low + height


def _markers(panel: Panel, area: Area) -> Iterator[Box]:
    for mark in panel.marks:
        if isinstance(mark, Line) and mark.style.marker:
            half = mark.style.size / 2
            for x, y in area.at(mark.x, mark.y).tolist():
                yield x - half, y - half, x + half, y + half


def _is_within(box: Box, outer: Box) -> bool:
    return outer[0] <= box[0] and outer[1] <= box[1] and box[2] <= outer[2] and box[3] <= outer[3]


def _overlaps(box: Box, others: Sequence[Box]) -> bool:
    left, low, right, high = box
    return any(
        left < other[2] and other[0] < right and low < other[3] and other[1] < high
        for other in others
    )

# SPDX-License-Identifier: GPL-2.0-only
"""Places labels next to points where there is room."""

from collections.abc import Iterator
from dataclasses import replace

import numpy
from matplotlib.axes import Axes
from matplotlib.transforms import Bbox

from airtcp.report.figure import Labels, Line, Panel, Text

# Offsets of a label from its point, in typographic points (right, up), best first. Interval bars
# extend horizontally and vertically, so diagonal places are better.
_PLACES = ((2.2, 1.6), (2.2, -1.6), (-2.2, 1.6), (-2.2, -1.6), (4, 0), (-4, 0), (0, 4), (0, -4))


def place(labels: Labels, panel: Panel, axes: Axes) -> Iterator[Text]:
    """The labels that can be placed without covering a marker or another label.

    The axes must have their final positions and limits.
    """
    points_px = axes.figure.dpi / 72
    taken = list(_markers(panel, axes, points_px))
    inside = axes.get_window_extent()
    sizes: dict[str, tuple[float, float]] = {}
    for text in labels.texts:
        if text.text not in sizes:
            sizes[text.text] = _size(text, axes)
        x, y = axes.transData.transform((text.x, text.y))
        for right, up in _PLACES:
            placed = replace(text, right=right, up=up)
            box = _box(placed, (x, y), sizes[text.text], points_px)
            fits = inside.x0 <= box.x0 and box.x1 <= inside.x1
            fits &= inside.y0 <= box.y0 and box.y1 <= inside.y1
            if fits and not box.count_overlaps(taken):
                taken.append(box)
                yield placed
                break


def _markers(panel: Panel, axes: Axes, points_px: float) -> Iterator[Bbox]:
    for mark in panel.marks:
        if isinstance(mark, Line) and mark.style.marker:
            size = mark.style.size * points_px
            corners = axes.transData.transform(numpy.column_stack([mark.x, mark.y])) - size / 2
            yield from (Bbox.from_bounds(x, y, size, size) for x, y in corners)


def _size(text: Text, axes: Axes) -> tuple[float, float]:
    """Width and height in pixels."""
    drawn = axes.text(0, 0, text.text, fontsize=text.size)
    box = drawn.get_window_extent()
    drawn.remove()
    return box.width, box.height


def _box(text: Text, at: tuple[float, float], size: tuple[float, float], points_px: float) -> Bbox:
    """The box of a text, in pixels, with its point at `at`."""
    (x, y), (width, height) = at, size
    left = x + text.right * points_px - {"left": 0, "center": 0.5, "right": 1}[text.align_x] * width
    low = y + text.up * points_px - {"bottom": 0, "center": 0.5, "top": 1}[text.align_y] * height
    return Bbox.from_bounds(left, low, width, height)

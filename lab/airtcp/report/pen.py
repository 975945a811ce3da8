# SPDX-License-Identifier: GPL-2.0-only
"""Writes parts of an SVG: paths, rectangles, markers and texts.

Lengths are in typographic points; the SVG has whole numbers, in a fraction of a point. Colours are
roles of the palette, for which the page's style sheet has a variable each.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

import numpy

from airtcp.report.figure import Dash, Style
from airtcp.report.markers import MARKERS
from airtcp.statistics import Floats

Anchor = Literal["start", "middle", "end"]

_DASHES: Mapping[Dash, tuple[float, ...]] = {
    "solid": (),
    "dash": (3.7, 1.6),
    "dot": (1, 1.65),
    "dashdot": (6.4, 1.6, 1, 1.6),
    "longdash": (9, 1.6),
    "longdashdot": (9, 1.6, 1, 1.6, 1, 1.6),
}
_BASELINE = 0.35  # from the middle of a line of text, in font sizes


@dataclass(frozen=True)
class Pen:
    """slug: start of all ids. units: of the SVG in a point."""

    slug: str
    units: int

    def at(self, points: float) -> int:
        return round(points * self.units)

    def _length(self, points: float) -> str:
        return f"{points * self.units:.4g}"

    def corners(self, x: Floats, y: Floats) -> list[list[int]]:
        corners: list[list[int]] = self._rounded(x, y).tolist()
        return corners

    def _rounded(self, x: Floats, y: Floats) -> numpy.typing.NDArray[numpy.int64]:
        return numpy.rint(numpy.column_stack([x, y]) * self.units).astype(int)

    def path(self, x: Floats, y: Floats) -> str:
        """The outline through points, without those that are at the same place in the SVG."""
        corners = self._rounded(x, y)
        moves = numpy.diff(corners, axis=0)
        moves = moves[moves.any(axis=1)]
        first_x, first_y = corners[0].tolist()
        path = f"M{first_x} {first_y}"
        if len(moves):
            # For thousands of points, twice as fast as a formatted string for each.
            path += "l" + " ".join(["%d %d"] * len(moves)) % tuple(moves.ravel().tolist())
        return path

    def vertical(self, x: float, low: float, high: float) -> str:
        return f"M{self.at(x)} {self.at(low)}V{self.at(high)}"

    def horizontal(self, y: float, left: float, right: float) -> str:
        return f"M{self.at(left)} {self.at(y)}H{self.at(right)}"

    def line(self, path: str, style: Style, opacity: float = 1) -> str:
        """A line along an outline."""
        look = f"stroke:var(--{style.colour});stroke-width:{self._length(style.width)}"
        if gaps := _DASHES[style.dash or "solid"]:
            gaps_text = " ".join(self._length(gap * style.width) for gap in gaps)
            look += f";stroke-dasharray:{gaps_text}"
        if opacity != 1:
            look += f";opacity:{opacity:g}"
        return f'<path d="{path}" fill="none" style="{look}"/>'

    def area(self, path: str, colour: str, opacity: float = 1) -> str:
        """The area within an outline."""
        return f'<path d="{path}" style="{_fill(colour, opacity)}"/>'

    def rectangle(
        self, x: Sequence[float], y: Sequence[float], colour: str, opacity: float = 1, tip: str = ""
    ) -> str:
        """A rectangle between two values of x and two of y, ascending, with its tooltip."""
        start = f'<rect {self.bounds(x, y)} style="{_fill(colour, opacity)}"'
        return f"{start}><title>{escape(tip)}</title></rect>" if tip else f"{start}/>"

    def bounds(self, x: Sequence[float], y: Sequence[float]) -> str:
        """The attributes that are the place of a rectangle, which is at least one unit wide."""
        (left, right), (top, bottom) = map(self.at, x), map(self.at, y)
        return (
            f'x="{left}" y="{top}" width="{max(1, right - left)}" height="{max(1, bottom - top)}"'
        )

    def clip(self, number: int, x: Sequence[float], y: Sequence[float], inside: str) -> str:
        """A group that ends at the edge of a rectangle."""
        name = f"{self.slug}-c{number}"
        return (
            f'<clipPath id="{name}"><rect {self.bounds(x, y)}/></clipPath>'
            f'<g clip-path="url(#{name})">{inside}</g>'
        )

    def outlines(self, styles: Iterable[Style]) -> str:
        """The definitions of the markers of styles, of size 1."""
        names = dict.fromkeys(style.marker for style in styles if style.marker)
        paths = [f'<path id="{self.slug}-{name}" d="{MARKERS[name].path}"/>' for name in names]
        return f"<defs>{''.join(paths)}</defs>" if paths else ""

    def markers(self, x: Floats, y: Floats, style: Style) -> str:
        """Markers at points; outlines() has to define them."""
        assert style.marker
        is_outline = style.hollow or MARKERS[style.marker].is_thin
        look = f"fill:{'none' if is_outline else f'var(--{style.colour})'}"
        look += f";stroke:var(--{style.colour});stroke-width:{style.edge / style.size:.3g}"
        scale = self._length(style.size)
        used = "".join(
            f'<use href="#{self.slug}-{style.marker}"'
            f' transform="translate({left} {top}) scale({scale})"/>'
            for left, top in self.corners(x, y)
        )
        return f'<g style="{look}">{used}</g>'

    def text(
        self, text: str, x: float, y: float, size: float, anchor: Anchor, colour: str = "ink"
    ) -> str:
        """A line of text with its middle at y."""
        place = f'x="{self.at(x)}" y="{self.at(y + _BASELINE * size)}"'
        return self._text(text, place, size, anchor, colour)

    def upward_text(self, text: str, x: float, y: float, size: float) -> str:
        """A line of text from the bottom to the top, centred at a point."""
        place = f'y="{self.at(_BASELINE * size)}"'
        place += f' transform="translate({self.at(x)} {self.at(y)}) rotate(-90)"'
        return self._text(text, place, size, "middle", "ink")

    def _text(self, text: str, place: str, size: float, anchor: Anchor, colour: str) -> str:
        look = f"fill:var(--{colour});font-size:{self._length(size)}px"
        return f'<text {place} text-anchor="{anchor}" style="{look}">{escape(text)}</text>'


def _fill(colour: str, opacity: float) -> str:
    look = f"fill:var(--{colour})"
    return look if opacity == 1 else f"{look};opacity:{opacity:g}"

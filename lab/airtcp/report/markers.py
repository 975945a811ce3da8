# SPDX-License-Identifier: GPL-2.0-only
"""The markers of points: their names in Matplotlib and Plotly, and their outlines in legends."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Name = Literal[
    "circle",
    "square",
    "triangle",
    "diamond",
    "triangle-down",
    "plus",
    "cross",
    "star",
    "triangle-left",
    "triangle-right",
    "hexagon",
    "pentagon",
    "diamond-tall",
    "tick",
    "thin-cross",
]


@dataclass(frozen=True)
class Marker:
    """matplotlib, plotly: its names there. path: its SVG outline in a unit square around 0, 0.

    is_thin: it consists of lines only and cannot be filled.
    """

    matplotlib: str
    plotly: str
    path: str
    is_thin: bool = False


MARKERS: Mapping[Name, Marker] = {
    "circle": Marker("o", "circle", "M-.5 0A.5 .5 0 1 0 .5 0A.5 .5 0 1 0-.5 0Z"),
    "square": Marker("s", "square", "M-.5 .5H.5V-.5H-.5Z"),
    "triangle": Marker("^", "triangle-up", "M0-.5L-.5 .5H.5Z"),
    "diamond": Marker("D", "diamond", "M0 .71L.71 0L0-.71L-.71 0Z"),
    "triangle-down": Marker("v", "triangle-down", "M0 .5L.5-.5H-.5Z"),
    "plus": Marker("P", "cross", "M-.17 .5H.17V.17H.5V-.17H.17V-.5H-.17V-.17H-.5V.17H-.17Z"),
    "cross": Marker(
        "X",
        "x",
        "M-.25 .5L0 .25L.25 .5L.5 .25L.25 0L.5-.25L.25-.5L0-.25L-.25-.5L-.5-.25L-.25 0L-.5 .25Z",
    ),
    "star": Marker(
        "*",
        "star",
        "M0-.5L-.11-.15H-.48L-.18 .06L-.29 .4L0 .19L.29 .4L.18 .06L.48-.15H.11Z",
    ),
    "triangle-left": Marker("<", "triangle-left", "M-.5 0L.5 .5V-.5Z"),
    "triangle-right": Marker(">", "triangle-right", "M.5 0L-.5-.5V.5Z"),
    "hexagon": Marker("h", "hexagon", "M0-.5L-.43-.25V.25L0 .5L.43 .25V-.25Z"),
    "pentagon": Marker("p", "pentagon", "M0-.5L-.48-.15L-.29 .4H.29L.48-.15Z"),
    "diamond-tall": Marker("d", "diamond-tall", "M0 .71L.42 0L0-.71L-.42 0Z"),
    "tick": Marker("|", "line-ns", "M0 .5V-.5", is_thin=True),
    "thin-cross": Marker("x", "x-thin", "M-.5 .5L.5-.5M-.5-.5L.5 .5", is_thin=True),
}

# SPDX-License-Identifier: GPL-2.0-only
"""A figure as it was saved."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Saved:
    """What the page has of a figure: inline SVG, what Plotly draws of it, paths of files by kind.

    interactive is JSON; without it the page lets people zoom into the SVG.
    """

    svg: str
    files: Mapping[str, str]
    interactive: str | None

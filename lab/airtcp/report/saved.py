# SPDX-License-Identifier: GPL-2.0-only
"""A saved figure."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Saved:
    """A figure for the page: inline SVG, paths of its files by format, Plotly's document.

    interactive: Plotly's document as JSON; None: the page zooms into the SVG.
    """

    svg: str
    files: Mapping[str, str]
    interactive: str | None

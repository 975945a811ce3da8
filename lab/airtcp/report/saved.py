# SPDX-License-Identifier: GPL-2.0-only
"""A figure as the page has it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Saved:
    """Inline SVG, paths of the files for print by format (if any), Plotly's document.

    interactive: Plotly's document as JSON; None: the page zooms into the SVG.
    """

    svg: str
    files: Mapping[str, str]
    interactive: str | None

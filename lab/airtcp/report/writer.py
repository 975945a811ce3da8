# SPDX-License-Identifier: GPL-2.0-only
"""Saves figures: PDF, PNG and SVG files, and inline SVG and Plotly's document for the page.

The page's SVG keeps its text as text and takes its colours from the page's style sheet, so the
same drawing works with both themes. Equal results give equal bytes: no dates, no random ids.
"""

import io
import json
import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from airtcp.report import mpl, plotly
from airtcp.report.plot import Plot
from airtcp.report.saved import Saved
from airtcp.report.svg import for_page, with_tips

_PNG_DPI = 300


class Writer:
    """Saves figures into one directory."""

    def __init__(self, figures_dir: Path) -> None:
        self._dir = figures_dir
        figures_dir.mkdir(parents=True, exist_ok=True)

    def save(self, plot: Plot) -> Saved:
        """Draw a figure and write its files. Must be called within mpl.style()."""
        drawing = mpl.draw(plot.figure)
        files = {kind: f"{plot.slug}.{kind}" for kind in ("pdf", "png", "svg")}
        undated = {"CreationDate": None, "Producer": None, "Creator": "airtcp", "Title": plot.title}
        save = drawing.canvas.savefig
        save(self._dir / files["pdf"], metadata=undated)
        save(self._dir / files["png"], dpi=_PNG_DPI, facecolor="white", metadata={"Software": None})
        drawn = io.StringIO()
        save(drawn, format="svg", transparent=True, metadata={"Date": None})
        svg = with_tips(drawn.getvalue(), drawing.tips)
        (self._dir / files["svg"]).write_text(svg, encoding="utf-8")
        return Saved(
            for_page(svg, plot.slug, plot.title, plot.description),
            {kind: f"{self._dir.name}/{name}" for kind, name in files.items()},
            None if plot.figure.is_picture else _json(plotly.document(drawing.described)),
        )

    def add_plotly(self) -> None:
        """Copy Plotly into the directory, so that the page works offline."""
        plotly_spec = find_spec("plotly")
        assert plotly_spec and plotly_spec.submodule_search_locations
        package = Path(plotly_spec.submodule_search_locations[0])
        shutil.copyfile(package / "package_data" / "plotly.min.js", self._dir / "plotly.min.js")


def _json(document: Mapping[str, object]) -> str:
    """JSON that is safe inside a script element."""
    return json.dumps(document, separators=(",", ":")).replace("<", "\\u003c")

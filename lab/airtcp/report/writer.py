# SPDX-License-Identifier: GPL-2.0-only
"""Writes the files next to a page: Plotly, and figures for print as PDF, PNG and SVG.

Equal results give equal bytes: no dates, no random ids.
"""

import re
from importlib.util import find_spec
from pathlib import Path

from airtcp import atomicfile, interrupts
from airtcp.report.plot import Plot

_KINDS = ("pdf", "png", "svg")
_PNG_DPI = 300


def for_print(plot: Plot, figures_dir: Path) -> dict[str, str]:
    """Draw a figure with Matplotlib; returns the paths of its files by format.

    Paths are relative to the parent of figures_dir. Takes about half a CPU second.
    """
    # Imported here because loading Matplotlib takes longer than drawing some pages.
    from airtcp.report import mpl

    files = {kind: f"{plot.slug}.{kind}" for kind in _KINDS}
    undated = {"CreationDate": None, "Producer": None, "Creator": "airtcp", "Title": plot.title}
    with interrupts.deferred(), mpl.style():
        save = mpl.draw(plot.figure).savefig
        save(figures_dir / files["pdf"], metadata=undated)
        save(
            figures_dir / files["png"],
            dpi=_PNG_DPI,
            facecolor="white",
            metadata={"Software": None},
        )
        save(figures_dir / files["svg"], transparent=True, metadata={"Date": None})
    return {kind: f"{figures_dir.name}/{name}" for kind, name in files.items()}


def add_plotly(figures_dir: Path) -> None:
    """Copy Plotly into the directory, so that the page works offline."""
    with interrupts.deferred():
        atomicfile.write(figures_dir / "plotly.min.js", _plotly().read_bytes())


def plotly_js() -> str:
    """The code of Plotly, for a page that contains it."""
    return re.sub("</(?=script)", r"<\\/", _plotly().read_text(encoding="utf-8"), flags=re.I)


def _plotly() -> Path:
    plotly_spec = find_spec("plotly")
    assert plotly_spec and plotly_spec.submodule_search_locations
    package = Path(plotly_spec.submodule_search_locations[0])
    return package / "package_data" / "plotly.min.js"

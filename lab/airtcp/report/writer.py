# SPDX-License-Identifier: GPL-2.0-only
"""Saves a finished figure: PDF, PNG and SVG beside the page, inline SVG and Plotly's in it.

The page's SVG keeps its text as text and takes its colours from the page's style sheet, so that
one drawing serves light and dark. Equal results give equal bytes: no dates, no random ids.
"""

import io
import json
import math
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import plotly
from matplotlib.figure import Figure

from airtcp.report import interactive
from airtcp.report.interactive import Series
from airtcp.report.plots import PALETTE, WIDTH_IN

_PNG_DPI = 300
_PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
# What somebody may read through; all that a run measured stands in its files.
_MOST_ROWS = 120


@dataclass(frozen=True)
class Table:
    """What a figure shows, as text: the first columns, so many, are words, the others figures."""

    head: Sequence[str]
    words: int
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Plot:
    """A finished figure: for the page inline SVG and what Plotly draws of it; its files by kind.

    wide: for the whole width of the page. interactive is JSON; without it the page lets people
    zoom into the SVG.
    """

    title: str
    caption: str
    svg: str
    files: Mapping[str, str]
    wide: bool
    table: Table | None
    interactive: str | None


class Writer:
    """Saves figures into one directory."""

    def __init__(self, figures_dir: Path) -> None:
        self._dir = figures_dir
        figures_dir.mkdir(parents=True, exist_ok=True)

    def save(
        self,
        figure: Figure,
        slug: str,
        title: str,
        caption: str,
        description: str,
        tips: Mapping[str, str] | None = None,
        table: Table | None = None,
    ) -> Plot:
        """description says to a person who cannot see the figure what it shows.

        tips: what the page says when a pointer rests on the artist with this gid; a figure that
        has them stays SVG in the page. Without a table the figure's own values make one.
        """
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once: the three files agree, and sooner
        files = {kind: f"{slug}.{kind}" for kind in ("pdf", "png", "svg")}
        undated = {"CreationDate": None, "Producer": None, "Creator": "airtcp", "Title": title}
        figure.savefig(self._dir / files["pdf"], metadata=undated)
        figure.savefig(
            self._dir / files["png"], dpi=_PNG_DPI, facecolor="white", metadata={"Software": None}
        )
        drawing = io.StringIO()
        figure.savefig(drawing, format="svg", transparent=True, metadata={"Date": None})
        svg = _with_tips(drawing.getvalue(), tips or {})
        (self._dir / files["svg"]).write_text(svg, encoding="utf-8")
        live = None if tips is not None else interactive.convert(figure)
        return Plot(
            title,
            caption,
            for_page(svg, slug, title, description),
            {kind: f"{self._dir.name}/{name}" for kind, name in files.items()},
            figure.get_figwidth() > WIDTH_IN,
            table or (data_table(live.series) if live else None),
            # Inside of an element of the page.
            json.dumps(live.document, separators=(",", ":")).replace("<", "\\u003c")
            if live
            else None,
        )

    def add_plotly(self) -> None:
        """Plotly itself, beside the figures: the page fetches nothing from elsewhere."""
        shutil.copyfile(_PLOTLY, self._dir / _PLOTLY.name)


def data_table(series: Sequence[Series]) -> Table | None:
    """What is drawn; of a lot evenly some."""
    total = sum(len(one.x) for one in series)
    if not total:
        return None
    step = math.ceil(total / _MOST_ROWS)
    labelled = next((one.of_labels for one in series if one.of_labels), "")
    axes = [axis for axis in ("x", "y") if axis != labelled]
    titles = {
        axis: list(dict.fromkeys(getattr(one, f"{axis}_title") for one in series)) for axis in axes
    }
    words = {
        "panel": [one.panel for one in series],
        "series": [one.name for one in series],
        "what": [one.y_title if len(titles.get("y", ())) > 1 else "" for one in series],
    }
    words = {head: texts for head, texts in words.items() if any(texts)}
    rows = []
    for number, one in enumerate(series):
        own = [texts[number] for texts in words.values()]
        columns = [one.values(axis) for axis in (labelled, *axes) if axis]
        rows += [
            [*([cells[0]] if labelled else []), *own, *cells[bool(labelled) :]]
            for cells in list(zip(*columns, strict=True))[::step]
        ]
    heads = [*(["condition"] if labelled else []), *words]
    values = [texts[0] if len(texts) == 1 else "value" for texts in titles.values()]
    notes = [f"One of {step} values; {total} are drawn."] if step > 1 else []
    return Table([*heads, *values], len(heads), rows, notes)


def _with_tips(svg: str, tips: Mapping[str, str]) -> str:
    """The SVG with a <title> in each group whose id is a key of tips."""

    def with_tip(group: re.Match[str]) -> str:
        tip = tips.get(group[1])
        return group[0] if tip is None else f"{group[0]}<title>{escape(tip)}</title>"

    return re.sub(r'<g id="([^"]*)">', with_tip, svg) if tips else svg


def for_page(svg: str, slug: str, title: str, description: str) -> str:
    """An SVG document of matplotlib's as an accessible element of an HTML page."""
    svg = svg[svg.index("<svg ") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{slug}-", svg)  # unique in the page
    for role, (light, _) in PALETTE.items():
        svg = svg.replace(light, f"var(--{role})")
    svg = svg.replace("'DejaVu Sans'", "var(--sans)")
    view_box = re.search(r'viewBox="[^"]*"', svg)
    assert view_box
    head = (
        f'<svg {view_box[0]} role="img" aria-labelledby="{slug}-t {slug}-d"'
        ' xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        f'<title id="{slug}-t">{escape(title)}</title>'
        f'<desc id="{slug}-d">{escape(description)}</desc>'
    )
    return head + svg[svg.index(">") + 1 :]

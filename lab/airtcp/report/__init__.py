# SPDX-License-Identifier: GPL-2.0-only
"""The report of an experiment: report.html, which works offline, and figures/ for print."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from airtcp import atomicfile
from airtcp.errors import of_file
from airtcp.report import contents, model, page, plotly, svg, writer
from airtcp.report.contents import Count
from airtcp.report.page import Saved
from airtcp.report.plot import Plot


@dataclass(frozen=True)
class Choice:
    """What to show in a report.

    timeline_ms: start of the timelines of the medium, in virtual time since the start of their
    captures; None: where it is most typical of the runs. timeline_of: the run to show there, as
    `CASE/seed-N`; None: the first run of each policy. print_figures: whether to write figures for
    print. title: replaces that of the results. is_single: whether the page contains all that it
    needs and has no links to other files; figures for print are not written then.
    """

    timeline_ms: int | None = None
    timeline_of: str | None = None
    print_figures: bool = False
    title: str | None = None
    is_single: bool = False


def write_report(
    out_dir: Path,
    choice: Choice = Choice(),
    warn: Callable[[str], object] = lambda _line: None,
    count: Count = lambda _number, _of: None,
) -> Path:
    """Write out_dir/report.html from out_dir/results.json and its runs; returns its path.

    out_dir/figures/ gets what the page loads and the figures for print. Raises InputError if
    results.json is missing or corrupt, there is no such run or no capture reaches timeline_ms, and
    AirtcpError if the report cannot be written.
    Runs whose recorded files are missing or have changed are left out, as are figures that cannot
    be drawn; the page says so. warn is called with a line for each such run; count with the number
    of each condition, from 1, and of all conditions.
    """
    results = model.load(out_dir)
    if choice.title:
        results = replace(results, title=choice.title)
    for line in results.damaged:
        warn(line)
    shown = contents.describe(results, choice.timeline_ms, choice.timeline_of, count)
    path, figures_dir = out_dir / "report.html", out_dir / "figures"
    try:
        if not choice.is_single:
            figures_dir.mkdir(parents=True, exist_ok=True)
            writer.add_plotly(figures_dir)
        print_figures = choice.print_figures and not choice.is_single
        saved = {
            plot.slug: _drawn(plot, writer.for_print(plot, figures_dir) if print_figures else {})
            for plot in shown.plots
        }
        plotly_js = writer.plotly_js() if choice.is_single else None
        atomicfile.write(path, page.render(shown, saved, plotly_js).encode())
    except OSError as error:
        raise of_file(error, path) from error
    return path


def _drawn(plot: Plot, files: dict[str, str]) -> Saved:
    """A figure for the page; files: those for print, by format."""
    drawing = svg.draw(plot)
    if plot.figure.is_picture:
        return Saved(drawing.svg, files, None)
    document = json.dumps(plotly.document(drawing.described), separators=(",", ":"))
    return Saved(drawing.svg, files, document.replace("<", "\\u003c"))  # safe inside a script

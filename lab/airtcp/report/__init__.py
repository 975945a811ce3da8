# SPDX-License-Identifier: GPL-2.0-only
"""The report of an experiment: report.html, which works offline, and figures/ for print."""

from collections.abc import Callable
from pathlib import Path

from airtcp.errors import AirtcpError
from airtcp.report import contents, model, page


def write_report(
    out_dir: Path,
    timeline_ms: int | None = None,
    timeline_of: str | None = None,
    warn: Callable[[str], object] = lambda _line: None,
) -> Path:
    """Write out_dir/report.html and out_dir/figures/ from out_dir/results.json and its runs.

    timeline_ms: start of the timelines of the medium, in virtual time since the start of their
    captures; None: the middle. timeline_of: the run to show there, as `CASE/seed-N`; None: the
    first run of each policy. Returns the page's path. Raises InputError if results.json is missing
    or corrupt, there is no such run or no capture reaches timeline_ms, and AirtcpError if the
    report cannot be written.
    Runs whose recorded files are missing or have changed are left out, as are figures that cannot
    be drawn; the page says so. warn is called with a line for each such run.
    """
    results = model.load(out_dir)
    for line in results.damaged:
        warn(line)
    shown = contents.describe(results, timeline_ms, timeline_of)
    # Imported here because loading Matplotlib takes as long as describing some reports.
    from airtcp.report import mpl
    from airtcp.report.writer import Writer

    path = out_dir / "report.html"
    try:
        writer = Writer(out_dir / "figures")
        with mpl.style():
            saved = {plot.slug: writer.save(plot) for plot in shown.plots}
        writer.add_plotly()
        path.write_text(page.render(shown, saved), encoding="utf-8")
    except OSError as error:
        raise AirtcpError(f"{error.filename or path}: {error.strerror}") from error
    return path

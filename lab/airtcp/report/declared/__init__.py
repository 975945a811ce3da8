# SPDX-License-Identifier: GPL-2.0-only
"""The figures that an experiment declares, each with a table of its values.

A kind of figure is a class in experiment/figures.py with its keys in YAML, and a module of this
package with the name of the kind and a function build().
"""

from collections.abc import Callable
from importlib import import_module

from airtcp.errors import AirtcpError
from airtcp.report.model import Results
from airtcp.report.plot import Plot
from airtcp.results.documents import FigureRecord

Builder = Callable[[FigureRecord, Results, str, list[str]], Plot]
"""build(declared, results, slug, notes) describes a figure and adds notes on missing parts.

Raises AirtcpError with the reason if there is nothing to show.
"""


def plots(results: Results) -> tuple[list[Plot], list[str]]:
    """The figures, and notes on missing parts."""
    figures: list[Plot] = []
    notes: list[str] = []
    for number, declared in enumerate(results.figures, start=1):
        build: Builder = import_module(f"{__name__}.{declared.figure.kind}").build
        missing: list[str] = []
        try:
            figures.append(build(declared, results, f"figure-{number}", missing))
        except AirtcpError as reason:
            missing.append(str(reason))
        notes += [f"{declared.figure.title}: {note}" for note in missing]
    return figures, notes

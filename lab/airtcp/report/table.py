# SPDX-License-Identifier: GPL-2.0-only
"""The values of a figure as a table."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from airtcp.report.figure import Axis, Figure, Panel, Valued
from airtcp.report.formats import with_interval
from airtcp.statistics import Floats, Summary
from airtcp.units import rounded

# A readable length; the files of a run contain everything that it measured.
_MOST_ROWS = 120


@dataclass(frozen=True)
class Table:
    """text_columns: number of leading columns that are text; the others are numbers."""

    head: Sequence[str]
    text_columns: int
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def data_table(figure: Figure) -> Table | None:
    """The values that a figure shows, or every nth of many. None if it shows none."""
    shown = list(_shown(figure))
    total = sum(len(mark.values.x) for _, mark in shown)
    if not total:
        return None
    step = math.ceil(total / _MOST_ROWS)
    labelled = next((letter for letter in ("x", "y") if getattr(shown[0][0], letter).ticks), "")
    letters = [letter for letter in ("x", "y") if letter != labelled]
    titles = {
        letter: list(dict.fromkeys(getattr(panel, letter).title for panel, _ in shown))
        for letter in letters
    }
    several = len(titles.get("y", ())) > 1
    texts = {
        "panel": [panel.title for panel, _ in shown],
        "series": [mark.name for _, mark in shown],
        "what": [panel.y.title if several else "" for panel, _ in shown],
    }
    texts = {head: column for head, column in texts.items() if any(column)}
    rows: list[list[str]] = []
    for number, (panel, mark) in enumerate(shown):
        named = [column[number] for column in texts.values()]
        labels = _column(panel, mark, labelled, step) if labelled else []
        columns = [_column(panel, mark, letter, step) for letter in letters]
        for place, cells in enumerate(zip(*columns, strict=True)):
            rows.append([*labels[place : place + 1], *named, *cells])
    heads = [*(["condition"] if labelled else []), *texts]
    values = [title[0] if len(title) == 1 else "value" for title in titles.values()]
    notes = [f"One in every {step} of the {total} values drawn."] if step > 1 else []
    return Table([*heads, *values], len(heads), rows, notes)


def _shown(figure: Figure) -> Iterator[tuple[Panel, Valued]]:
    for panel in figure.panels:
        for mark in panel.marks:
            if isinstance(mark, Valued) and mark.is_visible:
                yield panel, mark


def _column(panel: Panel, mark: Valued, letter: str, step: int) -> list[str]:
    """The texts of every nth value; step: n."""
    values = mark.values
    if letter == "x":
        return texts(panel.x, values.x[::step], values.x_half[::step])
    return texts(panel.y, values.y[::step], values.y_half[::step])


def texts(axis: Axis, values: Floats, halves: Floats) -> list[str]:
    """Each value with the half width of its interval, or its label."""
    if axis.ticks:
        return [axis.label_at(float(value)) for value in values]
    return [
        rounded(value, 4) if math.isnan(half) else with_interval(Summary(value, half, 0))
        for value, half in zip(values, halves, strict=True)
    ]

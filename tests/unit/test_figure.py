# SPDX-License-Identifier: GPL-2.0-only
"""Figures as data: what marks show, limits of axes, and the table of values."""

import math
from pathlib import Path
from typing import get_args

import numpy
import pytest

from airtcp.report import mpl, pen
from airtcp.report.figure import (
    MOST_POINTS,
    Axis,
    Bars,
    Dash,
    Figure,
    Line,
    Mark,
    Panel,
    Rule,
    Steps,
    Style,
    Tick,
    floats,
    with_margin,
)
from airtcp.report.table import Table, data_table

SOLID = Style("policy0", "solid")
ROWS = Axis(ticks=(Tick(0.1, "delay\n0 ms"), Tick(5, "other")))


def table(*panels: Panel) -> Table:
    values = data_table(Figure(panels, height_in=2))
    assert values
    return values


def test_a_thinned_line_keeps_its_extremes() -> None:
    values = numpy.zeros(100_000)
    values[51_234], values[70_000] = 7, -3
    kept = Line(x=numpy.arange(100_000.0), y=values, style=SOLID).values
    assert len(kept.x) <= MOST_POINTS
    assert (max(kept.y), min(kept.y)) == (7, -3)
    assert list(kept.x) == sorted(kept.x)


def test_points_with_unknown_values_are_left_out() -> None:
    kept = Line(
        x=floats([0, 1, 2]), y=floats([None, 4, 5]), style=SOLID, notes=["a", "b", "c"]
    ).values
    assert (list(kept.x), kept.notes) == ([1, 2], ["b", "c"])


@pytest.mark.parametrize(("marker", "is_visible"), [(None, False), ("circle", True)])
def test_a_single_point_is_visible_only_with_a_marker(marker: str | None, is_visible: bool) -> None:
    style = Style("policy0", "solid", marker=marker)  # type: ignore[arg-type]
    assert Line(x=floats([1]), y=floats([2]), style=style).is_visible == is_visible


@pytest.mark.parametrize(
    ("values", "low", "limits"),
    [
        ([10, 20], None, (9.5, 20.5)),
        ([10, 20, math.nan], 0.0, (0, 21)),
        ([4], None, (3.8, 4.2)),
        ([0], None, (-0.05, 0.05)),
        ([math.nan], None, (0, 1)),
    ],
)
def test_limits_have_a_margin(
    values: list[float], low: float | None, limits: tuple[float, float]
) -> None:
    assert with_margin(values, low=low) == pytest.approx(limits)


def test_table_of_bars_has_the_labels_of_groups() -> None:
    marks = [
        Bars(
            entries=[kind],
            detail="aad",
            start=floats([start]),
            length=floats([length]),
            half=floats([half]),
            y=floats([0.0]),
            colour="air-data",
        )
        for kind, start, length, half in (("data", 0, 60, 2.5), ("idle", 60, 40, None))
    ]
    found = table(Panel(Axis("share", "%"), ROWS, marks))
    assert found.head == ["condition", "series", "share (%)"]
    assert found.rows == [
        ["delay 0 ms", "data, aad", "60.0 ± 2.5"],
        ["delay 0 ms", "idle, aad", "40"],
    ]
    assert found.text_columns == 2


def test_table_lists_panels_and_quantities() -> None:
    time = Axis("virtual time", "s")
    line = Line(entries=["aad"], x=floats([0, 1]), y=floats([10, 20]), style=SOLID)
    steps = Steps(entries=["aad"], edges=floats([0, 1, 2]), heights=floats([3, 4]), style=SOLID)
    found = table(
        Panel(time, Axis("cwnd", "segments"), [line, Rule(axis="x", at=1, colour="ink")], "left"),
        Panel(time, Axis("goodput", "Mbit/s"), [steps], "right", row=1),
    )
    assert found.head == ["panel", "series", "what", "virtual time (s)", "value"]
    assert found.rows == [
        ["left", "aad", "cwnd (segments)", "0", "10"],
        ["left", "aad", "cwnd (segments)", "1", "20"],
        ["right", "aad", "goodput (Mbit/s)", "0.5", "3"],
        ["right", "aad", "goodput (Mbit/s)", "1.5", "4"],
    ]


def test_a_long_table_is_thinned_with_a_note() -> None:
    line = Line(x=numpy.arange(1000.0), y=numpy.arange(1000.0), style=SOLID)
    found = table(Panel(Axis("x"), Axis("y"), [line]))
    assert 100 <= len(found.rows) <= 120
    assert found.notes == ["One in every 9 of the 1000 values drawn."]


def test_a_figure_without_values_has_no_table() -> None:
    marks: list[Mark] = [Rule(axis="x", at=1, colour="ink")]
    assert data_table(Figure([Panel(Axis(), Axis(), marks)], height_in=2)) is None


def test_all_renderers_know_every_dash() -> None:
    dashes = get_args(Dash)
    assert len({pen._DASHES[dash] for dash in dashes}) == len(dashes) == len(pen._DASHES)
    assert len({mpl._DASHES[dash] for dash in dashes}) == len(dashes)
    script = (Path(pen.__file__).parent / "templates" / "plots.js").read_text()
    assert all(f"{dash}: " in script for dash in dashes)

# SPDX-License-Identifier: GPL-2.0-only
"""Figures of matplotlib's as figures of Plotly's, which checks every name in them."""

import math
from collections.abc import Iterator
from typing import Any

import numpy
import plotly.graph_objects as plotly
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Patch

from airtcp.report import interactive, plots
from airtcp.report.interactive import Interactive, convert, entries
from airtcp.report.writer import data_table


@pytest.fixture(autouse=True)
def style() -> Iterator[None]:
    with plots.style():
        yield


def one_panel() -> tuple[Figure, Axes]:
    figure = Figure(layout="constrained")
    return figure, figure.subplots()


def converted(figure: Figure) -> Interactive:
    figure.draw_without_rendering()
    found = convert(figure)
    plotly.Figure(found.document)  # raises for what Plotly does not know
    return found


def only(figure: Figure) -> dict[str, Any]:
    [trace] = converted(figure).data
    return trace


def test_a_line_has_its_points_look_and_entries() -> None:
    figure, axes = one_panel()
    label = entries("cubic", "median", each=["1 ms", "<8 ms>"])
    axes.plot([1, 2], [30, 40.5], "--s", color="#0072b2", label=label)
    trace = only(figure)
    assert (trace["x"], trace["y"]) == ([1, 2], [30, 40.5])
    assert trace["mode"] == "lines+markers"
    assert (trace["line"]["dash"], trace["line"]["color"]) == ("dash", "#0072b2")
    assert trace["marker"]["symbol"] == "square"
    assert trace["meta"]["entries"] == ["cubic", "median"]
    assert [aside[2] for aside in trace["customdata"]] == ["1 ms", "&lt;8 ms&gt;"]


def test_a_hollow_marker_stays_hollow() -> None:
    figure, axes = one_panel()
    axes.plot(1, 2, "D", markerfacecolor="none", markeredgecolor="#1b1f24")
    marker = only(figure)["marker"]
    assert (marker["symbol"], marker["color"]) == ("diamond-open", "#1b1f24")
    assert marker["line"]["width"] > 0


def test_of_a_long_line_the_extremes_are_kept() -> None:
    figure, axes = one_panel()
    values = numpy.zeros(100_000)
    values[51_234], values[70_000] = 7, -3
    axes.plot(numpy.arange(100_000), values)
    trace = only(figure)
    assert len(trace["x"]) <= interactive.MOST_POINTS
    assert (max(trace["y"]), min(trace["y"])) == (7, -3)
    assert trace["x"] == sorted(trace["x"])


def test_values_that_are_unknown_are_left_out() -> None:
    figure, axes = one_panel()
    axes.plot([0, 1, 2], [math.nan, 4, 5])
    assert only(figure)["x"] == [1, 2]


def test_intervals_belong_to_their_points() -> None:
    figure, axes = one_panel()
    axes.barh([0, 1], [10, 20], 0.8, color="#0072b2", label="default")
    axes.errorbar(20, 1, xerr=2.5, color="#1b1f24", capsize=2)
    axes.plot([5, 6], [0.2, 0.4], "o", label="point")
    axes.errorbar(6, 0.4, yerr=0.1, fmt="none")
    bars, points = converted(figure).data
    assert bars["error_x"]["array"] == [0, 2.5]
    assert bars["error_x"]["color"] == "#1b1f24"
    assert [aside[0] for aside in bars["customdata"]] == ["", " ± 2.5"]
    assert points["error_y"]["array"] == [0, 0.1]
    assert "error_x" not in points


def test_bars_side_by_side_have_the_label_of_their_group() -> None:
    figure, axes = one_panel()
    axes.barh(0, 60, 0.8, color="#332288", label=entries("data", told="aad"))
    axes.barh(0, 40, 0.8, left=60, color="#ddcc77", label=entries("idle", told="aad"))
    axes.set_yticks([0.1, 5], ["delay 0 ms", "other"])
    axes.set_xlabel("share (%)")
    found = converted(figure)
    first, second = found.data
    assert (second["x"], second["base"], second["orientation"]) == ([40], [60], "h")
    assert first["name"] == "data, aad"
    assert first["meta"]["entries"] == ["data"]
    assert first["customdata"] == [("", "delay 0 ms")]
    assert found.layout["yaxis"]["ticktext"] == ["delay 0 ms", "other"]
    table = data_table(found.series)
    assert table
    assert table.rows == [
        ["delay 0 ms", "data, aad", "60"],
        ["delay 0 ms", "idle, aad", "40"],
    ]


def test_steps_go_on_to_the_end_of_the_last() -> None:
    figure, axes = one_panel()
    axes.stairs([3, 4], [0, 1, 2], color="#0072b2", baseline=None)
    trace = only(figure)
    assert (trace["x"], trace["y"]) == ([0, 1, 2], [3, 4, 4])
    assert trace["line"]["shape"] == "hv"


def test_filled_steps_are_bars_with_an_outline_that_says_nothing() -> None:
    figure, axes = one_panel()
    axes.stairs([3, 4], [0, 1, 2], fill=True, facecolor=("#0072b2", 0.2), edgecolor="#0072b2")
    bars, outline = converted(figure).data
    assert (bars["type"], bars["x"], bars["width"]) == ("bar", [0.5, 1.5], [1, 1])
    assert bars["marker"]["opacity"] == 0.2
    assert outline["hoverinfo"] == "skip"


def test_a_distribution_goes_up_in_steps() -> None:
    figure, axes = one_panel()
    axes.ecdf([1, 2, 4])
    trace = only(figure)
    assert trace["line"]["shape"] == "hv"
    assert trace["y"][-1] == 1


def test_columns_upon_a_logarithmic_axis() -> None:
    figure, axes = one_panel()
    axes.vlines([1, 2], 0.01, [0.1, 1], color="#0072b2", label="aad")
    axes.set_yscale("log")
    axes.set_ylim(0.01, 10)
    found = converted(figure)
    assert (found.data[0]["type"], found.data[0]["y"]) == ("bar", [0.1, 1])
    assert (found.layout["yaxis"]["type"], found.layout["yaxis"]["range"]) == ("log", [-2, 1])


def test_texts_stand_beside_their_points() -> None:
    figure, axes = one_panel()
    axes.annotate(
        "8 < 9", (1, 2), xytext=(4, 0), textcoords="offset points", va="center", label="cubic"
    )
    trace = only(figure)
    assert trace["textposition"] == "middle right"
    assert "8 &lt; 9" in trace["text"][0]
    assert trace["meta"]["entries"] == ["cubic"]


def test_a_line_across_is_a_shape() -> None:
    figure, axes = one_panel()
    axes.axvline(1, color="#6a737d")
    found = converted(figure)
    assert found.data == []
    [shape] = found.layout["shapes"]
    assert (shape["x0"], shape["yref"]) == (1, "y domain")


def test_panels_share_their_axes_and_have_titles() -> None:
    figure = Figure(layout="constrained")
    grid = figure.subplots(2, 2, sharex=True, sharey=True)
    for number, axes in enumerate(grid.flat):
        axes.plot([0, 1], [number, 2], label="nv")
        axes.set_title(f"{number} flows")
    grid[1, 1].remove()
    figure.supxlabel("ping (ms)")
    found = converted(figure)
    assert found.layout["grid"]["subplots"] == [["xy", "x2y2"], ["x3y3", ""]]
    assert found.layout["xaxis3"]["matches"] == "x"
    assert found.layout["xaxis3"]["title"]["text"] == "ping (ms)"
    assert [one["text"] for one in found.layout["annotations"]] == [f"{n} flows" for n in range(3)]
    assert found.data[2]["xaxis"] == "x3"
    table = data_table(found.series)
    assert table
    assert table.head == ["panel", "series", "ping (ms)", ""]


def test_the_legend_has_each_look() -> None:
    figure, axes = one_panel()
    axes.plot([0], [0])
    handles = [
        Patch(color="#0072b2", label="default"),
        Line2D([], [], color="#d55e00", linestyle=":", label="aad"),
        Line2D([], [], color="#1b1f24", linestyle="none", marker="|", label="ACK"),
    ]
    figure.legend(handles=handles)
    patch, line, mark = converted(figure).layout["meta"]["legend"]
    assert patch == {"name": "default", "color": "#0072b2", "kind": "patch"}
    assert line["dash"] == "dot" and "path" not in line
    assert mark["path"].startswith("M") and "dash" not in mark


def test_what_cannot_be_converted_is_refused() -> None:
    figure, axes = one_panel()
    axes.add_patch(Circle((0, 0)))
    with pytest.raises(NotImplementedError, match="Circle"):
        converted(figure)


def test_a_long_table_is_thinned_and_says_so() -> None:
    figure, axes = one_panel()
    axes.plot(range(1000), range(1000))
    table = data_table(converted(figure).series)
    assert table
    assert 100 <= len(table.rows) <= 120
    assert table.notes == ["One of 9 values; 1000 are drawn."]

# SPDX-License-Identifier: GPL-2.0-only
"""Figure descriptions as Plotly documents."""

from collections.abc import Sequence
from typing import Any

import numpy
import plotly.graph_objects as plotly
import pytest

from airtcp.report.figure import (
    Axis,
    Bars,
    Box,
    Entry,
    Figure,
    Labels,
    Legend,
    Line,
    Mark,
    Panel,
    Rule,
    Steps,
    Strokes,
    Style,
    Text,
    Tick,
    floats,
)
from airtcp.report.markers import MARKERS
from airtcp.report.plotly import document

SOLID = Style("policy0", "solid")
JOINED = Style("policy0", "dash", marker="square")
HOLLOW = Style("ink", marker="diamond", hollow=True)
X, Y = Axis("ping RTT, median", "ms"), Axis("goodput", "Mbit/s")
ROWS = Axis(ticks=(Tick(0.1, "delay\n<0 ms>"), Tick(5, "other")), grid=False)


def documented(marks: Sequence[Mark], x: Axis = X, y: Axis = Y, **options: Any) -> dict[str, Any]:
    return document(Figure([Panel(x, y, marks)], height_in=2, **options))


def only(mark: Mark, **axes: Axis) -> dict[str, Any]:
    [trace] = documented([mark], **axes)["data"]
    typed: dict[str, Any] = trace
    return typed


def line(style: Style = JOINED, **options: Any) -> Line:
    return Line(x=floats([1, 2]), y=floats([30, 40.5]), style=style, **options)


def test_plotly_accepts_a_document_with_all_marks() -> None:
    """Plotly refuses unknown names."""
    bars = Bars(
        length=floats([1, 2]),
        y=floats([0, 1]),
        start=numpy.zeros(2),
        half=floats([None, 0.5]),
        colour="policy0",
    )
    markers = [line(Style("ink", marker=name)) for name in MARKERS]
    marks = [
        *markers,
        line(HOLLOW, x_half=floats([1, 2]), notes=["a", "b"]),
        bars,
        Steps(heights=floats([3, 4]), edges=floats([0, 1, 2]), style=SOLID, filled=True),
        Strokes(x=floats([1]), low=0.1, high=floats([1]), colour="tint0", width=1),
        Text(text="8", x=1, y=2),
        Rule(axis="x", at=1, colour="faint"),
    ]
    panels = [
        Panel(X, replaced, marks, title=f"panel {row}", row=row)
        for row, replaced in enumerate((ROWS, Axis("y", scale="log", limits=(0.01, 10))))
    ]
    legend = Legend([Entry("default", "policy0"), Entry("aad", JOINED)])
    plotly.Figure(document(Figure(panels, 2, legend=legend, shared="xy")))


def test_a_line_has_points_style_and_legend_entries() -> None:
    trace = only(line(entries=["cubic", "median"], notes=["1 ms", "<8 ms>"]))
    assert (trace["x"], trace["y"]) == ([1, 2], [30, 40.5])
    assert trace["mode"] == "lines+markers"
    assert (trace["line"]["dash"], trace["line"]["color"]) == ("dash", "#0072b2")
    assert trace["marker"]["symbol"] == "square"
    assert trace["meta"]["entries"] == ["cubic", "median"]
    assert [extra[2] for extra in trace["customdata"]] == ["1 ms", "&lt;8 ms&gt;"]


def test_tooltips_of_points_have_values_with_units() -> None:
    trace = only(line(entries=["a < b"], detail="50 ms", y_half=floats([None, 2.5])))
    assert trace["hovertemplate"] == (
        "<b>a &lt; b, 50 ms</b><br>ping RTT, median: %{x:.4~r}%{customdata[0]} ms<br>"
        "goodput: %{y:.4~r}%{customdata[1]} Mbit/s<extra></extra>"
    )
    assert trace["customdata"] == [("", ""), ("", " ± 2.5")]
    assert trace["error_y"]["array"] == trace["error_y"]["arrayminus"] == [0, 2.5]
    assert "error_x" not in trace


def test_intervals_of_what_is_not_negative_end_at_zero() -> None:
    trace = only(line(y_half=floats([None, 250])))
    assert trace["error_y"]["array"] == [0, 250]
    assert trace["error_y"]["arrayminus"] == [0, trace["y"][1]]


def test_a_quantity_without_a_unit_keeps_its_brackets() -> None:
    trace = only(line(), y=Axis("goodput fairness (Jain's index)"))
    assert "<br>goodput fairness (Jain&#x27;s index): %{y:.4~r}<extra>" in trace["hovertemplate"]


def test_a_hollow_marker_stays_hollow() -> None:
    marker = only(line(HOLLOW))["marker"]
    assert (marker["symbol"], marker["color"]) == ("diamond-open", "#1b1f24")
    assert marker["line"]["width"] > 0


def test_bars_have_the_base_and_label_of_their_group() -> None:
    bars = Bars(
        entries=["idle"],
        detail="aad",
        start=floats([60]),
        length=floats([40]),
        half=floats([2.5]),
        y=floats([0]),
        colour="air-idle",
    )
    found = documented([bars], x=Axis("share", "%"), y=ROWS)
    [trace] = found["data"]
    assert (trace["x"], trace["base"], trace["orientation"]) == ([40], [60], "h")
    assert trace["name"] == "idle, aad"
    # Plotly's x is where the bar ends: 100.
    assert trace["customdata"] == [("40.0 ± 2.5", "delay &lt;0 ms&gt;")]
    assert "<br>share: %{customdata[0]} %<br>" in trace["hovertemplate"]
    assert trace["error_x"]["color"] == "#1b1f24"
    assert found["layout"]["yaxis"]["ticktext"] == ["delay<br>&lt;0 ms&gt;", "other"]
    assert found["layout"]["yaxis"]["fixedrange"]


def test_steps_include_the_end_of_the_last_step() -> None:
    steps = Steps(heights=floats([3, 4]), edges=floats([0, 1, 2]), style=SOLID)
    trace = only(steps)
    assert (trace["x"], trace["y"]) == ([0, 1, 2], [3, 4, 4])
    assert trace["line"]["shape"] == "hv"


def test_filled_steps_are_bars_with_an_outline_without_tooltips() -> None:
    steps = Steps(heights=floats([3, 4]), edges=floats([0, 1, 2]), style=SOLID, filled=True)
    bars, outline = documented([steps])["data"]
    assert (bars["type"], bars["x"], bars["width"]) == ("bar", [0.5, 1.5], [1, 1])
    assert bars["marker"]["opacity"] < 1
    assert outline["hoverinfo"] == "skip"


@pytest.mark.parametrize(("high", "step"), [(90, "D2"), (100, 1)])
def test_a_short_logarithmic_axis_has_ticks_at_2_and_5(high: float, step: object) -> None:
    found = documented([line()], y=Axis("time", "ms", (1, high), scale="log"))
    assert found["layout"]["yaxis"]["dtick"] == step
    assert found["layout"]["yaxis"]["tickformat"] == "~g"


def test_strokes_on_a_logarithmic_axis_are_bars() -> None:
    strokes = Strokes(x=floats([1, 2]), low=0.01, high=floats([0.1, 1]), colour="tint0", width=1)
    found = documented([strokes], y=Axis("time", "ms", (0.01, 10), scale="log"))
    assert (found["data"][0]["type"], found["data"][0]["y"]) == ("bar", [0.1, 1])
    assert found["layout"]["yaxis"]["type"] == "log"
    assert found["layout"]["yaxis"]["range"] == [-2, 1]


def test_texts_are_to_the_right_of_their_points() -> None:
    space = "\N{NO-BREAK SPACE}"
    assert only(Text(text="8", x=1, y=2, right=7))["text"] == [f"{3 * space}8{3 * space}"]
    trace = only(Text(text="8 < 9", x=1, y=2, entries=["cubic"]))
    assert trace["textposition"] == "middle right"
    assert "8 &lt; 9" in trace["text"][0]
    assert trace["meta"]["entries"] == ["cubic"]


def test_labels_are_left_out() -> None:
    assert documented([Labels(texts=[Text(text="8", x=1, y=2)])])["data"] == []


def test_a_rule_is_a_shape() -> None:
    found = documented([Rule(axis="x", at=1, colour="faint")])
    assert found["data"] == []
    [shape] = found["layout"]["shapes"]
    assert (shape["x0"], shape["yref"]) == (1, "y domain")


def test_panels_share_axes_and_have_titles() -> None:
    panels = [
        Panel(X, Y, [line()], title=f"{number} flows", row=number // 2, column=number % 2)
        for number in range(3)
    ]
    found = document(Figure(panels, height_in=2, shared="xy", labels="figure"))
    layout = found["layout"]
    assert layout["grid"]["subplots"] == [["xy", "x2y2"], ["x3y3", ""]]
    assert "matches" not in layout["xaxis"] and layout["xaxis3"]["matches"] == "x"
    assert layout["xaxis3"]["title"]["text"] == "ping RTT, median (ms)"
    assert [annotation["text"] for annotation in layout["annotations"]] == [
        f"{n} flows" for n in range(3)
    ]
    assert found["data"][2]["xaxis"] == "x3"


def test_the_legend_has_the_style_of_each_entry() -> None:
    entries = [
        Entry("default", "policy0"),
        Entry("aad", Style("policy1", "dot")),
        Entry("ACK", Style("ink", marker="tick")),
        Entry("published", HOLLOW),
    ]
    layout = documented([], legend=Legend(entries))["layout"]
    patch, dotted, tick, hollow = layout["meta"]["legend"]
    assert patch == {"name": "default", "color": "#0072b2", "kind": "patch"}
    assert dotted["dash"] == "dot" and "path" not in dotted
    assert tick["path"].startswith("M") and "dash" not in tick
    assert tick["hollow"] and hollow["hollow"]


def test_an_unsupported_mark_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="Box"):
        documented([Box(left=0, right=1, top=0, bottom=1, colour="ink")])

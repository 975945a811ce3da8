# SPDX-License-Identifier: GPL-2.0-only
"""Figure descriptions drawn as the page's SVG."""

import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

import numpy
import pytest
from small_report import Elements
from small_results import results

from airtcp.report import frames, overview, svg, ticks
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
from airtcp.report.frames import Frame
from airtcp.report.markers import MARKERS
from airtcp.report.plot import Plot
from airtcp.report.textsize import width

DOTS = Style("policy0", marker="circle")
SOLID = Style("policy0", "solid")
TEN = Axis("x", "s", (0, 10))
SVG = "{http://www.w3.org/2000/svg}"


def plot(figure: Figure) -> Plot:
    return Plot("name", "Title <1>", "", "What & where", figure)


def one(*marks: Mark, x: Axis = TEN, y: Axis = TEN, **options: Any) -> Figure:
    return Figure([Panel(x, y, marks)], 2, **options)


def drawn(figure: Figure) -> ElementTree.Element:
    return ElementTree.fromstring(svg.draw(plot(figure)).svg)


def frame_of(figure: Figure) -> Frame:
    [frame] = frames.lay_out(figure).frames
    return frame


def paths(figure: Figure, colour: str) -> list[list[tuple[int, int]]]:
    """The corners of the lines and areas of a colour, in tenths of a point."""
    outlines = [
        path.get("d", "")
        for path in drawn(figure).iter(f"{SVG}path")
        if f"var(--{colour})" in path.get("style", "")
    ]
    return [_corners(outline) for outline in outlines]


def _corners(outline: str) -> list[tuple[int, int]]:
    x = y = 0
    corners = []
    for letter, text in re.findall(r"([MlHVz])([-\d ]*)", outline):
        numbers = [int(number) for number in text.split()]
        if letter in "HV":
            x, y = (numbers[0], y) if letter == "H" else (x, numbers[0])
            corners.append((x, y))
        for right, down in zip(numbers[::2], numbers[1::2], strict=letter in "Ml"):
            if letter in "Ml":
                x, y = (right, down) if letter == "M" else (x + right, y + down)
                corners.append((x, y))
    return corners


def at(frame: Frame, *points: tuple[float, float]) -> list[tuple[int, int]]:
    return [(round(10 * frame.x(x)), round(10 * frame.y(y))) for x, y in points]


def test_all_marks_and_markers_are_well_formed() -> None:
    marks = [
        *(
            Line(x=floats([1, 2]), y=floats([3, 4]), style=Style("ink", marker=name))
            for name in MARKERS
        ),
        Bars(length=floats([1]), y=floats([1]), start=floats([0]), half=floats([1]), colour="ink"),
        Steps(heights=floats([3, 4]), edges=floats([0, 1, 2]), style=SOLID, filled=True),
        Steps(heights=floats([3, 4]), edges=floats([0, 1, 2]), style=SOLID, closed=True),
        Strokes(x=floats([1]), low=0.1, high=floats([1]), colour="tint0", width=1),
        Box(left=1, right=2, top=2, bottom=1, colour="air-data", tip="<data>"),
        Rule(axis="x", at=1, colour="faint"),
        Rule(axis="y", at=1, colour="faint"),
        Text(text="a & b", x=1, y=2),
        Labels(texts=[Text(text="50 ms", x=5, y=5)]),
    ]
    panels = [Panel(TEN, TEN, marks, title=f"<{row}>", row=row) for row in range(2)]
    legend = Legend([Entry("a < b", "policy0"), Entry("c", DOTS), Entry("d", SOLID)], 3)
    text = svg.draw(plot(Figure(panels, 4, legend=legend, shared="x"))).svg
    ElementTree.fromstring(text)
    elements = Elements(text)
    assert len(elements.ids) == len(set(elements.ids))
    assert all(name.startswith("name-") for name in elements.ids)
    assert {reference[1:] for reference in elements.references} <= set(elements.ids)
    assert set(re.findall(r"url\(#([^)]+)\)", text)) <= set(elements.ids)
    assert not re.search(r"#[0-9a-f]{6}\b", text)  # the page's style sheet has the colours


def test_an_unknown_mark_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="Mark"):
        drawn(one(Mark()))


def test_a_line_goes_through_its_points() -> None:
    points = [(0.0, 10.0), (5.0, 2.5), (10.0, 0.0)]
    x, y = zip(*points, strict=True)
    figure = one(Line(x=floats(x), y=floats(y), style=SOLID))
    assert paths(figure, "policy0") == [at(frame_of(figure), *points)]


def test_steps_change_at_their_edges() -> None:
    figure = one(Steps(heights=floats([2, 6]), edges=floats([0, 1, 4]), style=SOLID))
    corners = at(frame_of(figure), (0, 2), (1, 2), (1, 6), (4, 6))
    assert paths(figure, "policy0") == [corners]
    figure = one(Line(x=floats([0, 1, 4]), y=floats([2, 6, 6]), style=SOLID, steps=True))
    assert paths(figure, "policy0") == [corners]


def test_points_at_one_place_are_drawn_once() -> None:
    """A path must not end with a letter without numbers."""
    figure = one(Line(x=floats([1, 1.0001, 1]), y=floats([5, 5, 5]), style=SOLID))
    [path] = [p for p in drawn(figure).iter(f"{SVG}path") if "policy0" in p.get("style", "")]
    [(x, y)] = at(frame_of(figure), (1, 5))
    assert path.get("d") == f"M{x} {y}"


def test_a_bar_has_its_length_and_interval() -> None:
    figure = one(
        Bars(length=floats([4]), y=floats([5]), start=floats([1]), half=floats([2]), colour="tint0")
    )
    frame = frame_of(figure)
    [bar] = paths(figure, "tint0")
    assert bar[:3] == at(frame, (1, 5.4), (5, 5.4), (5, 4.6))
    interval = [
        corners for corners in paths(figure, "ink") if corners[:2] == at(frame, (3, 5), (7, 5))
    ]
    assert len(interval) == 1


def test_intervals_that_are_unknown_are_not_drawn() -> None:
    halves = floats([None, 1])
    figure = one(Line(x=floats([2, 4]), y=floats([5, 5]), y_half=halves, style=DOTS))
    [interval] = paths(figure, "policy0")
    assert interval == at(frame_of(figure), (4, 4), (4, 6))


def test_intervals_of_what_is_not_negative_end_at_zero() -> None:
    figure = one(Line(x=floats([4]), y=floats([1]), y_half=floats([3]), style=DOTS))
    [interval] = paths(figure, "policy0")
    assert interval == at(frame_of(figure), (4, 0), (4, 4))


def test_boxes_have_tooltips() -> None:
    box = Box(left=1, right=2, top=2, bottom=1, colour="air-data", tip="3 < 4")
    [shown] = [
        rect for rect in drawn(one(box)).iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None
    ]
    assert "".join(shown.itertext()) == "3 < 4"


def test_marks_end_at_the_edge_of_their_panel_unless_they_may_not() -> None:
    beyond = Line(x=floats([-1, 11]), y=floats([5, 5]), style=SOLID)
    free = Line(x=floats([5]), y=floats([10]), style=DOTS, clip=False)
    root = drawn(one(beyond, free))
    [clipped] = root.findall(f"{SVG}g[@clip-path]")
    assert any("policy0" in path.get("style", "") for path in clipped.iter(f"{SVG}path"))
    assert not list(clipped.iter(f"{SVG}use")) and list(root.iter(f"{SVG}use"))


def test_texts_outside_the_panel_are_not_drawn() -> None:
    texts = [Text(text="in", x=5, y=5), Text(text="out", x=11, y=5), Text(text="low", x=5, y=-1)]
    shown = {text.text for text in drawn(one(*texts)).iter(f"{SVG}text")}
    assert "in" in shown and not {"out", "low"} & shown


def test_labels_become_texts_where_there_is_room() -> None:
    points = Line(x=floats([5] * 30), y=floats([5] * 30), style=DOTS)
    labels = Labels(texts=[Text(text=f"label {number}", x=5, y=5) for number in range(30)])
    [panel] = svg.draw(plot(one(points, labels))).described.panels
    placed = [mark for mark in panel.marks if isinstance(mark, Text)]
    assert 0 < len(placed) < 30
    assert [text.text for text in placed] == [f"label {number}" for number in range(len(placed))]


def test_shared_axes_are_labelled_once() -> None:
    panels = [Panel(TEN, TEN, [], title=f"{n} flows", row=n // 2, column=n % 2) for n in range(3)]
    figure = Figure(panels, 3, 7, shared="xy", labels="figure")
    texts = [text.text for text in drawn(figure).iter(f"{SVG}text")]
    assert texts.count("x (s)") == 2  # each axis once
    laid_out = frames.lay_out(figure).frames
    assert [bool(frame.y_ticks[0].label) for frame in laid_out] == [True, False, True]
    assert [bool(frame.x_ticks[0].label) for frame in laid_out] == [False, True, True]


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_panels_and_their_labels_are_within_the_figure(columns: int) -> None:
    names = Axis(ticks=[Tick(2, "a long name of\ntwo lines"), Tick(8, "b")], limits=(0, 10))
    marks = [Text(text="beyond the end", x=10, y=5)]
    panels = [Panel(TEN, names, marks, row=n, column=c) for n in range(2) for c in range(columns)]
    figure = Figure(panels, 4, 3.5 * columns)
    laid_out = frames.lay_out(figure)
    for frame in laid_out.frames:
        assert frame.left - width("a long name of", frames.TICK_SIZE) > 0
        assert frame.right + 4 + width("beyond the end", 6.5) <= laid_out.width
        assert 0 < frame.top < frame.bottom < laid_out.height
    for first, second in zip(laid_out.frames, laid_out.frames[1:], strict=False):
        assert first.right < second.left or first.bottom < second.top


def test_a_legend_that_is_too_wide_has_more_rows() -> None:
    entries = [Entry(f"a policy with the long name {number}", "ink") for number in range(4)]
    legend = frames.lay_out(one(legend=Legend(entries, 4))).legend
    assert len({entry.middle for entry in legend}) > 1
    for entry in legend:
        name_end = entry.left + frames.HANDLE + frames.HANDLE_GAP
        assert name_end + width(entry.entry.name, frames.LEGEND_SIZE) <= 3.5 * 72


@pytest.mark.parametrize(
    ("limits", "room", "labels"),
    [
        ((0, 10), 6, ["0", "2", "4", "6", "8", "10"]),
        ((0, 1.3), 6, ["0.00", "0.25", "0.50", "0.75", "1.00", "1.25"]),
        ((-1, 1), 3, ["\N{MINUS SIGN}1", "0", "1"]),
        (
            (0, 450000),
            3,
            ["0", "200\N{NARROW NO-BREAK SPACE}000", "400\N{NARROW NO-BREAK SPACE}000"],
        ),
        ((20, 0), 2, ["0", "10", "20"]),
    ],
)
def test_ticks_are_round_numbers(
    limits: tuple[float, float], room: float, labels: Sequence[str]
) -> None:
    assert [tick.label for tick in ticks.ticks(Axis(limits=limits), room)] == labels


def test_ticks_of_a_logarithmic_axis_are_powers_of_ten() -> None:
    far, near = (Axis(limits=limits, scale="log") for limits in ((0.02, 300), (0.9, 6)))
    assert [tick.label for tick in ticks.ticks(far, 5)] == ["0.1", "1", "10", "100"]
    assert [tick.label for tick in ticks.ticks(near, 5)] == ["1", "2", "5"]
    frame = frame_of(one(x=Axis(limits=(1, 100), scale="log")))
    middle = (frame.left + frame.right) / 2
    assert frame.x(10.0) == pytest.approx(middle)
    assert numpy.isfinite(frame.x(floats([0]))).all()


def test_an_axis_keeps_its_own_ticks_and_step() -> None:
    named = Axis(ticks=[Tick(1, "server")], limits=(0, 2))
    assert ticks.ticks(named, 5) == named.ticks
    stepped = ticks.ticks(Axis(limits=(20, 30), step=5), 9)
    assert [tick.label for tick in stepped] == ["20", "25", "30"]


def test_a_title_wider_than_its_panel_stays_within_the_figure() -> None:
    name = "mean completion time of all pages relative to default"
    labels = Axis(limits=(0, 2), ticks=[Tick(1, "a condition with a long label")])
    figure = one(x=Axis(name, "s", (0, 10)), y=labels)
    whole = frames.lay_out(figure).width
    [title] = [text for text in drawn(figure).iter(f"{SVG}text") if text.text == f"{name} (s)"]
    half = width(f"{name} (s)", frames.TITLE_SIZE) / 2
    assert half <= float(title.get("x", "")) / 10 <= whole - half + 0.1


def test_bars_of_0_are_drawn() -> None:
    found = results([({"ack_policy": policy}, [0.0, 0.0]) for policy in ("default", "aad")])
    first = next(overview.plots(found))
    assert "goodput" in svg.draw(first).svg

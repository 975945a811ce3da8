# SPDX-License-Identifier: GPL-2.0-only
"""Figure descriptions drawn by Matplotlib."""

from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import combinations

import numpy
import pytest
from matplotlib.axes import Axes
from matplotlib.transforms import Bbox

from airtcp.report import mpl
from airtcp.report.figure import (
    Axis,
    Bars,
    Entry,
    Figure,
    Labels,
    Legend,
    Line,
    Mark,
    Panel,
    Style,
    Text,
    Tick,
    floats,
)

DOTS = Style("policy0", marker="circle")
TEN = Axis("x", "s", (0, 10))


@pytest.fixture(autouse=True)
def style() -> Iterator[None]:
    with mpl.style():
        yield


def drawn(marks: Sequence[Mark], x: Axis = TEN, y: Axis = TEN) -> Axes:
    [axes] = mpl.draw(Figure([Panel(x, y, marks)], height_in=2)).axes
    return axes


def test_axes_match_their_description() -> None:
    lanes = Axis(limits=(2, 0), ticks=[Tick(0.5, "server"), Tick(1.5, "station")], line=False)
    axes = drawn([], Axis("time", "ms", (20, 30), step=5), lanes)
    assert (axes.get_xlim(), axes.get_ylim()) == ((20, 30), (2, 0))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["server", "station"]
    assert list(axes.get_xticks()) == [20, 25, 30]
    assert axes.get_xlabel() == "time (ms)"
    assert not axes.spines["left"].get_visible()


@pytest.mark.parametrize(
    ("limits", "ticks"),
    [((5, 90), ["5", "10", "20", "50"]), ((12, 90), ["20", "50"]), ((1, 200), ["1", "10", "100"])],
)
def test_short_logarithmic_axes_have_several_ticks(
    limits: tuple[float, float], ticks: list[str]
) -> None:
    axes = drawn([], y=Axis("time", "ms", limits, scale="log"))
    shown = (*axes.get_yticklabels(), *axes.get_yticklabels(minor=True))
    assert [text for label in shown if (text := label.get_text())] == ticks


def test_dollars_are_not_mathematics() -> None:
    """A command can be a factor, and Matplotlib raises an error for what it cannot parse."""
    command = "echo $(date +%s) $(hostname)"
    axis = Axis(ticks=[Tick(0.5, command)])
    figure = Figure([Panel(axis, axis, [])], 2, legend=Legend([Entry(command, DOTS)]))
    canvas = mpl.draw(figure)
    canvas.savefig(BytesIO())


def test_an_interval_extends_by_half_to_both_sides() -> None:
    bars = Bars(
        length=floats([4, 6]),
        y=floats([1, 2]),
        start=floats([0, 1]),
        half=floats([None, 2]),
        colour="ink",
    )
    axes = drawn([bars])
    [whiskers] = [lines for lines in axes.collections if len(lines.get_paths())]
    ends = [numpy.asarray(path.vertices).tolist() for path in whiskers.get_paths()]
    assert [[5, 2], [9, 2]] in ends


def test_an_interval_of_what_is_not_negative_ends_at_zero() -> None:
    bars = Bars(
        length=floats([1]), y=floats([2]), start=floats([0]), half=floats([3]), colour="ink"
    )
    axes = drawn([bars])
    [whiskers] = [lines for lines in axes.collections if len(lines.get_paths())]
    ends = [numpy.asarray(path.vertices).tolist() for path in whiskers.get_paths()]
    assert [[0, 2], [4, 2]] in ends


def test_labels_do_not_overlap_markers_or_each_other() -> None:
    xs = [1.0, 1.5, 2.0, 9.9]
    texts = [Text(text=f"{x:g} ms", x=x, y=5, colour="policy0", size=5.5) for x in xs]
    points = Line(x=floats(xs), y=floats([5] * 4), style=DOTS)
    axes = drawn([points, Labels(texts=texts)])
    boxes = [text.get_window_extent() for text in axes.texts]
    assert len(boxes) == 4
    centres = axes.transData.transform([(x, 5) for x in xs])
    assert not any(Bbox.overlaps(first, second) for first, second in combinations(boxes, 2))
    assert not any(box.contains(*centre) for box in boxes for centre in centres)
    area = axes.get_window_extent()
    assert all(area.x0 <= box.x0 and box.x1 <= area.x1 for box in boxes)
    assert axes.texts[0].get_text() == "1 ms"


def test_the_last_labels_are_left_out_if_there_is_no_space() -> None:
    points = Line(x=floats([5] * 30), y=floats([5] * 30), style=DOTS)
    texts = [Text(text=f"label {number}", x=5, y=5) for number in range(30)]
    found = [text.get_text() for text in drawn([points, Labels(texts=texts)]).texts]
    assert 0 < len(found) < 30
    assert found == [text.text for text in texts[: len(found)]]


def test_a_grid_of_panels_has_axis_labels_once() -> None:
    panels = [Panel(TEN, TEN, [], title=f"{n} flows", row=n // 2, column=n % 2) for n in range(3)]
    legend = Legend([Entry("aad", "policy0"), Entry("published", DOTS)], columns=2)
    figure = Figure(panels, 3, 7, legend, shared="xy", labels="figure")
    canvas = mpl.draw(figure)
    assert [axes.get_title() for axes in canvas.axes] == ["0 flows", "1 flows", "2 flows"]
    assert canvas.get_supxlabel() == "x (s)"
    assert not any(axes.get_xlabel() for axes in canvas.axes)
    [drawn_legend] = canvas.legends
    assert [text.get_text() for text in drawn_legend.get_texts()] == ["aad", "published"]


def test_an_unknown_mark_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="Mark"):
        drawn([Mark()])

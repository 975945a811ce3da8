# SPDX-License-Identifier: GPL-2.0-only
"""The picture of the medium, from captures whose every box can be worked out by hand."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle
from test_airtrace import ACK, BEACON, BLOCKACK, TO_AP, Record, ampdu, frame, write_air
from test_report import Elements, write_results

from airtcp import cli
from airtcp.errors import InputError
from airtcp.report import model, page, plots, timeline
from airtcp.report.writer import Writer
from airtcp.results.files import airtrace

COLLIDED = 0x01
LOST_COLOUR = "#dd3322"


@pytest.fixture(autouse=True)
def style() -> Iterator[None]:
    with plots.style():
        yield


def records() -> list[Record]:
    """60 ms: an A-MPDU of 4 ms that goes over the end of the first row, and a collision."""
    return [
        frame(0, 300, control=BEACON, direction=0, receiver=0xFFFF, to_group=True),
        *ampdu(7000, 11_000, (1996, 996, 996), lost=(1, 2)),
        frame(11_016, 11_048, sender=1, receiver=0, control=BLOCKACK, direction=0),
        frame(20_000, 20_200, marks=COLLIDED, lost=True),
        frame(20_005, 20_105, sender=1, receiver=0, direction=TO_AP, marks=COLLIDED, lost=True),
        frame(59_900, 60_000, sender=1, receiver=0, direction=TO_AP),
    ]


def boxes(axes: Axes) -> dict[str, Rectangle]:
    """The PPDUs in a row by gid."""
    found = [one for one in axes.patches if isinstance(one, Rectangle) and one.get_gid()]
    return {str(one.get_gid()): one for one in found}


def test_what_it_shows_is_by_default_the_middle_of_the_capture(tmp_path: Path) -> None:
    path = write_air(tmp_path, [frame(ms * 1000, ms * 1000 + 1000) for ms in range(450)])
    found = timeline.read(path, None)
    assert found.start_ms == 200
    starts_ms = [one.start_ns // 1_000_000 for one in found.transmissions]
    assert starts_ms == list(range(200, 250))
    assert timeline.read(path, 449).transmissions[0].start_ns == 449_000_000


def test_a_short_capture_is_shown_from_its_start(tmp_path: Path) -> None:
    found = timeline.read(write_air(tmp_path, [frame(0, 10)]), None)
    assert (found.start_ms, len(found.transmissions)) == (0, 1)


@pytest.mark.parametrize(("end_us", "last"), [(60_000, 59), (60_001, 60)])
def test_a_start_past_the_capture_is_refused(tmp_path: Path, end_us: float, last: int) -> None:
    path = write_air(tmp_path, [frame(0, 10), frame(59_000, end_us)])
    timeline.read(path, last)
    with pytest.raises(InputError, match=rf"allowed: 0 to {last}$"):
        timeline.read(path, last + 1)


def collisions(tmp_path: Path, of: list[Record]) -> list[tuple[int, int]]:
    return timeline.collisions(list(airtrace.read(write_air(tmp_path, of))))


def test_a_collision_is_where_frames_overlap(tmp_path: Path) -> None:
    spoiled = [
        frame(0, 200, sender=0, marks=COLLIDED),
        frame(5, 105, sender=1, marks=COLLIDED),
        frame(300, 400, sender=0),
        frame(350, 450, sender=2),  # neither was spoiled: out of each other's reach
    ]
    assert collisions(tmp_path, spoiled) == [(5_000, 105_000)]


def test_overlaps_that_meet_are_one_collision(tmp_path: Path) -> None:
    spoiled = [
        frame(0, 200, sender=0, marks=COLLIDED),
        frame(5, 105, sender=1),
        frame(90, 150, sender=2),
        frame(180, 300, sender=2),
    ]
    assert collisions(tmp_path, spoiled) == [(5_000, 150_000), (180_000, 200_000)]


def test_another_channel_does_not_collide(tmp_path: Path) -> None:
    spoiled = [
        frame(0, 200, sender=0, marks=COLLIDED),
        frame(5, 105, sender=1, channel_mhz=5230),
    ]
    assert collisions(tmp_path, spoiled) == [(0, 200_000)]


def test_a_box_for_each_ppdu_in_the_lane_of_its_sender(tmp_path: Path) -> None:
    found = timeline.read(write_air(tmp_path, records()), 0)
    rows = timeline.draw(found).axes
    assert [row.get_xlim() for row in rows] == [(0, 10), (10, 20), (20, 30), (30, 40), (40, 50)]
    assert [label.get_text() for label in rows[0].get_yticklabels()] == ["radio 0 (AP)", "radio 1"]
    # The A-MPDU, which is number 1, goes over the end of the first row.
    assert [sorted(boxes(row)) for row in rows] == [
        ["ppdu0-row0", "ppdu1-row0"],
        ["ppdu1-row1", "ppdu2-row1"],
        ["ppdu3-row2", "ppdu4-row2"],
        [],
        [],
    ]
    aggregate, answer = boxes(rows[1]).values()
    assert (aggregate.get_x(), aggregate.get_width()) == (7, 4)
    assert (answer.get_x(), round(answer.get_width(), 6)) == (11.016, 0.032)
    assert answer.get_height() < aggregate.get_height()
    assert 0 < aggregate.get_y() < aggregate.get_y() + aggregate.get_height() <= 1
    assert 1 < answer.get_y() < answer.get_y() + answer.get_height() <= 2


def test_mpdus_are_parted_by_their_octets_and_lost_ones_marked(tmp_path: Path) -> None:
    first_row = timeline.draw(timeline.read(write_air(tmp_path, records()), 0)).axes[0]
    (lines,) = [one for one in first_row.collections if isinstance(one, LineCollection)]
    # 2000, 1000 and 1000 octets in 4 ms from 7 ms on.
    assert [segment[0][0] for segment in lines.get_segments()] == [9, 10]
    (lost,) = [
        one
        for one in first_row.patches
        if isinstance(one, Rectangle) and not one.get_gid() and one.get_x() == 9
    ]
    assert lost.get_width() == 2


def test_lines_between_mpdus_are_left_out_where_they_would_hide_the_box(tmp_path: Path) -> None:
    path = write_air(tmp_path, ampdu(0, 300, (100,) * 64))
    first_row = timeline.draw(timeline.read(path, 0)).axes[0]
    assert "ppdu0-row0" in boxes(first_row)
    assert not first_row.collections


def test_a_collision_is_marked_in_its_row_alone(tmp_path: Path) -> None:
    rows = timeline.draw(timeline.read(write_air(tmp_path, records()), 0)).axes
    crosses = [[line for line in row.lines if line.get_marker() == "x"] for row in rows]
    assert [len(in_row) for in_row in crosses] == [0, 0, 1, 0, 0]
    assert crosses[2][0].get_xdata() == pytest.approx([20.055])


def test_the_legend_names_what_occurs(tmp_path: Path) -> None:
    def legend(of: list[Record]) -> list[str]:
        drawn = timeline.draw(timeline.read(write_air(tmp_path, of), 0))
        return [text.get_text() for legend in drawn.legends for text in legend.get_texts()]

    assert legend(records()) == ["data", "beacon", "BlockAck", "lost", "collision"]
    assert legend([frame(0, 10, control=ACK)]) == ["ACK"]


def test_a_time_without_frames_is_drawn(tmp_path: Path) -> None:
    found = timeline.read(write_air(tmp_path, [frame(0, 10), frame(99_000, 99_010)]), 20)
    assert not found.transmissions
    assert found.held == 0
    assert len(timeline.draw(found).axes) == 5


def test_of_many_radios_those_that_held_the_medium_longest_are_drawn(tmp_path: Path) -> None:
    # Radio n sends for n + 1 us, all to radio 99.
    path = write_air(
        tmp_path,
        [frame(100 * n, 100 * n + n + 1, sender=n, receiver=99) for n in range(20)],
    )
    found = timeline.read(path, 0)
    assert len(found.radios) == 21
    assert found.lanes == list(range(8, 20))
    assert "The 12 of 21 radios" in timeline.caption(found)
    assert len(boxes(timeline.draw(found).axes[0])) == 12


def test_the_caption_adds_up(tmp_path: Path) -> None:
    found = timeline.read(write_air(tmp_path, records()), 0)
    # 300 us of beacon, 4000 of A-MPDU, 32 of BlockAck, 200 of collision: of 50 ms.
    assert found.held == pytest.approx(4532 / 50_000)
    assert timeline.caption(found).endswith(
        "From 0 ms after the capture began, the medium was held 9% of the time: "
        "3 data PPDUs with 5 MPDUs, 4 of them lost; 1 collision."
    )


def write_captures(out_dir: Path) -> model.Results:
    write_results(out_dir, ("0ms", "50ms"))
    for policy in ("default", "aad"):
        write_air(out_dir / "runs" / f"{policy}_0ms" / "seed-1", records())
    return model.load(out_dir)


def test_each_policy_has_a_figure_with_what_each_box_is(tmp_path: Path) -> None:
    results = write_captures(tmp_path)
    found, notes = timeline.plots(results, Writer(tmp_path / "figures"), 0)
    assert [one.title for one in found] == [
        "Who held the medium: default",
        "Who held the medium: aad",
    ]
    assert not notes
    assert found[0].caption.startswith("delay 0 ms, default, seed 1. ")
    assert (tmp_path / "figures" / "timeline-aad.pdf").exists()
    assert (tmp_path / "figures" / "timeline-aad.png").exists()
    assert (
        '<g id="timeline-default-ppdu1-row1"><title>data, radio 0 to radio 1; '
        "7.000 ms, 4000.0 us; 3 MPDUs, 4000 octets; HT 40 MHz MCS 13 SGI; 2 lost</title>"
    ) in found[0].svg
    assert "beacon, radio 0 to all" in found[0].svg
    assert "; lost; collided</title>" in found[0].svg
    assert LOST_COLOUR not in found[0].svg  # the page's style sheet has the colours
    assert "var(--frame-lost)" in found[0].svg


def test_equal_captures_give_equal_bytes(tmp_path: Path) -> None:
    written = []
    for name in ("one", "two"):
        results = write_captures(tmp_path / name)
        found, _ = timeline.plots(results, Writer(tmp_path / name / "figures"))
        files = sorted((tmp_path / name / "figures").iterdir())
        written.append((found, [file.read_bytes() for file in files]))
    assert written[0] == written[1]


def test_the_page_has_them(tmp_path: Path) -> None:
    results = write_captures(tmp_path)
    found, notes = timeline.plots(results, Writer(tmp_path / "figures"))
    text = page.render(results, [], [], found, notes)
    elements = Elements(text)
    assert not elements.open
    assert len(elements.ids) == len(set(elements.ids))
    assert "#timelines" in elements.references
    assert "figures/timeline-aad.png" in elements.references
    assert "timelines" not in Elements(page.render(results, [], [])).ids


def test_without_a_capture_a_note_says_how_to_get_one(tmp_path: Path) -> None:
    results = model.load(write_results(tmp_path))
    writer = Writer(tmp_path / "figures")
    found, (note,) = timeline.plots(results, writer)
    assert not found
    assert "--set capture=air" in note
    with pytest.raises(InputError, match=r"--timeline 7: .*--set capture=air"):
        timeline.plots(results, writer, 7)


def test_a_corrupt_capture_is_left_out_and_named(tmp_path: Path) -> None:
    results = write_captures(tmp_path)
    path = tmp_path / "runs" / "aad_0ms" / "seed-1" / "air.pcapng"
    path.write_bytes(path.read_bytes()[:-3])
    found, (note,) = timeline.plots(results, Writer(tmp_path / "figures"))
    assert [one.title for one in found] == ["Who held the medium: default"]
    assert note.startswith("Left out, aad: ")
    assert "air.pcapng: ends inside" in note


def test_a_start_that_no_capture_reaches_is_refused(tmp_path: Path) -> None:
    results = write_captures(tmp_path)
    with pytest.raises(InputError, match=r"--timeline 61: .*air\.pcapng holds 60\.0 ms"):
        timeline.plots(results, Writer(tmp_path / "figures"), 61)


def test_the_report_shows_the_time_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_captures(tmp_path)
    assert cli.main(["report", str(tmp_path)]) == 0
    assert "From 5 ms after the capture began" in (tmp_path / "report.html").read_text()
    assert cli.main(["report", str(tmp_path), "--timeline", "20"]) == 0
    assert "From 20 ms after the capture began" in (tmp_path / "report.html").read_text()
    assert cli.main(["report", str(tmp_path), "--timeline", "60"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    with pytest.raises(SystemExit, match="2"):
        cli.main(["report", str(tmp_path), "--timeline", "-1"])

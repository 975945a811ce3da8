# SPDX-License-Identifier: GPL-2.0-only
"""Timelines of the medium, from small captures with known frames."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from fake_air import (
    ACK,
    COLLIDED,
    CTS,
    MEDIUM_NS,
    NULL,
    QOS_NULL,
    TO_AP,
    Record,
    ampdu,
    frame,
    records,
    write_air,
)
from fake_capture import tcp_packet
from fake_run import write_airsim
from small_report import write_results

from airtcp import cli
from airtcp.errors import InputError
from airtcp.files import airtrace, capture
from airtcp.report import medium, model, tcplanes, timeline
from airtcp.report.figure import Box, Line, Panel, Strokes
from airtcp.report.medium import Captured

NO_TCP = tcplanes.Lanes(0, {}, None)


def rows_of(path: Path, start_ms: float = 0) -> list[Panel]:
    """The rows of the timeline of a capture."""
    return list(timeline.describe(medium.read(path, start_ms), NO_TCP, {}).panels)


def boxes(panel: Panel) -> list[Box]:
    """The PPDUs in a row."""
    marks = (mark for mark in panel.marks if isinstance(mark, Box) and mark.tip)
    return [mark for mark in marks if "the capture ends" not in mark.tip]


def test_a_timeline_is_a_part_of_the_capture(tmp_path: Path) -> None:
    path = write_air(tmp_path, [frame(ms * 1000, ms * 1000 + 1000) for ms in range(450)])
    found = medium.read(path, 200)
    starts_ms = [sent.start_ns // 1_000_000 for sent in found.transmissions]
    assert starts_ms == list(range(200, 250))
    assert medium.read(path, 449).transmissions[0].start_ns == 449_000_000


def transfer(run_dir: Path, mpdus: Callable[[int], int], length_ms: int = 400) -> Path:
    """An A-MPDU every 10 ms; mpdus: of the one that starts at a time in ms."""
    run_dir.mkdir(parents=True, exist_ok=True)
    frames = [
        each
        for ms in range(0, length_ms, 10)
        for each in ampdu(ms * 1000, ms * 1000 + 9000, [100] * mpdus(ms))
    ]
    return write_air(run_dir, frames)


def captured(
    path: Path,
    mpdus_mean: float | None,
    from_ms: float = 0,
    to_ms: float | None = None,
    mpdus: float | None = None,
) -> Captured:
    """to_ms: None: the end of the capture."""
    length_ms = airtrace.length_ns(path) / 1e6
    return Captured(path, from_ms, length_ms if to_ms is None else to_ms, mpdus_mean, mpdus)


def test_the_same_typical_part_of_all_captures_is_shown_by_default(tmp_path: Path) -> None:
    """Slow start is like the mean, but early; only at 300 ms are both transfers typical."""
    first = transfer(tmp_path / "1", lambda ms: 4 if ms < 100 or 250 <= ms < 350 else 1)
    second = transfer(tmp_path / "2", lambda ms: 8 if 300 <= ms < 350 else 2, length_ms=450)
    one, other = captured(first, 4.0), captured(second, 8.0)
    assert medium.typical_start_ms([one]) == 249  # the end of the capture is at 399 ms
    assert medium.typical_start_ms([one, other]) == 299
    assert medium.typical_start_ms([captured(first, 1.0)]) == 199
    # Without a mean, any part with data will do; with a silent end, the part before it.
    assert medium.typical_start_ms([captured(first, None)]) == 199
    silent = write_air(tmp_path, [frame(0, 10), frame(210_000, 211_000), frame(399_000, 399_500)])
    assert medium.typical_start_ms([captured(silent, 1.0)]) == 199


def test_only_the_transfer_is_searched_for_a_typical_part(tmp_path: Path) -> None:
    """Frames before and after it are more like the mean."""
    path = transfer(tmp_path, lambda ms: 4 if 1000 <= ms < 1400 else 8, length_ms=3000)
    assert medium.typical_start_ms([captured(path, 8.0, 1000, 1400)]) == 1200
    one, other = captured(path, 8.0, 1000, 1400), captured(path, 8.0, 1100, 1500)
    assert medium.typical_start_ms([one, other]) == 1250
    assert medium.typical_start_ms([captured(path, 8.0, 1000, 1040)]) == 990


def test_the_last_part_of_a_capture_can_be_typical(tmp_path: Path) -> None:
    sizes = ((ms, 4 if ms >= 350 else 1) for ms in range(0, 400, 10))
    frames = [each for ms, n in sizes for each in ampdu(ms * 1000, ms * 1000 + 9000, [100] * n)]
    assert medium.typical_start_ms([captured(write_air(tmp_path, frames), 4.0, 0, 400)]) == 350


def test_a_part_with_little_data_is_not_typical(tmp_path: Path) -> None:
    """MPDUs per PPDU at 200 ms are those of the run, but there is a fifth of the PPDUs."""
    frames = [
        each
        for ms in range(0, 400, 10)
        if not 200 < ms < 250
        for each in ampdu(ms * 1000, ms * 1000 + 9000, [100] * (4 if ms < 250 else 5))
    ]
    path = write_air(tmp_path, frames)
    assert medium.typical_start_ms([captured(path, 4.0, 0, 400)]) == 200
    run = captured(path, 4.0, 0, 400, mpdus=20)
    assert medium.typical_start_ms([run]) == 250
    assert run.is_typical(4, 20)
    unlike = ((4, 4), (4, 30), (2, 20), (8, 20))
    assert not any(run.is_typical(*numbers) for numbers in unlike)


def test_ppdus_with_nothing_but_tcp_acks_are_not_typical_of_data(tmp_path: Path) -> None:
    """They do not count in the mean of airsim either."""
    frames = []
    for ms in range(0, 400, 10):
        frames += ampdu(ms * 1000, ms * 1000 + 5000, [1500] * (8 if 200 <= ms < 250 else 4))
        pure = tcp_packet(from_server=False)
        times_us = (ms * 1000 + 6000, ms * 1000 + 7000)
        frames.append(frame(*times_us, sender=1, receiver=0, direction=TO_AP, packet=pure))
    path = write_air(tmp_path, frames)
    start_ms = medium.typical_start_ms([captured(path, 4.0)])
    assert medium.read(path, start_ms).mpdus_mean == 4
    assert medium.read(path, 200).mpdus_mean == 8
    kinds = [(ppdu.kind, ppdu.carries_data) for ppdu in medium.read(path, 200).transmissions[:2]]
    assert kinds == [("data", True), ("data", False)]


def test_a_segment_with_a_byte_of_data_is_data(tmp_path: Path) -> None:
    packet = tcp_packet(payload_bytes=1)
    [ppdu] = airtrace.read(write_air(tmp_path, [frame(0, 10, packet=packet)]))
    assert ppdu.carries_data


@pytest.mark.parametrize("flag", [capture.TCP_SYN, capture.TCP_FIN, capture.TCP_RST])
def test_other_segments_without_data_are_data_as_in_counters(tmp_path: Path, flag: int) -> None:
    packet = bytearray(tcp_packet())
    packet[33] |= flag
    [ppdu] = airtrace.read(write_air(tmp_path, [frame(0, 10, packet=bytes(packet))]))
    assert ppdu.carries_data


@pytest.mark.parametrize("control", [NULL, QOS_NULL])
def test_frames_without_a_body_are_no_data(tmp_path: Path, control: int) -> None:
    """Stations answer Trigger frames with them, or send them before they doze or scan."""
    [ppdu] = airtrace.read(write_air(tmp_path, [frame(0, 10, control=control, octets=26)]))
    assert ppdu.kind == "data" and not ppdu.carries_data


def test_a_short_capture_is_shown_from_its_start(tmp_path: Path) -> None:
    path = write_air(tmp_path, [frame(0, 10)])
    assert medium.typical_start_ms([captured(path, None)]) == 0
    assert len(medium.read(path, 0).transmissions) == 1


def write_transfers(
    out_dir: Path, mpdus: Mapping[str, int], around: int = 1, length_ms: int = 6000
) -> model.Results:
    """Captures of a transfer from 1 to 5 s, the connections of which have ended after 5.5 s.

    mpdus: in a PPDU every 10 ms of the transfer, by policy. around: before and after it.
    """
    write_results(out_dir)
    counters = {"airsim-before.txt": (1000, 0), "airsim-after.txt": (5500, 400)}
    for policy, count in mpdus.items():
        run_dir = out_dir / "runs" / f"{policy}_0ms" / "seed-1"
        sent = [around] * 100 + [count] * 400 + [around] * 100
        transfer(run_dir, lambda ms, sent=sent: sent[ms // 10], length_ms)  # type: ignore[misc]
        for name, (time_ms, ppdus) in counters.items():
            time_ns = MEDIUM_NS + time_ms * 10**6
            write_airsim(run_dir / name, {"time_ns": time_ns, "ampdu_size_14": ppdus})
    return model.load(out_dir)


def test_the_caption_says_how_typical_the_part_is(tmp_path: Path) -> None:
    results = write_transfers(tmp_path / "out", {"default": 14, "aad": 3})
    (default, aad), notes = timeline.plots(results)
    assert not notes
    mean = results.runs[0].record.metrics["ampdu_mpdus_mean"]
    start = "of the run: PPDUs with more than TCP ACKs have"
    rest = f"MPDUs on average, {mean:.3g} in the whole run;"
    assert f"Typical {start} 14 {rest} 70 such MPDUs here, 70 per 50 ms in" in default.caption
    assert f"Not typical {start} 3 {rest} 15 such MPDUs here, 70 per 50 ms in" in aad.caption
    starts = {plot.figure.panels[0].x.limits[0] for plot in (default, aad)}
    assert starts == {4000}


def test_a_part_beyond_the_end_of_a_capture_is_judged_by_what_it_contains(tmp_path: Path) -> None:
    results = write_transfers(tmp_path / "out", {"default": 14}, length_ms=4990)
    [plot], _ = timeline.plots(results, 4965)
    assert "Typical of the run" in plot.caption and "28 such MPDUs here" in plot.caption
    assert "of the 24.0 ms until the capture ends" in plot.caption


@pytest.mark.parametrize(("length_ms", "start_ms"), [(6000, 4000), (1500, 1249)])
def test_a_baseline_is_not_shown(tmp_path: Path, length_ms: int, start_ms: int) -> None:
    """Its PPDUs are more like the mean than those of the transfer."""
    results = write_transfers(tmp_path / "out", {"default": 3}, around=14, length_ms=length_ms)
    [plot], _ = timeline.plots(results)
    assert plot.figure.panels[0].x.limits[0] == start_ms


@pytest.mark.parametrize(("end_us", "last"), [(60_000, 59), (60_001, 60)])
def test_a_start_past_the_capture_is_refused(tmp_path: Path, end_us: float, last: int) -> None:
    path = write_air(tmp_path, [frame(0, 10), frame(59_000, end_us)])
    medium.read(path, last)
    with pytest.raises(InputError, match=rf"allowed: 0 to {last}$"):
        medium.read(path, last + 1)


def collisions(tmp_path: Path, of: list[Record]) -> list[tuple[int, int]]:
    return medium.collisions(list(airtrace.read(write_air(tmp_path, of))))


def test_a_collision_is_where_frames_overlap(tmp_path: Path) -> None:
    overlapping = [
        frame(0, 200, sender=0, marks=COLLIDED),
        frame(5, 105, sender=1, marks=COLLIDED),
        frame(300, 400, sender=0),
        frame(350, 450, sender=2),  # neither collided: the radios do not hear each other
    ]
    assert collisions(tmp_path, overlapping) == [(5_000, 105_000)]


def test_adjoining_overlaps_are_one_collision(tmp_path: Path) -> None:
    overlapping = [
        frame(0, 200, sender=0, marks=COLLIDED),
        frame(5, 105, sender=1),
        frame(90, 150, sender=2),
        frame(180, 300, sender=2),
    ]
    assert collisions(tmp_path, overlapping) == [(5_000, 150_000), (180_000, 200_000)]


def test_frames_on_other_channels_do_not_collide(tmp_path: Path) -> None:
    overlapping = [
        frame(0, 200, sender=0, marks=COLLIDED),
        frame(5, 105, sender=1, channel_mhz=5230),
    ]
    assert collisions(tmp_path, overlapping) == [(0, 200_000)]


def test_each_ppdu_is_a_box_in_the_lane_of_its_sender(tmp_path: Path) -> None:
    rows = rows_of(write_air(tmp_path, records()))
    assert [row.x.limits for row in rows] == [(0, 10), (10, 20), (20, 30), (30, 40), (40, 50)]
    assert [tick.label for tick in rows[0].y.ticks] == ["radio 0 (AP)", "radio 1"]
    # The A-MPDU is in the first and the second row.
    assert [len(boxes(row)) for row in rows] == [2, 2, 2, 0, 0]
    beacon, aggregate = boxes(rows[0])
    same, answer = boxes(rows[1])
    assert aggregate == same
    assert (aggregate.left, aggregate.right) == (7, 11)
    assert (answer.left, answer.right) == (11.016, 11.048)
    assert beacon.colour == "frame-beacon"
    assert 0 < aggregate.top < aggregate.bottom == 1
    assert 1 < answer.top < answer.bottom == 2
    assert answer.bottom - answer.top < aggregate.bottom - aggregate.top


def test_lanes_and_tooltips_have_the_names_of_nodes(tmp_path: Path) -> None:
    air = medium.read(write_air(tmp_path, records()), 0)
    first, *_ = timeline.describe(air, NO_TCP, {0: "ap", 1: "laptop"}).panels
    assert [tick.label for tick in first.y.ticks] == ["ap, radio", "laptop, radio"]
    assert [box.tip.partition(";")[0] for box in boxes(first)] == [
        *("beacon, ap to all", "data, ap to laptop")
    ]


def test_boxes_have_tooltips(tmp_path: Path) -> None:
    tips = [box.tip for row in rows_of(write_air(tmp_path, records())) for box in boxes(row)]
    assert tips[1] == (
        "data, radio 0 to radio 1; 7.000 ms, 4000.0 us; 3 MPDUs, 4000 octets; "
        "HT 40 MHz MCS 13 SGI; 2 lost"
    )
    assert tips[0].startswith("beacon, radio 0 to all")
    assert tips[-1].endswith("; lost; collided")


def test_a_cts_without_a_receiver_is_to_its_sender(tmp_path: Path) -> None:
    frames = [
        frame(0, 28, sender=1, receiver=0xFFFF, control=CTS),
        frame(44, 72, sender=1, receiver=0, control=CTS),
    ]
    [row] = rows_of(write_air(tmp_path, frames))[:1]
    assert [box.tip.partition(";")[0] for box in boxes(row)] == [
        *("CTS, radio 1 to itself", "CTS, radio 1 to radio 0")
    ]


def test_mpdus_are_separated_by_lines_and_lost_ones_marked(tmp_path: Path) -> None:
    first_row = rows_of(write_air(tmp_path, records()))[0]
    [separators] = [mark for mark in first_row.marks if isinstance(mark, Strokes)]
    # 2000, 1000 and 1000 octets in 4 ms, from 7 ms.
    assert list(separators.x) == [9, 10]
    [lost] = [mark for mark in first_row.marks if isinstance(mark, Box) and not mark.tip]
    assert (lost.left, lost.right, lost.colour) == (9, 11, "frame-lost")


def test_lines_between_mpdus_are_omitted_when_too_dense(tmp_path: Path) -> None:
    first_row = rows_of(write_air(tmp_path, ampdu(0, 300, (100,) * 64)))[0]
    assert len(boxes(first_row)) == 1
    assert not [mark for mark in first_row.marks if isinstance(mark, Strokes)]


def test_a_collision_is_marked_only_in_its_row(tmp_path: Path) -> None:
    rows = rows_of(write_air(tmp_path, records()))
    crosses = [[mark for mark in row.marks if isinstance(mark, Line)] for row in rows]
    assert [len(in_row) for in_row in crosses] == [0, 0, 1, 0, 0]
    assert list(crosses[2][0].x) == pytest.approx([20.055])
    [band] = [
        mark
        for mark in rows[2].marks
        if isinstance(mark, Box) and not mark.tip and mark.opacity < 1
    ]
    assert (band.left, band.right) == pytest.approx((20.005, 20.105))


def test_the_legend_has_only_types_that_occur(tmp_path: Path) -> None:
    def legend(of: list[Record]) -> list[str]:
        described = timeline.describe(medium.read(write_air(tmp_path, of), 0), NO_TCP, {})
        return [entry.name for entry in described.legend.entries]

    assert legend(records()) == ["data", "beacon", "BlockAck", "lost", "collision"]
    assert legend([frame(0, 10, control=ACK), frame(60_000, 60_010)]) == ["ACK"]
    assert legend([frame(0, 10, control=ACK)]) == ["ACK", "not captured"]


def test_an_idle_period_is_shown(tmp_path: Path) -> None:
    found = medium.read(write_air(tmp_path, [frame(0, 10), frame(99_000, 99_010)]), 20)
    assert not found.transmissions
    assert found.busy == 0
    assert len(timeline.describe(found, NO_TCP, {}).panels) == 5


def test_only_the_busiest_of_many_radios_are_drawn(tmp_path: Path) -> None:
    # Radio n sends for n + 1 us, the last one first, all to radio 99.
    starts = ((n, 100 * (19 - n)) for n in reversed(range(20)))
    path = write_air(tmp_path, [frame(at, at + n + 1, sender=n, receiver=99) for n, at in starts])
    found = medium.read(path, 0)
    assert len(found.radios) == 21
    assert found.lanes == list(range(8, 20))
    assert "The 12 of 21 radios" in timeline.caption(found)
    assert len(boxes(timeline.describe(found, NO_TCP, {}).panels[0])) == 12


def test_the_caption_has_the_share_of_busy_time(tmp_path: Path) -> None:
    found = medium.read(write_air(tmp_path, records()), 0)
    # Beacon 300 us, A-MPDU 4000 us, BlockAck 32 us, collision 200 us, of 50 ms.
    assert found.busy == pytest.approx(4532 / 50_000)
    assert timeline.caption(found).endswith(
        "From 0 ms after the capture began, the medium was busy 9% of the time: "
        "3 data PPDUs, those with TCP ACKs included, with 5 MPDUs, 4 of them lost; 1 collision."
    )


def test_what_is_after_the_end_of_a_capture_is_not_idle(tmp_path: Path) -> None:
    path = write_air(tmp_path, [frame(0, 1000), frame(90_000, 100_000), frame(110_000, 114_000)])
    found = medium.read(path, 70)
    assert found.busy == pytest.approx(14 / 44)
    assert "busy 32% of the 44.0 ms until the capture ends: 2 data PPDUs" in timeline.caption(found)
    rows = rows_of(path, 70)
    ends = [
        (mark.left, mark.right, mark.tip)
        for row in rows
        for mark in row.marks
        if isinstance(mark, Box) and mark.colour == "grid"
    ]
    assert ends == [(114, 120, "the capture ends at 114.000 ms")]
    whole = medium.read(path, 64)
    assert whole.busy == 14 / 50
    assert "of the time: " in timeline.caption(whole) and "Grey" not in timeline.caption(whole)


def write_captures(out_dir: Path) -> model.Results:
    write_results(out_dir, ("0ms", "50ms"))
    for policy in ("default", "aad"):
        write_air(out_dir / "runs" / f"{policy}_0ms" / "seed-1", records())
    return model.load(out_dir)


def test_each_policy_has_a_timeline(tmp_path: Path) -> None:
    found, notes = timeline.plots(write_captures(tmp_path), 20)
    assert [plot.title for plot in found] == [
        "Transmissions on the medium: default",
        "Transmissions on the medium: aad",
    ]
    assert [plot.slug for plot in found] == ["timeline-default", "timeline-aad"]
    assert not notes
    assert found[0].caption.startswith("delay 0 ms, default, seed 1. ")
    assert "From 20 ms after the capture began" in found[0].caption
    assert found[0].data is None and found[0].figure.is_picture


def test_without_a_capture_a_note_says_how_to_get_one(tmp_path: Path) -> None:
    results = model.load(write_results(tmp_path))
    found, (note,) = timeline.plots(results)
    assert not found
    assert "--set capture=air" in note
    with pytest.raises(InputError, match=r"need a capture .*--set capture=air"):
        timeline.plots(results, 7)


def test_a_corrupt_capture_is_left_out_with_a_note(tmp_path: Path) -> None:
    results = write_captures(tmp_path)
    path = tmp_path / "runs" / "aad_0ms" / "seed-1" / "air.pcapng"
    path.write_bytes(path.read_bytes()[:-3])
    found, (note,) = timeline.plots(results)
    assert [plot.title for plot in found] == ["Transmissions on the medium: default"]
    assert note.startswith("Left out, aad: ")
    assert "air.pcapng: ends inside" in note


def test_a_capture_that_ends_before_the_start_is_left_out_with_a_note(tmp_path: Path) -> None:
    results = write_captures(tmp_path)
    write_air(tmp_path / "runs" / "aad_0ms" / "seed-1", [frame(0, 10_000)])
    [plot], (note,) = timeline.plots(results, 20)
    assert plot.title == "Transmissions on the medium: default"
    assert note.startswith("Left out, aad: ") and "contains 10.0 ms" in note


def test_a_timeline_shows_the_given_run_or_the_first_with_a_capture(tmp_path: Path) -> None:
    write_results(tmp_path, ("0ms", "50ms"))
    write_air(tmp_path / "runs" / "aad_50ms" / "seed-2", records())
    [plot], notes = timeline.plots(model.load(tmp_path), 20)
    assert plot.caption.startswith("delay 50 ms, aad, seed 2. ") and not notes
    write_air(tmp_path / "runs" / "default_0ms" / "seed-1", records())
    assert cli.main(["report", str(tmp_path), "--run", "aad_50ms/seed-2"]) == 0
    page = (tmp_path / "report.html").read_text()
    assert "delay 50 ms, aad, seed 2. " in page and "timeline-default" not in page


def test_a_start_after_all_captures_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_captures(tmp_path)
    assert cli.main(["report", str(tmp_path), "--timeline", "60"]) == 2
    [error] = capsys.readouterr().err.splitlines()
    assert "a timeline from 60 ms: " in error and "air.pcapng contains 60.0 ms" in error
    assert cli.main(["report", str(tmp_path), "--timeline", "-1"]) == 2

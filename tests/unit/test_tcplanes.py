# SPDX-License-Identifier: GPL-2.0-only
"""TCP's lanes in timelines, above those of the radios."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from fake_air import MEDIUM_NS, frame, write_air
from fake_capture import ethernet, tcp_packet, write_pcap
from small_report import write_results
from test_acktrace import ack, decision

from airtcp.backends.uml import EPOCH_NS
from airtcp.files import capture
from airtcp.report import medium, model, tcplanes, timeline
from airtcp.report.figure import Box, Strokes


def write_captured(path: Path, packets: Sequence[tuple[int, bytes]]) -> None:
    """Write a capture. packets: time in us since the capture of the air began, and bytes."""
    stamped = [(EPOCH_NS + MEDIUM_NS + us * 1000, ethernet(packet)) for us, packet in packets]
    pcap = write_pcap(path.with_suffix(".pcap"), capture.LINKTYPE_ETHERNET, stamped)
    capture.convert(pcap, path, path.stem)


@pytest.fixture
def results(tmp_path: Path) -> model.Results:
    """Three segments from server to station, and an ACK that the timer sends."""
    out_dir = write_results(tmp_path)
    run_dir = out_dir / "runs" / "aad_0ms" / "seed-1"
    write_air(run_dir, [frame(0, 300), frame(59_000, 60_000)])
    data = [tcp_packet(sequence=1000 * n, payload_bytes=1000) for n in (1, 2, 3)]
    pure = tcp_packet(from_server=False, acknowledgment=4000)
    write_captured(
        run_dir / "server.pcapng",
        [(9_000, data[0]), (9_010, data[1]), (9_500, data[2]), (12_000, pure)],
    )
    write_captured(
        run_dir / "station.pcapng",
        [(10_000, data[0]), (10_050, data[1]), (10_100, data[2]), (11_000, pure)],
    )
    begin_us = MEDIUM_NS // 1000
    lines = [
        decision(begin_us + 10_000, "delayed", 900, cookie="7"),
        decision(begin_us + 11_000, "timer", 0, 3, "7"),
        ack(begin_us + 11_000, 3, "7"),
    ]
    (run_dir / "ack-trace.txt").write_text("\n".join([*lines, ""]))
    return model.load(out_dir)


def lanes_of(results: model.Results) -> tcplanes.Lanes:
    run = results.conditions[0].policies[1].runs[0]
    return tcplanes.read(run, 0, 50)


def test_hosts_without_tcp_have_no_lanes(tmp_path: Path) -> None:
    out_dir = write_results(tmp_path, protocol="udp")
    for run_dir in (out_dir / "runs").glob("*/seed-1"):
        write_air(run_dir, [frame(0, 300)])
        write_captured(run_dir / "server.pcapng", [])
    assert lanes_of(model.load(out_dir)).names == []


def test_each_end_and_the_timer_have_a_lane(results: model.Results) -> None:
    lanes = lanes_of(results)
    assert lanes.names == ["server", "station", "ACK timer"]
    # Segments 490 us apart are not one burst.
    bursts = [
        [(len(burst.segments), burst.is_data, burst.sent) for burst in lanes.bursts[node]]
        for node in ("server", "station")
    ]
    assert sorted(bursts[0]) == [(1, False, False), (1, True, True), (2, True, True)]
    assert sorted(bursts[1]) == [(1, False, True), (3, True, False)]


@pytest.mark.parametrize(
    ("written", "start_ms", "is_missing"), [(4, 0, True), (4, 20, False), (3, 0, False)]
)
def test_the_caption_says_what_the_kernel_overwrote_in_the_trace(
    results: model.Results, written: int, start_ms: float, is_missing: bool
) -> None:
    run = results.conditions[0].policies[1].runs[0]
    trace = run.directory / "ack-trace.txt"
    header = f"# tracer: nop\n#\n# entries-in-buffer/entries-written: 3/{written}   #P:1\n#\n"
    trace.write_text(header + trace.read_text())
    text = tcplanes.caption(tcplanes.read(run, start_ms, start_ms + 30))
    assert ("ack-trace.txt has no ACK timers before 10 ms: " in text) == is_missing


def test_hosts_of_a_custom_topology_have_lanes(results: model.Results) -> None:
    """By the names and addresses of the ends of its first flow."""
    run = results.conditions[0].policies[1].runs[0]
    names = {"server": "phone", "station": "server"}
    nodes = [replace(node, name=names.get(node.name, node.name)) for node in run.testbed.nodes]
    [flow] = run.testbed.flows
    flow = replace(flow, sender="phone", receiver="server")
    run.__dict__["testbed"] = replace(run.testbed, nodes=tuple(nodes), flows=(flow,))
    (run.directory / "server.pcapng").rename(run.directory / "phone.pcapng")
    (run.directory / "station.pcapng").rename(run.directory / "server.pcapng")
    lanes = lanes_of(results)
    assert lanes.names == ["phone", "server", "ACK timer"]
    sent = {
        node: {burst.is_data for burst in lanes.bursts[node] if burst.sent}
        for node in names.values()
    }
    assert sent == {"phone": {True}, "server": {False}}


def test_tooltips_have_type_and_time(results: model.Results) -> None:
    marks = tcplanes.marks(lanes_of(results), (0, 50))
    texts = {mark.tip for mark in marks if isinstance(mark, Box)}
    assert "3 segments with data received; 10.000 ms to 10.100 ms; 3000 octets; " in " ".join(texts)
    assert "ACK sent; 11.000 ms; up to acknowledgment number 4000" in texts
    assert (
        "ACK timer armed 10.000 ms, fired 11.000 ms; last delay 900 us; 3 segments acknowledged"
    ) in texts


def test_lanes_of_tcp_are_above_those_of_radios(results: model.Results) -> None:
    run = results.conditions[0].policies[1].runs[0]
    air = medium.read(run.directory / "air.pcapng", 0)
    second_row = timeline.describe(air, lanes_of(results), {}).panels[1]
    labels = [tick.label for tick in second_row.y.ticks]
    assert labels[:3] == ["server", "station", "ACK timer"]
    assert labels[3].startswith("radio 0")
    [timer] = [mark for mark in second_row.marks if isinstance(mark, Box) and "timer" in mark.tip]
    assert (timer.left, timer.right) == pytest.approx((10, 11))
    assert 2 < timer.top < timer.bottom < 3


def test_only_the_lane_of_the_timer_goes_on_after_the_captures(results: model.Results) -> None:
    run = results.conditions[0].policies[1].runs[0]
    air = medium.read(run.directory / "air.pcapng", 40)
    row = timeline.describe(air, lanes_of(results), {}).panels[2]
    grey = [mark for mark in row.marks if isinstance(mark, Box) and mark.colour == "grid"]
    assert [(box.left, box.right, box.top) for box in grey] == [(60, 70, 0), (60, 70, 3)]
    assert [box.bottom for box in grey] == [2, row.y.limits[0]]


def test_each_segment_is_a_line_in_its_lane(results: model.Results) -> None:
    marks = tcplanes.marks(lanes_of(results), (10, 20))
    at_ms = [list(mark.x) for mark in marks if isinstance(mark, Strokes)]
    # The server receives an ACK; the station receives three data segments and sends an ACK.
    assert at_ms == [
        pytest.approx([12]),
        pytest.approx([10, 10.05, 10.1]),
        pytest.approx([11]),
    ]


def test_a_single_run_can_be_selected(results: model.Results) -> None:
    [found], _ = timeline.plots(results, 0, "aad_0ms/seed-1")
    assert found.slug == "timeline-aad"
    assert found.caption.endswith(
        "ACK timer: a box lasts until the ACK was sent. The timer fired 1 of 1 times; "
        "otherwise another event sent the ACK."
    )

# SPDX-License-Identifier: GPL-2.0-only
"""Reports of unusual results: failed cases, real hosts, hardly any samples, short transfers."""

import json
import re
from pathlib import Path

import pytest
from fake_air import BEACON, MEDIUM_NS, ampdu, frame, write_air
from fake_run import write_airsim
from small_report import plots_of, save, text_of, write_results, write_station_capture

from airtcp.report import model, timeline
from airtcp.results.record import HostRecord

EN_DASH = "\N{EN DASH}"


def test_policies_are_not_compared_under_different_conditions_if_cases_failed(
    tmp_path: Path,
) -> None:
    """Of two delays, each policy has succeeded with another one."""
    out_dir = write_results(tmp_path / "out", ("0ms", "50ms"))
    document = json.loads((out_dir / "results.json").read_text())
    failed = [{"ack_policy": "default", "delay": "50ms"}, {"ack_policy": "aad", "delay": "0ms"}]
    for run in document["runs"]:
        if run["factors"] in failed:
            run |= {"status": "failed", "error": "no", "metrics": dict.fromkeys(run["metrics"])}
    for row in document["summary"]:
        if row["factors"] in failed:
            row |= {"mean": None, "ci95": None, "n": 0}
    save(out_dir, document)
    assert (
        "With ACK policy aad, delay 50 ms, goodput is 62.4% lower than with ACK policy default, "
        "delay 0 ms" in text_of(out_dir)
    )


def test_a_report_of_real_hosts_has_no_virtual_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out_dir = write_results(tmp_path / "out")
    assert "to the nanosecond" in text_of(out_dir)
    document = json.loads((out_dir / "results.json").read_text())
    for run in document["runs"]:
        run["cost"]["virtual_s"] = None
    save(out_dir, document)
    host = HostRecord(
        **{"ssh": "box", "kernel": "6.1", "ack_policies": (), "clock_ahead_ms": 0},
        **{"clock_error_ms": 0, "radio": None, "driver": None},
    )
    monkeypatch.setattr(model.Run, "hosts", {"server": host})
    shown = text_of(out_dir)
    assert "Measured on real hosts: server box (Linux 6.1)" in shown
    assert "to the nanosecond" not in shown and "from boot to power-off" not in shown
    total = shown[shown.index('class="text">all</th>') :].partition("</tr>")[0]
    assert re.findall("<td>(.*?)</td>", total) == ["", "4", EN_DASH, "8.00", "6.00", EN_DASH]


def test_segments_that_arrive_at_the_same_time_have_no_figure_of_gaps(tmp_path: Path) -> None:
    out_dir = write_results(tmp_path / "out")
    write_station_capture(out_dir / "runs" / "aad_0ms" / "seed-1", [100] * 8)
    assert "delay-0-ms-arrivals" not in plots_of(out_dir)
    assert "station.pcapng: all data segments shown arrived at the same time" in text_of(out_dir)


def test_flows_without_a_measured_rtt_are_left_out(tmp_path: Path) -> None:
    figure = {"title": "RTT", "over_time": "rtt", "lines": "ack_policy"}
    out_dir = write_results(tmp_path / "out", figures=[figure])
    path = out_dir / "runs" / "aad_0ms" / "seed-1" / "tcp-server.csv"
    path.write_text(re.sub("[123]0000,", "0,", path.read_text()))
    assert re.search(r"RTT: aad left out: .*tcp-server\.csv: has no RTT", text_of(out_dir))
    [panel] = plots_of(out_dir)["figure-1"].figure.panels
    assert [mark.entries for mark in panel.marks] == [["default"]]


def test_time_on_real_hosts_is_not_virtual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = {"title": "Window", "over_time": "cwnd", "lines": "ack_policy"}
    out_dir = write_results(tmp_path / "out", figures=[figure])
    assert plots_of(out_dir)["figure-1"].figure.panels[0].x.name == "virtual time"
    monkeypatch.setattr(model.Run, "hosts", {"server": "a host"})
    assert plots_of(out_dir)["figure-1"].figure.panels[0].x.name == "time"


def test_a_single_sample_is_drawn(tmp_path: Path) -> None:
    """It is the first, at 0 s."""
    figure = {"title": "Received", "over_time": "received", "lines": "ack_policy"}
    out_dir = write_results(tmp_path / "out", figures=[figure])
    for path in out_dir.glob("runs/*/*/tcp-station.csv"):
        head, first, *_, closed = path.read_text().splitlines()
        path.write_text("\n".join([head, first, closed, ""]))
    assert plots_of(out_dir)["figure-1"].figure.panels[0].x.limits == (0, 1)


def test_a_transfer_shorter_than_a_timeline_is_typical_of_itself(tmp_path: Path) -> None:
    run_dir = write_results(tmp_path) / "runs" / "default_0ms" / "seed-1"
    aggregate = ampdu(1_000_000, 1_009_000, [100] * 14)
    beacons = [frame(ms * 1000, ms * 1000 + 300, control=BEACON) for ms in (0, 1200)]
    write_air(run_dir, [beacons[0], *aggregate, beacons[1]])
    for name, time_ms, ppdus in (("before", 1000, 0), ("after", 1012, 1)):
        time_ns = MEDIUM_NS + time_ms * 10**6
        write_airsim(run_dir / f"airsim-{name}.txt", {"time_ns": time_ns, "ampdu_size_14": ppdus})
    [plot], _ = timeline.plots(model.load(tmp_path), 990)
    assert "; 14 such MPDUs here, 14 per 50 ms in the whole run" in plot.caption

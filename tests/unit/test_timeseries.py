# SPDX-License-Identifier: GPL-2.0-only
"""Flows over time, from runs with known rates."""

import csv
from pathlib import Path

import numpy
import pytest
from fake_run import DATA_PORT, tcp_row, write_both, write_run, write_tcp

from airtcp.parameters import Parameters
from airtcp.report import series
from airtcp.results import timeseries
from airtcp.testbed.default import testbed

DOWNLOAD = Parameters().replace({"duration": "4s"})


def test_rates_are_computed_per_step(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    [flow] = timeseries.read(run, testbed(DOWNLOAD), 1.0).flows
    assert list(flow.goodput_mbps) == pytest.approx([70, 110, 110, 110])
    halves = timeseries.read(run, testbed(DOWNLOAD), 0.5)
    assert list(halves.ends_s) == [0.5 * n for n in range(1, 9)]
    assert list(halves.flows[0].goodput_mbps) == pytest.approx([70, 70, *[110] * 6])
    # The sender was sampled only in the first step: windows 10, 20, 30, 40; RTTs 10, 20, 30.
    assert flow.cwnd_segments is not None and flow.tcp_rtt_ms is not None
    assert (flow.cwnd_segments[0], flow.tcp_rtt_ms[0]) == pytest.approx((25, 20))
    assert numpy.isnan(flow.cwnd_segments[1:]).all()


def test_flows_start_after_the_baseline(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    idle = DOWNLOAD.replace({"baseline": "2s"})
    over_time = timeseries.read(run, testbed(idle), 1.0)
    assert list(over_time.ends_s) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert list(over_time.flows[0].goodput_mbps) == pytest.approx([0, 0, 70, 110, 110, 110, 0, 0])


def test_segments_per_ack_are_counted_by_second(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    ends = ("10.0.0.2:5201", f"10.0.0.1:{DATA_PORT}")
    totals = [(0, 0), (500, 1000), (600, 1800), (600, 1803), (600, 1803)]
    samples = [
        tcp_row("sample", 1000 * second, *ends, segs_out=acks, data_segs_in=segments)
        for second, (acks, segments) in enumerate(totals)
    ]
    write_tcp(run / "tcp-station.csv", [*samples, tcp_row("close", 4040, *ends, data_segs_in=1803)])
    [(ends_s, ratios)] = series.segments_per_ack(run, testbed(DOWNLOAD))
    assert list(ends_s) == [1, 2, 3, 4]
    assert list(ratios) == pytest.approx([2, 8, 3, 0])


def test_csv_has_a_row_per_flow_and_second(tmp_path: Path) -> None:
    run = write_both(tmp_path / "run")
    both = testbed(DOWNLOAD.replace({"direction": "both"}))
    timeseries.write_csv(run / "series.csv", run, both)
    with (run / "series.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == timeseries.CSV_COLUMNS
    assert [(row["time_s"], row["direction"], row["goodput_mbps"]) for row in rows[:4]] == [
        *(("1", "download", "70.000"), ("1", "upload", "20.000")),
        *(("2", "download", "110.000"), ("2", "upload", "20.000")),
    ]
    assert len(rows) == 8
    assert rows[2]["cwnd_segments"] == ""  # no sample in that second

# SPDX-License-Identifier: GPL-2.0-only
"""Flows over time, from runs with known rates."""

import csv
import math
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
from fake_run import (
    CONTROL_PORT,
    DATA_PORT,
    START_NS,
    arriving,
    tcp_row,
    write_both,
    write_iperf3,
    write_run,
    write_tcp,
)

from airtcp.errors import AirtcpError
from airtcp.files import tcpwatch
from airtcp.parameters import Parameters
from airtcp.report import series
from airtcp.results import timeseries
from airtcp.testbed.default import testbed

DOWNLOAD = Parameters().replace({"duration": "4s"})
SERVER, STATION = f"10.0.0.1:{DATA_PORT}", "10.0.0.2:5201"


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


@pytest.mark.parametrize(
    ("duration", "baseline", "step_s", "steps"),
    [("8s", "0s", 0.5, 16), ("4s", "1s", 0.5, 12), ("1s", "1s", 1, 5), ("1s", "0s", 2, 2)],
)
def test_steps_last_until_the_run_and_its_flow_have_ended(
    tmp_path: Path, duration: str, baseline: str, step_s: float, steps: int
) -> None:
    """The flow takes 4 s."""
    parameters = DOWNLOAD.replace({"duration": duration, "baseline": baseline})
    over_time = timeseries.read(write_run(tmp_path / "run"), testbed(parameters), step_s)
    assert list(over_time.ends_s) == [step_s * number for number in range(1, steps + 1)]


def test_a_flow_that_starts_later_is_shown_later(tmp_path: Path) -> None:
    """Its window as well as its goodput."""
    run = write_run(tmp_path / "run")
    (run / "began").write_text(f"{START_NS - 2_000_000_000}\n")
    whole = testbed(DOWNLOAD.replace({"duration": "6s"}))
    later = replace(whole, flows=(replace(whole.flows[0], start_s=2.0, duration_s=4.0),))
    timeseries.write_csv(run / "series.csv", run, later)
    over_time = series.over_time(run, later)
    assert list(over_time.flows[0]["time_s"]) == pytest.approx([2, 2.01, 2.02, 2.03])
    assert list(over_time.goodput_mbps["download"]) == pytest.approx([0, 0, 70, 110, 110, 110])


def test_samples_of_senders_are_those_of_all_columns(tmp_path: Path) -> None:
    run = write_both(tmp_path / "run")
    flows = testbed(DOWNLOAD.replace({"direction": "both"})).over("tcp")
    names = ("time_ns", "cwnd", "srtt_us")
    traces = tcpwatch.read_flows(run, flows).sent
    for trace, samples in zip(traces, tcpwatch.read_sent(run, flows, names), strict=True):
        assert set(samples) == set(names)
        assert all(list(samples[name]) == list(trace.columns[name]) for name in names)


def test_connections_from_one_port_differ_in_the_port_of_the_server(tmp_path: Path) -> None:
    """As those of several classes of traffic."""
    rows = [
        tcp_row("close", 9, SERVER, f"10.0.0.2:{port}", retrans=port) for port in (5201, 5202, 5203)
    ]
    write_tcp(tmp_path / "tcp-server.csv", rows)
    found = tcpwatch.read_connections(tmp_path, "server")
    for port in (5201, 5202, 5203):
        ends = tcpwatch.Ends("10.0.0.1", frozenset({DATA_PORT}), "10.0.0.2", port)
        assert [final["retrans"] for final in found.finals(ends)] == [port]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (",cwnd,", ",window,", "truncated: .*'cwnd'"),
        (f"10.0.0.1:{DATA_PORT}", "10.0.0.1:9", f"no sample of the data connection.*{DATA_PORT}"),
        (",sample,", ",sample\n", r"tcp-server\.csv: not a file of tcpwatch, or truncated"),
        (",1,10,", ",1,ten,", "not a file of tcpwatch, or truncated: .*'ten'"),
    ],
)
def test_damaged_samples_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    run = write_run(tmp_path / "run")
    path = run / "tcp-server.csv"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(AirtcpError, match=message):
        tcpwatch.read_sent(run, testbed(DOWNLOAD).over("tcp"), ("time_ns", "cwnd"))


def test_a_connection_without_a_port_is_refused(tmp_path: Path) -> None:
    write_tcp(tmp_path / "tcp-server.csv", [tcp_row("close", 9, "10.0.0.1", STATION)])
    with pytest.raises(AirtcpError, match=r"tcp-server\.csv:2: not a row of tcpwatch"):
        tcpwatch.read_connections(tmp_path, "server")


def test_segments_per_ack_are_counted_by_second(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    ends = ("10.0.0.2:5201", f"10.0.0.1:{DATA_PORT}")
    totals = [(0, 0), (500, 1000), (600, 1800), (600, 1803), (600, 1803)]
    samples = [
        tcp_row("sample", 1000 * second, *ends, segs_out=acks, data_segs_in=segments)
        for second, (acks, segments) in enumerate(totals)
    ]
    write_tcp(run / "tcp-station.csv", [*samples, tcp_row("close", 4040, *ends, data_segs_in=1803)])
    timeseries.write_csv(run / "series.csv", run, testbed(DOWNLOAD))
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
    assert {(row["station"], row["class"], row["flow"]) for row in rows} == {("1", "", "1")}
    assert rows[2]["cwnd_segments"] == ""  # no sample in that second
    computed, recorded = timeseries.read(run, both, 1.0), timeseries.read_csv(run / "series.csv")
    assert list(recorded.ends_s) == list(computed.ends_s)
    for flow, columns in zip(computed.flows, recorded.flows, strict=True):
        assert columns["goodput_mbps"] == pytest.approx(flow.goodput_mbps, abs=0.0005)
        assert columns["cwnd_segments"] == pytest.approx(flow.cwnd_segments, abs=5e-4, nan_ok=True)


@pytest.mark.parametrize(
    ("ports", "names"), [([DATA_PORT], ["backup"]), ([DATA_PORT, 9], ["backup 1", "backup 2"])]
)
def test_connections_of_a_named_flow_have_different_names(
    tmp_path: Path, ports: list[int], names: list[str]
) -> None:
    run = write_run(tmp_path / "run")
    write_iperf3(run, rates_mbps=[8.0] * 4, ports=ports)
    for node in ("server", "station"):
        text = (run / f"tcp-{node}.csv").read_text()
        more = [text.replace(str(DATA_PORT), str(port)).split("\n", 1)[1] for port in ports[1:]]
        (run / f"tcp-{node}.csv").write_text("".join([text, *more]))
    whole = testbed(DOWNLOAD)
    named = replace(whole.flows[0], label="backup", service="bk", connections=len(ports))
    timeseries.write_csv(run / "series.csv", run, replace(whole, flows=(named,)))
    with (run / "series.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["flow"] for row in rows] == names * 4
    assert {row["class"] for row in rows} == {"bk"}


HEAD = ",".join(timeseries.CSV_COLUMNS)


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", f"{HEAD}\n", f"{HEAD}\n1,1,download,,1,5\n"])
def test_a_damaged_csv_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "series.csv").write_text(text)
    with pytest.raises(AirtcpError, match=r"series\.csv: not series\.csv of a run"):
        timeseries.read_csv(tmp_path / "series.csv")


def test_the_window_at_acks_comes_from_data_connections(tmp_path: Path) -> None:
    """iperf3's control connection has the same port at the receiver."""
    run = write_run(tmp_path / "run")
    (run / "cwnd-trace.txt").write_text(
        "".join(
            f" <idle>-0 [000] ..s.. {time_s:.6f}: tcp_probe: family=AF_INET src=10.0.0.1:{port} "
            f"dest=10.0.0.2:5201 mark=0x0 data_len=0 snd_cwnd={cwnd} ssthresh=9\n"
            for time_s, port, cwnd in (
                (1, CONTROL_PORT, 99),
                (2, DATA_PORT, 10),
                (3, DATA_PORT, 11),
            )
        )
    )
    [(times_s, cwnd)] = series.cwnd_at_acks(run, testbed(DOWNLOAD))
    assert (times_s.tolist(), cwnd.tolist()) == ([0, 1], [10, 11])


def write_rare_samples(run: Path) -> None:
    """With tcp_sample, the first sample may be late, and the last one early."""
    for node, ends in (("server", (SERVER, STATION)), ("station", (STATION, SERVER))):
        counters = [(900, 900), (2900, 2900), (4000, 4000)]
        rows = [
            tcp_row(event, ms, *ends, cwnd=n, bytes_received=1000 * n, retrans=n, segs_out=n)
            for event, (ms, n) in zip(("sample", "sample", "close"), counters, strict=True)
        ]
        write_tcp(run / f"tcp-{node}.csv", rows)


def test_rare_samples_lose_nothing(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    write_rare_samples(run)
    [flow] = timeseries.read(run, testbed(DOWNLOAD), 1.0).flows
    assert flow.retransmits is not None and flow.acks_per_s is not None
    assert list(flow.goodput_mbps) == pytest.approx([8] * 4)
    assert list(flow.retransmits) == list(flow.acks_per_s) == pytest.approx([1000] * 4)
    assert flow.cwnd_segments is not None
    assert list(flow.cwnd_segments) == pytest.approx([900, math.nan, 2900, math.nan], nan_ok=True)


def test_rare_samples_of_a_flow_that_starts_later_lose_nothing(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    write_rare_samples(run)
    (run / "began").write_text(f"{START_NS - 2_000_000_000}\n")
    whole = testbed(DOWNLOAD.replace({"duration": "6s"}))
    later = replace(whole, flows=(replace(whole.flows[0], start_s=2.0, duration_s=4.0),))
    [flow] = timeseries.read(run, later, 1.0).flows
    assert list(flow.goodput_mbps) == pytest.approx([0, 0, *[8] * 4])


@pytest.mark.parametrize(
    ("last_ms", "ends_s", "rate_mbps"),
    [
        (6200, [1, 2, 3, 4, 5, 6, 6.2], 1),
        (6000, [1, 2, 3, 4, 5, 6], 1.1),
        (4002, [1, 2, 3, 4.002], 1100),
    ],
)
def test_rows_last_until_everything_has_arrived(
    tmp_path: Path, last_ms: int, ends_s: list[float], rate_mbps: float
) -> None:
    """A long delay lets data arrive after `duration`. A short rest has no row of its own."""
    run = write_run(tmp_path / "run")
    rows = [
        tcp_row(event, ms, STATION, SERVER, bytes_received=octets)
        for event, ms, octets in (
            *(("sample", 3000, 0), ("sample", 4000, 125_000), ("sample", last_ms, 400_000)),
            ("close", 9000, 400_000),
        )
    ]
    write_tcp(run / "tcp-station.csv", rows)
    over_time = timeseries.read(run, testbed(DOWNLOAD), 1.0)
    assert list(over_time.ends_s) == pytest.approx(ends_s)
    steps_s = numpy.diff(over_time.ends_s, prepend=0)
    [goodput] = [flow.goodput_mbps for flow in over_time.flows]
    assert list(goodput[:3]) == [0, 0, 0]
    if len(ends_s) > 4:
        assert list(goodput[3:]) == pytest.approx([1, *[rate_mbps] * (len(ends_s) - 4)])
    assert float(goodput @ steps_s) == pytest.approx(3.2)
    timeseries.write_csv(run / "series.csv", run, testbed(DOWNLOAD))
    [(written_s, _)] = series.by_second(run, testbed(DOWNLOAD), "goodput")
    assert list(written_s) == pytest.approx(ends_s)


def test_segments_with_data_are_not_acks(tmp_path: Path) -> None:
    """Rates are per second, also in steps of half a second."""
    run = write_run(tmp_path / "run")
    each = (("segs_out", 30), ("data_segs_out", 1), ("data_segs_in", 40))
    rows = [
        tcp_row(event, 1000 * second, STATION, SERVER, **{name: n * second for name, n in each})
        for second, event in enumerate(["sample"] * 4 + ["close"])
    ]
    write_tcp(run / "tcp-station.csv", rows)
    [flow] = timeseries.read(run, testbed(DOWNLOAD), 0.5).flows
    assert flow.acks_per_s is not None and flow.segments_per_s is not None
    assert list(flow.acks_per_s) == pytest.approx([29] * 8)
    assert list(flow.segments_per_s) == pytest.approx([40] * 8)


def test_flows_on_real_hosts_begin_with_the_first_sample(tmp_path: Path) -> None:
    """Here that of the sender, half a second before that of the receiver."""
    run = write_run(tmp_path / "run")
    (run / "airsim-before.txt").unlink()
    rows = arriving(STATION, SERVER, [80] * 4, from_ms=500)
    write_tcp(run / "tcp-station.csv", [*rows, rows[-1].replace("sample", "close")])
    [flow] = timeseries.read(run, testbed(DOWNLOAD), 1.0).flows
    assert list(flow.goodput_mbps) == pytest.approx([40, 80, 80, 80, 80])

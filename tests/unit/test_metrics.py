# SPDX-License-Identifier: GPL-2.0-only
"""The metrics of the run that fake_run writes, against values computed by hand."""

import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy
import pytest
from fake_run import (
    DATA_PORT,
    FATES,
    arriving,
    readdress,
    tcp_row,
    write_both,
    write_exchanges,
    write_idle_air,
    write_iperf3,
    write_pages,
    write_run,
    write_tcp,
    write_udp,
    write_udp_ping,
)
from guests import PATH_METRICS

from airtcp.errors import AirtcpError
from airtcp.experiment.metrics import METRICS, Value
from airtcp.files.airsim import ampdu_sizes, read_airsim
from airtcp.parameters import Parameters
from airtcp.results import metrics as run_metrics
from airtcp.steps.workloads import HEADLINES
from airtcp.steps.workloads.bulk import jain
from airtcp.testbed.default import testbed

REQUEST_RESPONSE = {f"request_response_ms_{of}" for of in ("mean", "p50", "p95", "p99", "max")}
TRANSFER = {f"completion_time_ms_{of}" for of in ("mean", "p50", "p95")}
PAGES = {f"page_time_ms_{of}" for of in ("mean", "p50", "p95")}
PING = {"ping_rtt_ms_p50", "ping_rtt_ms_p95", "ping_loss_share"}
UDP = {"udp_lost_share", "udp_reordered_share", "udp_jitter_ms"}
UDP_PING = {"udp_ping_rtt_ms_p50", "udp_ping_rtt_ms_p95", "udp_ping_loss_share"}
# Metrics that do not apply to a single flow with only ping beside it and no capture.
ON_THE_WAY = {name for name in METRICS if name.startswith(PATH_METRICS)}
NOT_SINGLE_FLOW = (
    {"goodput_jain", "flow_jain", "airtime_jain", "ping_idle_ms_p50"} | UDP | UDP_PING | ON_THE_WAY
)
DOWNLOAD, UPLOAD = {"goodput_download_mbps"}, {"goodput_upload_mbps"}
BULK = {"goodput_mbps"} | DOWNLOAD | UPLOAD | PING | NOT_SINGLE_FLOW
COMMAND = {f"command_time_ms_{of}" for of in ("mean", "p50", "p95")}
OTHER_WORKLOADS = REQUEST_RESPONSE | TRANSFER | PAGES | COMMAND
RTT = {f"tcp_rtt_ms_{of}" for of in ("mean", "p50", "p95")}
SAMPLED = {"cwnd_segments_mean", "cwnd_segments_max"} | RTT
TCP_ONLY = {
    "retransmits",
    "data_segments",
    "delivery_share",
    "acks_sent",
    "acks_per_segment",
    "packets_per_s",
} | SAMPLED


def compute(run: Path, parameters: Parameters) -> dict[str, Value]:
    return run_metrics.compute(run, testbed(parameters))


def test_every_metric_of_a_download(tmp_path: Path) -> None:
    assert compute(write_run(tmp_path / "run"), Parameters()) == pytest.approx(
        {
            "goodput_mbps": 100.0,
            "goodput_download_mbps": 100.0,
            **dict.fromkeys(UPLOAD | NOT_SINGLE_FLOW | OTHER_WORKLOADS),
            "retransmits": 5,
            "data_segments": 1000,
            "delivery_share": 0.995,
            "acks_sent": 500,
            "acks_per_segment": 500 / 995,
            "packets_per_s": (1003 + 500) / 4,
            "tcp_rtt_ms_mean": 20.0,
            "tcp_rtt_ms_p50": 20.0,  # of 10, 20, 30; 0 means not yet measured
            "tcp_rtt_ms_p95": 29.0,
            "ping_rtt_ms_p50": 3.0,  # of 1, 2, 3, 4, 5
            "ping_rtt_ms_p95": 4.8,
            "ping_loss_share": 0,
            "cwnd_segments_mean": 25.0,  # of 10, 20, 30, 40
            "cwnd_segments_max": 40.0,
            "ampdu_mpdus_mean": (10 * 1 + 30 * 20) / 40,
            "airtime_data_share": 0.60,
            "airtime_ack_share": 0.20,
            "airtime_idle_share": 0.15,
            "airtime_collision_share": 0.04,
            "tx_retries": 9,
            "tx_drops": 20,
            "collisions": 4,
            "triggers": 7,
            "he_tb_ppdus": 8,
        }
    )


def test_metrics_of_tcp_are_null_for_udp(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    (run / "tcp-server.csv").unlink()
    write_udp(run, packets=200, lost=30, reordered=1, jitter_ms=0.25)
    metrics = compute(run, Parameters(protocol="udp"))
    missing = {name for name, value in metrics.items() if value is None}
    assert missing == TCP_ONLY | UPLOAD | (NOT_SINGLE_FLOW - UDP) | OTHER_WORKLOADS
    assert metrics.keys() == METRICS.keys()
    assert (metrics["udp_lost_share"], metrics["udp_reordered_share"]) == (0.15, 0.005)
    assert metrics["udp_jitter_ms"] == 0.25


def test_without_ping_only_its_metrics_are_missing(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    (run / "ping.txt").unlink()
    metrics = compute(run, Parameters().replace({"ping_interval": "0ms"}))
    missing = {name for name, value in metrics.items() if value is None}
    assert missing == PING | UPLOAD | NOT_SINGLE_FLOW | OTHER_WORKLOADS


def test_every_metric_of_requests_and_responses(tmp_path: Path) -> None:
    times_ms = [float(ms) for ms in range(101)]
    run = write_exchanges(write_run(tmp_path / "run"), times_ms, [DATA_PORT])
    parameters = Parameters().replace({"workload": "request_response", "exchanges": 101})
    metrics = compute(run, parameters)
    assert metrics.keys() == METRICS.keys()
    assert {name for name, value in metrics.items() if value is None} == (
        BULK | TRANSFER | PAGES | COMMAND
    )
    assert {name: metrics[name] for name in REQUEST_RESPONSE} == pytest.approx(
        {
            "request_response_ms_mean": 50,
            "request_response_ms_p50": 50,
            "request_response_ms_p95": 95,
            "request_response_ms_p99": 99,
            "request_response_ms_max": 100,
        }
    )
    assert metrics["acks_per_segment"] == 500 / 995
    assert metrics["cwnd_segments_mean"] == 25


def test_every_metric_of_transfers(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    write_exchanges(run, [10.0, 20.0, 60.0], [DATA_PORT, DATA_PORT + 1, DATA_PORT + 2])
    for node, local, remote, closed in (
        ("server", "10.0.0.1:5201", "10.0.0.2", {"data_segs_out": 7, "retrans": 1}),
        ("station", "10.0.0.2", "10.0.0.1:5201", {"segs_out": 9, "data_segs_in": 7}),
    ):
        rows = []
        for port in range(DATA_PORT, DATA_PORT + 3):  # too short for a sample
            here, there = (end if ":" in end else f"{end}:{port}" for end in (local, remote))
            rows.append(tcp_row("close", 1, here, there, **closed))
        write_tcp(run / f"tcp-{node}.csv", rows)
    parameters = Parameters().replace(
        {"workload": "transfer", "transfer_size": "1000B", "transfers": 3}
    )
    metrics = compute(run, parameters)
    missing = {name for name, value in metrics.items() if value is None}
    assert missing == BULK | REQUEST_RESPONSE | PAGES | COMMAND | SAMPLED
    assert metrics["completion_time_ms_mean"] == pytest.approx(30)
    assert metrics["completion_time_ms_p50"] == pytest.approx(20)
    assert metrics["completion_time_ms_p95"] == pytest.approx(56)
    assert (metrics["retransmits"], metrics["data_segments"], metrics["acks_sent"]) == (3, 21, 27)
    write_tcp(run / "tcp-station.csv", rows[:2])
    with pytest.raises(AirtcpError, match=f"no close row .* port {DATA_PORT + 2}"):
        compute(run, parameters)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "No such file"),
        ("", "no header"),
        ("port,start_ns,end_ns\n", "no exchange"),
        ("port,start_ns,end_ns\n40001,1,2\n40001,3", ":3: not a row of exchange"),
        ("port,start_ns,end_ns\n40001,1,2\n", "1 exchanges of 20"),
    ],
)
def test_errors_of_missing_and_truncated_exchanges(
    tmp_path: Path, text: str | None, message: str
) -> None:
    run = write_run(tmp_path / "run")
    if text is not None:
        (run / "exchanges.csv").write_text(text)
    with pytest.raises(AirtcpError, match=rf"exchanges\.csv.*{message}") as caught:
        compute(run, Parameters().replace({"workload": "transfer", "transfer_size": "1000B"}))
    assert "\n" not in str(caught.value)


def test_upload_swaps_sender_and_receiver(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    server, station = run / "tcp-server.csv", run / "tcp-station.csv"
    server.rename(run / "x")
    station.rename(server)
    (run / "x").rename(station)
    readdress(
        run,
        {f"10.0.0.1:{DATA_PORT}": f"10.0.0.2:{DATA_PORT}", "10.0.0.2:5201": "10.0.0.1:5201"},
    )
    metrics = compute(run, Parameters(direction="upload"))
    assert (metrics["data_segments"], metrics["acks_sent"]) == (1000, 500)
    assert (metrics["goodput_download_mbps"], metrics["goodput_upload_mbps"]) == (None, 100)


def test_flows_are_added_and_their_samples_pooled(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    other = DATA_PORT + 1
    write_iperf3(run, rates_mbps=[100.0], ports=[DATA_PORT, other])
    server, station = f"10.0.0.1:{other}", "[::ffff:10.0.0.2]:5201"
    sender = [
        tcp_row("sample", 0, server, "10.0.0.2:5201", cwnd=100, srtt_us=40_000),
        tcp_row("close", 40, server, "10.0.0.2:5201", segs_out=9, data_segs_out=2),
    ]
    receiver = [
        *arriving(station, f"[::ffff:10.0.0.1]:{other}", [300] * 4),
        tcp_row("close", 4040, station, f"[::ffff:10.0.0.1]:{other}", segs_out=5, data_segs_in=5),
    ]
    for node, rows in (("server", sender), ("station", receiver)):
        path = run / f"tcp-{node}.csv"
        write_tcp(path, [*path.read_text().splitlines()[1:], *rows])
    metrics = compute(run, Parameters().replace({"flows": 2, "duration": "4s"}))
    assert metrics["goodput_mbps"] == 100  # iperf3 reports one transfer
    assert metrics["flow_jain"] == pytest.approx(400**2 / (2 * (100**2 + 300**2)))
    assert metrics["data_segments"] == 1002
    assert metrics["acks_sent"] == 505
    assert metrics["acks_per_segment"] == 505 / 1000
    assert metrics["cwnd_segments_mean"] == (10 + 20 + 30 + 40 + 100) / 5


@pytest.mark.parametrize(
    "name",
    ["iperf3-client.json", "tcp-server.csv", "tcp-station.csv", "ping.txt", "airsim-after.txt"],
)
@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe", b"half a li"])
def test_error_of_a_missing_or_corrupt_file_is_one_line(
    tmp_path: Path, name: str, content: bytes | None
) -> None:
    run = write_run(tmp_path / "run")
    if content is None:
        (run / name).unlink()
    else:
        (run / name).write_bytes(content)
    with pytest.raises(AirtcpError) as caught:
        compute(run, Parameters())
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_truncated_row_is_reported_with_its_line(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    path = run / "tcp-server.csv"
    path.write_text(path.read_text()[:-30])
    with pytest.raises(AirtcpError, match=r"tcp-server\.csv:7: not a row"):
        compute(run, Parameters())


def test_a_connection_without_a_close_row_is_an_error(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    path = run / "tcp-server.csv"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(AirtcpError, match=f"no close row .* port {DATA_PORT}"):
        compute(run, Parameters())


def test_an_error_of_iperf3_is_reported(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    for said, shown in (("busy", "busy$"), ("Broken pipe", "Broken pipe .* out of reach")):
        (run / "iperf3-client.json").write_text(json.dumps({"error": said}))
        with pytest.raises(AirtcpError, match=f"iperf3 says: {shown}"):
            compute(run, Parameters())


def test_no_frames_on_the_air_is_an_error(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    write_idle_air(run)
    with pytest.raises(AirtcpError, match="no data was sent on the air"):
        compute(run, Parameters())


def test_packets_do_not_include_filtered_acks(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    (run / "ack-filter-police.txt").write_text(
        "Sent 9 bytes 300 pkts (dropped 200, overlimits 200)\n"
    )
    parameters = Parameters().replace({"ack_filter": "police", "ack_filter_rate": "100kbit"})
    metrics = compute(run, parameters)
    assert metrics["acks_filtered"] == 200
    assert metrics["packets_per_s"] == (1003 + 500 - 200) / 4


def test_aggregate_sizes_exclude_those_before_the_transfer(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    assert ampdu_sizes(read_airsim(run)) == {1: 10, 20: 30}


def write_second_station(run: Path) -> None:
    """Another download of 60 Mbit/s, from the same port as the first station's."""
    write_iperf3(run, rates_mbps=[60.0] * 4, name="2")
    ends = f"10.0.0.1:{DATA_PORT}", "10.0.0.3:5201"
    sent = {"segs_out": 610, "data_segs_out": 600, "retrans": 10}
    rows = [
        tcp_row("sample", 10, *ends, cwnd=65, srtt_us=40_000),
        tcp_row("close", 40, *ends, cwnd=5, **sent),
    ]
    path = run / "tcp-server.csv"
    path.write_text(path.read_text() + "\n".join(rows) + "\n")
    received = {"segs_out": 250, "data_segs_in": 590}
    rows = [
        *arriving(ends[1], ends[0], [60] * 4, from_ms=500),
        tcp_row("close", 5000, ends[1], ends[0], **received),
    ]
    write_tcp(run / "tcp-station2.csv", rows)


def test_stations_are_added_and_their_samples_pooled(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    write_second_station(run)
    ends = "10.0.0.2:5201", f"10.0.0.1:{DATA_PORT}"
    received = {"segs_out": 500, "data_segs_in": 995}
    write_tcp(
        run / "tcp-station.csv",
        [*arriving(*ends, [100] * 4), tcp_row("close", 5000, *ends, **received)],
    )
    built = testbed(Parameters().replace({"stations": 2, "duration": "4s"}))
    metrics = run_metrics.compute(run, built)
    assert metrics["goodput_mbps"] == pytest.approx(160)
    assert metrics["goodput_jain"] == pytest.approx(160**2 / (2 * (100**2 + 60**2)))
    assert (metrics["retransmits"], metrics["data_segments"]) == (15, 1600)
    assert metrics["acks_per_segment"] == pytest.approx(750 / 1585)
    assert metrics["tcp_rtt_ms_p50"] == pytest.approx(25)  # of 10, 20, 30, 40
    assert metrics["cwnd_segments_mean"] == pytest.approx(33)  # of 10, 20, 30, 40, 65
    one = replace(built, flows=(built.flows[0], replace(built.flows[1], station="")))
    assert run_metrics.compute(run, one)["goodput_jain"] is None


def test_every_metric_of_both_directions(tmp_path: Path) -> None:
    run = write_both(tmp_path / "run")
    write_udp_ping(run / "udp-ping-BE.csv", [9.0] * 5 + [1.0, 2.0, None, 3.0] + [9.0] * 20)
    both = {"direction": "both", "duration": "4s", "udp_ping_interval": "1s"}
    metrics = compute(run, Parameters().replace(both))
    missing = {name for name, value in metrics.items() if value is None}
    assert (
        missing
        == {"goodput_jain", "airtime_jain", "ping_idle_ms_p50"} | UDP | ON_THE_WAY | OTHER_WORKLOADS
    )
    assert metrics["goodput_download_mbps"] == pytest.approx(100)
    assert metrics["goodput_upload_mbps"] == pytest.approx(20)
    assert metrics["goodput_mbps"] == pytest.approx(120)
    assert metrics["flow_jain"] == pytest.approx(120**2 / (2 * (100**2 + 20**2)))
    assert (metrics["retransmits"], metrics["acks_sent"]) == (2, 100)
    # Requests were 200 ms apart: 20 in the 4 s of the transfer.
    assert metrics["udp_ping_loss_share"] == pytest.approx(1 / 20)
    assert metrics["udp_ping_rtt_ms_p50"] == 9


def test_probes_during_and_outside_the_transfer_differ(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    replies = enumerate([1, 1, 20, 30, 40, 50, 2, 3], start=1_700_000_000)
    (run / "ping.txt").write_text(
        "".join(
            f"[{second}.{ms:03}000] 64 bytes: icmp_seq={number} ttl=64 time={ms} ms\n"
            for number, (second, ms) in enumerate(replies, start=1)
        )
    )
    write_udp_ping(run / "udp-ping-BE.csv", [1, 1, 7, None, 8, 9, None, 1], interval_s=1.0)
    idle = {"duration": "4s", "baseline": "2s", "udp_ping_interval": "1s"}
    metrics = compute(run, Parameters().replace(idle))
    assert (metrics["ping_rtt_ms_p50"], metrics["ping_idle_ms_p50"]) == (35, 1.5)
    assert (metrics["udp_ping_rtt_ms_p50"], metrics["udp_ping_loss_share"]) == (8, 0.25)
    write_udp_ping(run / "udp-ping-BE.csv", [1, 1], interval_s=7.0)
    with pytest.raises(AirtcpError, match=r"udp-ping-BE\.csv: no UDP request was sent during the"):
        compute(run, Parameters().replace(idle))


def test_every_metric_of_pages(tmp_path: Path) -> None:
    run = write_pages(write_run(tmp_path / "run"))
    parameters = Parameters().replace({"workload": "web", "pages": 2})
    metrics = compute(run, parameters)
    missing = {name for name, value in metrics.items() if value is None}
    assert missing == BULK | REQUEST_RESPONSE | COMMAND | SAMPLED
    assert metrics["page_time_ms_mean"] == pytest.approx(70)  # of 40 and 100
    assert metrics["completion_time_ms_p50"] == pytest.approx(27.5)  # of 10, 25, 30, 100
    (run / "pages.txt").write_text("0 0 500 7000\n")
    with pytest.raises(AirtcpError, match=r"exchanges\.csv: 4 exchanges of 2"):
        compute(run, parameters)


def test_transfers_that_barely_overlap_are_an_error(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    write_second_station(run)
    path = run / "tcp-station.csv"
    rows = path.read_text().splitlines()
    path.write_text("\n".join([*rows[:2], rows[-1], ""]))
    with pytest.raises(AirtcpError, match=r"overlap for only 0\.0 s of 4 s"):
        compute(run, Parameters().replace({"stations": 2, "duration": "4s"}))


def test_missing_files_of_a_station_are_reported(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    write_second_station(run)
    (run / "tcp-station2.csv").unlink()
    with pytest.raises(AirtcpError, match=r"tcp-station2\.csv: No such file"):
        compute(run, Parameters().replace({"stations": 2}))
    with pytest.raises(AirtcpError, match=r"iperf3-client3\.json: No such file"):
        compute(run, Parameters().replace({"stations": 3}))


def test_jains_index_is_between_one_nth_and_one() -> None:
    assert jain(numpy.array([5.0, 5.0, 5.0])) == pytest.approx(1)
    assert jain(numpy.array([0.0, 7.0, 0.0, 0.0])) == pytest.approx(0.25)
    assert jain(numpy.array([0.0, 0.0])) is None


@pytest.mark.parametrize("counter", FATES)
def test_counters_that_do_not_add_up_are_an_error(tmp_path: Path, counter: str) -> None:
    """Every counter is part of a sum, which is wrong if it is one higher or lower."""
    run = write_run(tmp_path / "run")
    path = run / "airsim-after.txt"
    text = path.read_text()
    for wrong in (FATES[counter] - 1, FATES[counter] + 1):
        path.write_text(text.replace(f"{counter} {FATES[counter]}\n", f"{counter} {wrong}\n"))
        with pytest.raises(AirtcpError, match="airsim lost frames: ") as caught:
            compute(run, Parameters())
        assert f"{counter} {wrong}" in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("counter", [*FATES, "collisions", "tx_retries"])
def test_a_missing_counter_is_reported(tmp_path: Path, counter: str) -> None:
    run = write_run(tmp_path / "run")
    path = run / "airsim-after.txt"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith(f"{counter} ")))
    with pytest.raises(AirtcpError, match=f"no line '{counter}'"):
        compute(run, Parameters())


def test_every_metric_is_documented() -> None:
    assert all(metric.how for metric in METRICS.values())


def test_every_workload_has_a_headline_metric() -> None:
    workloads = get_args(Parameters.model_fields["workload"].annotation)
    assert {
        workload: (headline.metric in METRICS, headline.less_is_better)
        for workload, headline in HEADLINES.items()
    } == {workload: (True, workload != "bulk") for workload in workloads}

# SPDX-License-Identifier: GPL-2.0-only
"""Metrics beside the usual ones of a download: counters of TCP, slow nodes, probes, idle radios."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from fake_run import (
    DATA_PORT,
    FATES,
    readdress,
    tcp_row,
    write_airsim,
    write_exchanges,
    write_idle_air,
    write_iperf3,
    write_run,
    write_tcp,
)

from airtcp.errors import AirtcpError
from airtcp.experiment.metrics import Value
from airtcp.experiment.topology import Network
from airtcp.files.airsim import read_airsim
from airtcp.parameters import Parameters
from airtcp.results import metrics as run_metrics
from airtcp.steps import cpu_cost
from airtcp.testbed.build import build
from airtcp.testbed.default import testbed
from airtcp.testbed.model import Radio

NETWORK = {
    "topology": {
        "servers": {"near": {}},
        "access_points": {"ap": {}},
        "stations": {"laptop": {"access_point": "ap"}},
    },
    "flows": [
        {"from": "near", "to": "laptop", "congestion_control": "reno"},
        {"from": "near", "to": "laptop", "workload": "command", "command": "true", "start": "1s"},
    ],
}


def compute(run: Path, **values: str) -> dict[str, Value]:
    return run_metrics.compute(run, build(Parameters().replace(values)))


def test_segments_with_data_are_not_acks(tmp_path: Path) -> None:
    """A receiver that also sends data, such as requests."""
    sent = [{"retrans": 2, "data_segs_out": 15}, {"retrans": 1, "data_segs_out": 15}]
    received = [
        {"segs_out": 9, "data_segs_out": 4, "data_segs_in": 14},
        {"segs_out": 12, "data_segs_out": 2, "data_segs_in": 16},
    ]
    assert run_metrics.counted(tmp_path, sent, received) == pytest.approx(
        {
            "retransmits": 3,
            "data_segments": 30,
            "delivery_share": 0.9,
            "acks_sent": 15,
            "acks_per_segment": 0.5,
        }
    )


def test_requests_are_packets(tmp_path: Path) -> None:
    """The receiver of the data sends requests, which are segments with data too."""
    run = write_exchanges(write_run(tmp_path / "run"), [1.0], [DATA_PORT])
    path = run / "tcp-station.csv"
    *rows, _ = path.read_text().splitlines()
    ends = f"10.0.0.2:{DATA_PORT}", "10.0.0.1:5201"
    closed = tcp_row("close", 4040, *ends, segs_out=500, data_segs_out=450, data_segs_in=995)
    path.write_text("\n".join([*rows, closed, ""]))
    metrics = compute(run, workload="request_response", exchanges="1")
    assert metrics["acks_sent"] == 50
    assert metrics["packets_per_s"] == (1003 + 500) / 4


def test_a_transfer_without_data_is_an_error(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    ends = "10.0.0.2:5201", f"10.0.0.1:{DATA_PORT}"
    rows = [tcp_row(event, 9, *ends, segs_out=3) for event in ("sample", "close")]
    write_tcp(run / "tcp-station.csv", rows)
    with pytest.raises(AirtcpError, match="the TCP connections of the transfer carried no data"):
        compute(run)


def test_a_transfer_without_rtt_is_an_error(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    ends = f"10.0.0.1:{DATA_PORT}", "10.0.0.2:5201"
    rows = [tcp_row(event, 9, *ends, cwnd=10, data_segs_out=1) for event in ("sample", "close")]
    write_tcp(run / "tcp-server.csv", rows)
    with pytest.raises(AirtcpError, match="the TCP connections of the transfer carried no data"):
        compute(run)


def write_counters(run: Path, node: str, packets: int, octets: int) -> None:
    """Counters of a slow node, for this number of packets and bytes during the transfer."""
    for when, more in (("before", (0, 0)), ("after", (packets, octets))):
        counters = {"kind": "tbf", "packets": 7 + more[0], "bytes": 500 + more[1], "drops": 0}
        (run / cpu_cost.file(node, when)).write_text(json.dumps([counters]))


def test_slow_nodes_are_busy_for_a_share_of_the_transfer(tmp_path: Path) -> None:
    """The transfer takes 4 s."""
    run = write_run(tmp_path / "run")
    write_counters(run, "router", 100_000, 400_000_000)  # at 20 us and 1 ns: 2.4 s
    write_counters(run, "server", 40_000, 0)  # at 10 us: 0.4 s
    slow = {"router": "cisco881", "slow_host": "sender", "host_packet": "10us"}
    metrics = compute(run, **slow)
    assert metrics["router_utilisation"] == pytest.approx(0.6)
    assert metrics["host_utilisation"] == pytest.approx(0.1)
    metrics = compute(run, router="custom")  # without a cost
    assert (metrics["router_utilisation"], metrics["host_utilisation"]) == (None, None)


def write_pings(run: Path, *times_s: float) -> None:
    """Replies of 1, 2, 3 ms and so on to pings that were sent at these times."""
    lines = [
        f"[{1_700_000_000 + at_s + ms / 1000:.6f}] 64 bytes: icmp_seq={ms} ttl=64 time={ms} ms\n"
        for ms, at_s in enumerate(times_s, start=1)
    ]
    (run / "ping.txt").write_text("".join(lines))


@pytest.mark.parametrize(
    ("baseline", "times_s", "loaded_ms", "idle_ms"),
    [
        # Without `baseline`, all pings were sent during the transfer.
        ("0ms", (0, 1, 5), 2, None),
        ("2s", (0, 3, 4), 2.5, 1),
        ("2s", (0, 3, 7), 2, 2),
    ],
)
def test_idle_latency_needs_a_baseline(
    tmp_path: Path,
    baseline: str,
    times_s: tuple[float, ...],
    loaded_ms: float,
    idle_ms: float | None,
) -> None:
    run = write_run(tmp_path / "run")
    write_pings(run, *times_s)
    metrics = compute(run, duration="4s", baseline=baseline)
    assert (metrics["ping_rtt_ms_p50"], metrics["ping_idle_ms_p50"]) == (loaded_ms, idle_ms)


def test_pings_before_late_flows_have_ended_are_not_idle(tmp_path: Path) -> None:
    """The transfer takes 4 s after the baseline, though `duration` is 1 s."""
    run = write_run(tmp_path / "run")
    write_pings(run, 0, 2, 4, 5, 7)
    metrics = compute(run, duration="1s", baseline="2s")
    assert (metrics["ping_rtt_ms_p50"], metrics["ping_idle_ms_p50"]) == (2, 3)  # of 1 and 5


def test_pings_that_are_answered_only_before_the_transfer_are_an_error(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    write_pings(run, 0, 1)
    with pytest.raises(AirtcpError, match=r"ping\.txt: no ping was answered during the transfer"):
        compute(run, duration="4s", baseline="2s")


def write_command(run: Path, **counters: int) -> Path:
    """Rewrite a run as one of a command that took 250 ms, with these counters of airsim."""
    (run / "exchanges.csv").write_text("port,start_ns,end_ns\n0,1000000000,1250000000\n")
    counters = dict.fromkeys(read_airsim(run), 0) | FATES | counters
    write_airsim(run / "airsim-before.txt", {})
    write_airsim(run / "airsim-after.txt", counters)
    return run


@pytest.mark.parametrize(
    ("counters", "idle"), [({}, None), ({"time_ns": 10, "airtime_idle_ns": 10}, 1)]
)
def test_a_command_may_send_nothing(
    tmp_path: Path, counters: dict[str, int], idle: float | None
) -> None:
    run = write_command(write_run(tmp_path / "run"), **counters)
    metrics = compute(run, workload="command", command="true", ping_interval="0ms")
    assert metrics["command_time_ms_mean"] == 250
    assert (metrics["airtime_idle_share"], metrics["ampdu_mpdus_mean"]) == (idle, None)


def test_a_command_that_takes_no_time_leaves_slow_nodes_without_utilisation(tmp_path: Path) -> None:
    run = write_command(write_run(tmp_path / "run"))
    write_counters(run, "router", 0, 0)
    write_counters(run, "server", 0, 0)
    slow = {"router": "cisco881", "slow_host": "sender", "host_packet": "10us"}
    metrics = compute(run, workload="command", command="true", ping_interval="0ms", **slow)
    assert metrics["command_time_ms_mean"] == 250
    assert (metrics["router_utilisation"], metrics["host_utilisation"]) == (None, None)


def test_flows_of_a_custom_topology_have_their_own_metrics(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    write_iperf3(run, rates_mbps=[40.0, 80.0], name="-near-laptop")
    readdress(run, {"10.0.0.2:5201": "10.0.0.101:5201"})
    for old, new in (("server", "near"), ("station", "laptop")):
        (run / f"tcp-{old}.csv").rename(run / f"tcp-{new}.csv")
    times = "port,start_ns,end_ns\n0,1000000000,1250000000\n"
    (run / "exchanges-near-laptop-2.csv").write_text(times)
    parameters = Parameters().replace({"ping_interval": "0ms"})
    first, second = run_metrics.flows(run, build(parameters, Network.model_validate(NETWORK)))
    ends = {"from": "near", "to": "laptop", "protocol": "tcp", "class": None}
    bulk = {
        **{"name": "near-laptop", "workload": "bulk", "congestion_control": "reno", "start_s": 0},
        **{"seconds": 2, "received_bytes": 15_000_000, "goodput_mbps": 60},
        **{"retransmits": 5, "data_segments": 1000, "acks_sent": 500},
        **{"tcp_rtt_ms_mean": 20, "tcp_rtt_ms_p50": 20, "tcp_rtt_ms_p95": 29},
        **{"cwnd_segments_mean": 25, "cwnd_segments_max": 40},
    }
    absent = dict.fromkeys(first.model_dump())
    assert first.model_dump() == absent | ends | bulk | {"acks_per_segment": 500 / 995}
    command = {"name": "near-laptop-2", "workload": "command", "start_s": 1}
    times_ms = dict.fromkeys([f"command_time_ms_{what}" for what in ("mean", "p50", "p95")], 250)
    assert second.model_dump() == absent | ends | command | times_ms


def test_a_request_may_be_answered_between_two_samples(tmp_path: Path) -> None:
    run = write_exchanges(write_run(tmp_path / "run"), [1.0], [DATA_PORT])
    samples = run / "tcp-server.csv"
    rows = samples.read_text().splitlines(keepends=True)
    samples.write_text("".join(row for row in rows if ",sample," not in row))
    parameters = Parameters().replace({"workload": "request_response", "exchanges": 1})
    metrics = run_metrics.compute(run, testbed(parameters))
    assert metrics["acks_per_segment"] == 500 / 995
    assert (metrics["tcp_rtt_ms_mean"], metrics["cwnd_segments_mean"]) == (None, None)


def test_radios_may_be_idle_if_all_flows_cross_cables(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    write_idle_air(run)
    cables = replace(testbed(Parameters()), radios=(Radio(0, "tablet", None),))
    metrics = run_metrics.compute(run, cables)
    assert (metrics["goodput_mbps"], metrics["ampdu_mpdus_mean"]) == (100, None)
    assert metrics["airtime_idle_share"] is not None
    metrics = compute(run, access="ethernet")  # no radios
    assert (metrics["goodput_mbps"], metrics["airtime_idle_share"]) == (100, None)


def test_on_real_hosts_nothing_is_counted_on_the_path_and_on_the_air(tmp_path: Path) -> None:
    """They have no counters of airsim, which say that the transfer takes 4 s, and of filters."""
    run = write_run(tmp_path / "run")
    in_guest = compute(run)
    for path in run.glob("airsim-*.txt"):
        path.unlink()
    filtered = build(Parameters().replace({"ack_filter": "police", "ack_filter_rate": "1Mbit"}))
    on_hosts = run_metrics.compute(run, filtered, 8.0)
    assert in_guest["packets_per_s"] and on_hosts["packets_per_s"]
    assert on_hosts["packets_per_s"] == in_guest["packets_per_s"] / 2
    differing = {name for name, value in on_hosts.items() if value != in_guest[name]}
    assert all(on_hosts[name] is None for name in differing - {"packets_per_s"})
    assert {"airtime_data_share", "collisions", "ampdu_mpdus_mean"} < differing
    assert on_hosts["goodput_mbps"] == in_guest["goodput_mbps"]

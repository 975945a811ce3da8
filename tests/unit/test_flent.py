# SPDX-License-Identifier: GPL-2.0-only
"""Runs in Flent's format: names of tests and series, and reproducible bytes."""

import gzip
import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from fake_run import (
    DATA_PORT,
    START_NS,
    UDP_START_S,
    arriving,
    tcp_row,
    write_both,
    write_exchanges,
    write_iperf3,
    write_pages,
    write_run,
    write_tcp,
    write_udp,
    write_udp_ping,
)

from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.results import flent
from airtcp.testbed.default import testbed

FOUR_SECONDS = {"duration": "4s"}


def written(run: Path, **values: Plain) -> dict[str, Any]:
    path = run / "run.flent.gz"
    parameters = Parameters().replace({**FOUR_SECONDS, **values})
    flent.write(path, run, testbed(parameters), "small")
    document: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    assert document["version"] == 4
    assert set(document["metadata"]["SERIES_META"]) == set(document["results"])
    for series in document["results"].values():
        assert len(series) == len(document["x_values"])
    # The only format that Flent reads.
    for name in ("TIME", "T0"):
        datetime.strptime(document["metadata"][name], "%Y-%m-%dT%H:%M:%S.%fZ")
    return document


def test_a_download_is_flents_tcp_ndown(tmp_path: Path) -> None:
    document = written(write_run(tmp_path / "run"))
    assert document["metadata"]["NAME"] == "tcp_ndown"
    assert document["metadata"]["TEST_PARAMETERS"]["download_streams"] == "1"
    assert set(document["results"]) == {
        *("TCP download::1", "TCP download avg", "TCP download sum", "Ping (ms) ICMP"),
    }
    assert document["x_values"][:3] == [0.2, 0.4, 0.6]
    assert document["results"]["TCP download sum"] == pytest.approx([70] * 5 + [110] * 15)
    assert [sample["val"] for sample in document["raw_values"]["Ping (ms) ICMP"]] == [1, 2, 3, 4, 5]


def test_both_directions_are_flents_rrul_be_nflows(tmp_path: Path) -> None:
    run = write_both(tmp_path / "run")
    write_udp_ping(run / "udp-ping-BE.csv", [3.0, None, 5.0])
    document = written(run, direction="both", udp_ping_interval="200ms")
    assert document["metadata"]["NAME"] == "rrul_be_nflows"
    assert set(document["results"]) == {
        *(
            f"TCP {way} {what}"
            for way in ("download", "upload")
            for what in ("BE::1", "avg", "sum")
        ),
        *("TCP totals", "Ping (ms) ICMP", "Ping (ms) UDP BE", "Ping (ms) avg"),
    }
    assert document["results"]["TCP totals"] == pytest.approx([90] * 5 + [130] * 15)
    # An unanswered request is not a sample; the mean is that of the other probe.
    assert [sample["val"] for sample in document["raw_values"]["Ping (ms) UDP BE"]] == [3, 5]
    means = document["results"]["Ping (ms) avg"]
    assert means[0] == pytest.approx((4 + document["results"]["Ping (ms) ICMP"][0]) / 2)
    assert (means[1], means[2]) == (5, None)


def write_pairs(run: Path) -> Path:
    """Write two downloads, of 60 and 20 Mbit/s, and two uploads, of 10 and 4 Mbit/s, for 4 s."""
    write_both(run)
    addresses = {"server": "10.0.0.1", "station": "10.0.0.2"}
    rows: dict[str, list[str]] = {name: [] for name in addresses}
    for way, sender, receiver, rates_mbps in (
        ("download", "server", "station", (60.0, 20.0)),
        ("upload", "station", "server", (10.0, 4.0)),
    ):
        ports = (DATA_PORT, DATA_PORT + 1)
        write_iperf3(run, rates_mbps=[sum(rates_mbps)] * 4, ports=ports, name=f"-{way}")
        for port, rate_mbps in zip(ports, rates_mbps, strict=True):
            local, remote = f"{addresses[sender]}:{port}", f"{addresses[receiver]}:5201"
            rows[sender] += [tcp_row(event, 4040, local, remote) for event in ("sample", "close")]
            rows[receiver] += arriving(remote, local, [rate_mbps] * 4)
            octets = {"bytes_received": round(4 * rate_mbps * 1e6 / 8)}
            rows[receiver].append(tcp_row("close", 4040, remote, local, **octets))
    for name, lines in rows.items():
        write_tcp(run / f"tcp-{name}.csv", lines)
    return run


def test_flows_of_a_direction_have_a_mean_and_a_sum(tmp_path: Path) -> None:
    """Between baselines of 2 s, in which nothing is sent."""
    document = written(write_pairs(tmp_path / "run"), direction="both", flows=2, baseline="2s")
    rates_mbps = {
        **{"TCP download BE::1": 60, "TCP download BE::2": 20},
        **{"TCP download avg": 40, "TCP download sum": 80},
        **{"TCP upload BE::1": 10, "TCP upload BE::2": 4},
        **{"TCP upload avg": 7, "TCP upload sum": 14, "TCP totals": 94},
    }
    tcp = {name: each for name, each in document["results"].items() if name.startswith("TCP")}
    assert tcp == {
        name: pytest.approx([0] * 10 + [rate] * 20 + [0] * 10) for name, rate in rates_mbps.items()
    }
    metadata = document["metadata"]
    assert {name: metadata[name] for name in ("DELAY", "LENGTH", "TOTAL_LENGTH", "STEP_SIZE")} == {
        **{"DELAY": 2, "LENGTH": 4, "TOTAL_LENGTH": 8, "STEP_SIZE": 0.2}
    }
    assert metadata["TEST_PARAMETERS"] == {"download_streams": "2", "upload_streams": "2"}
    times_s = [sample["t"] for sample in document["raw_values"]["TCP totals"]]
    boot_s = flent.BOOT.timestamp()
    assert times_s == pytest.approx([boot_s + end_s for end_s in document["x_values"]], abs=1e-3)


@pytest.mark.parametrize(
    ("direction", "rates_mbps"),
    [
        ("download", {"UDP upload": 6}),
        ("upload", {"UDP upload": 3}),
        ("both", {"UDP download": 6, "UDP upload": 3, "UDP totals": 9}),
    ],
)
def test_datagrams_are_written_as_udp_flood(
    tmp_path: Path, direction: str, rates_mbps: dict[str, float]
) -> None:
    run = write_run(tmp_path / "run")
    for way, rate_mbps in (("download", 6.0), ("upload", 3.0)):
        name = f"-{way}" if direction == "both" else ""
        if direction in (way, "both"):
            rates = [rate_mbps] * 4
            start_s = START_NS / 1e9 - UDP_START_S
            write_udp(run, packets=1000, start_s=start_s, rates_mbps=rates, name=name)
    document = written(run, direction=direction, protocol="udp")
    assert document["metadata"]["NAME"] == "udp_flood"
    assert document["metadata"]["LENGTH"] == 4
    udp = {name: each for name, each in document["results"].items() if "Ping" not in name}
    assert udp == {name: pytest.approx([rate] * 20) for name, rate in rates_mbps.items()}


def test_a_probe_without_any_answer_has_no_values(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    write_udp_ping(run / "udp-ping-BE.csv", [None, None])
    document = written(run, udp_ping_interval="200ms")
    assert set(document["results"]["Ping (ms) UDP BE"]) == {None}


def test_rrul_has_a_flow_per_class_and_direction(tmp_path: Path) -> None:
    names = ("BE", "BK", "CS5", "EF")
    run = write_both(tmp_path / "run", classes=names)
    document = written(run, direction="both", dscp="rrul", flows=4)
    assert document["metadata"]["NAME"] == "rrul"
    flows = {f"TCP {way} {name}" for way in ("download", "upload") for name in names}
    assert flows < set(document["results"])
    assert sum(document["results"][name][0] for name in flows) == pytest.approx(4 * 90)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"dscp": "rrul", "flows": 8}, "rrul_be_nflows"),
        ({"dscp": "rrul", "flows": 4, "stations": 2}, "rrul_be_nflows"),
        ({"protocol": "udp"}, "udp_flood"),
        ({"direction": "upload", "dscp": "rrul", "flows": 4}, "tcp_nup"),
    ],
)
def test_variants_of_rrul_have_other_names(values: dict[str, Plain], name: str) -> None:
    parameters = Parameters().replace({"direction": "both", **values})
    assert flent.test_name(testbed(parameters)) == name


def test_flows_of_several_stations_are_not_those_of_rrul() -> None:
    rrul = Parameters().replace({"direction": "both", "flows": 4, "dscp": "rrul"})
    one = testbed(rrul)
    uploading = (replace(flow, station=2) for flow in one.flows if flow.direction == "upload")
    others = (flow for flow in one.flows if flow.direction == "download")
    two = replace(one, flows=(*others, *uploading))
    assert (flent.test_name(one), flent.test_name(two)) == ("rrul", "rrul_be_nflows")


def test_exchanges_are_written_as_http_latency(tmp_path: Path) -> None:
    run = write_exchanges(write_run(tmp_path / "run"), [20.0, 60.0, 10.0], [DATA_PORT])
    document = written(run, duration="10s", workload="request_response")
    assert document["metadata"]["NAME"] == "http"
    assert list(document["results"]) == ["HTTP latency"]
    assert [sample["val"] for sample in document["raw_values"]["HTTP latency"]] == [10, 20, 60]
    assert document["metadata"]["LENGTH"] == document["metadata"]["TOTAL_LENGTH"] == 0.06
    # 20 steps until the last one ends; in the middle of the ends of the first two.
    assert document["x_values"] == pytest.approx([0.003 * step for step in range(1, 21)])
    assert document["results"]["HTTP latency"][4] == pytest.approx(15)


def test_each_page_is_a_sample_of_http_latency(tmp_path: Path) -> None:
    run = write_pages(write_run(tmp_path / "run"))
    document = written(run, duration="10s", workload="web", pages=2)
    assert [sample["val"] for sample in document["raw_values"]["HTTP latency"]] == [40, 100]


def test_equal_runs_give_equal_files(tmp_path: Path) -> None:
    for name in ("a", "longer-name"):
        run = write_run(tmp_path / name)
        written(run)
    files = [(tmp_path / name / "run.flent.gz").read_bytes() for name in ("a", "longer-name")]
    assert files[0] == files[1]

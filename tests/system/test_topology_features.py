# SPDX-License-Identifier: GPL-2.0-only
"""A custom topology with all features: a router, ACK filters, a walking station, a wired station
with a slow processor, the classes of RRUL in both directions, every workload."""

import json
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.experiment import Case
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.report import write_report
from airtcp.results import assembly, documents
from airtcp.results.record import RunRecord
from airtcp.sweep.request import RunRequest, run_directory
from airtcp.sweep.run import run_one

EXPERIMENT = """\
name: features
title: Features
source: Nobody
description: None
parameters:
  duration: 4s
  baseline: 1s
  delay: 2ms
  error_model: snr
  udp_ping_interval: 200ms
topology:
  servers:
    near: {}
    far: {router: custom, router_packet: 20us, return_rate: 5Mbit, ack_filter: cake}
  access_points:
    ap: {}
  stations:
    laptop: {access_point: ap, snr: 40dB, ack_filter: police, ack_filter_rate: 300kbit}
    phone: {access_point: ap, walk: "0s=2m,2s=6m/3m,6s=8m/3m"}
    desk: {access_point: ap, access: ethernet, slow_host: receiver, host_packet: 50us}
flows:
  - {from: far, to: laptop, dscp: rrul, flows: 4}
  - {from: laptop, to: far, dscp: rrul, flows: 4}
  - {from: near, to: phone, workload: web, pages: 3, reading_time: 100ms}
  - {from: near, to: desk, workload: request_response, exchanges: 20, start: 1s}
  - {from: near, to: desk, workload: transfer, transfer_size: 50000B, transfers: 3}
design:
  - ack_policy: [default]
"""
CLASSES = ("be", "bk", "cs5", "ef")

Runs = Callable[[str], tuple[Case, RunRecord, Path]]


@pytest.fixture(scope="module")
def run(lab_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """A function that runs the case once in a directory with this name."""
    out_dir = tmp_path_factory.mktemp("features")
    path = out_dir / "features.yaml"
    path.write_text(EXPERIMENT)
    [case] = load(path).cases()

    @cache
    def run_case(name: str) -> tuple[Case, RunRecord, Path]:
        result = run_one(RunRequest.of(lab_kernel, tools, case, 1), out_dir / name)
        assert result.error is None
        return case, result, out_dir / name

    return run_case


def test_every_workload_class_and_direction_is_measured(run: Runs) -> None:
    _, result, _ = run("first")
    flows = {flow.name: flow for flow in result.flows}
    pairs = ("far-laptop", "laptop-far")
    assert list(flows)[:8] == [f"{pair}-{name}" for pair in pairs for name in CLASSES]
    for pair in pairs:  # the classes of lower priority may starve
        goodputs = [flows[f"{pair}-{name}"].goodput_mbps for name in CLASSES]
        assert None not in goodputs and (goodputs[-1] or 0) > 0.5
        assert [flows[f"{pair}-{name}"].service for name in CLASSES] == ["BE", "BK", "CS5", "EF"]
    assert [flow.workload for flow in list(flows.values())[8:]] == [
        *("web", "request_response", "transfer")
    ]
    metrics = result.values
    for name in ("goodput_download_mbps", "goodput_upload_mbps", "page_time_ms_mean"):
        assert metrics[name] > 0
    assert metrics["completion_time_ms_mean"] > 0 and metrics["udp_ping_rtt_ms_p50"] > 0
    assert flows["near-phone"].page_time_ms_mean == metrics["page_time_ms_mean"]
    assert flows["near-desk"].request_response_ms_p50 == metrics["request_response_ms_p50"]
    transfers = flows["near-desk-2"]
    assert (transfers.completion_time_ms_mean or 0) > 0 and transfers.page_time_ms_mean is None
    # The path to the desk takes 2 ms, and two packets 50 us each in each direction.
    assert 2 < metrics["request_response_ms_p50"] < 4


def test_router_filters_and_mobility_work(run: Runs) -> None:
    case, result, out_dir = run("first")
    metrics, run_dir = result.values, run_directory(out_dir, case, 1)
    assert 0 < metrics["router_utilisation"] < 1 and 0 < metrics["host_utilisation"] < 1
    policed = (run_dir / "ack-filter-police-ap.txt").read_text()
    assert "dropped" in policed and metrics["acks_filtered"] > 0
    lines = (run_dir / "radios.txt").read_text().splitlines()
    x_mm, y_mm = (
        [int(line.split()[1]) for line in lines if line.startswith(f"{axis}_mm ")] for axis in "xy"
    )
    assert x_mm[:2] == y_mm[:2] == [0, 0]
    assert 6000 < x_mm[2] < 9000 and y_mm[2] == 3000
    assert (run_dir / "processor-router-far-after.json").exists()


def test_the_same_seed_gives_the_same_bytes(run: Runs) -> None:
    _, first, _ = run("first")
    _, again, _ = run("another-directory")
    assert first.metrics == again.metrics and first.flows == again.flows
    assert first.artifacts["series.csv"].sha256 == again.artifacts["series.csv"].sha256


def test_run_is_reported(run: Runs, lab_kernel: Kernel) -> None:
    case, result, out_dir = run("first")
    experiment = load(out_dir.parent / "features.yaml")
    document = assembly.document(experiment, [case], lab_kernel, [(case, result)], "test")
    documents.write(out_dir, document)
    report = write_report(out_dir).read_text()
    assert "far-laptop-ef" in report and "Left out" not in report
    assert "mean page time, ms" in report and "mean latency, ms" in report


def test_flent_plots_the_run_as_its_rrul_test(run: Runs, tmp_path: Path) -> None:
    case, _, out_dir = run("first")
    path = run_directory(out_dir, case, 1) / "run.flent.gz"
    for plot in ("all", "totals", "ping_cdf"):
        picture = tmp_path / f"{plot}.png"
        command = ["flent", "-v", "-i", str(path), "-p", plot, "-o", str(picture)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        output = (done.stdout + done.stderr).lower()
        assert done.returncode == 0, output
        for sign in ("missing", "no raw data", "no data", "error"):
            assert sign not in output, output
        assert picture.read_bytes().startswith(b"\x89PNG")


def test_result_json_contains_the_topology(run: Runs) -> None:
    case, _, out_dir = run("first")
    result = json.loads((run_directory(out_dir, case, 1) / "result.json").read_text())
    assert result["network"]["topology"]["stations"]["phone"]["walk"] == "0ms=2m,2s=6m/3m,6s=8m/3m"

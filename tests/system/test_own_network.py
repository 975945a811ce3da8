# SPDX-License-Identifier: GPL-2.0-only
"""A custom topology: flows start and end as configured and share the air; a policy changes."""

import csv
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy
import pytest

from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.experiment import Case
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.report import model, series
from airtcp.results.assembly import document
from airtcp.results.documents import write
from airtcp.results.record import RunRecord
from airtcp.sweep.request import RunRequest, run_directory
from airtcp.sweep.run import run_one
from airtcp.testbed.build import testbed_of

EXPERIMENT = """\
name: network
title: A network
source: Nobody
description: None
parameters:
  duration: 5s
  mcs: 3
  delay: 2ms
  capture: server,air
  capture_duration: 300ms
topology:
  servers:
    near: {}
    far: {delay: 20ms, rate: 200Mbit}
  access_points:
    ap1: {}
    ap2: {channel: 36}
  stations:
    laptop: {access_point: ap1, ack_policy: aad}
    phone: {access_point: ap2}
    tablet: {access_point: ap2, mcs: 1}
flows:
  - {from: near, to: laptop}
  - {from: far, to: phone, congestion_control: bbr, start: 2s, duration: 2s}
  - {from: laptop, to: near, protocol: udp, rate: 1Mbit, start: 1s, duration: 2s}
  - {from: tablet, to: near, rate: 1Mbit, start: 500ms, duration: 1s}
schedule:
  - {at: 2s, node: laptop, set: {ack_policy: default}}
design:
  - channel: ["36", "44"]
"""
CAPTURES = ("near.pcapng", "far.pcapng", "air.pcapng")

Runs = Callable[[str, str], tuple[Case, RunRecord, Path]]
Rows = dict[str, list[dict[str, float]]]


@pytest.fixture(scope="module")
def run(lab_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """A function that runs a case, by the channel of ap1, once in a directory with this name."""
    out_dir = tmp_path_factory.mktemp("network")
    path = out_dir / "network.yaml"
    path.write_text(EXPERIMENT)
    cases = {str(case.factors["channel"]): case for case in load(path).cases()}

    @cache
    def run_case(channel: str, name: str) -> tuple[Case, RunRecord, Path]:
        result = run_one(RunRequest.of(lab_kernel, tools, cases[channel], 1), out_dir / name)
        assert result.error is None
        return cases[channel], result, out_dir / name

    return run_case


def seconds(run: tuple[Case, RunRecord, Path]) -> Rows:
    """The rows of each flow in series.csv, one per second."""
    case, _, out_dir = run
    rows: Rows = defaultdict(list)
    with (run_directory(out_dir, case, 1) / "series.csv").open() as file:
        for row in csv.DictReader(file):
            names = ("goodput_mbps", "segments_per_s", "acks_per_s")
            rows[row["flow"]].append({name: float(row[name] or "nan") for name in names})
    return rows


def goodput(rows: Rows, flow: str) -> list[float]:
    return [row["goodput_mbps"] for row in rows[flow]]


def test_every_flow_starts_and_ends_as_configured(run: Runs) -> None:
    shared = run("36", "first")
    flows = {flow.name: flow for flow in shared[1].flows}
    assert list(flows) == ["near-laptop", "far-phone", "laptop-near", "tablet-near"]
    assert all((flow.goodput_mbps or 0) > 0 for flow in flows.values())
    assert flows["far-phone"].congestion_control == "bbr"
    rows = seconds(shared)
    active = {name: [value > 0 for value in goodput(rows, name)] for name in flows}
    assert active["near-laptop"] == [True] * 5
    # Flows start and end a few round trips later than configured.
    for name, first, last in (("far-phone", 2, 4), ("laptop-near", 1, 3), ("tablet-near", 0, 2)):
        exact = [first <= second < last for second in range(5)]
        late = [first <= second <= last for second in range(5)]
        assert active[name] in (exact, late), name


def test_queues_of_mac80211_are_recorded_for_every_link(run: Runs) -> None:
    case, _, out_dir = run("36", "first")
    directory = run_directory(out_dir, case, 1)
    links = {"ap1.laptop": 1000, "ap2.phone": 1000, "laptop": 100, "phone": 100, "tablet": 100}
    for link, min_packets in links.items():
        head, *rows = (directory / f"queues-{link}.txt").read_text().splitlines()
        column = head.split().index("tx-packets")
        assert sum(int(row.split()[column]) for row in rows) > min_packets, link


def test_policy_changes_during_a_flow(run: Runs) -> None:
    rows = seconds(run("36", "first"))["near-laptop"]
    ratios = numpy.array([row["acks_per_s"] / row["segments_per_s"] for row in rows])
    assert (ratios[2:] > 0.4).all()  # Linux: one per two segments, and one for each out of order
    assert ratios[1] < 0.65 * ratios[2:].min()  # aad


def test_cells_share_airtime_only_on_the_same_channel(run: Runs) -> None:
    shared, apart = (seconds(run(*case)) for case in (("36", "first"), ("44", "apart")))
    alone_mbps = goodput(apart, "near-laptop")[3]

    def together_mbps(rows: Rows) -> float:
        return goodput(rows, "near-laptop")[3] + goodput(rows, "far-phone")[3]

    # Mbit/s vary between seconds: 19.0 to 21.1 together, 19.9 to 20.6 alone, with three seeds.
    assert together_mbps(shared) < 1.15 * alone_mbps
    assert together_mbps(apart) > 1.7 * alone_mbps
    shares = ("data", "ack", "idle", "collision")
    for _, result, _ in (run("36", "first"), run("44", "apart")):
        values = [result.values[f"airtime_{kind}_share"] for kind in shares]
        assert min(values) >= 0 and sum(values) <= 1


def test_the_same_seed_gives_the_same_bytes(run: Runs) -> None:
    _, first, _ = run("36", "first")
    _, again, _ = run("36", "another-directory")
    assert first.metrics == again.metrics and first.flows == again.flows
    for name in CAPTURES:
        assert first.artifacts[name].sha256 == again.artifacts[name].sha256


def test_report_contains_every_flow_and_ping(run: Runs, lab_kernel: Kernel) -> None:
    case, result, out_dir = run("36", "first")
    experiment = load(out_dir.parent / "network.yaml")
    write(out_dir, document(experiment, [case], lab_kernel, [(case, result)], "test"))
    [loaded] = model.load(out_dir).runs
    assert loaded.testbed == testbed_of(case) and len(loaded.pings) == 3
    over_time = series.over_time(loaded.directory, loaded.testbed)
    assert len(over_time.flows) == 3  # the UDP flow has no window
    by_second = series.by_second(loaded.directory, loaded.testbed, "flow_goodput")
    assert [values.sum() > 0 for _, values in by_second] == [True] * 4

# SPDX-License-Identifier: GPL-2.0-only
"""The wire loses single frames, not the packets of up to 64 KiB that TCP passes down."""

import csv
import json
from pathlib import Path

import pytest

from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.experiment import Case
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.results.record import RunRecord
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one

SCHEDULE = """\
name: scheduled-loss
title: A path that begins to lose packets
source: Nobody
description: None
parameters: {duration: 6s, delay: 5ms, streams: 2, width: 40MHz}
topology: {servers: {server: {}}, access_points: {ap: {}}, stations: {laptop: {access_point: ap}}}
flows:
  - {from: server, to: laptop}
schedule:
  - {at: 2s, node: server, set: {wire_loss: 0.02}}
  - {at: 4s, node: server, set: {wire_loss: 0}}
design:
  - {}
"""


def measured(kernel: Kernel, tools: GuestTools, case: Case, out_dir: Path) -> RunRecord:
    result = run_one(RunRequest.of(kernel, tools, case, 1), out_dir)
    assert result.error is None
    return result


def test_each_segment_can_be_lost(lab_kernel: Kernel, tools: GuestTools, tmp_path: Path) -> None:
    parameters = Parameters().replace(
        {"duration": "3s", "wire_loss": 0.01, "delay": "2ms", "streams": 2, "width": "40MHz"}
    )
    result = measured(lab_kernel, tools, Case({}, parameters), tmp_path)
    qdiscs = json.loads((tmp_path / result.artifacts["qdisc-server.json"].path).read_text())
    [loss] = [qdisc for qdisc in qdiscs if qdisc.get("handle") == "5:"]
    frames = loss["packets"] + loss["drops"]
    print(f"{frames} frames, {loss['drops']} lost; {result.values['data_segments']:.0f} segments")
    assert frames == pytest.approx(result.values["data_segments"], rel=0.05)
    assert loss["drops"] / frames == pytest.approx(0.01, rel=0.3)


def test_uploads_lose_segments(lab_kernel: Kernel, tools: GuestTools, tmp_path: Path) -> None:
    parameters = Parameters().replace(
        {"direction": "upload", "duration": "3s", "return_loss": 0.01, "return_delay": "2ms"}
    )
    result = measured(lab_kernel, tools, Case({}, parameters), tmp_path)
    lost, segments = result.values["retransmits"], result.values["data_segments"]
    print(f"{lost:.0f} of {segments:.0f} segments retransmitted")
    assert lost / segments == pytest.approx(0.01, rel=0.3)


def test_full_queue_of_the_path_loses_segments(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    parameters = Parameters().replace(
        {
            **{"duration": "5s", "rate": "50Mbit", "delay": "5ms", "gso": "off", "tso": "off"},
            **{"hystart": "off", "streams": 2, "width": "40MHz"},
        }
    )
    result = measured(lab_kernel, tools, Case({}, parameters), tmp_path)
    _, rate = json.loads((tmp_path / result.artifacts["qdisc-server.json"].path).read_text())
    print(f"{rate['drops']} dropped, {result.values['retransmits']:.0f} retransmitted")
    assert rate["kind"] == "tbf" and rate["drops"] > 0
    assert result.values["retransmits"] >= rate["drops"]


def test_loss_can_begin_and_end_during_a_run(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    path = tmp_path / "loss.yaml"
    path.write_text(SCHEDULE)
    [case] = load(path).cases()
    result = measured(lab_kernel, tools, case, tmp_path)
    with (tmp_path / result.artifacts["series.csv"].path).open() as file:
        goodput = [float(row["goodput_mbps"]) for row in csv.DictReader(file)]
    print(" ".join(f"{value:.0f}" for value in goodput))
    assert goodput[3] < goodput[1] / 2 and goodput[3] < goodput[5] / 2

# SPDX-License-Identifier: GPL-2.0-only
"""Stations whose transfers start one after another."""

import csv
from pathlib import Path

import pytest

from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.experiment import Case
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one


def test_first_transfer_is_alone_until_the_second_starts(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    values: dict[str, Plain] = {
        **{"access": "ethernet", "ethernet_rate": "20Mbit", "rate_latency": "20ms"},
        **{"stations": 2, "start_interval": "3s", "duration": "12s"},
    }
    case = Case(values, Parameters().replace(values))
    result = run_one(RunRequest.of(lab_kernel, tools, case, 1), tmp_path)
    assert result.error is None
    assert result.values["goodput_mbps"] == pytest.approx(19, rel=0.03)
    assert result.values["goodput_jain"] > 0.5
    with (tmp_path / result.artifacts["series.csv"].path).open(newline="") as file:
        rows = list(csv.DictReader(file))
    by_station = {
        station: [float(row["goodput_mbps"]) for row in rows if row["station"] == station]
        for station in ("1", "2")
    }
    assert by_station["2"][:3] == [0, 0, 0] and min(by_station["2"][4:]) > 0
    assert min(by_station["1"][1:3]) > 15
    assert by_station["1"][-1] > 0

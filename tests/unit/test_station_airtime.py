# SPDX-License-Identifier: GPL-2.0-only
"""The airtime of stations: counters of radios, records and fairness."""

from pathlib import Path

import pytest
from fake_run import record
from small_experiment import write

from airtcp.backends import shell
from airtcp.errors import AirtcpError
from airtcp.experiment.experiment import Case
from airtcp.experiment.reader import load
from airtcp.parameters import Parameters
from airtcp.report import page
from airtcp.report.model import Condition, Measured, Run
from airtcp.results import metrics
from airtcp.results.record import StationRecord
from airtcp.steps import traffic
from airtcp.testbed import default
from airtcp.testbed.build import testbed_of
from airtcp.testbed.model import Testbed

TWO_CELLS = """\
name: small
title: Small
source: Nobody
description: None
topology:
  servers:
    near: {}
  access_points:
    ap1: {}
    ap2: {}
  stations:
    laptop: {access_point: ap1}
    phone: {access_point: ap2}
    lost: {access_point: ap1}
flows:
  - {from: near, to: laptop}
"""


def line(radio: int, peer: int, ns: int, state: str = "present") -> str:
    return f"{radio} 02:61:69:72:{peer:02x}:00 {state} {ns}\n"


@pytest.fixture
def two_cells(tmp_path: Path) -> Testbed:
    """The radios are 0 and 1 of the access points, and from 2 on of the stations."""
    return testbed_of(load(write(tmp_path, TWO_CELLS)).cases()[0])


def test_airtime_is_counted_between_a_station_and_its_access_points(
    two_cells: Testbed, tmp_path: Path
) -> None:
    """laptop has left ap1, which still knows it, for ap2; lost has left all."""
    lines = [line(0, 2, 2_000_000_000), line(2, 0, 250_000_000, "left")]
    lines += [line(1, 2, 1_000_000_000), line(2, 1, 250_000_000)]
    lines += [line(1, 3, 1_000_000_000), line(3, 1, 0)]
    lines += [line(0, 4, 125_000_000, "left"), line(4, 0, 125_000_000, "left")]
    (tmp_path / "airtimes.txt").write_text("".join(lines))
    assert metrics.stations(tmp_path, two_cells) == [
        StationRecord(name="laptop", access_point="ap2", airtime_down_s=3.0, airtime_up_s=0.5),
        StationRecord(name="phone", access_point="ap2", airtime_down_s=1.0, airtime_up_s=0.0),
        StationRecord(name="lost", airtime_down_s=0.125, airtime_up_s=0.125),
    ]
    # (3.5 + 1 + 0.25)^2 / (3 (3.5^2 + 1^2 + 0.25^2))
    assert metrics.airtime_jain(tmp_path, two_cells) == pytest.approx(22.5625 / 39.9375)


def test_runs_that_have_not_saved_airtimes_have_none(two_cells: Testbed, tmp_path: Path) -> None:
    assert metrics.stations(tmp_path, two_cells) == []
    assert metrics.airtime_jain(tmp_path, two_cells) is None


def test_a_corrupt_line_is_reported(two_cells: Testbed, tmp_path: Path) -> None:
    (tmp_path / "airtimes.txt").write_text(line(1, 2, 5) + line(2, 1, 5)[:-3])
    with pytest.raises(AirtcpError, match=r"airtimes\.txt:2: not an airtime of a station"):
        metrics.stations(tmp_path, two_cells)


@pytest.mark.parametrize(
    ("settings", "saved"),
    [({}, False), ({"stations": "2"}, True), ({"stations": "2", "access": "ethernet"}, False)],
)
def test_airtimes_are_saved_for_several_stations_with_radios(
    settings: dict[str, str], saved: bool
) -> None:
    plan = traffic.plan(default.testbed(Parameters().replace(settings)))
    assert ("airtimes.txt" in shell.text(plan)) is saved


def test_a_report_has_the_airtime_of_each_station_by_policy() -> None:
    """In one run of aad, the airtime of the phone was not saved."""

    def measured(policy: str, *phones: StationRecord) -> Measured:
        laptop = StationRecord(name="laptop", airtime_down_s=1.5, airtime_up_s=0.25)
        case = Case({"ack_policy": policy}, Parameters())
        runs = [
            Run(record(case, seed, {}).model_copy(update={"stations": (laptop, phone)}), Path())
            for seed, phone in enumerate(phones, start=1)
        ]
        return Measured(policy, runs, {}, {})

    phone, lost = (
        StationRecord(name="phone", airtime_down_s=3.0, airtime_up_s=0.5),
        StationRecord(name="phone"),
    )
    both = [measured("default", phone, phone), measured("aad", phone, lost)]
    rows = page._station_rows(Condition("all", "all", both))
    assert [(row.name, row.direction, *row.cells) for row in rows] == [
        ("laptop", "down", "1.50 ± 0", "1.50 ± 0"),
        ("laptop", "up", "0.2500 ± 0", "0.2500 ± 0"),
        ("phone", "down", "3.00 ± 0", "\N{EN DASH}"),
        ("phone", "up", "0.5000 ± 0", "\N{EN DASH}"),
    ]

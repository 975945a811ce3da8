# SPDX-License-Identifier: GPL-2.0-only
"""Positions in a plane: their text, movements between them, and those of a custom topology."""

import itertools
import re
from pathlib import Path

import pytest

from airtcp.backends import shell
from airtcp.errors import InputError
from airtcp.experiment.reader import load
from airtcp.parameters import Parameters
from airtcp.parameters.mobility import Leg, Position, legs
from airtcp.steps import traffic
from airtcp.steps.plan import plan
from airtcp.testbed.build import testbed_of
from airtcp.testbed.model import Testbed

SQUARE = """\
name: square
title: Square
source: Nobody
description: None
parameters: {duration: 5s, error_model: snr}
topology:
  servers:
    server: {}
  access_points:
    ap: {position: -1.5m/2m}
  stations:
    phone: {access_point: ap, walk: "0s=3m/4m,2s=3m/-4m"}
    laptop: {access_point: ap, position: 0m/30m}
    tablet: {access_point: ap, snr: 30dB}
flows:
  - {from: server, to: phone}
"""


POWER = re.compile(r" tx_power_mdbm (\d+)")
LOSS = re.compile(r" loss_mdb (\d+)")


def built(directory: Path, *changes: tuple[str, str]) -> Testbed:
    text = SQUARE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = directory / "square.yaml"
    path.write_text(text)
    [case] = load(path).cases()
    return testbed_of(case)


def walked(text: str) -> Parameters:
    return Parameters().replace({"error_model": "snr", "walk": text})


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("0s=5m,10s=40m", "0ms=5m,10s=40m"),
        ("0s=5m/0m", "0ms=5m"),
        ("0s=-5.25m / 1.5 m, 10s=0m/-40m", "0ms=-5.25m/1.5m,10s=0m/-40m"),
    ],
)
def test_a_walk_is_written_as_it_is_read(text: str, written: str) -> None:
    assert walked(text).text("walk") == written
    assert walked(written).walk == walked(text).walk


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0s=5m/", "'5m/' is not a position, as in 40m or 40m/20m"),
        ("0s=5/4m", "'5/4m' is not a position"),
        ("0s=5m/4m/3m", "'5m/4m/3m' is not a position"),
        ("0s=5m/-100001m", "'5m/-100001m' is out of range; allowed: -100000m to 100000m in each"),
        ("0s=0m,1s=800m/-800m", "too fast; allowed: 1000 m/s"),
    ],
)
def test_a_wrong_position_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"walk") as error:
        walked(text)
    assert message in str(error.value)


def test_a_movement_has_a_velocity_in_each_direction() -> None:
    walk = walked("0s=3m/4m,2s=3m/-4m,4s=0m").walk
    assert walk is not None
    assert legs(walk) == [
        Leg(Position(3, 4), (0, -4), 2),
        Leg(Position(3, -4), (-1.5, 2), 2),
        Leg(Position(0, 0), (0, 0), None),
    ]
    assert legs(walk[:1]) == [] == legs(())


def test_a_slow_movement_has_parts_that_begin_at_the_right_place() -> None:
    """At 1.4 mm/s, rounded to 1 mm/s, a station would be 2 m from its place after an hour."""
    walk = walked("0s=0m/5m,3600s=5m").walk
    assert walk is not None
    *parts, last = legs(walk)
    assert last == Leg(Position(5, 0), (0, 0), None)
    assert sum(part.seconds or 0 for part in parts) == pytest.approx(3600)
    for part, following in itertools.pairwise([*parts, last]):
        assert part.seconds is not None
        moved_m = [round(each, 3) * part.seconds for each in part.m_per_s]
        x_m, y_m = map(sum, zip(part.start, moved_m, strict=True))
        assert Position(x_m, y_m).distance_m(following.start) < 0.15


def test_radios_are_placed_and_moved_in_the_plane(tmp_path: Path) -> None:
    """A station without a position is at its access point."""
    testbed = built(tmp_path)
    text = shell.render(plan(testbed))
    for place in ("0 x_mm -1500 y_mm 2000", "1 x_mm 3000 y_mm 4000", "2 x_mm 0 y_mm 30000"):
        assert f"radio set {place}\n" in text
    assert "radio set 3 x_mm -1500 y_mm 2000\n" in text
    moves = [line for line in text.splitlines() if "vx_mm_per_s" in line]
    assert [line.partition("set ")[2] for line in moves] == [
        "1 x_mm 3000 y_mm 4000 vx_mm_per_s 0 vy_mm_per_s -4000",
        "1 x_mm 3000 y_mm -4000 vx_mm_per_s 0 vy_mm_per_s 0",
    ]


@pytest.mark.parametrize(("y_m", "leaves"), [(100, False), (150, True)])
def test_a_station_leaves_the_range_in_any_direction(
    tmp_path: Path, y_m: int, leaves: bool
) -> None:
    """Beacons are received up to 129 m: the end is 102 or 152 m from the access point."""
    testbed = built(tmp_path, ("2s=3m/-4m", f"2s=30m/{y_m}m"))
    assert ("start node phone sh -c 'while sleep" in shell.text(traffic.plan(testbed))) == leaves


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "position: 0m/30m",
            "position: 0m/30m, distance: 3m",
            "13: topology.stations.laptop.position: is not allowed with distance; give only one",
        ),
        (
            "position: 0m/30m",
            "position: 0m/30m, access: ethernet",
            "13: topology.stations.laptop.position: is not allowed for a station on a cable",
        ),
        ("position: 0m/30m", "position: [0m, 30m]", "13: topology.stations.laptop.position: "),
        (
            "position: -1.5m/2m",
            "position: 1km",
            "10: topology.access_points.ap.position: '1km' is not a position, as in 40m or 40m/20m",
        ),
        (
            "position: 0m/30m",
            "position: 0m/132m",
            "13: topology.stations.laptop: 130m from the access point is out of reach; allowed: up "
            "to 129m with cca_threshold -90dBm",
        ),
        (
            ", error_model: snr",
            "",
            "10: topology.access_points.ap.position: is not allowed with error_model fixed; allowe",
        ),
    ],
)
def test_a_position_that_cannot_be_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(InputError) as error:
        built(tmp_path, (old, new))
    assert message in str(error.value)


def test_an_snr_needs_the_power_of_the_access_point(tmp_path: Path) -> None:
    weak = ("{position: -1.5m/2m}", "{position: -1.5m/2m, tx_power: -20dBm}")
    with pytest.raises(InputError) as error:
        built(tmp_path, weak, ("0m/30m", "0m/3m"), ("snr: 30dB", "snr: 80dB"))
    assert "topology.stations.tablet: 80dB is not allowed with tx_power -20dBm" in str(error.value)


def test_a_position_replaces_the_snr_of_the_access_point(tmp_path: Path) -> None:
    testbed = built(tmp_path, ("{position: -1.5m/2m}", "{position: 1m, snr: 20dB}"))
    assert testbed.by_name["laptop"].parameters.snr_db is None
    assert testbed.by_name["tablet"].parameters.snr_db == 30


def test_a_transmit_power_applies_to_one_radio(tmp_path: Path) -> None:
    """Stations do not inherit it. An SNR is that of the access point's signal."""
    power = ("{position: -1.5m/2m}", "{position: -1.5m/2m, tx_power: 23dBm}")
    testbed = built(tmp_path, power, ("position: 0m/30m", "position: 0m/30m, tx_power: 17.5dBm"))
    assert [testbed.by_name[name].parameters.sent_dbm for name in ("ap", "laptop", "phone")] == [
        23,
        17.5,
        20,
    ]
    text = shell.render(plan(testbed))
    added = [line for line in text.splitlines() if line.startswith("radio add")]
    assert [POWER.findall(line) for line in added] == [["23000"], [], ["17500"], []]
    before, after = (shell.render(plan(built(tmp_path, *each))) for each in ((), (power,)))
    losses = [int(each) for text in (before, after) for each in LOSS.findall(text)]
    assert len(losses) == 4 and losses[2] == losses[3] == losses[0] + 3000


@pytest.mark.parametrize(("dbm", "leaves"), [(20, False), (17, True)])
def test_a_station_leaves_the_range_of_a_weaker_transmitter(
    tmp_path: Path, dbm: int, leaves: bool
) -> None:
    """Beacons at 17 dBm are received up to 102.5 m, and the end is 104 m away."""
    changes = [("2s=3m/-4m", "2s=30m/101m"), ("{position: -1.5m/2m}", f"{{tx_power: {dbm}dBm}}")]
    text = shell.text(traffic.plan(built(tmp_path, *changes)))
    assert ("start node phone sh -c 'while sleep" in text) == leaves

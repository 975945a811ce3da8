# SPDX-License-Identifier: GPL-2.0-only
"""Stations that leave their access point for another one: plans and errors."""

import re
from pathlib import Path

import pytest
from small_experiment import write

from airtcp.backends import shell
from airtcp.errors import InputError
from airtcp.experiment.reader import load
from airtcp.steps import events, traffic
from airtcp.testbed.build import testbed_of
from airtcp.testbed.model import Testbed

EXPERIMENT = """\
name: small
title: Small
source: Nobody
description: None
parameters: {error_model: snr, duration: 5s, ping_interval: 0ms, streams: 2}
topology:
  servers:
    near: {}
  access_points:
    ap1: {channel: 36}
    ap2: {channel: 44, position: 40m, mcs: 3}
    ap3: {channel: 149, position: 90m}
  stations:
    laptop: {access_point: ap1, snr: 30dB}
    phone: {access_point: ap1, walk: "0s=0m,5s=40m"}
    desk: {access_point: ap2, access: ethernet}
flows:
  - {from: near, to: phone}
  - {from: laptop, to: near}
schedule:
  - {at: 2s, node: phone, set: {access_point: ap2}}
  - {at: 3s, node: phone, set: {mcs: 2}}
"""


def built(directory: Path, *changes: tuple[str, str]) -> Testbed:
    [case] = load(write(directory, EXPERIMENT, *changes)).cases()
    return testbed_of(case)


def scheduled(testbed: Testbed) -> str:
    return shell.text(events.start(testbed))


JOINING = """\
{
sleep 2
node phone iw dev wlan0 disconnect
configure <<'END' || exit 1
node phone
associate wlan0 ap2 5220 30
END
} & handover1=$!
"""
RATES = """\
sleep 2
must airsim link set 1 4 rate_format ht rate_mcs 7 rate_streams 2 rate_width_mhz 20 rate_gi_ns 800
sleep 1
batch airsim '
radio set 4 rate_format ht rate_mcs 2 rate_streams 2 rate_width_mhz 20 rate_gi_ns 800
link set 1 4 rate_format ht rate_mcs 2 rate_streams 2 rate_width_mhz 20 rate_gi_ns 800
'
"""


def test_a_station_joins_another_access_point(tmp_path: Path) -> None:
    """ap2 sends to the phone at the phone's rate, also when that changes again."""
    testbed = built(tmp_path)
    assert JOINING in scheduled(testbed)
    assert RATES in scheduled(testbed)
    ends = shell.text(events.end(testbed))
    assert 'kill "$handover1"' in ends and 'fail "phone did not join ap2: see the console"' in ends


def test_a_rate_that_changed_elsewhere_is_used_after_the_return(tmp_path: Path) -> None:
    """ap1 has sent to the phone at MCS 2 before."""
    schedule = """\
  - {at: 1s, node: phone, set: {mcs: 2}}
  - {at: 2s, node: phone, set: {access_point: ap2}}
  - {at: 3s, node: phone, set: {mcs: 7}}
  - {at: 4s, node: phone, set: {access_point: ap1}}
"""
    testbed = built(tmp_path, (EXPERIMENT.partition("schedule:\n")[2], schedule))
    links = re.findall(r"link set (\d 4) .*rate_mcs (\d)", scheduled(testbed))
    assert links == [("0 4", "2"), ("1 4", "2"), ("1 4", "7"), ("0 4", "7")]
    assert [queue.file for queue in testbed.queues][2:] == [
        "queues-ap1.phone.txt",
        "queues-phone.txt",
    ]


def test_stations_have_files_of_their_own(tmp_path: Path) -> None:
    alike = built(
        tmp_path,
        ("    phone: {access_point: ap1", "    ap1-laptop: {access_point: ap1"),
        ("to: phone}", "to: ap1-laptop}"),
        *[(f"node: phone, set: {each}", f"node: ap1-laptop, set: {each}") for each in ("{a", "{m")],
    )
    files = [queue.file for queue in alike.queues]
    assert len(files) == len(set(files)) == 4


def test_a_handover_may_be_the_only_event(tmp_path: Path) -> None:
    alone = built(
        tmp_path,
        (', walk: "0s=0m,5s=40m"', ", distance: 20m"),
        ("{error_model: snr,", "{error_model: snr, rate_control: minstrel,"),
        (", mcs: 3}", "}"),
        ("  - {at: 3s, node: phone, set: {mcs: 2}}\n", ""),
    )
    assert scheduled(alone) == JOINING
    assert "events" not in shell.text(events.end(alone))


def test_the_snr_is_that_to_the_new_access_point(tmp_path: Path) -> None:
    with_snr = built(tmp_path, ("node: phone, set: {acc", "node: laptop, set: {acc"))
    text = scheduled(with_snr).splitlines()
    losses = [line.rpartition(" ")[0] for line in text if "loss_mdb" in line]
    assert losses == [f"link set {ends} loss_mdb" for ends in ("1 3", "3 1")]


def test_access_points_have_positions_and_radios(tmp_path: Path) -> None:
    """ap2 has a radio only for the phone; the laptop is at its access point."""
    testbed = built(tmp_path)
    assert [(radio.node, radio.position) for radio in testbed.radios] == [
        ("ap1", (0, 0)),
        ("ap2", (40, 0)),
        ("ap3", (90, 0)),
        ("laptop", (0, 0)),
        ("phone", (0, 0)),
    ]
    assert [queue.file for queue in testbed.queues][2:] == [
        "queues-ap2.phone.txt",
        "queues-phone.txt",
    ]
    moved = built(tmp_path, ("access_point: ap1, snr", "access_point: ap3, mcs: 3, snr"))
    assert {radio.node: radio.position for radio in moved.radios}["laptop"] == (90, 0)


def test_only_stations_with_one_access_point_return_to_it(tmp_path: Path) -> None:
    """At 4 km beacons are not received."""
    far = ("5s=40m", "5s=4000m")
    joins = ("  - {at: 2s, node: phone, set: {access_point: ap2}}\n", "")
    looks = "case $(iw dev wlan0 link) in"
    assert looks in shell.text(traffic.plan(built(tmp_path, far, joins)))
    assert looks not in shell.text(traffic.plan(built(tmp_path, far)))


@pytest.mark.parametrize(("walk", "leaves"), [("0s=400m,5s=300m", False), ("0s=400m,5s=0m", True)])
def test_a_walk_leads_out_of_the_range_of_its_access_point(
    tmp_path: Path, walk: str, leaves: bool
) -> None:
    """The access point is at 400 m."""
    plan = traffic.plan(
        built(
            tmp_path,
            ('{access_point: ap1, walk: "0s=0m,5s=40m"}', f'{{access_point: ap3, walk: "{walk}"}}'),
            ("position: 90m", "position: 400m, mcs: 3"),
            ("  - {at: 2s, node: phone, set: {access_point: ap2}}\n", ""),
        )
    )
    assert ("start node phone sh -c 'while sleep 0.5" in shell.text(plan)) == leaves


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("set: {access_point: ap2", "set: {access_point: ap4", "unknown access point 'ap4'"),
        ("set: {access_point: ap2", "set: {access_point: ", "unknown access point ''"),
        ("set: {access_point: ap2", "set: {access_point: ap1", "phone is already at ap1"),
        ("set: {access_point: ap2", "set: {position: 9m", "cannot change during a run"),
        ("node: phone, set: {acc", "node: desk, set: {acc", "desk is already at ap2"),
        ("node: phone, set: {acc", "node: near, set: {acc", "cannot change for servers"),
        ("node: phone, set: {acc", "node: ap1, set: {acc", "cannot change for access_points"),
        ("channel: 44, position: 40m, mcs: 3", "channel: 6, position: 40m", "ap2 on channel 6"),
        ("mcs: 3}", "mcs: 3, streams: 1}", "its fixed rate needs 2 streams, which ap2 does"),
        ("mcs: 3}", "mcs: 3, ack_filter: multicast}", "multicast: give it to the access points"),
        (
            '5s=40m"',
            '5s=40m", ack_filter: police, ack_filter_rate: 1Mbit',
            "ack_filter police would stay at ap1; allowed: ack_filter_at router",
        ),
        ("flows:\n", "  hidden: [[phone, ap2]]\nflows:\n", "'phone' could not reach"),
        (
            "set: {access_point: ap2",
            "set: {access_point: ap2, mcs: 9",
            "9 is not allowed with 802.11n",
        ),
    ],
)
def test_impossible_changes_are_reported(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"small\.yaml:2\d: schedule\[0\]\.set\.\w+: .*{message}"):
        built(tmp_path, (old, new))


def test_a_station_that_stands_still_can_join_only_what_it_hears(tmp_path: Path) -> None:
    stands = (', walk: "0s=0m,5s=40m"', ', walk: "0s=20m"')
    assert built(tmp_path, stands)
    with pytest.raises(InputError, match=r"set\.access_point: 130m from the access point"):
        built(tmp_path, stands, ("position: 40m", "position: 150m"))


def test_only_filters_at_the_access_point_of_the_station_would_stay_there(tmp_path: Path) -> None:
    """ACKs of the laptop are filtered at its access point, those of near at that of the phone."""
    police = "ack_filter: police, ack_filter_rate: 1Mbit"
    uploads = "to: phone}\n  - {from: phone, to: laptop}\n  - {from: phone, to: near}"
    between = ("to: phone}", uploads)
    built(tmp_path, ("snr: 30dB", f"snr: 30dB, {police}"), between)
    with pytest.raises(InputError, match="ack_filter police would stay at ap1"):
        built(tmp_path, ("near: {}", f"near: {{{police}}}"), between)


def test_a_position_needs_the_error_model_snr(tmp_path: Path) -> None:
    fixed = (("error_model: snr, ", ""), (", snr: 30dB", ""), (', walk: "0s=0m,5s=40m"', ""))
    message = r"small\.yaml:11: topology\.access_points\.ap2\.position: is not allowed with error"
    with pytest.raises(InputError, match=message):
        built(tmp_path, *fixed)


def test_handovers_of_a_station_are_a_second_apart(tmp_path: Path) -> None:
    """The first one might end after the second."""
    old, new = "{at: 3s, node: phone, set: {mcs: 2}}", "{at: %s, node: phone, set: {%s: ap1}}"
    assert built(tmp_path, (old, new % ("3s", "access_point")))
    with pytest.raises(InputError, match=r"schedule\[1\]\.at: less than 1s after the one before"):
        built(tmp_path, (old, new % ("2999ms", "access_point")))

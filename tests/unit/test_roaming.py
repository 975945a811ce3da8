# SPDX-License-Identifier: GPL-2.0-only
"""Stations that choose their access points: plans, errors and programs."""

import re
from pathlib import Path

import pytest
from small_experiment import write

from airtcp import programs
from airtcp.backends import hostapd, shell
from airtcp.backends.guesttools import GuestTools
from airtcp.errors import AirtcpError, InputError
from airtcp.experiment.reader import load
from airtcp.steps.plan import plan
from airtcp.testbed.build import testbed_of
from airtcp.testbed.model import Testbed

EXPERIMENT = """\
name: small
title: Small
source: Nobody
description: None
parameters: {error_model: snr, rate_control: minstrel, duration: 5s}
topology:
  servers:
    near: {}
  access_points:
    ap1: {channel: 36}
    ap2: {channel: 36, position: 40m}
    ap3: {channel: 149, position: 9000m}
  stations:
    laptop: {access_point: ap2, snr: 30dB}
    phone: {access_point: ap1, walk: "0s=0m,5s=4000m", roam_below: -70.4dBm}
flows:
  - {from: near, to: phone}
  - {from: laptop, to: near}
schedule:
  - {at: 2s, node: laptop, set: {access_point: ap1}}
"""


def built(directory: Path, *changes: tuple[str, str]) -> Testbed:
    [case] = load(write(directory, EXPERIMENT, *changes)).cases()
    return testbed_of(case)


def test_wpa_supplicant_looks_for_a_stronger_access_point(tmp_path: Path) -> None:
    testbed = built(tmp_path)
    text = shell.text(plan(testbed))
    assert (
        'network={\n\tssid="airtcp"\n\tkey_mgmt=NONE\n\tscan_freq=5180 5745\n'
        '\tbgscan="simple:1:-70:3600"\n}\n'
    ) in text
    # If a scan misses an access point, the other one finds it.
    assert (
        "must iw dev wlan0 scan freq 5180 5745 >/dev/null\n"
        "must wpa_supplicant -B -i wlan0 -D nl80211 -t -f wpa_supplicant-phone.log "
        "-c /tmp/wpa_supplicant-phone.conf\n"
    ) in text
    assert "\ncarrier wlan0 30 the station is associated\n" in text
    # wpa_supplicant also joins again what is in range again.
    assert "case $(iw dev wlan0 link)" not in text


def test_other_stations_join_their_access_points_by_address(tmp_path: Path) -> None:
    """All access points have the same name, ap1 and ap2 also the same channel."""
    text = shell.text(plan(built(tmp_path)))
    assert re.findall("^ssid=.*", text, re.M) == ["ssid=airtcp"] * 3
    assert re.findall("^associate .*", text, re.M) == [
        "associate wlan0 airtcp 5180 30 02:61:69:72:01:00",
        "associate wlan0 airtcp 5180 30 02:61:69:72:00:00",
    ]


def test_a_station_that_walks_away_joins_again_by_address(tmp_path: Path) -> None:
    text = shell.text(
        plan(
            built(
                tmp_path,
                ("ap2, snr: 30dB", 'ap2, walk: "0s=0m,5s=4000m"'),
                (EXPERIMENT[EXPERIMENT.index("schedule:") :], ""),
            )
        )
    )
    assert "iw dev wlan0 connect airtcp 5180 02:61:69:72:01:00; esac" in text


def test_queues_of_any_access_point_are_kept(tmp_path: Path) -> None:
    testbed = built(tmp_path)
    files = [queue.file for queue in testbed.queues if "phone" in queue.file]
    assert files == [
        *("queues-ap1.phone.txt", "queues-phone.txt"),
        *("queues-ap2.phone.txt", "queues-phone.txt"),
        *("queues-ap3.phone.txt", "queues-phone.txt"),
    ]
    assert all(queue.optional for queue in testbed.queues)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("-70.4dBm", "-70", "'-70' is not a level; write a number and dBm"),
        ("-70.4dBm", "3dBm", "'3dBm' is out of range; allowed: -100dBm to 0dBm"),
        ("149, position: 9000m", "6, position: 9000m", "ap1 is on channel 36, ap3 on channel 6"),
        (
            'walk: "0s=0m,5s=4000m"',
            "snr: 20dB",
            "needs error_model snr, and distance, walk or position instead of snr",
        ),
        ("rate_control: minstrel, ", "", "needs rate_control minstrel or ideal"),
        ('walk: "0s=0m,5s=4000m"', "access: ethernet", "a station on a cable cannot roam"),
        ("flows:\n", "  hidden: [[phone, ap2]]\nflows:\n", "'phone' could not reach"),
    ],
)
def test_settings_that_prevent_roaming_are_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    where = r"small\.yaml:1\d: topology\.stations\.phone\.roam_below: "
    with pytest.raises(InputError, match=f"{where}.*{message}"):
        built(tmp_path, (old, new))


def test_roaming_needs_another_access_point(tmp_path: Path) -> None:
    alone = EXPERIMENT[EXPERIMENT.index("    ap2: {") : EXPERIMENT.index("  stations:")]
    schedule = EXPERIMENT[EXPERIMENT.index("schedule:") :]
    with pytest.raises(InputError, match="roam_below: there is no other access point"):
        built(tmp_path, (alone, ""), ("access_point: ap2", "access_point: ap1"), (schedule, ""))


def test_a_flow_to_an_unknown_host_is_reported_beside_roaming(tmp_path: Path) -> None:
    message = r"small\.yaml:\d+: flows\[0\]\.to: unknown host 'phon'; did you mean 'phone'"
    with pytest.raises(InputError, match=message):
        built(tmp_path, ("to: phone", "to: phon"))


def test_the_schedule_cannot_choose_the_access_point(tmp_path: Path) -> None:
    message = r"schedule\[0\]\.set\.access_point: phone chooses its access point by roam_below"
    with pytest.raises(InputError, match=message):
        built(
            tmp_path,
            ("node: laptop, set: {access_point: ap1", "node: phone, set: {access_point: ap2"),
        )


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GuestTools:
    monkeypatch.setenv("AIRTCP_CACHE", str(tmp_path / "cache"))
    hostapd.with_wpa_supplicant.cache_clear()
    tools = GuestTools(tmp_path / "tools")
    (tools.root / "bin").mkdir(parents=True)
    return tools


def test_only_guests_with_stations_that_roam_have_wpa_supplicant(
    tmp_path: Path, tools: GuestTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        programs, "find", lambda name: "/bin/cat" if "wpa" in name else f"/sbin/{name}"
    )
    roaming = built(tmp_path)
    stays = built(tmp_path, (", roam_below: -70.4dBm", ""))
    assert hostapd.tools_for(tools, stays) == tools
    added = hostapd.tools_for(tools, roaming)
    assert (added.root / "bin" / "wpa_supplicant").read_bytes() == Path("/bin/cat").read_bytes()
    assert hostapd.tools_for(added, roaming) == added


def test_a_missing_wpa_supplicant_is_one_line(
    tmp_path: Path, tools: GuestTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "find", lambda name: None)
    with pytest.raises(AirtcpError, match="roam_below: stations need wpa_supplicant; install it"):
        hostapd.tools_for(tools, built(tmp_path))

# SPDX-License-Identifier: GPL-2.0-only
"""A station that chooses its access point during a download."""

import re
from pathlib import Path

from guests import goodputs_mbps, run_text

from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.experiment import Setting
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.sweep.request import RunRequest, run_directory
from airtcp.sweep.run import run_one
from airtcp.testbed.addresses import radio_mac

SETTINGS = ("ack_policy=default", "ping_interval=0ms", "capture=air")


def roam(kernel: Kernel, tools: GuestTools, out_dir: Path) -> Path:
    """The directory of a run of the experiment."""
    [case] = load("roaming").cases([Setting.parse(text) for text in SETTINGS])
    result = run_one(RunRequest.of(kernel, tools, case, 1), out_dir)
    assert result.error is None
    return run_directory(out_dir, case, 1)


def test_a_station_joins_the_stronger_access_point(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """Between them after 5 s, it joins the other one when that is stronger by some decibels."""
    first, second = (roam(lab_kernel, tools, tmp_path / name) for name in ("first", "second"))
    log = (first / "wpa_supplicant-phone.log").read_text()
    joined = re.findall(r"^([\d.]+): wlan0: CTRL-EVENT-CONNECTED - Connection to (\S+)", log, re.M)
    assert [address for _, address in joined] == [radio_mac(0), radio_mac(1)]
    mbps = goodputs_mbps(first)
    print(joined, [round(each) for each in mbps])
    assert 5.5 < float(joined[1][0]) - float(joined[0][0]) < 9
    assert min(mbps[5:8]) < 0.5 * min(mbps[1], mbps[9])
    assert (first / "queues-ap2.phone.txt").exists()
    for name in ("air.pcapng", "wpa_supplicant-phone.log"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


TWO_CELLS = """\
name: same-channel
title: Same channel
source: Nobody
description: None
parameters: {error_model: snr, rate_control: minstrel, duration: 2s, ping_interval: 0ms}
topology:
  servers:
    server: {}
  access_points:
    ap1: {}
    ap2: {position: 10m}
  stations:
    phone: {access_point: ap2, distance: 1m, roam_below: -90dBm}
    laptop: {access_point: ap1, distance: 9m}
flows:
  - {from: phone, to: server}
  - {from: laptop, to: server}
"""


def test_only_stations_that_roam_choose(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """Both are next to the access point that the file does not give them."""
    result = run_text(TWO_CELLS, lab_kernel, tools, tmp_path)
    assert {station.name: station.access_point for station in result.stations} == {
        "phone": "ap1",
        "laptop": "ap1",
    }


MANY = """\
name: many
title: Many access points
parameters: {error_model: snr, rate_control: minstrel, duration: 1s, ping_interval: 0ms}
topology:
  servers:
    server: {}
  access_points:
    ap1: {}
    ap2: {position: 20m}
    ap3: {position: 40m}
    ap4: {position: 60m, channel: 44}
  stations:
    one: {access_point: ap1, position: 1m, roam_below: -65dBm}
    two: {access_point: ap2, position: 21m, roam_below: -65dBm}
    three: {access_point: ap3, position: 41m, roam_below: -65dBm}
flows:
  - {from: server, to: three}
"""


def test_a_station_that_roams_starts_at_the_nearest_access_point(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """The scan of wpa_supplicant itself does not find that of the third station."""
    result = run_text(MANY, lab_kernel, tools, tmp_path)
    joined = {station.name: station.access_point for station in result.stations}
    assert joined == {"one": "ap1", "two": "ap2", "three": "ap3"}

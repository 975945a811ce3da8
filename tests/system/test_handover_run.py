# SPDX-License-Identifier: GPL-2.0-only
"""A station that joins another access point during a download."""

from pathlib import Path

from guests import goodputs_mbps, run_text

from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.experiment import Setting
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.sweep.request import RunRequest, run_directory
from airtcp.sweep.run import run_one

# The phone sends nothing but ACKs, so bridges learn the new way only from the access point.
SETTINGS = ("ack_policy=default", "ping_interval=0ms")


def test_a_download_continues_at_the_new_access_point(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """It walks past the middle after 5 s, where it joins the other one."""
    [case] = load("handover").cases([Setting.parse(text) for text in SETTINGS])
    result = run_one(RunRequest.of(lab_kernel, tools, case, 1), tmp_path)
    assert result.error is None
    directory = run_directory(tmp_path, case, 1)
    mbps = goodputs_mbps(directory)
    print([round(each) for each in mbps])
    assert len(mbps) == 10
    assert min(mbps) == mbps[5] > 10  # of the six seconds without a handover
    assert min(mbps[1], mbps[8]) > 1.2 * max(mbps[4], mbps[6])
    [best_effort, *_] = (directory / "queues-ap2.phone.txt").read_text().splitlines()[1:]
    sent_bytes = int(best_effort.split()[9])
    print(f"ap2 sent {sent_bytes} bytes")
    assert 0.9 < sent_bytes / (sum(mbps[5:]) / 8 * 1e6) < 1.2
    assert not (directory / "queues-ap1.phone.txt").exists()


RETURNING = """\
name: returning
title: Returning
source: Nobody
description: None
parameters: {duration: 5s, delay: 2ms, ping_interval: 0ms, mcs: 3}
topology:
  servers:
    server: {}
  access_points:
    ap1: {}
    ap2: {mcs: 5}
  stations:
    phone: {access_point: ap1, power_save: on}
    laptop: {access_point: ap2}
flows:
  - {from: phone, to: server}
schedule:
  - {at: 1s, node: phone, set: {access_point: ap2}}
  - {at: 3s, node: phone, set: {access_point: ap1}}
"""


def test_an_upload_continues_after_the_return(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """On one channel, with power save and fixed rates, which differ between the access points."""
    result = run_text(RETURNING, lab_kernel, tools, tmp_path)
    mbps = goodputs_mbps(result.directory(tmp_path))
    print([round(each, 1) for each in mbps])
    assert min(mbps) > 10
    assert [station.access_point for station in result.stations] == ["ap1", "ap2"]
    phone, laptop = result.stations
    print(phone, laptop)
    assert laptop.airtime_down_s is not None and laptop.airtime_down_s < 0.01
    assert phone.airtime_up_s is not None and 4 < phone.airtime_up_s < 5

# SPDX-License-Identifier: GPL-2.0-only
"""A server forwards packets between two stations of an access point."""

from pathlib import Path

from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one

TEXT = """\
name: forwarded
title: Forwarded
source: Nobody
description: None
parameters: {duration: 2s, delay: 15ms, return_delay: 15ms, rate: 20Mbit, rate_latency: 20ms}
topology:
  servers:
    relay: {}
  access_points:
    ap: {}
  stations:
    laptop: {access_point: ap}
    phone: {access_point: ap}
flows:
  - {from: laptop, to: phone, via: relay}
design:
  - ack_policy: [default]
"""


def test_packets_are_forwarded_by_the_server(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """Its cable is crossed twice in each direction, and its rate is the limit."""
    path = tmp_path / "forwarded.yaml"
    path.write_text(TEXT)
    [case] = load(path).cases()
    result = run_one(RunRequest.of(lab_kernel, tools, case, 1), tmp_path)
    assert result.error is None
    assert 60 < result.values["ping_rtt_ms_p50"] < 120
    assert 5 < result.values["goodput_mbps"] < 20

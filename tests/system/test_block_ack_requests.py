# SPDX-License-Identifier: GPL-2.0-only
"""airsim's counters of BlockAckReqs, its own and those of mac80211."""

from pathlib import Path

import pytest
from radio import Cell, counted, flow, run

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.testbed.addresses import radio_mac

HT = Parameters().replace(
    {"standard": "802.11n", "width": "40MHz", "guard_interval": "400ns", "mcs": 5, "streams": 2}
)
CELLS = [Cell("ap", ["sta"], HT)]
SATURATED = flow(CELLS, "ap", "sta", 4) + "sleep 0.5\nsample before\n"


def test_those_of_mac80211_are_counted(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """For MPDUs that are given up, it moves the receiver's window."""
    keys = "bar off retry_limit 2 mpdu_error_ppm 400000"
    run(lab_kernel, tools, tmp_path, CELLS, SATURATED + "sleep 3\nsample after\n", keys=keys)
    sample = counted(tmp_path)
    ap, sta = sample.nodes["ap"], sample.nodes["sta"]
    print(f"{ap['ppdus']} PPDUs, {ap['bar_sent']} BlockAckReqs")
    assert ap["bar_sent"] > 0.2 * ap["ppdus"]
    # Beacons, too, are received.
    assert sta["received"] == pytest.approx(sta["packets"] + ap["bar_sent"], abs=100)


def test_those_of_the_radio_are_airtime_of_their_receiver(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    shown = f"grep '^0 {radio_mac(1)} present' /sys/kernel/debug/airsim/peers"
    script = f"must airsim radio set 0 response_error_ppm 100000\n{SATURATED}{shown} >peer0\n"
    script += f"sleep 3\nsample after\n{shown} >peer1\n"
    run(lab_kernel, tools, tmp_path, CELLS, script, keys="bar on ampdu_mpdus 2")
    ap = counted(tmp_path).nodes["ap"]
    before_ns, after_ns = (int((tmp_path / f"peer{n}").read_text().split()[3]) for n in (0, 1))
    others_ns = ap["tx_airtime_ns"] - (after_ns - before_ns)
    print(f"{ap['bar_sent']} BlockAckReqs; airtime of other receivers {others_ns} ns")
    assert ap["bar_sent"] > 500
    # Three beacons or four.
    assert 0 < others_ns < 3e6

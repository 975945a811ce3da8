# SPDX-License-Identifier: GPL-2.0-only
"""Cables and slow processors take exactly their time for each frame, although timers are late."""

import pytest
from guests import Measure

UDP = ("access=ethernet", "protocol=udp", "capture=off", "duration=1s")


def test_cables_have_their_rate(measure: Measure) -> None:
    """A frame with a payload of 1472 bytes takes the time of 1538 bytes."""
    goodput_mbps = measure(*UDP, "ethernet_rate=1Gbit", "udp_rate=1Gbit").values["goodput_mbps"]
    assert goodput_mbps == pytest.approx(1000 * 1472 / 1538, rel=0.002)


def test_processors_take_their_time_for_packets(measure: Measure) -> None:
    router = ("router=custom", "router_packet=50us", "router_byte=1ns")
    goodput_mbps = measure(*UDP, *router, "udp_rate=300Mbit").values["goodput_mbps"]
    assert goodput_mbps == pytest.approx(8 * 1472 / (50 + 1.514), rel=0.002)

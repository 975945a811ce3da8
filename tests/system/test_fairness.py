# SPDX-License-Identifier: GPL-2.0-only
"""Saturated stations with the same settings get equal shares, whatever these settings are."""

import pytest
from guests import Measure

CELL = (
    *("stations=4", "protocol=udp", "duration=3s", "preset=generic", "txq_limit=preset"),
    *("width=40MHz", "streams=2", "mcs=7", "guard_interval=800ns"),
)
LEGACY = ("width=20MHz", "streams=1", "mcs=7")


@pytest.mark.parametrize("direction", ["download", "upload"])
@pytest.mark.parametrize(
    "settings",
    [
        ("error_rate=0.2",),
        ("response_error_rate=0.05",),
        ("rate_control=minstrel",),
        ("error_model=snr", "distance=30m", "rate_control=minstrel"),
        ("rts_threshold=0B",),
        ("amsdu=on",),
        ("queue=fifo",),
        ("queue=fifo", "fifo_mpdus=16"),
        ("formed_ppdus=2", "completion=5ms"),
        ("power_save=on",),
        (*LEGACY, "standard=802.11a"),
        (*LEGACY, "standard=802.11a", "wmm=off"),
        (*LEGACY, "standard=802.11g", "channel=6", "rate_control=minstrel"),
        ("standard=802.11ax", "width=80MHz", "ul_ofdma=on"),
    ],
    ids=" ".join,
)
def test_stations_get_equal_shares(
    measure: Measure, settings: tuple[str, ...], direction: str
) -> None:
    values = measure(*CELL, *settings, f"direction={direction}").values
    print(f"{values['goodput_mbps']:.1f} Mbit/s, Jain's index {values['goodput_jain']:.3f}")
    assert values["goodput_mbps"] > 20
    assert values["goodput_jain"] > 0.95

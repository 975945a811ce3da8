# SPDX-License-Identifier: GPL-2.0-only
"""For each standard, `iw` reports the requested channel and rate."""

from collections.abc import Sequence
from pathlib import Path

import newer_hostapd
import pytest
from guests import Measure

from airtcp.steps import step
from airtcp.steps.plan import plan
from airtcp.sweep import request

SIX_GHZ = ("standard=802.11be", "channel=37", "guard_interval=800ns", "preset=generic")

# Changes to thesis-lan (40 MHz, MCS 5, two streams); width and centre; receive rate.
LINKS = [
    (
        ("standard=802.11a", "width=20MHz", "streams=1", "guard_interval=800ns"),
        "width: 20 MHz (no HT), center1: 5180 MHz",
        "54.0 MBit/s",
    ),
    (
        ("standard=802.11g", "channel=6", "width=20MHz", "streams=1", "guard_interval=800ns"),
        "width: 20 MHz (no HT), center1: 2437 MHz",
        "54.0 MBit/s",
    ),
    (
        ("channel=11", "width=20MHz", "mcs=7"),
        "width: 20 MHz, center1: 2462 MHz",
        "144.4 MBit/s MCS 15 short GI",
    ),
    (
        ("channel=44", "mcs=7"),
        "width: 40 MHz, center1: 5230 MHz",
        "300.0 MBit/s MCS 15 40MHz short GI",
    ),
    (
        ("standard=802.11ac", "width=20MHz", "mcs=8"),
        "width: 20 MHz, center1: 5180 MHz",
        "173.3 MBit/s VHT-MCS 8 short GI VHT-NSS 2",
    ),
    (
        ("standard=802.11ac", "width=80MHz", "channel=149"),
        "width: 80 MHz, center1: 5775 MHz",
        "520.0 MBit/s VHT-MCS 5 80MHz short GI VHT-NSS 2",
    ),
    (
        ("standard=802.11ac", "width=160MHz", "streams=4", "mcs=9"),
        "width: 160 MHz, center1: 5250 MHz",
        "3466.7 MBit/s VHT-MCS 9 160MHz short GI VHT-NSS 4",
    ),
    (
        ("standard=802.11ax", "channel=1", "width=20MHz", "guard_interval=800ns", "mcs=11"),
        "width: 20 MHz, center1: 2412 MHz",
        "286.7 MBit/s HE-MCS 11 HE-NSS 2 HE-GI 0",
    ),
    (
        ("standard=802.11ax", "width=80MHz", "guard_interval=3200ns", "mcs=11"),
        "width: 80 MHz, center1: 5210 MHz",
        "1020.8 MBit/s 80MHz HE-MCS 11 HE-NSS 2 HE-GI 2",
    ),
    (
        ("standard=802.11be", "channel=6", "width=20MHz", "guard_interval=800ns", "mcs=13"),
        "width: 20 MHz, center1: 2437 MHz",
        "344.1 MBit/s EHT-MCS 13 EHT-NSS 2 EHT-GI 0",
    ),
    (
        ("standard=802.11be", "width=160MHz", "guard_interval=1600ns", "streams=4", "mcs=12"),
        "width: 160 MHz, center1: 5250 MHz",
        "4899.0 MBit/s 160MHz EHT-MCS 12 EHT-NSS 4 EHT-GI 1",
    ),
    (
        (*SIX_GHZ, "width=40MHz", "mcs=0", "streams=1"),
        "width: 40 MHz, center1: 6125 MHz",
        "17.2 MBit/s 40MHz EHT-MCS 0 EHT-NSS 1 EHT-GI 0",
    ),
    (
        (*SIX_GHZ, "width=320MHz", "mcs=13"),
        "width: 320 MHz, center1: 6105 MHz",
        "5764.6 MBit/s 320MHz EHT-MCS 13 EHT-NSS 2 EHT-GI 0",
    ),
    (
        ("standard=802.11ax", "width=160MHz", "guard_interval=1600ns", "streams=4"),
        "width: 160 MHz, center1: 5250 MHz",
        "2177.5 MBit/s 160MHz HE-MCS 5 HE-NSS 4 HE-GI 1",
    ),
]


def with_queries(steps: Sequence[step.Step], queries: Sequence[step.Step]) -> list[step.Step]:
    """The steps, with queries after the transfer, while the stations are still associated."""
    at = steps.index(step.run("airsim radio show", stdout="radios.txt"))
    return [*steps[:at], *queries, *steps[at:]]


@pytest.mark.parametrize(("settings", "channel", "rate"), LINKS)
def test_link_has_the_requested_channel_and_rate(
    measure: Measure,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    settings: tuple[str, ...],
    channel: str,
    rate: str,
) -> None:
    if "standard=802.11be" in settings:
        newer_hostapd.supplicant() if "channel=37" in settings else newer_hostapd.path()
    queries = [
        step.run(f"iw dev wlan0 {what}", node="station", stdout=f"iw-{what}.txt")
        for what in ("info", "link")
    ]
    monkeypatch.setattr(request, "plan", lambda *of: with_queries(plan(*of), queries))
    result = measure(*settings, "rate=5Mbit", "duration=1s")
    assert result.error is None
    files = [tmp_path / result.artifacts[query.stdout].path for query in queries]
    lines = [line for file in files for line in file.read_text().splitlines()]
    [tuned] = [line for line in lines if "channel" in line]
    [received] = [line for line in lines if "rx bitrate" in line]
    assert channel in tuned
    assert rate in received

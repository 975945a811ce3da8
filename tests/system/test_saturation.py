# SPDX-License-Identifier: GPL-2.0-only
"""Goodput of a single saturated sender at many rates, compared with durations from the standard.

tests/support/wifi_timing.py computes these without the driver's code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from radio import MPDU_OCTETS, OCTETS, Cell, difference, flow, mbps, run
from wifi_timing import Format, Rate, legacy, most_mpdus, saturated_goodput_mbps

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain


@dataclass(frozen=True)
class Radio:
    """A radio, and the limits of its A-MPDUs. mpdu_octets: with the encryption of WPA3 at 6 GHz.

    buffer: of the sender, for four A-MPDUs; the kernel charges up to 2816 octets for a datagram.
    """

    standard: str
    width: str
    streams: int = 4
    channel: int = 36
    window: int = 64
    octets: int = 1048575
    spacing_us: float = 0.0
    mpdu_octets: int = MPDU_OCTETS
    buffer: int = 4 * 256 * 2816
    tolerance: float = 0.01


CCMP_OCTETS = 8 + 8
# mac80211 asks for 1023 at most.
_EHT: dict[str, Any] = {
    "window": 1023,
    "octets": 15523200,
    "buffer": 4 * 1024 * 2816,
    "tolerance": 0.005,
}
RADIOS = {
    "802.11a": Radio("802.11a", "20MHz", streams=1),
    # Requires 8 us between the starts of two MPDUs.
    "802.11n": Radio("802.11n", "40MHz", octets=65535, spacing_us=8.0),
    "802.11ac": Radio("802.11ac", "160MHz"),
    "802.11ax": Radio("802.11ax", "160MHz", window=256),
    "802.11be": Radio("802.11be", "160MHz", **_EHT),
    "802.11be at 6 GHz": Radio(
        "802.11be", "320MHz", channel=37, mpdu_octets=MPDU_OCTETS + CCMP_OCTETS, **_EHT
    ),
}
SLOW = ("802.11ac", "802.11ax", "802.11be", "802.11be at 6 GHz")


@dataclass(frozen=True)
class Point:
    """A rate and the limits of aggregation."""

    rate: Rate
    mpdus: int = 1024
    octets: int = 15523200
    duration_us: int = 5484

    def keys(self) -> str:
        rate = self.rate
        if rate.format in (Format.CCK, Format.OFDM):
            what = f"rate_format {rate.format} rate_legacy_kbps {rate.legacy_kbps}"
        else:
            what = (
                f"rate_format {rate.format} rate_mcs {rate.mcs} rate_streams {rate.streams} "
                f"rate_width_mhz {rate.width_mhz} rate_gi_ns {rate.gi_ns}"
            )
        return (
            f"{what} ampdu_mpdus {self.mpdus} ampdu_octets {self.octets} "
            f"ampdu_duration_us {self.duration_us}"
        )

    def expected_mbps(self, radio: Radio) -> float:
        return saturated_goodput_mbps(
            self.rate,
            OCTETS,
            radio.mpdu_octets,
            ampdu_mpdus=self.mpdus,
            ampdu_octets=min(self.octets, radio.octets),
            ampdu_us=self.duration_us,
            ba_window=radio.window,
            min_spacing_us=radio.spacing_us,
        )

    def seconds(self, radio: Radio) -> float:
        """Long enough for a standard error of 0.125% due to the backoff, and for 300 PPDUs."""
        mpdus = most_mpdus(
            self.rate,
            radio.mpdu_octets,
            limit=min(self.mpdus, radio.window),
            ampdu_octets=min(self.octets, radio.octets),
            ampdu_us=self.duration_us,
            min_spacing_us=radio.spacing_us,
        )
        cycle_us = 8 * OCTETS * mpdus / self.expected_mbps(radio)
        spread_us = 41.5
        return max(300 * cycle_us, (spread_us / 0.00125) ** 2 / cycle_us) / 1e6


def _ht() -> list[Point]:
    points = [
        Point(Rate(Format.HT, mcs, streams, width, gi))
        for width in (20, 40)
        for streams in (1, 2, 3, 4)
        for mcs, gi in ((0, 800), (4, 400), (7, 400))
    ]
    best = Rate(Format.HT, 5, 2, 40, 400)
    points += [Point(best, mpdus=mpdus) for mpdus in (1, 2, 8, 32)]
    points += [Point(best, octets=octets) for octets in (8191, 16383, 32767)]
    points += [Point(best, duration_us=us) for us in (500, 1000, 4000)]
    return points


def _vht() -> list[Point]:
    points = [
        Point(Rate(Format.VHT, mcs, streams, width, gi))
        for width, streams, mcs, gi in (
            *((20, 1, 8, 400), (20, 3, 9, 800), (40, 1, 9, 400), (40, 2, 0, 800)),
            *((80, 1, 9, 400), (80, 2, 9, 400), (80, 3, 7, 800), (80, 4, 9, 400)),
            *((160, 1, 9, 400), (160, 2, 8, 800), (160, 4, 7, 400), (160, 4, 9, 400)),
        )
    ]
    fast = Rate(Format.VHT, 9, 2, 80, 400)
    points += [Point(fast, mpdus=mpdus) for mpdus in (1, 4, 16)]
    points += [Point(fast, octets=octets) for octets in (16383, 65535)]
    points += [Point(Rate(Format.VHT, 0, 1, 80, 800), duration_us=us) for us in (1500, 5484)]
    return points


def _he() -> list[Point]:
    points = [
        Point(Rate(Format.HE, mcs, streams, width, gi))
        for width, streams, mcs, gi in (
            *((20, 1, 11, 800), (20, 2, 0, 3200), (40, 1, 7, 1600), (40, 2, 11, 800)),
            *((80, 1, 5, 3200), (80, 2, 11, 800), (80, 3, 9, 1600), (80, 4, 11, 800)),
            *((160, 1, 11, 1600), (160, 2, 11, 3200), (160, 3, 3, 800), (160, 4, 11, 800)),
        )
    ]
    fast = Rate(Format.HE, 11, 2, 80, 800)
    points += [Point(fast, mpdus=mpdus) for mpdus in (1, 16, 64, 128)]
    points += [Point(fast, octets=octets) for octets in (65535, 262143)]
    points += [Point(Rate(Format.HE, 0, 1, 20, 1600), duration_us=us) for us in (2000, 5484)]
    return points


def _eht() -> list[Point]:
    points = [
        Point(Rate(Format.EHT, mcs, streams, width, gi))
        for width, streams, mcs, gi in (
            *((20, 1, 13, 800), (20, 2, 0, 3200), (40, 1, 12, 1600), (40, 3, 11, 800)),
            *((80, 1, 5, 3200), (80, 2, 13, 800), (80, 4, 12, 1600)),
            *((160, 1, 12, 1600), (160, 2, 13, 3200), (160, 4, 13, 800)),
        )
    ]
    fast = Rate(Format.EHT, 13, 2, 160, 800)
    points += [Point(fast, mpdus=mpdus) for mpdus in (1, 64, 256, 300, 512, 700)]
    points += [Point(fast, octets=octets) for octets in (65535, 1048575)]
    points += [Point(Rate(Format.EHT, 0, 1, 20, 1600), duration_us=us) for us in (2000, 5484)]
    return points


def _eht_320() -> list[Point]:
    points = [
        Point(Rate(Format.EHT, mcs, streams, 320, gi))
        for streams, mcs, gi in ((1, 0, 3200), (1, 13, 800), (2, 11, 1600), (4, 12, 800))
    ]
    fast = Rate(Format.EHT, 13, 4, 320, 800)
    points += [Point(fast, mpdus=mpdus) for mpdus in (256, 1024)]
    return [*points, Point(Rate(Format.EHT, 9, 2, 40, 800)), Point(legacy(24000))]


POINTS: dict[str, list[Point]] = {
    "802.11a": [
        Point(legacy(kbps)) for kbps in (6000, 9000, 12000, 18000, 24000, 36000, 48000, 54000)
    ],
    "802.11n": _ht(),
    "802.11ac": _vht(),
    "802.11ax": _he(),
    "802.11be": _eht(),
    "802.11be at 6 GHz": _eht_320(),
}


def test_table_has_at_least_60_different_points() -> None:
    points = [(name, point) for name, rows in POINTS.items() for point in rows]
    assert len(set(points)) == len(points) >= 60
    assert POINTS.keys() == RADIOS.keys()


def _script(cells: Sequence[Cell], name: str) -> str:
    points, radio = POINTS[name], RADIOS[name]
    total_s = sum(point.seconds(radio) + 0.3 for point in points) + 10
    parts = [flow(cells, "ap", "sta", total_s, 0, radio.buffer), "sleep 0.2\n"]
    for number, point in enumerate(points):
        parts.append(
            f"must airsim radio set 0 {point.keys()}\n"
            f"sleep 0.2\nsample before-{number}\n"
            f"sleep {point.seconds(radio):.3f}\nsample after-{number}\n"
        )
    return "".join(parts)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in SLOW else []) for name in POINTS],
)
def test_single_sender_reaches_the_goodput_of_the_standard(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, name: str
) -> None:
    radio = RADIOS[name]
    values: dict[str, Plain] = {"standard": radio.standard, "width": radio.width}
    values |= {"channel": radio.channel, "streams": radio.streams}
    parameters = Parameters().replace(values)
    cells = [Cell("ap", ["sta"], parameters)]
    run(lab_kernel, tools, tmp_path, cells, _script(cells, name))
    wrong = []
    for number, point in enumerate(POINTS[name]):
        sample = difference(tmp_path / f"before-{number}", tmp_path / f"after-{number}")
        measured_mbps = mbps(sample)
        expected_mbps = point.expected_mbps(radio)
        ratio = measured_mbps / expected_mbps
        print(f"{name} {point}: {measured_mbps:.2f} of {expected_mbps:.2f}, {ratio:.4f}")
        if abs(ratio - 1) > radio.tolerance:
            wrong.append(f"{point}: {measured_mbps:.2f} instead of {expected_mbps:.2f} Mbit/s")
    assert not wrong, "\n".join(wrong)

# SPDX-License-Identifier: GPL-2.0-only
"""Goodput of a single saturated sender at many rates, compared with durations from the standard.

tests/support/wifi_timing.py computes these without the driver's code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from radio import MPDU_OCTETS, OCTETS, Cell, difference, flow, run
from wifi_timing import Format, Rate, legacy, ppdu_us, saturated_goodput_mbps

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters

OF_STANDARD = {
    "802.11a": Format.OFDM,
    "802.11n": Format.HT,
    "802.11ac": Format.VHT,
    "802.11ax": Format.HE,
}
WIDEST = {"802.11a": "20MHz", "802.11n": "40MHz", "802.11ac": "160MHz", "802.11ax": "160MHz"}

# 802.11n radios require 8 us between the starts of two MPDUs, others no spacing.
SPACING_US = {"802.11n": 8.0}
WINDOW = {"802.11ax": 256}


@dataclass(frozen=True)
class Point:
    """A rate and the limits of aggregation."""

    rate: Rate
    mpdus: int = 256
    octets: int = 1048575
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

    def expected_mbps(self, standard: str) -> float:
        max_octets = 65535 if standard == "802.11n" else 1048575
        return saturated_goodput_mbps(
            self.rate,
            OCTETS,
            MPDU_OCTETS,
            ampdu_mpdus=self.mpdus,
            ampdu_octets=min(self.octets, max_octets),
            ampdu_us=self.duration_us,
            ba_window=WINDOW.get(standard, 64),
            min_spacing_us=SPACING_US.get(standard, 0),
        )

    def seconds(self, standard: str) -> float:
        """Long enough for an error of 0.25% of the mean backoff, and for 300 PPDUs."""
        mpdus = min(self.mpdus, WINDOW.get(standard, 64), self.octets // MPDU_OCTETS)
        single_us = ppdu_us(self.rate, MPDU_OCTETS)
        cycle_us = max(single_us, min(self.duration_us, 8 * MPDU_OCTETS * mpdus / 100)) + 150
        spread_us = 41.5
        return max(300 * cycle_us, (spread_us / 0.0025) ** 2 / cycle_us) / 1e6


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


POINTS: dict[str, list[Point]] = {
    "802.11a": [
        Point(legacy(kbps)) for kbps in (6000, 9000, 12000, 18000, 24000, 36000, 48000, 54000)
    ],
    "802.11n": _ht(),
    "802.11ac": _vht(),
    "802.11ax": _he(),
}


def test_table_has_at_least_60_different_points() -> None:
    points = [(standard, point) for standard, rows in POINTS.items() for point in rows]
    assert len(set(points)) == len(points) >= 60


def _script(cells: Sequence[Cell], standard: str) -> str:
    points = POINTS[standard]
    total_s = sum(point.seconds(standard) + 0.3 for point in points) + 10
    parts = [flow(cells, "ap", "sta", total_s), "sleep 0.2\n"]
    for number, point in enumerate(points):
        parts.append(
            f"must airsim radio set 0 {point.keys()}\n"
            f"sleep 0.2\nsample before-{number}\n"
            f"sleep {point.seconds(standard):.3f}\nsample after-{number}\n"
        )
    return "".join(parts)


@pytest.mark.parametrize(
    "standard",
    [
        pytest.param(name, marks=pytest.mark.slow if name in ("802.11ac", "802.11ax") else [])
        for name in POINTS
    ],
)
def test_single_sender_reaches_the_goodput_of_the_standard(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, standard: str
) -> None:
    streams = {} if standard == "802.11a" else {"streams": 4}
    parameters = Parameters().replace({"standard": standard, "width": WIDEST[standard], **streams})
    cells = [Cell("ap", ["sta"], parameters)]
    run(lab_kernel, tools, tmp_path, cells, _script(cells, standard))
    wrong = []
    for number, point in enumerate(POINTS[standard]):
        sample = difference(tmp_path / f"before-{number}", tmp_path / f"after-{number}")
        measured_mbps = sample.nodes["sta"]["packets"] * OCTETS * 8 / sample.time_s / 1e6
        expected_mbps = point.expected_mbps(standard)
        ratio = measured_mbps / expected_mbps
        print(f"{standard} {point}: {measured_mbps:.2f} of {expected_mbps:.2f}, {ratio:.4f}")
        if abs(ratio - 1) > 0.01:
            wrong.append(f"{point}: {measured_mbps:.2f} instead of {expected_mbps:.2f} Mbit/s")
    assert not wrong, "\n".join(wrong)

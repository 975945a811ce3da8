# SPDX-License-Identifier: GPL-2.0-only
"""What the amendments of IEEE 802.11 allow, and the resulting rates.

Source: IEEE 802.11-2020, clauses 17 (a), 18 (g), 19 (n), 21 (ac), 802.11ax-2021, clause 27, and
802.11be-2024, clause 36.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

Format = Literal["ofdm", "ht", "vht", "he", "eht"]
_FORMATS: tuple[Format, ...] = get_args(Format)  # each standard includes the earlier ones

# 20 MHz channels: at 2.4 GHz those that do not overlap, at 5 GHz those without radar detection and
# with a secondary channel above them, at 6 GHz one preferred scanning channel in each of the first
# two channels of 320 MHz. Their numbers tell the bands apart.
CHANNELS_2GHZ = (1, 6, 11)
CHANNELS_5GHZ = (36, 44, 149, 157)
CHANNELS_6GHZ = (37, 101)

LEGACY_MBPS = (6, 9, 12, 18, 24, 36, 48, 54)

# Centre of the wide channels that contain a channel, by width in MHz; of those of 40 MHz at 6 GHz
# only, where the secondary channel may be below the primary one.
_CENTRES = {
    40: {37: 35, 101: 99},
    80: {36: 42, 44: 42, 149: 155, 157: 155, 37: 39, 101: 103},
    160: {36: 50, 44: 50, 37: 47, 101: 111},
    320: {37: 31, 101: 95},
}

# Width, MCS and streams that are "not valid" in the tables of clause 21.5.
_VHT_INVALID = {(20, 9, 1), (20, 9, 2), (20, 9, 4), (80, 6, 3), (160, 9, 3)}

# Data bits of a symbol per subcarrier and stream, by MCS per stream.
_BITS = tuple(
    bits * Fraction(*coding)
    for bits, coding in (
        *((1, (1, 2)), (2, (1, 2)), (2, (3, 4)), (4, (1, 2)), (4, (3, 4))),
        *((6, (2, 3)), (6, (3, 4)), (6, (5, 6)), (8, (3, 4)), (8, (5, 6))),
        *((10, (3, 4)), (10, (5, 6)), (12, (3, 4)), (12, (5, 6))),
    )
)
_SUBCARRIERS = {
    "ht": {20: 52, 40: 108},
    "vht": {20: 52, 40: 108, 80: 234, 160: 468},
    "he": {20: 234, 40: 468, 80: 980, 160: 1960},
    "eht": {20: 234, 40: 468, 80: 980, 160: 1960, 320: 3920},
}
_SYMBOL_NS = {"ht": 3200, "vht": 3200, "he": 12800, "eht": 12800}


@dataclass(frozen=True)
class Standard:
    """An amendment: its newest format and its limits."""

    format: Format
    channels: tuple[int, ...]
    widths_mhz: tuple[int, ...] = (20,)
    guards_ns: tuple[int, ...] = (800,)
    streams: int = 1
    highest_mcs: int = 0
    ba_window: int = 1

    @property
    def legacy(self) -> bool:
        """Whether it has neither MCSs nor A-MPDUs."""
        return self.format == "ofdm"

    def has(self, form: Format) -> bool:
        """Whether it includes a format."""
        return _FORMATS.index(form) <= _FORMATS.index(self.format)


STANDARDS = {
    "802.11a": Standard("ofdm", CHANNELS_5GHZ),
    "802.11g": Standard("ofdm", CHANNELS_2GHZ),
    "802.11n": Standard(
        "ht", CHANNELS_2GHZ + CHANNELS_5GHZ, (20, 40), (400, 800), 4, 7, ba_window=64
    ),
    "802.11ac": Standard("vht", CHANNELS_5GHZ, (20, 40, 80, 160), (400, 800), 4, 9, ba_window=64),
    "802.11ax": Standard(
        "he",
        CHANNELS_2GHZ + CHANNELS_5GHZ,
        *((20, 40, 80, 160), (800, 1600, 3200), 4, 11),
        ba_window=256,
    ),
    "802.11be": Standard(
        "eht",
        CHANNELS_2GHZ + CHANNELS_5GHZ + CHANNELS_6GHZ,
        *((20, 40, 80, 160, 320), (800, 1600, 3200), 4, 13),
        ba_window=1024,
    ),
}


@dataclass(frozen=True)
class Rate:
    """A data rate. mcs: per stream; legacy rates have only legacy_mbps."""

    format: Format
    width_mhz: int = 20
    mcs: int = 0
    streams: int = 1
    guard_ns: int = 800
    legacy_mbps: int = 0

    @property
    def bps(self) -> float:
        """Data bits per second during symbols. HE and EHT round the bits of a symbol down."""
        if self.format == "ofdm":
            return self.legacy_mbps * 1e6
        bits = int(_SUBCARRIERS[self.format][self.width_mhz] * self.streams * _BITS[self.mcs])
        return bits * 1e9 / (_SYMBOL_NS[self.format] + self.guard_ns)


def is_2ghz(channel: int) -> bool:
    return channel in CHANNELS_2GHZ


def is_6ghz(channel: int) -> bool:
    return channel in CHANNELS_6GHZ


def frequency_mhz(channel: int) -> int:
    """Centre of the primary channel (17.3.8.4.3, 18.3.8.4.1 and 27.3.23.2)."""
    base = 2407 if is_2ghz(channel) else 5950 if is_6ghz(channel) else 5000
    return base + 5 * channel


def centre_channel(channel: int, width_mhz: int) -> int:
    """Channel number of the centre of a wide channel; 0 up to 20 MHz, and 40 MHz at 5 GHz."""
    return _CENTRES.get(width_mhz, {}).get(channel, 0)


def spanned_mhz(channel: int, width_mhz: int) -> range:
    """Centres of the 20 MHz channels that a channel consists of."""
    centre = centre_channel(channel, width_mhz)
    first = centre - (width_mhz - 20) // 10 if centre else channel
    first_mhz = frequency_mhz(channel) + 5 * (first - channel)
    return range(first_mhz, first_mhz + width_mhz, 20)


def widths_mhz(standard: Standard, channel: int) -> tuple[int, ...]:
    """The widths that a standard allows for a primary channel."""
    if is_2ghz(channel):
        return (20,)
    return tuple(
        width for width in standard.widths_mhz if width <= 40 or channel in _CENTRES[width]
    )


def mcs_of(standard: Standard, width_mhz: int, streams: int) -> tuple[int, ...]:
    """The MCSs that a standard allows for a width and a number of streams."""
    return tuple(
        mcs
        for mcs in range(standard.highest_mcs + 1)
        if standard.format != "vht" or (width_mhz, mcs, streams) not in _VHT_INVALID
    )


def of_minstrel(standard: Standard, channel: int) -> Standard:
    """The standard whose rates minstrel_ht has: no HE or EHT, and VHT only at 5 GHz."""
    if standard.has("he"):
        return STANDARDS["802.11n" if is_2ghz(channel) else "802.11ac"]
    return standard


def fastest(standard: Standard, width_mhz: int, streams: int, guard_ns: int) -> Rate:
    """The highest rate of a standard."""
    if standard.legacy:
        return Rate("ofdm", legacy_mbps=LEGACY_MBPS[-1])
    mcs = max(mcs_of(standard, width_mhz, streams))
    return Rate(standard.format, width_mhz, mcs, streams, guard_ns)

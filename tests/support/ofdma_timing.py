# SPDX-License-Identifier: GPL-2.0-only
"""Durations of UL OFDMA from IEEE 802.11ax-2021, without the driver's code.

Clauses 27.3.11 and 27.4.3 (HE TB PPDU), 9.3.1.22 (Trigger frame), 9.3.1.8.6 (Multi-STA BlockAck).
Options as in docs/explanation/airsim.md: LDPC without the extra symbol segment, no packet
extension, 2x HE-LTFs with a guard interval of 1.6 us, 4x HE-LTFs with 3.2 us.
"""

from dataclasses import dataclass
from math import ceil, floor

from wifi_timing import AIFSN, CW_MIN, DELIMITER, MCS, SERVICE_BITS, SLOT_US, legacy, ppdu_us

# Data subcarriers of an RU by its tones (table 27-15), and RUs by channel width in MHz.
SUBCARRIERS = {26: 24, 52: 48, 106: 102, 242: 234, 484: 468, 996: 980, 1992: 1960}
COUNTS = {
    20: {242: 1, 106: 2, 52: 4, 26: 9},
    40: {484: 1, 242: 2, 106: 4, 52: 8, 26: 18},
    80: {996: 1, 484: 2, 242: 4, 106: 8, 52: 16, 26: 37},
    160: {1992: 1, 996: 2, 484: 4, 242: 8, 106: 16, 52: 32, 26: 74},
}
# The first RU of each size in the RU Allocation subfield, without its least significant bit.
ALLOCATION = {0: 26, 37: 52, 53: 106, 61: 242, 65: 484, 67: 996, 68: 1992}

SIFS_US = 16


@dataclass(frozen=True)
class Tb:
    """Modulation of an HE TB PPDU. ltfs: HE-LTF symbols, for the station with most streams."""

    tones: int
    mcs: int
    streams: int
    ltfs: int
    gi_ns: int = 1600

    @property
    def preamble_us(self) -> float:
        """L-STF, L-LTF, L-SIG, RL-SIG, HE-SIG-A, HE-STF, and the HE-LTFs."""
        ltf_us = {1600: 6.4, 3200: 12.8}[self.gi_ns] + self.gi_ns / 1000
        return 8 + 8 + 4 + 4 + 8 + 8 + self.ltfs * ltf_us

    @property
    def symbol_us(self) -> float:
        return 12.8 + self.gi_ns / 1000

    @property
    def bits(self) -> int:
        """Data bits per symbol."""
        coded, rate = MCS[self.mcs]
        return floor(SUBCARRIERS[self.tones] * coded * rate * self.streams)

    def us(self, octets: int, most_us: float = 5484) -> float:
        """Duration for a PSDU; whole symbols within most_us if it takes longer."""
        symbols = ceil((SERVICE_BITS + 8 * octets) / self.bits)
        most = floor((most_us - self.preamble_us) / self.symbol_us + 1e-9)
        return self.preamble_us + min(symbols, most) * self.symbol_us

    def us_of_length(self, ul_length: int) -> float:
        """Duration that UL Length (L-SIG LENGTH) announces: 27.3.11.5.2, with m = 2."""
        after_l_sig_us = (ul_length + 2 + 3) / 3 * 4
        in_he_preamble_us = self.preamble_us - 20
        symbols = floor((after_l_sig_us - in_he_preamble_us) / self.symbol_us + 1e-9)
        return self.preamble_us + symbols * self.symbol_us


def ru_tones(width_mhz: int, stations: int) -> int:
    """The largest RUs of which there are enough."""
    return max(tones for tones, count in COUNTS[width_mhz].items() if count >= stations)


def ltfs(streams: int) -> int:
    return (1, 2, 4, 4)[streams - 1]


def trigger_octets(stations: int, basic: bool = True) -> int:
    """Frame Control, Duration, RA, TA, Common Info, User Info, FCS."""
    return 2 + 2 + 6 + 6 + 8 + stations * (6 if basic else 5) + 4


def multi_blockack_octets(bitmap_octets: list[int]) -> int:
    """bitmap_octets: of each station; 0 for an Ack."""
    per_station = [2 + (2 + octets if octets else 0) for octets in bitmap_octets]
    return 2 + 2 + 6 + 6 + 2 + sum(per_station) + 4


def control_us(octets: int) -> float:
    return ppdu_us(legacy(24000), octets)


def saturated_goodput_mbps(
    tb: Tb,
    stations: int,
    payload_octets: int,
    mpdu_octets: int,
    most: int,
    most_us: float,
    most_octets: int,
) -> float:
    """Goodput of saturated stations that only send when triggered.

    The access point repeats: AIFS, the mean backoff, Trigger frame, SIFS, HE TB PPDUs, SIFS,
    BlockAck. A station reports at most `most` MPDUs, each with FCS, delimiter and padding as of an
    MPDU that needs three octets of it, and at most an A-MPDU of `most_octets`. The signal extension
    at 2.4 GHz is as long as SIFS is shorter there.
    """
    report = min(most * (mpdu_octets + DELIMITER + 3), most_octets)
    tb_us = tb.us(report, most_us)
    subframe = DELIMITER + 4 * ceil(mpdu_octets / 4)
    symbols = round((tb_us - tb.preamble_us) / tb.symbol_us)
    room = (symbols * tb.bits - SERVICE_BITS) // 8
    longest = min(room, most_octets)
    mpdus = min(most, 1 + (longest - DELIMITER - mpdu_octets) // subframe)
    access_us = SIFS_US + AIFSN * SLOT_US + CW_MIN / 2 * SLOT_US
    response = multi_blockack_octets([32 if mpdus > 1 else 0] * stations)
    cycle_us = access_us + control_us(trigger_octets(stations)) + SIFS_US + tb_us + SIFS_US
    cycle_us += control_us(response)
    return 8 * payload_octets * mpdus * stations / cycle_us

# SPDX-License-Identifier: GPL-2.0-only
"""Durations of frames, from IEEE 802.11-2020, 802.11ax-2021 and 802.11be-2024 alone.

Written from the constants of the standard, without airsim's code, so that airsim can be tested
against it. Where the standard leaves a choice, it is that of airsim: long preamble for CCK, BCC for
HT and VHT, LDPC for HE and EHT without its extra symbol, no packet extension, EHT-SIG at the lowest
rate.
"""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil, floor


class Format(StrEnum):
    CCK = "cck"
    OFDM = "ofdm"
    HT = "ht"
    VHT = "vht"
    HE = "he"
    EHT = "eht"


LEGACY = (Format.CCK, Format.OFDM)
ALWAYS_AMPDU = (Format.VHT, Format.HE, Format.EHT)
LONG_SYMBOLS = (Format.HE, Format.EHT)

# Coded bits per subcarrier, and coding rate.
BPSK, QPSK, QAM16, QAM64, QAM256, QAM1024, QAM4096 = 1, 2, 4, 6, 8, 10, 12
Coding = tuple[int, Fraction]
MCS: tuple[Coding, ...] = (
    (BPSK, Fraction(1, 2)),
    (QPSK, Fraction(1, 2)),
    (QPSK, Fraction(3, 4)),
    (QAM16, Fraction(1, 2)),
    (QAM16, Fraction(3, 4)),
    (QAM64, Fraction(2, 3)),
    (QAM64, Fraction(3, 4)),
    (QAM64, Fraction(5, 6)),
    (QAM256, Fraction(3, 4)),
    (QAM256, Fraction(5, 6)),
    (QAM1024, Fraction(3, 4)),
    (QAM1024, Fraction(5, 6)),
    (QAM4096, Fraction(3, 4)),
    (QAM4096, Fraction(5, 6)),
)
OFDM_KBPS: dict[int, Coding] = {
    6000: (BPSK, Fraction(1, 2)),
    9000: (BPSK, Fraction(3, 4)),
    12000: (QPSK, Fraction(1, 2)),
    18000: (QPSK, Fraction(3, 4)),
    24000: (QAM16, Fraction(1, 2)),
    36000: (QAM16, Fraction(3, 4)),
    48000: (QAM64, Fraction(2, 3)),
    54000: (QAM64, Fraction(3, 4)),
}
CCK_KBPS = (1000, 2000, 5500, 11000)
MANDATORY_KBPS = {Format.CCK: CCK_KBPS, Format.OFDM: (6000, 12000, 24000)}

# By format: data subcarriers by width in MHz, guard intervals in ns, and the highest MCS.
SUBCARRIERS = {
    Format.OFDM: {20: 48},
    Format.HT: {20: 52, 40: 108},
    Format.VHT: {20: 52, 40: 108, 80: 234, 160: 468},
    Format.HE: {20: 234, 40: 468, 80: 980, 160: 1960},
    Format.EHT: {20: 234, 40: 468, 80: 980, 160: 1960, 320: 3920},
}
GUARDS_NS = {
    **dict.fromkeys((Format.HT, Format.VHT), (400, 800)),
    **dict.fromkeys(LONG_SYMBOLS, (800, 1600, 3200)),
}
HIGHEST_MCS = {Format.HT: 7, Format.VHT: 9, Format.HE: 11, Format.EHT: 13}

# Width in MHz, MCS and streams that clause 21.5 lists as "not valid".
VHT_INVALID = ((20, 9, 1), (20, 9, 2), (20, 9, 4), (80, 6, 3), (160, 9, 3))

# Data bits per symbol of one BCC encoder: 300 and 600 Mbit/s with symbols of 3.6 us.
ENCODER_BITS = {Format.HT: 1080, Format.VHT: 2160}

SERVICE_BITS, TAIL_BITS = 16, 6
DELIMITER, ACK, BLOCKACK_WITHOUT_BITMAP = 4, 14, 24

# Best effort: the EDCA defaults of table 9-155.
AIFSN, CW_MIN = 3, 15
SLOT_US = 9


@dataclass(frozen=True)
class Rate:
    """Modulation of a PPDU.

    mcs: of one stream. CCK and OFDM have only legacy_kbps. extension_us: the signal extension, 6
    at 2.4 GHz except with CCK. Raises ValueError for a rate that the standard does not have.
    """

    format: Format
    mcs: int = 0
    streams: int = 1
    width_mhz: int = 20
    gi_ns: int = 800
    legacy_kbps: int = 0
    extension_us: int = 0

    def __post_init__(self) -> None:
        if not self._exists():
            raise ValueError(f"the standard has no {self}")

    def _exists(self) -> bool:
        if self.format in LEGACY:
            kbps = CCK_KBPS if self.format is Format.CCK else tuple(OFDM_KBPS)
            return self.legacy_kbps in kbps and (self.streams, self.width_mhz) == (1, 20)
        if self.format is Format.VHT and (self.width_mhz, self.mcs, self.streams) in VHT_INVALID:
            return False
        return (
            0 <= self.mcs <= HIGHEST_MCS[self.format]
            and 1 <= self.streams <= 4
            and self.width_mhz in SUBCARRIERS[self.format]
            and self.gi_ns in GUARDS_NS[self.format]
        )


def legacy(kbps: int, extension_us: int = 0) -> Rate:
    """The CCK or OFDM rate of this speed; CCK has no signal extension."""
    if kbps in CCK_KBPS:
        return Rate(Format.CCK, legacy_kbps=kbps)
    return Rate(Format.OFDM, legacy_kbps=kbps, extension_us=extension_us)


def coding(rate: Rate) -> Coding:
    return OFDM_KBPS[rate.legacy_kbps] if rate.format is Format.OFDM else MCS[rate.mcs]


def coded_bits(rate: Rate) -> int:
    """N_CBPS."""
    return SUBCARRIERS[rate.format][rate.width_mhz] * coding(rate)[0] * rate.streams


def data_bits(rate: Rate) -> int:
    """N_DBPS, rounded down (with HE and EHT it may be fractional)."""
    return floor(coded_bits(rate) * coding(rate)[1])


def symbol_ns(rate: Rate) -> int:
    useful_ns = 12800 if rate.format in LONG_SYMBOLS else 3200
    return useful_ns + (800 if rate.format is Format.OFDM else rate.gi_ns)


def rate_mbps(rate: Rate) -> float:
    if rate.format is Format.CCK:
        return rate.legacy_kbps / 1000
    return 1000 * data_bits(rate) / symbol_ns(rate)


def encoders(rate: Rate) -> int:
    """N_ES of BCC: the least number of encoders that all get whole puncturing patterns."""
    if rate.format not in ENCODER_BITS:
        return 1
    count = ceil(Fraction(data_bits(rate), ENCODER_BITS[rate.format]))
    while coded_bits(rate) % (count * coding(rate)[1].denominator):
        count += 1
    return count


def preamble_ns(rate: Rate) -> int:
    """Duration of everything before the first data symbol."""
    if rate.format is Format.CCK:
        sync_and_sfd, header = 144_000, 48_000
        return sync_and_sfd + header
    legacy_part = 8_000 + 8_000 + 4_000  # L-STF, L-LTF, L-SIG
    if rate.format is Format.OFDM:
        return legacy_part
    ltfs = (1, 2, 4, 4)[rate.streams - 1]
    sig, stf = 8_000, 4_000
    if rate.format is Format.HT:
        return legacy_part + sig + stf + ltfs * 4_000
    if rate.format is Format.VHT:
        sig_b = 4_000
        return legacy_part + sig + stf + ltfs * 4_000 + sig_b
    repeated_l_sig = 4_000
    ltf = {800: 7_200, 1600: 8_000, 3200: 16_000}[rate.gi_ns]
    before_data = legacy_part + repeated_l_sig + sig + stf + ltfs * ltf
    return before_data + (eht_sig_ns() if rate.format is Format.EHT else 0)


def eht_sig_ns() -> int:
    """EHT-SIG to one receiver: BPSK, rate 1/2, on the 52 data subcarriers of each 20 MHz."""
    common, user, crc, tail = 20, 22, 4, 6
    return 4_000 * ceil(Fraction(common + user + crc + tail, 26))


def ppdu_us(rate: Rate, octets: int) -> float:
    """Duration of a PPDU in us. octets: its PSDU, with delimiters and FCS."""
    if rate.format is Format.CCK:
        return preamble_ns(rate) / 1000 + ceil(Fraction(8000 * octets, rate.legacy_kbps))
    tail = 0 if rate.format in LONG_SYMBOLS else TAIL_BITS * encoders(rate)
    symbols = ceil(Fraction(SERVICE_BITS + 8 * octets + tail, data_bits(rate)))
    data_ns = symbols * symbol_ns(rate)
    if rate.format in (Format.HT, Format.VHT):
        data_ns = 4000 * ceil(Fraction(data_ns, 4000))
    return (preamble_ns(rate) + data_ns) / 1000 + rate.extension_us


def response_rate(rate: Rate, basic_kbps: tuple[int, ...]) -> Rate:
    """The rate of an ACK or BlockAck (10.6.6.5)."""
    if rate.format in LEGACY:
        most_kbps = rate.legacy_kbps
    else:
        # 10.6.11: the OFDM rate with as many data bits per subcarrier, at most 54 Mbit/s.
        bits, code_rate = coding(rate)
        most_kbps = max(k for k, (b, r) in OFDM_KBPS.items() if b * r <= bits * code_rate)
    kind = Format.CCK if rate.format is Format.CCK else Format.OFDM
    kbps = [k for k in basic_kbps if k <= most_kbps and (k in CCK_KBPS) == (kind is Format.CCK)]
    if not kbps:
        kbps = [k for k in MANDATORY_KBPS[kind] if k <= most_kbps]
    return legacy(max(kbps), rate.extension_us)


def psdu_octets(rate: Rate, mpdu_octets: int, mpdus: int, min_spacing_us: float = 0) -> int:
    """Length of a PSDU with equal MPDUs. Up to HT, a single MPDU has no delimiter."""
    if mpdus == 1 and rate.format not in ALWAYS_AMPDU:
        return mpdu_octets
    spacing_bits = Fraction(min_spacing_us) * 1000 * data_bits(rate) / symbol_ns(rate)
    subframe = max(DELIMITER + 4 * ceil(mpdu_octets / 4), 4 * ceil(spacing_bits / 32))
    return (mpdus - 1) * subframe + DELIMITER + mpdu_octets


def most_mpdus(
    rate: Rate,
    mpdu_octets: int,
    *,
    limit: int = 64,
    ampdu_octets: int = 65535,
    ampdu_us: float = 5484,
    min_spacing_us: float = 0,
) -> int:
    """How many equal MPDUs a PPDU can have within the limits of A-MPDUs, at least one."""

    def allowed(mpdus: int) -> bool:
        octets = psdu_octets(rate, mpdu_octets, mpdus, min_spacing_us)
        return octets <= ampdu_octets and ppdu_us(rate, octets) <= ampdu_us

    if rate.format in LEGACY:
        return 1
    return max([1, *(count for count in range(2, limit + 1) if allowed(count))])


def response_octets(mpdus: int, ba_window: int) -> int:
    """Length of the ACK of an MPDU, or of the BlockAck of several."""
    if mpdus == 1:
        return ACK
    return BLOCKACK_WITHOUT_BITMAP + next(n for n in (8, 32, 64, 128) if ba_window <= 8 * n)


def saturated_goodput_mbps(
    rate: Rate,
    payload_octets: int,
    mpdu_octets: int,
    *,
    ampdu_mpdus: int = 64,
    ampdu_octets: int = 65535,
    ampdu_us: float = 5484,
    ba_window: int = 64,
    min_spacing_us: float = 0,
    sifs_us: float = 16,
) -> float:
    """Goodput of a single saturated best-effort sender without losses.

    It repeats: AIFS, the mean backoff, a PPDU with as many MPDUs as the limits allow (at least
    one), SIFS, the response. payload_octets of the mpdu_octets count as goodput.
    """

    mpdus = most_mpdus(
        rate,
        mpdu_octets,
        limit=min(ampdu_mpdus, ba_window),
        ampdu_octets=ampdu_octets,
        ampdu_us=ampdu_us,
        min_spacing_us=min_spacing_us,
    )
    data_us = ppdu_us(rate, psdu_octets(rate, mpdu_octets, mpdus, min_spacing_us))
    response = response_rate(rate, MANDATORY_KBPS[Format.OFDM])
    response_us = ppdu_us(response, response_octets(mpdus, ba_window))
    access_us = sifs_us + (AIFSN + CW_MIN / 2) * SLOT_US
    return 8 * payload_octets * mpdus / (access_us + data_us + sifs_us + response_us)

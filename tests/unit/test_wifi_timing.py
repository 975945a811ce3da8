# SPDX-License-Identifier: GPL-2.0-only
"""wifi_timing against the tables of the standard and values computed by hand."""

import pytest
from wifi_timing import (
    Format,
    Rate,
    encoders,
    legacy,
    ppdu_us,
    psdu_octets,
    rate_mbps,
    response_octets,
    response_rate,
    saturated_goodput_mbps,
)

HT, VHT, HE, EHT = Format.HT, Format.VHT, Format.HE, Format.EHT
BASIC = (6000, 12000, 24000)

# 1472 octets of UDP payload in an MPDU of 1538 octets, which is 1540 with padding.
PAYLOAD, MPDU = 1472, 1538

# SIFS, three slots and a mean backoff of 7.5 slots.
ACCESS_US, SIFS_US = 16 + 27 + 67.5, 16


# The tables have one decimal; some HE rates in them do not round down the bits of a symbol.
@pytest.mark.parametrize(
    ("rate", "mbps"),
    [
        (legacy(5500), 5.5),
        (legacy(54000), 54),
        (Rate(HT, 0), 6.5),
        (Rate(HT, 7), 65),
        (Rate(HT, 7, gi_ns=400), 72.2),
        (Rate(HT, 7, width_mhz=40, gi_ns=400), 150),
        (Rate(HT, 5, streams=2, width_mhz=40, gi_ns=400), 240),
        (Rate(HT, 7, streams=2, width_mhz=40, gi_ns=400), 300),
        (Rate(HT, 7, streams=4, width_mhz=40, gi_ns=400), 600),
        (Rate(VHT, 8), 78),
        (Rate(VHT, 8, gi_ns=400), 86.7),
        (Rate(VHT, 9, streams=3, gi_ns=400), 288.9),
        (Rate(VHT, 9, width_mhz=40, gi_ns=400), 200),
        (Rate(VHT, 0, width_mhz=80), 29.3),
        (Rate(VHT, 9, width_mhz=80), 390),
        (Rate(VHT, 9, width_mhz=80, gi_ns=400), 433.3),
        (Rate(VHT, 9, streams=2, width_mhz=80), 780),
        (Rate(VHT, 9, streams=2, width_mhz=80, gi_ns=400), 866.7),
        (Rate(VHT, 9, streams=3, width_mhz=80, gi_ns=400), 1300),
        (Rate(VHT, 7, streams=4, width_mhz=160, gi_ns=400), 2600),
        (Rate(VHT, 9, streams=4, width_mhz=160, gi_ns=400), 3466.7),
        (Rate(HE, 0), 8.6),
        (Rate(HE, 0, gi_ns=3200), 7.3),
        (Rate(HE, 9), 114.7),
        (Rate(HE, 11), 143.4),
        (Rate(HE, 11, gi_ns=1600), 135.4),
        (Rate(HE, 11, width_mhz=40), 286.8),
        (Rate(HE, 9, width_mhz=80), 480.4),
        (Rate(HE, 11, width_mhz=80), 600.5),
        (Rate(HE, 11, width_mhz=80, gi_ns=3200), 510.4),
        (Rate(HE, 11, streams=2, width_mhz=80), 1201),
        (Rate(HE, 11, streams=2, width_mhz=160), 2402),
        (Rate(HE, 11, streams=4, width_mhz=160), 4803.9),
        (Rate(EHT, 0, gi_ns=3200), 7.3),
        (Rate(EHT, 13), 172.1),
        (Rate(EHT, 12, width_mhz=80), 648.5),
        (Rate(EHT, 13, width_mhz=80), 720.6),
        (Rate(EHT, 13, streams=2, width_mhz=160), 2882.4),
        (Rate(EHT, 0, width_mhz=320, gi_ns=3200), 122.5),
        (Rate(EHT, 11, width_mhz=320), 2402),
        (Rate(EHT, 13, width_mhz=320), 2882.4),
        (Rate(EHT, 13, streams=2, width_mhz=320), 5764.7),
        (Rate(EHT, 13, streams=4, width_mhz=320), 11529.4),
    ],
)
def test_data_rates_match_the_tables(rate: Rate, mbps: float) -> None:
    assert rate_mbps(rate) == pytest.approx(mbps, abs=0.1)


@pytest.mark.parametrize(
    ("kind", "mcs", "streams", "width_mhz", "gi_ns"),
    [
        (HT, 8, 1, 20, 800),
        (HT, 7, 5, 20, 800),
        (HT, 7, 1, 80, 800),
        (HT, 7, 1, 20, 1600),
        (VHT, 9, 1, 20, 800),
        (VHT, 9, 4, 20, 800),
        (VHT, 6, 3, 80, 800),
        (VHT, 9, 3, 160, 800),
        (VHT, 10, 1, 80, 800),
        (HE, 12, 1, 80, 800),
        (HE, 0, 0, 80, 800),
        (HE, 0, 1, 80, 400),
        (HE, 0, 1, 320, 800),
        (EHT, 14, 1, 80, 800),
        (EHT, 0, 5, 80, 800),
        (EHT, 0, 1, 80, 400),
        (EHT, 0, 1, 240, 800),
    ],
)
def test_rates_that_the_standard_does_not_have_are_refused(
    kind: Format, mcs: int, streams: int, width_mhz: int, gi_ns: int
) -> None:
    with pytest.raises(ValueError, match="the standard has no"):
        Rate(kind, mcs, streams, width_mhz, gi_ns)


@pytest.mark.parametrize("kbps", [0, 7000, 65000])
def test_unknown_legacy_rates_are_refused(kbps: int) -> None:
    with pytest.raises(ValueError, match="the standard has no"):
        legacy(kbps)


@pytest.mark.parametrize(
    ("rate", "count"),
    [
        (legacy(54000), 1),
        (Rate(HT, 7, streams=2, width_mhz=40), 1),
        (Rate(HT, 5, streams=3, width_mhz=40), 2),
        (Rate(VHT, 9, streams=3, width_mhz=40), 1),
        (Rate(VHT, 8, streams=4, width_mhz=40), 2),
        (Rate(VHT, 6, streams=1, width_mhz=160), 1),
        (Rate(VHT, 9, streams=2, width_mhz=80), 2),
        (Rate(VHT, 9, streams=3, width_mhz=80), 3),
        (Rate(VHT, 7, streams=3, width_mhz=160), 4),
        # Exception in the standard: 4.33 times the bits of an encoder need six, not five.
        (Rate(VHT, 7, streams=4, width_mhz=160), 6),
        (Rate(VHT, 9, streams=4, width_mhz=160), 6),
    ],
)
def test_numbers_of_bcc_encoders_match_the_tables(rate: Rate, count: int) -> None:
    assert encoders(rate) == count


@pytest.mark.parametrize(
    ("rate", "octets", "us"),
    [
        # 8 * 1500 / 11 = 1090.9.
        (legacy(11000), 1500, 192 + 1091),
        (legacy(1000), 14, 192 + 112),
        # 16 + 112 + 6 bits of 96.
        (legacy(24000), 14, 20 + 2 * 4),
        (legacy(24000, extension_us=6), 14, 20 + 2 * 4 + 6),
        # 16 + 12304 + 6 bits of 260.
        (Rate(HT, 7), 1538, 36 + 48 * 4),
        # 22 bits more than 2160 - 22 need a second symbol, and 7.2 us become 8.
        (Rate(HT, 7, streams=4, width_mhz=40, gi_ns=400), 266, 48 + 4),
        (Rate(HT, 7, streams=4, width_mhz=40, gi_ns=400), 267, 48 + 8),
        # 16 + 12336 + 6 bits of 1560: 8 symbols of 3.6 us.
        (Rate(VHT, 9, width_mhz=80, gi_ns=400), 1542, 40 + 32),
        # Six tails: 16 + 9304 + 36 of 9360 bits; one octet more needs a second symbol.
        (Rate(VHT, 7, streams=4, width_mhz=160), 1163, 52 + 4),
        (Rate(VHT, 7, streams=4, width_mhz=160), 1164, 52 + 8),
        # No tail: 16 + 1544 bits of 1560.
        (Rate(HE, 9), 193, 43.2 + 13.6),
        (Rate(HE, 9), 194, 43.2 + 27.2),
        (Rate(HE, 0, streams=3, gi_ns=1600), 1, 36 + 4 * 8 + 14.4),
        (Rate(HE, 0, streams=2, gi_ns=3200), 1, 36 + 2 * 16 + 16),
        # 8 us more for EHT-SIG. 16 + 2320 bits of 2340.
        (Rate(EHT, 13), 290, 51.2 + 13.6),
        (Rate(EHT, 13), 291, 51.2 + 27.2),
        (Rate(EHT, 0, streams=2, gi_ns=1600), 1, 44 + 2 * 8 + 14.4),
        # 12648432 + 16 bits of 156800 are 81 symbols.
        (
            Rate(EHT, 13, streams=4, width_mhz=320),
            1023 * 1544 + 1542,
            44 + 4 * 7.2 + 81 * 13.6,
        ),
    ],
)
def test_durations_match_calculations_by_hand(rate: Rate, octets: int, us: float) -> None:
    assert ppdu_us(rate, octets) == pytest.approx(us)


@pytest.mark.parametrize(
    ("rate", "basic", "response"),
    [
        (Rate(HT, 0), BASIC, legacy(6000)),
        (Rate(HT, 2), BASIC, legacy(12000)),
        (Rate(HT, 3), BASIC, legacy(24000)),
        (Rate(VHT, 9, width_mhz=80), (6000, 54000), legacy(54000)),
        (Rate(HE, 5), (6000, 48000, 54000), legacy(48000)),
        (legacy(9000), BASIC, legacy(6000)),
        (legacy(18000), (24000, 36000), legacy(12000)),
        (legacy(11000), (1000, 2000, 6000), legacy(2000)),
        (legacy(5500), BASIC, legacy(5500)),
        (Rate(HT, 7, extension_us=6), (1000, 2000), legacy(24000, extension_us=6)),
    ],
)
def test_response_rates(rate: Rate, basic: tuple[int, ...], response: Rate) -> None:
    assert response_rate(rate, basic) == response


def test_lengths_of_aggregates() -> None:
    ht = Rate(HT, 7, streams=2, width_mhz=40, gi_ns=400)
    assert psdu_octets(ht, 1538, 1) == 1538
    assert psdu_octets(ht, 1538, 3) == 2 * 1544 + 1542
    assert psdu_octets(Rate(VHT, 7), 1538, 1) == 1542
    # 8 us at 300 Mbit/s are 300 octets.
    assert psdu_octets(ht, 100, 3, min_spacing_us=8) == 2 * 300 + 104
    assert psdu_octets(ht, 1538, 3, min_spacing_us=8) == psdu_octets(ht, 1538, 3)


def test_goodput_of_one_mpdu_and_its_ack() -> None:
    # OFDM: 12326 bits at 96 are 129 symbols. VHT: 12358 at 1560 are 8, 28.8 us rounded up to 32.
    ofdm = 8 * PAYLOAD / (ACCESS_US + 536 + SIFS_US + 28)
    assert saturated_goodput_mbps(legacy(24000), PAYLOAD, MPDU) == pytest.approx(ofdm)
    vht = 8 * PAYLOAD / (ACCESS_US + 72 + SIFS_US + 28)
    rate = Rate(VHT, 9, width_mhz=80, gi_ns=400)
    assert saturated_goodput_mbps(rate, PAYLOAD, MPDU, ampdu_mpdus=1) == pytest.approx(vht)


def test_goodput_is_the_same_at_2_4_and_5_ghz() -> None:
    # The shorter SIFS and the signal extension cancel out.
    at_5 = saturated_goodput_mbps(Rate(HT, 7), PAYLOAD, MPDU)
    at_2 = saturated_goodput_mbps(Rate(HT, 7, extension_us=6), PAYLOAD, MPDU, sifs_us=10)
    assert at_2 == pytest.approx(at_5)


@pytest.mark.parametrize(
    ("ba_window", "mpdus", "data_us", "answer_us"),
    [
        # 63 * 1544 + 1542 octets: 790512 + 16 bits of 16333 are 49 symbols of 13.6 us.
        (64, 64, 49 * 13.6, 32),
        # 255 * 1544 + 1542: 3162112 bits are 194 symbols. The bitmap makes it 470 bits of 96.
        (256, 256, 194 * 13.6, 40),
    ],
)
def test_goodput_under_a_blockack(
    ba_window: int, mpdus: int, data_us: float, answer_us: float
) -> None:
    rate = Rate(HE, 11, streams=2, width_mhz=80)
    goodput = saturated_goodput_mbps(
        rate, PAYLOAD, MPDU, ampdu_mpdus=256, ampdu_octets=1048575, ba_window=ba_window
    )
    cycle_us = ACCESS_US + 50.4 + data_us + SIFS_US + answer_us
    assert goodput == pytest.approx(8 * PAYLOAD * mpdus / cycle_us)


@pytest.mark.parametrize(
    ("ampdu_us", "ampdu_octets", "ampdu_mpdus", "ba_window", "mpdus", "symbols"),
    [
        # Three MPDUs are 2 * 1544 + 1542 octets, 37062 bits with service and tail, of 26 each.
        (36 + 4 * 1426, 65535, 64, 64, 3, 1426),
        (36 + 4 * 1426 - 1, 65535, 64, 64, 2, 951),
        (10000, 4630, 64, 64, 3, 1426),
        (10000, 4629, 64, 64, 2, 951),
        (10000, 65535, 3, 64, 3, 1426),
        (10000, 65535, 64, 2, 2, 951),
    ],
)
def test_an_aggregate_ends_at_the_first_limit(
    ampdu_us: int, ampdu_octets: int, ampdu_mpdus: int, ba_window: int, mpdus: int, symbols: int
) -> None:
    goodput = saturated_goodput_mbps(
        Rate(HT, 0),
        PAYLOAD,
        MPDU,
        ampdu_us=ampdu_us,
        ampdu_octets=ampdu_octets,
        ampdu_mpdus=ampdu_mpdus,
        ba_window=ba_window,
    )
    # A BlockAck at 6 Mbit/s is 16 + 256 + 6 bits, 12 symbols.
    cycle_us = ACCESS_US + 36 + 4 * symbols + SIFS_US + 20 + 12 * 4
    assert goodput == pytest.approx(8 * PAYLOAD * mpdus / cycle_us)


@pytest.mark.parametrize(
    ("ba_window", "octets"),
    [(1, 32), (64, 32), (65, 56), (256, 56), (257, 88), (512, 88), (513, 152), (1024, 152)],
)
def test_bitmaps_of_blockacks_have_64_to_1024_bits(ba_window: int, octets: int) -> None:
    assert response_octets(2, ba_window) == octets
    assert response_octets(1, ba_window) == 14

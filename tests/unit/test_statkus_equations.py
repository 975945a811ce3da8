# SPDX-License-Identifier: GPL-2.0-only
"""The dissertation's equations: tables, values computed by hand, and units.

Units are checked by scaling: with other units of time and length, the result must be the same in
those units. Equations with printing errors fail that, or disagree with the dissertation's tables.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from airtcp.models import ack_limit, dcf, retransmission, tcp_window

SECOND, BYTE = (1, 0), (0, 1)
BPS = (-1, 1)
NUMBER = (0, 0)

# Function, arguments with their units (powers of time and length), and unit of the result.
Argument = tuple[float, tuple[int, int]]
EQUATIONS: list[tuple[Callable[..., float], list[Argument], tuple[int, int]]] = [
    (tcp_window.slow_start_growth_bytes, [(500, BYTE), (1460, BYTE)], BYTE),
    (tcp_window.bdp_bytes, [(0.01, SECOND), (1e8, BPS)], BYTE),
    (tcp_window.slow_start_s, [(0.01, SECOND), (1e8, BPS), (1460, BYTE), (10, NUMBER)], SECOND),
    (tcp_window.congestion_avoidance_bytes, [(14600, BYTE), (1460, BYTE)], BYTE),
    (tcp_window.acks_per_rtt, [(14600, BYTE), (1460, BYTE), (2, NUMBER)], NUMBER),
    (tcp_window.growth_per_rtt_bytes, [(14600, BYTE), (1460, BYTE), (2, NUMBER)], BYTE),
    (tcp_window.ssthresh_bytes, [(14600, BYTE), (1460, BYTE)], BYTE),
    (tcp_window.cubic_k_s, [(100, NUMBER), (0.3, NUMBER), (0.4, (-3, 0))], SECOND),
    (
        tcp_window.cubic_segments,
        [(2.0, SECOND), (100, NUMBER), (0.3, NUMBER), (0.4, (-3, 0))],
        NUMBER,
    ),
    (tcp_window.cubic_after_loss_segments, [(100, NUMBER), (0.3, NUMBER)], NUMBER),
    (retransmission.rto_of_deviation_s, [(0.1, SECOND), (0.01, SECOND)], SECOND),
    (ack_limit.acks_to_open, [(14600, BYTE), (1460, BYTE)], NUMBER),
    (ack_limit.window_after, [(65, NUMBER), (1460, BYTE)], BYTE),
    (ack_limit.rtt_s, [(0.01, SECOND), (1460, BYTE), (1e8, BPS), (1e-6, SECOND)], SECOND),
    (
        ack_limit.window_for_ratio_bytes,
        [(0.01, SECOND), (1e8, BPS), (1460, BYTE), (8, NUMBER)],
        BYTE,
    ),
]

TIMES, LENGTHS = 1000.0, 7.0


def scaled(value: float, powers: tuple[int, int]) -> float:
    return value * TIMES ** powers[0] * LENGTHS ** powers[1]


@pytest.mark.parametrize(
    ("function", "arguments", "unit"),
    EQUATIONS,
    ids=[equation[0].__name__ for equation in EQUATIONS],
)
def test_result_is_the_same_in_other_units(
    function: Callable[..., float], arguments: list[Argument], unit: tuple[int, int]
) -> None:
    plain = function(*(value for value, _ in arguments))
    other = function(*(scaled(value, powers) for value, powers in arguments))
    assert other == pytest.approx(scaled(plain, unit), rel=1e-9)


def test_802_11s_times_scale_with_the_phy() -> None:
    phy = dcf.Phy()
    times = {
        name: getattr(phy, name) * TIMES
        for name in inspect.signature(dcf.Phy).parameters
        if name.endswith("_s")
    }
    slow = replace(phy, **times)
    rates = {"rate_bps": 54e6 / TIMES, "ack_rate_bps": 24e6 / TIMES}
    for n in (1, 2, 16):
        assert dcf.tcp_goodput_bps(slow, n, **rates) * TIMES == pytest.approx(
            dcf.tcp_goodput_bps(phy, n)
        )


def test_equation_1_2_as_printed_depends_on_the_unit_of_length() -> None:
    def printed_s(rtt_s: float, window_bytes: float, mss_bytes: float) -> float:
        return rtt_s * math.log2(window_bytes / mss_bytes**2)

    assert printed_s(1, 1e6 * LENGTHS, 1460 * LENGTHS) != pytest.approx(printed_s(1, 1e6, 1460))


def test_equation_2_6_as_printed_has_a_unit_and_contradicts_2_5() -> None:
    def printed(window_bytes: float, smss_bytes: float) -> float:
        return 3 * window_bytes**3 / (2 * smss_bytes) / 2

    assert printed(14600 * LENGTHS, 1460 * LENGTHS) != pytest.approx(printed(14600, 1460))
    assert printed(10, 1) != pytest.approx(ack_limit.acks_to_open(10, 1))


# Table 1.1 in ms; the fifth row is misprinted as a second one for 1 Gbit/s.
TABLE_1_1 = {
    1e6: (61.4, 132.9, 285.8),
    10e6: (78.0, 166.0, 352.2),
    100e6: (94.7, 199.3, 418.6),
    1000e6: (111.3, 232.5, 485.0),
    10e9: (128.9, 265.8, 551.5),
}


def test_table_1_1_is_computed_in_bits_up_to_10_gbit() -> None:
    different = []
    for rate_bps, row in TABLE_1_1.items():
        for rtt_s, printed_ms in zip((0.005, 0.010, 0.020), row, strict=True):
            if abs(1e3 * tcp_window.table_1_1_s(rtt_s, rate_bps) - printed_ms) > 0.1:
                different.append((rate_bps, rtt_s))
    assert different == [(10e9, 0.005)]
    assert 1e3 * tcp_window.table_1_1_s(0.005, 10e9) == pytest.approx(127.9, abs=0.05)
    assert tcp_window.slow_start_s(0.010, 100e6, 1460) < tcp_window.table_1_1_s(0.010, 100e6) / 2


@pytest.mark.parametrize(
    ("smss_bytes", "window_bytes"),
    [(536, 2144), (1095, 4380), (1096, 3288), (1460, 4380), (2190, 6570), (2191, 4382)],
)
def test_the_initial_window_is_two_to_four_segments(smss_bytes: int, window_bytes: int) -> None:
    """Figure 1.3; the text's example is 4380 bytes for 1460."""
    assert tcp_window.initial_window_bytes(smss_bytes) == window_bytes


def test_slow_start_doubles_each_rtt() -> None:
    # 64 segments of 1000 bytes: 6 doublings from 1 segment, 3 from 8, none from 100.
    path = (0.1, 64 * 1000 * 8 / 0.1, 1000)
    assert tcp_window.slow_start_s(*path) == pytest.approx(0.6)
    assert tcp_window.slow_start_s(*path, first_segments=8) == pytest.approx(0.3)
    assert tcp_window.slow_start_s(*path, first_segments=100) == 0


def test_an_ack_adds_what_it_acknowledges_up_to_a_segment() -> None:
    growth = [tcp_window.slow_start_growth_bytes(acked, 1460) for acked in (100, 1460, 2920)]
    assert growth == [100, 1460, 1460]


def test_ssthresh_is_half_the_flight_but_at_least_two_segments() -> None:
    assert tcp_window.ssthresh_bytes(14600, 1460) == 7300
    assert tcp_window.ssthresh_bytes(1460, 1460) == 2920


def test_counting_acks_halves_the_growth_of_congestion_avoidance() -> None:
    assert tcp_window.growth_per_rtt_bytes(146000, 1460) == 730
    assert tcp_window.growth_per_rtt_bytes(146000, 1460, 1) == 1460


def test_cubic_starts_after_a_loss_and_recovers_after_k() -> None:
    assert tcp_window.cubic_segments(0, 120) == pytest.approx(
        tcp_window.cubic_after_loss_segments(120)
    )
    assert tcp_window.cubic_segments(tcp_window.cubic_k_s(120), 120) == pytest.approx(120)


def test_the_timeout_follows_rfc_6298() -> None:
    first = retransmission.Estimate.first(0.5)
    assert (first.srtt_s, first.rttvar_s, first.rto_s) == (0.5, 0.25, 1.5)
    second = first.measured(0.9)
    assert second.srtt_s == pytest.approx(0.55)
    assert second.rttvar_s == pytest.approx(0.75 * 0.25 + 0.25 * 0.4)
    assert second.rto_s == pytest.approx(0.55 + 4 * 0.2875)
    assert retransmission.Estimate.first(0.01).rto_s == 1
    assert retransmission.Estimate.first(0.01, least_s=0.2).rto_s == 0.2
    # With a constant RTT, the granularity of the clock remains.
    constant = retransmission.Estimate(2.0, 0.0, first.granularity_s, first.least_s)
    assert constant.measured(2.0).rto_s == 2.001
    assert retransmission.rto_of_deviation_s(0.1, 0.01) == pytest.approx(0.14)


def test_dcf_in_802_11a_matches_calculation_by_hand() -> None:
    phy = dcf.Phy()
    # 24 Mbit/s: 96 bits per symbol; 22 + 8 * 14 = 134 bits are 2 symbols.
    assert dcf.ppdu_s(phy, 14, 24e6) == pytest.approx(28e-6)
    # 54 Mbit/s: 216 bits; 22 + 8 * (28 + 1508) = 12310 bits are 57 symbols.
    assert dcf.ppdu_s(phy, 28 + 1508, 54e6) == pytest.approx(248e-6)
    assert dcf.mean_backoff_s(phy) == pytest.approx(67.5e-6)
    data_s = dcf.exchange_s(phy, 1508, 54e6, 24e6)
    assert data_s == pytest.approx((34 + 67.5 + 248 + 16 + 28) * 1e-6)
    # 22 + 8 * (28 + 60) = 726 bits are 4 symbols.
    ack_s = dcf.exchange_s(phy, 60, 54e6, 24e6)
    assert ack_s == pytest.approx((34 + 67.5 + 36 + 16 + 28) * 1e-6)
    assert dcf.tcp_goodput_bps(phy, 2) == pytest.approx(2 * 1448 * 8 / (2 * data_s + ack_s))
    assert dcf.goodput_bps(phy, 1508, 54e6, 24e6) == pytest.approx(1508 * 8 / data_s)


def test_table_2_1_and_its_inverse() -> None:
    table = [2, 5, 9, 14, 20, 27, 35, 44, 54, 65, 77, 90, 104, 119]
    assert [ack_limit.acks_to_open(w, 1) for w in range(1, 15)] == table
    assert [ack_limit.window_after(acks, 1) for acks in table] == pytest.approx(range(1, 15))


def test_rfc_window_grows_as_the_square_root_by_at_least_a_byte() -> None:
    # W^2 grows by 2 SMSS^2 per ACK.
    grown = ack_limit.window_of_rfc_bytes(10_000, 1460)
    assert grown == pytest.approx(1460 * math.sqrt(2 * 10_000), rel=0.01)
    assert ack_limit.window_of_rfc_bytes(5, 10, first_bytes=200) == 205


def test_fewer_acks_need_a_larger_window() -> None:
    every_ack, every_eighth = (
        ack_limit.window_for_ratio_bytes(0.01, 100e6, 1460, n) for n in (1, 8)
    )
    assert every_ack == 250_000 + 1460
    assert every_eighth - every_ack == 7 * 1460
    assert ack_limit.rtt_s(0.01, 1460, 100e6) * 100e6 / 8 == pytest.approx(every_ack)
    # Both ways through both hosts: 20 ms, 1 ms for 1250 bytes, and twice 3 ms.
    assert ack_limit.rtt_s(0.01, 1250, 10e6, 0.003) == pytest.approx(0.027)

# SPDX-License-Identifier: GPL-2.0-only
"""Bianchi's model of saturated stations, against values computed by hand."""

import pytest

from airtcp.models.bianchi import (
    ACK_OCTETS,
    BEST_EFFORT,
    Edca,
    Prediction,
    attempt_probability,
    ofdm_us,
)
from airtcp.models.bianchi import solve as solve_exchange

PAYLOAD = 1472
PPDU_US = ofdm_us(54, 26 + 8 + 20 + 8 + PAYLOAD + 4)
ACK_US = ofdm_us(24, ACK_OCTETS)
STATIONS = (1, 2, 3, 5, 10, 20, 50)


def solve(n: int) -> Prediction:
    return solve_exchange(n, PPDU_US, ACK_US, PAYLOAD)


def test_durations_by_hand() -> None:
    assert PPDU_US == 20 + 4 * 58  # 12326 bits, 216 per symbol
    assert ACK_US == 28
    edca = BEST_EFFORT
    assert (edca.aifs_us, edca.timeout_us, edca.eifs_extra_us) == (43, 45, 60)
    assert list(edca.windows()) == [16, 32, 64, 128, 256, 512, 1024]


def test_a_lone_station_by_hand() -> None:
    prediction = solve(1)
    assert prediction.collision_probability == 0
    assert prediction.tau == pytest.approx(1 / 8.5)  # 7.5 boundaries to count down, one to transmit
    cycle_us = 43 + 7.5 * 9 + PPDU_US + 16 + 28
    assert prediction.throughput_mbps == pytest.approx(8 * PAYLOAD / cycle_us)


@pytest.mark.parametrize("p", [0.0, 0.2, 0.4, 0.7])
def test_without_a_retry_limit_tau_is_bianchis_equation_7(p: float) -> None:
    window, doublings = 32, 5
    edca = Edca(cw_min=31, cw_max=1023, attempts=500)
    expected = (
        2 * (1 - 2 * p) / ((1 - 2 * p) * (window + 1) + p * window * (1 - (2 * p) ** doublings))
    )
    assert attempt_probability(p, edca) == pytest.approx(expected)


@pytest.mark.parametrize("n", STATIONS)
def test_the_solution_is_a_fixed_point(n: int) -> None:
    prediction = solve(n)
    p = 1 - (1 - prediction.tau) ** (n - 1)
    assert prediction.collision_probability == pytest.approx(p, abs=1e-9)
    assert prediction.tau == pytest.approx(attempt_probability(prediction.collision_probability))

# SPDX-License-Identifier: GPL-2.0-only
"""Bianchi's model of saturated stations, against values computed by hand."""

import capture_model
import pytest
from bianchi_model import (
    BEST_EFFORT,
    Edca,
    Prediction,
    attempt_probability,
)
from bianchi_model import solve as solve_exchange
from wifi_timing import ACK, legacy, ppdu_us

PAYLOAD = 1472
PPDU_US = ppdu_us(legacy(54_000), 26 + 8 + 20 + 8 + PAYLOAD + 4)
ACK_US = ppdu_us(legacy(24_000), ACK)
STATIONS = (1, 2, 3, 5, 10, 20, 50)


def solve(n: int) -> Prediction:
    return solve_exchange(n, PPDU_US, ACK_US, PAYLOAD)


def test_durations_by_hand() -> None:
    assert PPDU_US == 20 + 4 * 58  # 12326 bits, 216 per symbol
    assert ACK_US == 28
    assert ppdu_us(legacy(6000), 1) == 20 + 4 * 2  # 16 + 8 + 6 bits, 24 per symbol
    edca = BEST_EFFORT
    assert (edca.aifs_us, edca.timeout_us, edca.eifs_extra_us) == (43, 45, 60)
    assert list(edca.windows()) == [16, 32, 64, 128, 256, 512, 1024, 1024]


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


# With a single attempt, tau is 1 / 8.5 = 2 / 17 whatever the share of collisions. A success takes
# 252 + 16 + 28 + 43 = 339 us from boundary to boundary.
ONE_ATTEMPT = Edca(attempts=1)


def test_two_and_three_stations_by_hand() -> None:
    two = solve_exchange(2, PPDU_US, ACK_US, PAYLOAD, ONE_ATTEMPT)
    assert two.collision_probability == pytest.approx(2 / 17)
    # Of 289 slots 225 are idle and 60 successes; 4 collisions take 252 + 45 + 43 us.
    assert two.throughput_mbps == pytest.approx(60 * 8 * PAYLOAD / (225 * 9 + 60 * 339 + 4 * 340))
    three = solve_exchange(3, PPDU_US, ACK_US, PAYLOAD, ONE_ATTEMPT)
    assert three.collision_probability == pytest.approx(64 / 289)
    # Of 4913 slots 3375 are idle and 1350 successes; 188 collisions take 252 + 60 + 43 us.
    slots_us = 3375 * 9 + 1350 * 339 + 188 * 355
    assert three.throughput_mbps == pytest.approx(1350 * 8 * PAYLOAD / slots_us)


@pytest.mark.parametrize(("eifs", "collision_us"), [(True, 355), (False, 295)])
def test_a_station_with_capture_by_hand(eifs: bool, collision_us: int) -> None:
    near = capture_model.solve(2, PPDU_US, ACK_US, PAYLOAD, ONE_ATTEMPT, loss=0.5, eifs=eifs)
    assert (near.near_lost, near.far_lost) == pytest.approx((32 / 289, 64 / 289))
    # Of 4913 slots 3375 are idle, 514 successes of the near and 900 of the far stations.
    slots_us = 3375 * 9 + (514 + 900) * 339 + 124 * collision_us
    assert near.near_mbps == pytest.approx(514 * 8 * PAYLOAD / slots_us)
    assert near.far_mbps == pytest.approx(900 * 8 * PAYLOAD / slots_us)


@pytest.mark.parametrize("far", [1, 2])
def test_a_frame_received_in_every_collision_is_never_lost(far: int) -> None:
    near = capture_model.solve(far, PPDU_US, ACK_US, PAYLOAD)
    assert near.near_lost == 0
    assert near.near_mbps > near.far_mbps / far
    assert near.far_lost == pytest.approx(
        1 - 15 / 17 * (1 - attempt_probability(near.far_lost)) ** (far - 1)
    )


def test_two_stations_without_capture_are_bianchis() -> None:
    alike, two = capture_model.solve(1, PPDU_US, ACK_US, PAYLOAD, loss=1.0), solve(2)
    assert (alike.near_mbps, alike.far_mbps) == pytest.approx([two.throughput_mbps / 2] * 2)
    assert (alike.near_lost, alike.far_lost) == pytest.approx([two.collision_probability] * 2)

# SPDX-License-Identifier: GPL-2.0-only
"""The curves of Figure 2.9 of A. Statkus' dissertation."""

import math

import pytest
from growth import rfc_windows_bytes, window_after


def test_equation_2_3_is_the_inverse_of_table_2_1() -> None:
    table = [2, 5, 9, 14, 20, 27, 35, 44, 54, 65, 77, 90, 104, 119]
    assert [window_after(acks, 1) for acks in table] == pytest.approx(range(1, 15))


def test_rfc_window_grows_as_the_square_root_by_at_least_a_byte() -> None:
    # W^2 grows by 2 SMSS^2 per ACK.
    assert rfc_windows_bytes(1460)[10_000] == pytest.approx(1460 * math.sqrt(2e4), rel=0.01)
    small = rfc_windows_bytes(10)
    assert small[1005] - small[1000] == 5

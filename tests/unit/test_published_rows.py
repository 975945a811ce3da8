# SPDX-License-Identifier: GPL-2.0-only
"""Rows of published and measured values: their numbers, and whether they need a reason."""

import pytest

from airtcp.results import reproduction
from airtcp.results.documents import Comparison


def row_of(measured: float, ci95: float) -> Comparison:
    return Comparison(
        factors={},
        relative_to={},
        metric="delivery_share",
        published=0.9932,
        precision="exact",
        source="",
        measured=measured,
        ci95=ci95,
        n=2,
        ratio=1.006,
        agreement="within 10%",
        reason="",
        derived=False,
    )


def test_small_intervals_are_written_without_an_exponent() -> None:
    assert reproduction.ours(row_of(0.99891, 8.369e-05)) == "0.9989 ± 0.000084"
    assert reproduction.ours(row_of(1e-5, 1e-9)) == "0.00001 ± 0"


def test_large_values_are_written_without_an_exponent() -> None:
    assert reproduction.ours(row_of(123456.7, 1234.5)) == "123457 ± 1234"


@pytest.mark.parametrize(
    ("value", "agreement", "reason", "needed"),
    [
        (2.0, "within 10%", "", False),
        (2.0, "same trend", "", True),
        (2.0, "differs", "", True),
        (2.0, "differs", "Rain.", False),
        (2.0, "not measured", "", False),
        ("more", "same trend", "", False),
        ("less", "same trend", "", False),
        ("less", "differs", "", True),
        ("same", "within 10%", "", False),
        ("same", "differs", "", True),
    ],
)
def test_a_value_needs_a_reason_if_its_verdict_could_be_better(
    value: float | str, agreement: str, reason: str, needed: bool
) -> None:
    row = row_of(1, 0).model_copy(
        update={"published": value, "agreement": agreement, "reason": reason}
    )
    assert reproduction.needs_reason(row) == needed

# SPDX-License-Identifier: GPL-2.0-only
"""Verdicts on values, ratios and words, at the limits that the page of published values states."""

import pytest

from airtcp.experiment import papers
from airtcp.results import verdicts


@pytest.mark.parametrize(
    ("measured", "published", "precision", "verdict"),
    [
        (110, 100, "exact", "within 10%"),
        (111, 100, "exact", "differs"),
        (90, 100, "exact", "within 10%"),
        (89, 100, "exact", "differs"),
        (109, 100, "approximate", "within 10%"),
        (111, 100, "approximate", "differs"),
        (50, 100, "at most", "within 10%"),
        (110, 100, "at most", "within 10%"),
        (111, 100, "at most", "differs"),
        (150, 100, "at least", "within 10%"),
        (90, 100, "at least", "within 10%"),
        (89, 100, "at least", "differs"),
        (0, 0, "exact", "within 10%"),
        (1, 0, "exact", "differs"),
        (1, 0, "at most", "differs"),
        (1, 0, "at least", "within 10%"),
    ],
)
def test_verdict_of_a_value(
    measured: float, published: float, precision: papers.Precision, verdict: str
) -> None:
    assert verdicts.of_value(measured, published, precision, ordered=False) == verdict
    ordered = verdicts.of_value(measured, published, precision, ordered=True)
    assert ordered == ("same trend" if verdict == "differs" else verdict)


@pytest.mark.parametrize(
    ("measured", "published", "verdict"),
    [
        (1.108, 1.108, "within 10%"),
        (1.08, 1.108, "within 10%"),
        (1.073, 1.108, "within 10%"),  # two thirds of the change
        (1.071, 1.108, "same trend"),
        (1.149, 1.1, "within 10%"),  # one and a half times the change
        (1.151, 1.1, "same trend"),
        (1.3, 1.108, "same trend"),
        (1.011, 1.108, "same trend"),
        (1.009, 1.108, "differs"),  # noise
        (0.9, 1.108, "differs"),
        (0.42, 0.4, "within 10%"),
        (0.5, 0.4, "same trend"),  # not within 10% of the ratio, though of the change
        (1.36, 1.5, "within 10%"),
        (1.34, 1.5, "same trend"),  # as 0.5, but below
        (0.8, 0.4, "same trend"),
        (0.995, 0.4, "differs"),
        (1.0, 0.4, "differs"),
        (1.04, 1.0, "within 10%"),
        (0.96, 1.0, "within 10%"),
        (1.06, 1.0, "differs"),
        (0.94, 1.0, "differs"),
        (0.97, 1.019, "within 10%"),  # 1 within 2%
        (0.97, 1.021, "differs"),
        (0.97, 0.981, "within 10%"),
        (0.9, 0.979, "same trend"),
    ],
)
def test_verdict_of_a_ratio(measured: float, published: float, verdict: str) -> None:
    assert verdicts.of_ratio(measured, published, "exact") == verdict


@pytest.mark.parametrize(
    ("measured", "published", "verdict"),
    [
        (1.09, 1.0, "within 10%"),
        (0.91, 1.0, "within 10%"),
        (1.11, 1.0, "differs"),
        (0.92, 1.019, "within 10%"),
        (0.91, 1.019, "differs"),  # within 10% of 1, but not of the ratio
    ],
)
def test_an_approximate_ratio_of_1_may_differ_by_10_percent(
    measured: float, published: float, verdict: str
) -> None:
    assert verdicts.of_ratio(measured, published, "approximate") == verdict


@pytest.mark.parametrize(
    ("measured", "word", "verdict"),
    [
        (1.011, "more", "same trend"),
        (1.009, "more", "differs"),
        (0.9, "more", "differs"),
        (0.989, "less", "same trend"),
        (0.991, "less", "differs"),
        (1.1, "less", "differs"),
        (0.91, "same", "within 10%"),
        (1.09, "same", "within 10%"),
        (0.89, "same", "differs"),
        (1.11, "same", "differs"),
    ],
)
def test_verdict_of_a_word(measured: float, word: papers.Word, verdict: str) -> None:
    assert verdicts.of_word(measured, word) == verdict

# SPDX-License-Identifier: GPL-2.0-only
"""Means with 95% Student-t intervals, of independent values and of values paired by seed.

Runs that differ only in the policy have the same seed and therefore the same random numbers.
Comparing them in pairs removes the variance between seeds (common random numbers).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[numpy.float64]

_CONFIDENCE = 0.95

_Key = TypeVar("_Key", int, tuple[str, int])


@dataclass(frozen=True)
class Summary:
    """Mean of n values; ci95 is the half width of its 95% interval, None below two values."""

    mean: float
    ci95: float | None
    n: int


def part_below(means: ArrayLike, half: ArrayLike) -> Any:
    """The part of intervals below their means: what is measured is not negative."""
    return numpy.minimum(half, numpy.maximum(means, 0))


def summarize(values: Sequence[float]) -> Summary:
    """Summarize independent values. Raises ValueError when there are none."""
    n = len(values)
    if n == 0:
        raise ValueError("no values to summarize")
    mean = float(numpy.mean(values))
    if n == 1:
        return Summary(mean, None, n)
    standard_error = float(numpy.std(values, ddof=1)) / math.sqrt(n)
    return Summary(mean, _quantile(n - 1) * standard_error, n)


def _quantile(freedom: float) -> float:
    """Student's t for a two-sided interval, by the degrees of freedom."""
    # Imported here because it takes longer than commands that do not need it; scipy.stats also
    # has it and takes a second.
    from scipy import special

    return float(special.stdtrit(freedom, (1 + _CONFIDENCE) / 2))


def geometric_ci95(ratios: Sequence[Summary]) -> float | None:
    """The half width of the 95% interval of the geometric mean of independent positive means.

    To first order, with the degrees of freedom of Welch and Satterthwaite. None if there are no
    means, or one has no interval or is zero.
    """
    variances, freedoms = [], []
    for ratio in ratios:
        if ratio.ci95 is None or not ratio.mean:
            return None
        variances.append((ratio.ci95 / _quantile(ratio.n - 1) / ratio.mean) ** 2)
        freedoms.append(ratio.n - 1)
    total = sum(variances)
    if not total:
        return 0.0 if ratios else None
    parts = zip(variances, freedoms, strict=True)
    freedom = total**2 / sum(variance**2 / own for variance, own in parts)
    mean = math.exp(float(numpy.mean([math.log(ratio.mean) for ratio in ratios])))
    return mean * _quantile(freedom) * math.sqrt(total) / len(ratios)


def paired_difference(baseline: Mapping[int, float], other: Mapping[int, float]) -> Summary | None:
    """Summarize other - baseline over the common seeds; None if there are none."""
    return _paired([other[seed] - baseline[seed] for seed in sorted(baseline.keys() & other)])


def paired_ratio(baseline: Mapping[_Key, float], other: Mapping[_Key, float]) -> Summary | None:
    """Summarize other / baseline over the common keys, such as seeds; None if there are none.

    Also None if a baseline is zero: without its pair, the mean could have the wrong sign.
    """
    shared = sorted(baseline.keys() & other)
    if not all(baseline[key] for key in shared):
        return None
    return _paired([other[key] / baseline[key] for key in shared])


def _paired(values: Sequence[float]) -> Summary | None:
    return summarize(values) if values else None

# SPDX-License-Identifier: GPL-2.0-only
"""Means and their 95% Student-t intervals, alone and paired by seed.

Runs that differ only in a policy share their seed, hence their random numbers; comparing run by
run removes what the seed alone explains (common random numbers).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy

_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Summary:
    """Mean of n values; ci95 is the half width of its 95% interval, None below two values."""

    mean: float
    ci95: float | None
    n: int


def summarize(values: Sequence[float]) -> Summary:
    """Summarize independent values. Raises ValueError when there are none."""
    n = len(values)
    if n == 0:
        raise ValueError("no values to summarize")
    mean = float(numpy.mean(values))
    if n == 1:
        return Summary(mean, None, n)
    standard_error = float(numpy.std(values, ddof=1)) / math.sqrt(n)
    # Student's t. Loaded here, for it takes longer than the whole of a command that has no use for
    # it; scipy.stats has the same and takes a second.
    from scipy import special

    quantile = float(special.stdtrit(n - 1, (1 + _CONFIDENCE) / 2))
    return Summary(mean, quantile * standard_error, n)


def paired_difference(baseline: Mapping[int, float], other: Mapping[int, float]) -> Summary | None:
    """Summarize other - baseline over the seeds that both have; None if they share none."""
    return _paired([other[seed] - baseline[seed] for seed in sorted(baseline.keys() & other)])


def paired_ratio(baseline: Mapping[int, float], other: Mapping[int, float]) -> Summary | None:
    """Summarize other / baseline over the seeds that both have; None if they share none.

    Seeds whose baseline is zero have no ratio and are left out.
    """
    shared = sorted(seed for seed in baseline.keys() & other if baseline[seed] != 0)
    return _paired([other[seed] / baseline[seed] for seed in shared])


def _paired(values: Sequence[float]) -> Summary | None:
    return summarize(values) if values else None

# SPDX-License-Identifier: GPL-2.0-only
"""Verdicts on published values: whether a measured value reproduces one."""

from collections.abc import Mapping
from typing import Literal

from airtcp.experiment.papers import Precision, Word

Verdict = Literal["in size", "in direction", "no", "not measured"]

# What the functions below decide, for docs/published.md.
CRITERIA = """\
What counts as reproduced in size: a value within a tenth of the published one, a fifth where that
is approximate (read off a figure, or given as "close to"). For a ratio its change from 1 counts:
1.3 is a change of 0.3, and ours must be two thirds to one and a half times that; where the
published ratio is 1 within 2%, ours must be within 5% of it, 10% if approximate. What is at most
or at least a value may pass it by a tenth.
A value that differs by more is reproduced in direction if it lies above or below the
other published ones, of those that differ in one factor, as the published one does.
± is half of the 95% interval over seeds (Student t); one seed has none.
"""

_WITHIN: Mapping[Precision, float] = {
    **{"exact": 0.1, "approximate": 0.2},
    **{"at most": 0.1, "at least": 0.1},
}
_UNCHANGED = 0.02
_UNCHANGED_WITHIN: Mapping[Precision, float] = {"exact": 0.05, "approximate": 0.1}
_CHANGE_WITHIN = 1.5
_SEEN = 0.01


def of_value(measured: float, published: float, precision: Precision, ordered: bool) -> Verdict:
    """Verdict on a value; ordered: whether ours lies to others as the published one does."""
    beyond = measured / published - 1
    if precision == "at least":
        beyond = -beyond
    elif precision != "at most":
        beyond = abs(beyond)
    if beyond <= _WITHIN[precision]:
        return "in size"
    return "in direction" if ordered else "no"


def of_ratio(measured: float, published: float, precision: Precision) -> Verdict:
    """Verdict on a ratio of two values of one metric."""
    ours, theirs = measured - 1, published - 1
    if abs(theirs) < _UNCHANGED:
        return "in size" if abs(ours) <= _UNCHANGED_WITHIN[precision] else "no"
    if ours * theirs <= 0 or abs(ours) < _SEEN:
        return "no"
    return "in size" if 1 / _CHANGE_WITHIN <= ours / theirs <= _CHANGE_WITHIN else "in direction"


def of_word(measured: float, said: Word) -> Verdict:
    """Verdict on a ratio of which only a word is published."""
    if said == "same":
        return "in size" if abs(measured - 1) <= _UNCHANGED_WITHIN["approximate"] else "no"
    seen = measured - 1 if said == "more" else 1 - measured
    return "in direction" if seen >= _SEEN else "no"

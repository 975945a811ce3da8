# SPDX-License-Identifier: GPL-2.0-only
"""Verdicts: whether a measured value reproduces a published one."""

from collections.abc import Mapping
from typing import Literal

from airtcp.experiment.papers import Precision, Word

Verdict = Literal["within 10%", "same trend", "differs", "not measured"]

IN_SCHEMA_1: Mapping[Verdict, str] = {
    "within 10%": "in size",
    "same trend": "in direction",
    "differs": "no",
    "not measured": "not measured",
}
"""The words in results.json of schema 1."""

# The criteria of the functions below, for docs/reference/published.md.
CRITERIA = """\
A value is within 10% if it differs from the published one by at most 10%; a published bound (at
most, at least) may be exceeded by 10%. A ratio must also show the same effect: it is judged by its
change from 1. 1.3 is a change of 0.3, and the measured change must be two thirds to one and a half
times that; where the published ratio is 1 within 2%, the measured one must be within 5% of 1, or
10% if the published one is approximate (read off a figure, or given as "close to").
Other values show the same trend if they are above or below our values of cases that differ in one
factor, as the published one is, and ratios if they change in the same direction; by at least 1%.
Of these cases, those count whose published value is certainly at least 5% above or below it (a
bound may leave this open), and three quarters of them suffice. A published ratio that is 1 within
2% has no direction.
Ratios whose source is marked as computed are gains between two of the published values. They have a
verdict, but do not count in the following table.
A publication may admit several readings of an ACK policy, or of the setting of an experiment. Each
value is then compared with each of them, and counts once, with its best verdict.
± is half of the 95% confidence interval over seeds (Student's t); one seed has none."""

_WITHIN = 0.1
_UNCHANGED = 0.02
_UNCHANGED_WITHIN: Mapping[Precision, float] = {"exact": 0.05, "approximate": 0.1}
_CHANGE_WITHIN = 1.5
SEEN = 0.01
"""Smaller changes of our values are not a trend."""


def of_value(measured: float, published: float, precision: Precision, ordered: bool) -> Verdict:
    """Verdict on a value. ordered: whether our values are ordered as the published ones."""
    beyond = measured - published
    if precision == "at least":
        beyond = -beyond
    elif precision != "at most":
        beyond = abs(beyond)
    if beyond <= _WITHIN * published:
        return "within 10%"
    return "same trend" if ordered else "differs"


def of_ratio(measured: float, published: float, precision: Precision) -> Verdict:
    """Verdict on a ratio of two values of the same metric."""
    change, published_change = measured - 1, published - 1
    is_near = abs(measured / published - 1) <= _WITHIN
    if abs(published_change) < _UNCHANGED:
        unchanged = abs(change) <= _UNCHANGED_WITHIN[precision]
        return "within 10%" if unchanged and is_near else "differs"
    if change * published_change <= 0 or abs(change) < SEEN:
        return "differs"
    same_change = 1 / _CHANGE_WITHIN <= change / published_change <= _CHANGE_WITHIN
    return "within 10%" if same_change and is_near else "same trend"


def of_word(measured: float, word: Word) -> Verdict:
    """Verdict on a ratio that is published only as a word."""
    if word == "same":
        unchanged = abs(measured - 1) <= _UNCHANGED_WITHIN["approximate"]
        return "within 10%" if unchanged else "differs"
    seen = measured - 1 if word == "more" else 1 - measured
    return "same trend" if seen >= SEEN else "differs"

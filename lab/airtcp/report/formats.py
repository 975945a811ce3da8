# SPDX-License-Identifier: GPL-2.0-only
"""Formats numbers for the page."""

import math
from collections.abc import Callable

from airtcp.statistics import Summary, part_below

_LEAST = 1e-6  # smaller values are rounding errors

_MINUS = "\N{MINUS SIGN}"


def number(value: float | None) -> str:
    """Two to four significant digits; large whole numbers unchanged; a dash for None."""
    if value is None:
        return "\N{EN DASH}"
    return _fixed(value, _decimals(value))


def _fixed(value: float, decimals: int) -> str:
    # z: a small negative value is 0.0000, not -0.0000
    text = f"{value:z,.{decimals}f}"
    return text.replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", _MINUS)


def _decimals(value: float) -> int:
    magnitude = abs(value)
    if magnitude >= 1000 or (value == int(value) and (magnitude >= 100 or magnitude == 0)):
        return 0
    if magnitude >= 1:
        return 1 if magnitude >= 100 else 2
    return max(4, 1 - math.floor(math.log10(magnitude))) if magnitude >= _LEAST else 4


def interval(value: Summary | None, form: Callable[[float], str] = number) -> str:
    """The bounds of the 95% interval; a dash for a single run."""
    if value is None or value.ci95 is None:
        return "\N{EN DASH}"
    low = value.mean - part_below(value.mean, value.ci95)
    return f"{form(low)} to {form(value.mean + value.ci95)}"


def percent(ratio: float) -> str:
    """A ratio as a signed change in percent: 1.108 is +10.8%."""
    change = round((ratio - 1) * 100, 1)
    sign = "+" if change > 0 else _MINUS if change < 0 else ""
    return f"{sign}{abs(change):.1f}%"


def percent_interval(value: Summary | None) -> str:
    """The bounds of the 95% interval of a ratio, as changes in percent."""
    return interval(value, percent)


def with_interval(value: Summary | None) -> str:
    """A mean with the half width of its 95% interval; a dash for None.

    Both are rounded to two significant digits of the half width.
    """
    if value is None:
        return number(None)
    if value.ci95 is None:
        return number(value.mean)
    if value.ci95 < _LEAST:
        return f"{number(value.mean)} ± 0"
    decimals = max(0, 1 - math.floor(math.log10(value.ci95)))
    return f"{_fixed(value.mean, decimals)} ± {_fixed(value.ci95, decimals)}"

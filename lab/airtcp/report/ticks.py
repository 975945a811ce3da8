# SPDX-License-Identifier: GPL-2.0-only
"""The ticks of an axis of the page's SVG."""

import math
from collections.abc import Iterator, Sequence

from airtcp.report.figure import Axis, Tick

_MOST = 9
_STEPS = (1, 2, 2.5, 5, 10)
LEAST_DECADES = 2.0
"""Logarithmic axes with fewer, which may have one power of ten, have ticks at 2 and 5."""


def ticks(axis: Axis, room: float) -> Sequence[Tick]:
    """The ticks of an axis on which `room` ticks fit. Labels may have several lines."""
    if axis.ticks:
        return axis.ticks
    low, high = sorted(axis.limits)
    if axis.scale == "log":
        return [Tick(value, f"{value:g}") for value in _of_decades(low, high)]
    step = axis.step or _step((high - low) / max(1.0, min(room, _MOST)))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    decimals = next(number for number in range(16) if _is_whole(step * 10**number))
    return [
        Tick(number * step, _text(number * step, decimals)) for number in range(first, last + 1)
    ]


def _step(least: float) -> float:
    """The smallest round step that is not below `least`."""
    decade = 10.0 ** math.floor(math.log10(least))
    return next(factor * decade for factor in _STEPS if factor * decade >= least * (1 - 1e-9))


def _is_whole(value: float) -> bool:
    return abs(value - round(value)) < 1e-6


def _text(value: float, decimals: int) -> str:
    text = f"{abs(value):,.{decimals}f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    return f"\N{MINUS SIGN}{text}" if value < 0 and float(f"{value:.{decimals}f}") else text


def _of_decades(low: float, high: float) -> Iterator[float]:
    factors = (1, 2, 5) if math.log10(high / low) < LEAST_DECADES else (1,)
    for exponent in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for factor in factors:
            value = factor * 10.0**exponent
            if low <= value <= high:
                yield value

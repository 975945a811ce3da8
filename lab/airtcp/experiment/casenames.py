# SPDX-License-Identifier: GPL-2.0-only
"""Names of cases by their factors.

If many factors vary one at a time, a case differs from most others in one or two of them. Names
then omit the usual values.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar

_FEW_FACTORS = 5
_USUAL_SHARE = 0.75

_Value = TypeVar("_Value")


def usual_values(cases: Sequence[Mapping[str, _Value]]) -> dict[str, _Value]:
    """The value of each factor that more than three quarters of the cases have; cases: factors.

    Empty for five factors or fewer: their values can all be shown.
    """
    names = dict.fromkeys(name for case in cases for name in case)
    if len(names) <= _FEW_FACTORS:
        return {}
    usual = {}
    for name in names:
        values = [case[name] for case in cases if name in case]
        [(text, count)] = Counter(map(str, values)).most_common(1)
        if count > _USUAL_SHARE * len(cases):
            usual[name] = next(value for value in values if str(value) == text)
    return usual


def unusual(factors: Mapping[str, _Value], usual: Mapping[str, _Value]) -> dict[str, _Value]:
    """The factors whose values are not the usual ones."""
    return {name: value for name, value in factors.items() if usual.get(name) != value}


def display_name(name: str) -> str:
    """The name of a parameter or metric as text: `ACK policy`."""
    return " ".join("ACK" if word == "ack" else word for word in name.split("_"))


def case_name(factors: Mapping[str, object], usual: Mapping[str, object] | None = None) -> str:
    """The name of a case in tables and messages."""
    shown = unusual(factors, usual or {})
    if factors and not shown:
        return "(usual values)"
    return " ".join(f"{name}={value}" for name, value in shown.items()) or "(one case)"

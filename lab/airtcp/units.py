# SPDX-License-Identifier: GPL-2.0-only
"""Converts quantities between text (`10ms`, `240Mbit`, `64KiB`) and numbers.

Parsers return the number in the base unit at the end of their name; they raise ValueError with a
message that lists the allowed units. Formatters are the inverse and use the largest unit in which
the value is a whole number.
"""

import math
import re
from collections.abc import Mapping

# Largest first: the formatters take the first unit that divides the value.
_DURATION_NS: Mapping[str, int] = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_RATE_BPS: Mapping[str, int] = {"Gbit": 10**9, "Mbit": 10**6, "kbit": 10**3, "bit": 1}
_SIZE_BYTES: Mapping[str, int] = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10, "B": 1}

# Only read: the formatters keep writing a size as earlier versions did, whose runs are found by it.
_READ_SIZE_BYTES = {"GB": 10**9, "MB": 10**6, "kB": 10**3, **_SIZE_BYTES}

# A number without a unit, as a regular expression.
ANY_NUMBER = r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"

DURATION_UNITS, RATE_UNITS = tuple(_DURATION_NS), tuple(_RATE_BPS)
SIZE_UNITS = tuple(_READ_SIZE_BYTES)

_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z/]*)")


def _parse(text: str, units: Mapping[str, int], what: str, example: str) -> int:
    """The quantity in the smallest unit, which is the last one."""
    match = _QUANTITY.fullmatch(text.strip())
    unit = match.group(2) if match else ""
    if match is None or unit not in units:
        # Zero needs no unit.
        if match is not None and not unit and float(match.group(1)) == 0:
            return 0
        allowed = " ".join(reversed(list(units)))
        if match is None and _QUANTITY.fullmatch(text.strip().removeprefix("-")):
            what += ", because it is negative"
        close = _closest(unit, units)
        meant = f"did you mean '{match.group(1)}{close}'? " if match and close else ""
        raise ValueError(
            f"{text!r} is not {what}; {meant}write a number and a unit ({allowed}), as in {example}"
        )
    # The largest float would be infinite in the smallest unit.
    scaled = min(float(match.group(1)), 1e200) * units[unit]
    if is_fraction(scaled):
        raise ValueError(f"{text!r} would be rounded; allowed: multiples of 1{list(units)[-1]}")
    return round(scaled)


def is_fraction(value: float) -> bool:
    """Whether a value is not a whole number, apart from the error of a multiplication."""
    return abs(value - round(value)) > 1e-3 or 0 < abs(value) < 0.5


def _closest(unit: str, units: Mapping[str, int]) -> str | None:
    """The unit that was probably meant by one in the wrong case or another notation."""
    folded = re.sub("(bps|bits?/s|bits)$", "bit", re.sub("secs?$", "s", unit.casefold()))
    return next((known for known in units if known.casefold() == folded), None)


def _format(value: int, units: Mapping[str, int], zero: str) -> str:
    if value == 0:
        return zero
    for unit, size in units.items():
        if value % size == 0:
            return f"{value // size}{unit}"
    raise AssertionError("the smallest unit divides every value")


def parse_duration_s(text: str, example: str = "10ms") -> float:
    """`10ms` -> 0.01 (seconds). Units: ns us ms s. example: for the message."""
    return _parse(text, _DURATION_NS, "a duration", example) / 1e9


def format_duration_s(seconds: float) -> str:
    """0.01 -> `10ms`; rounded to a nanosecond."""
    return _format(round(seconds * 1e9), _DURATION_NS, "0ms")


def parse_rate_bps(text: str) -> float:
    """`240Mbit` -> 240e6 (bits per second). Units: bit kbit Mbit Gbit."""
    return float(_parse(text, _RATE_BPS, "a rate", "50Mbit"))


def format_rate_bps(bits_per_second: float) -> str:
    """240e6 -> `240Mbit`; rounded to a bit per second."""
    return _format(round(bits_per_second), _RATE_BPS, "0bit")


def parse_number(text: str) -> float | None:
    """`0.5`, `1e-3` -> the number; None if it is not a finite one, in digits alone."""
    if not re.fullmatch(ANY_NUMBER, text.strip()):
        return None
    number = float(text) + 0.0  # not -0.0
    return number if math.isfinite(number) else None


def parse_digits(text: str) -> int:
    """The number. Python converts at most 4300 digits, so more give another huge number."""
    return int(text[:4300])


def parse_size_bytes(text: str) -> int:
    """`64KiB` -> 65536, `64kB` -> 64000. Units: B KiB MiB GiB kB MB GB; without one: bytes."""
    bare = text.strip()
    if bare.isascii() and bare.isdigit():
        return parse_digits(bare)
    return _parse(text, _READ_SIZE_BYTES, "a size", "64KiB")


def format_size_bytes(size: int) -> str:
    """65536 -> `64KiB`."""
    return _format(size, _SIZE_BYTES, "0B")


def rounded(value: float, digits: int) -> str:
    """With this many significant digits, or all of a larger whole part; never an exponent."""
    text = f"{value:z.{digits}g}"
    if "e" not in text:
        return text
    if abs(value) >= 1:
        return f"{value:.0f}"
    return f"{value:z.6f}".rstrip("0").rstrip(".")


def counted(count: int, singular: str, plural: str = "") -> str:
    """`1 run`, `2 runs`; plural: if it is not the singular with an s."""
    return f"{count} {singular if count == 1 else plural or f'{singular}s'}"

# SPDX-License-Identifier: GPL-2.0-only
"""Types of parameters: numbers with a range and a unit, words, switches, lists.

Each type parses text from YAML or from the command line, raises ValueError with the allowed values,
and formats values as text.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, GetCoreSchemaHandler, PlainSerializer
from pydantic_core import CoreSchema, core_schema

from airtcp import suggest
from airtcp.parameters import jsonschema
from airtcp.parameters.jsonschema import (
    COUNT,
    FRACTION,
    Form,
    Json,
    Shape,
    joined,
    with_sign,
    with_unit,
)
from airtcp.units import (
    DURATION_UNITS,
    RATE_UNITS,
    SIZE_UNITS,
    format_duration_s,
    format_rate_bps,
    format_size_bytes,
    is_fraction,
    parse_digits,
    parse_duration_s,
    parse_number,
    parse_rate_bps,
    parse_size_bytes,
)

DURATION = with_unit(DURATION_UNITS, "10ms", "zero")
SECONDS = with_unit(DURATION_UNITS, "10s", "zero")
RATE = with_unit(RATE_UNITS, "20Mbit", "zero")
SIZE = with_unit(SIZE_UNITS, "64KiB", "integer")

# A value in JSON and YAML.
Plain = str | int | float


@dataclass(frozen=True)
class Quantity:
    """A number in a range, with or without a unit, or a word for None.

    hint: for the message about a number out of range.
    """

    parse: Callable[[str], float]
    write: Callable[[Any], Plain]
    form: Form
    low: float
    high: float
    none: str | None = None
    hint: str = ""

    def read(self, value: object) -> float | None:
        text = str(value)
        if self.none is not None and text == self.none:
            return None
        try:
            number = self.parse(text)
        except ValueError as error:
            raise ValueError(f"{error}{self._instead_of(text)}") from None
        if not self.low <= number <= self.high:
            raise ValueError(f"{text!r} is out of range; allowed: {self.allowed()}{self.hint}")
        return number

    def _instead_of(self, text: str) -> str:
        """What to write instead; messages about units already say how to write a number."""
        if self.none and (meant := suggest.hint(text, [self.none])):
            return meant
        if self.parse in (_parse_count, _parse_fraction):
            return f"; allowed: {self.allowed()}"
        return f", or {self.none!r}" if self.none else ""

    def plain(self, value: float | None) -> Plain | None:
        return self.none if value is None else self.write(value)

    def allowed(self) -> str:
        bounds = f"{self.write(self.low)} to {self.write(self.high)}"
        return f"{bounds} or {self.none!r}" if self.none else bounds

    def __get_pydantic_core_schema__(
        self, _source: object, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.read,
            serialization=core_schema.plain_serializer_function_ser_schema(self.plain),
        )

    def __get_pydantic_json_schema__(self, _core: object, _handler: object) -> Json:
        return self.form.schema(self.low, self.high, self.none, self.allowed())


def _parse_count(text: str) -> int:
    if not re.fullmatch("[0-9]+", digits := text.strip()):
        raise ValueError(f"{text!r} is not a whole number")
    return parse_digits(digits)


def _parse_fraction(text: str) -> float:
    number = parse_number(text)
    if number is None:
        raise ValueError(f"{text!r} is not a number")
    return number


def _parse_seconds(text: str) -> float:
    seconds = parse_duration_s(text, "10s")
    if seconds != int(seconds):
        raise ValueError(f"{text!r} is not a whole number of seconds, which iperf3 needs")
    return seconds


def _with_unit(text: str, unit: str, what: str, example: str) -> float:
    """Parse a number with its unit: a multiple of a thousandth."""
    match = re.fullmatch(r"(-?[0-9]+(?:\.[0-9]+)?)\s*" + unit, text.strip())
    if not match:
        raise ValueError(f"{text!r} is not {what}; write a number and {unit}, as in {example}")
    number = float(match.group(1))
    if is_fraction(number * 1000):
        raise ValueError(f"{text!r} would be rounded; allowed: multiples of 0.001{unit}")
    return round(number, 3) + 0.0  # not -0.0


def _write_with_unit(number: float, unit: str) -> str:
    return f"{number:.3f}".rstrip("0").rstrip(".") + unit


def parse_distance_m(text: str) -> float:
    """`12.5m` -> 12.5: whole millimetres."""
    return _with_unit(text, "m", "a distance", "5m")


def format_distance_m(metres: float) -> str:
    """12.5 -> `12.5m`."""
    return _write_with_unit(metres, "m")


def duration(low_s: float, high_s: float, none: str | None = None) -> Quantity:
    return Quantity(parse_duration_s, format_duration_s, DURATION, low_s, high_s, none)


def whole_seconds(low_s: float, high_s: float) -> Quantity:
    return Quantity(_parse_seconds, format_duration_s, SECONDS, low_s, high_s)


def rate(none: str | None = None) -> Quantity:
    return Quantity(parse_rate_bps, format_rate_bps, RATE, 1e4, 1e11, none)


def size(low: int, high: int, none: str | None = None) -> Quantity:
    return Quantity(parse_size_bytes, format_size_bytes, SIZE, low, high, none)


def count(low: int, high: int, none: str | None = None, hint: str = "") -> Quantity:
    return Quantity(_parse_count, int, COUNT, low, high, none, hint)


def fraction(low: float, high: float, none: str | None = None) -> Quantity:
    return Quantity(_parse_fraction, float, FRACTION, low, high, none)


def distance(low_m: float, high_m: float, none: str | None = None) -> Quantity:
    return _signed("m", "a distance", "5m", low_m, high_m, none)


def ratio(low_db: float, high_db: float, none: str | None = None) -> Quantity:
    return _signed("dB", "a ratio of levels", "20dB", low_db, high_db, none)


def frequency(low_hz: float, high_hz: float) -> Quantity:
    return _signed("Hz", "a frequency", "6Hz", low_hz, high_hz)


def level(low_dbm: float, high_dbm: float, none: str | None = None) -> Quantity:
    return _signed("dBm", "a level", "-82dBm", low_dbm, high_dbm, none)


def _signed(
    unit: str, what: str, example: str, low: float, high: float, none: str | None = None
) -> Quantity:
    return Quantity(
        lambda text: _with_unit(text, unit, what, example),
        lambda number: _write_with_unit(number, unit),
        with_sign(unit, example),
        low,
        high,
        none,
    )


SWITCH = ("on", "off")


def _read_on_off(value: object) -> bool:
    if value in SWITCH:
        return value == "on"
    raise ValueError(f"{value!r} is not a switch; {suggest.allowed(str(value), SWITCH)}")


def _write_on_off(value: bool) -> str:
    return "on" if value else "off"


OnOff = Annotated[
    bool,
    BeforeValidator(_read_on_off),
    PlainSerializer(_write_on_off),
    Shape(lambda: jsonschema.words(SWITCH)),
]

CAPTURE_POINTS = ("server", "station", "air")


def _read_capture(value: object) -> tuple[str, ...]:
    if value == "off":
        return ()
    points = [point.strip() for point in str(value).split(",")]
    for point in points:
        if point not in CAPTURE_POINTS:
            known = suggest.allowed(point, ("off", *CAPTURE_POINTS), "points joined by ,")
            raise ValueError(f"{point!r} is not a capture point; {known}")
    return tuple(point for point in CAPTURE_POINTS if point in points)


def _write_capture(points: tuple[str, ...]) -> str:
    return ",".join(points) or "off"


MOST_CHARACTERS = 2000


def _read_command(value: object) -> str | None:
    if value is None or value == "none":
        return None
    text = str(value).strip()
    if not text or len(text) > MOST_CHARACTERS or not text.isprintable():
        raise ValueError(
            f"{str(value)[:40]!r} is not a command; allowed: one printable line of at most "
            f"{MOST_CHARACTERS} characters, or 'none'"
        )
    return text


class WithCommas:
    """Marks types whose text may contain commas, which otherwise separate values of `--set`."""


Capture = Annotated[
    tuple[str, ...],
    BeforeValidator(_read_capture),
    PlainSerializer(_write_capture),
    Shape(lambda: joined(CAPTURE_POINTS, ",", "off")),
    WithCommas(),
]

Command = Annotated[
    str | None,
    BeforeValidator(_read_command),
    PlainSerializer(lambda command: command or "none"),
    Shape(
        lambda: jsonschema.text(
            f".{{1,{MOST_CHARACTERS}}}", "ping -c 3 $AIRTCP_SENDER", "a line for sh"
        )
    ),
    WithCommas(),
]

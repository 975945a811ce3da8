# SPDX-License-Identifier: GPL-2.0-only
"""Positions in a plane, and mobility: `0s=5m,10s=40m/20m` is a position over time."""

import itertools
import math
import re
from collections.abc import Iterator
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, PlainSerializer

from airtcp.parameters import jsonschema
from airtcp.parameters.jsonschema import Json, Shape, either, text
from airtcp.parameters.quantity import WithCommas, format_distance_m, parse_distance_m
from airtcp.units import format_duration_s, parse_duration_s

NONE = "none"
FARTHEST_M = 100_000.0
FASTEST_M_PER_S = 1000.0

# airsim has velocities in mm/s.
_MOST_WRONG_M = 0.1

_COORDINATE = r"-?[0-9]+(\.[0-9]+)?\s*m"
_POSITION = rf"{_COORDINATE}(\s*/\s*{_COORDINATE})?"
_ALLOWED = f"{-FARTHEST_M:g}m to {FARTHEST_M:g}m"


class Position(NamedTuple):
    """Coordinates."""

    x_m: float
    y_m: float = 0.0

    def distance_m(self, other: "Position") -> float:
        return math.dist(self, other)

    def __str__(self) -> str:
        coordinates = self if self.y_m else self[:1]
        return "/".join(map(format_distance_m, coordinates))


ORIGIN = Position(0.0)
"""Position of the access point, unless it has one of its own."""


class Point(NamedTuple):
    """Time since the start of the transfer, and position."""

    at_s: float
    position: Position


class Leg(NamedTuple):
    """Start, velocity and duration of a movement; the last leg lasts as long as the transfer."""

    start: Position
    m_per_s: tuple[float, float]
    seconds: float | None


def legs(points: tuple[Point, ...]) -> list[Leg]:
    """The movements of a station, in order, from the start of the transfer; none if it stays."""
    if len(points) < 2:
        return []
    walked = itertools.chain(*(_walked(here, there) for here, there in itertools.pairwise(points)))
    return [*walked, Leg(points[-1].position, (0.0, 0.0), None)]


def _walked(here: Point, there: Point) -> Iterator[Leg]:
    """The movement from one point to the next, in as many parts as its rounded velocity needs."""
    velocity_m_per_s = _velocity_m_per_s(here, there)
    length_s = there.at_s - here.at_s
    wrong_m = max(abs(each - round(each, 3)) for each in velocity_m_per_s) * length_s
    parts = max(1, math.ceil(wrong_m / _MOST_WRONG_M))
    for number in range(parts):
        after_s = length_s * number / parts
        moved_m = [each * after_s for each in velocity_m_per_s]
        start = Position(*map(sum, zip(here.position, moved_m, strict=True)))
        yield Leg(start, velocity_m_per_s, length_s / parts)


def _velocity_m_per_s(here: Point, there: Point) -> tuple[float, float]:
    x_m, y_m = there.position.x_m - here.position.x_m, there.position.y_m - here.position.y_m
    return x_m / (there.at_s - here.at_s), y_m / (there.at_s - here.at_s)


def _read_position(value: object) -> Position:
    given = str(value)
    if not re.fullmatch(_POSITION, given.strip()):
        raise ValueError(f"{given!r} is not a position, as in 40m or 40m/20m")
    position = Position(*map(parse_distance_m, given.split("/")))
    if max(map(abs, position)) > FARTHEST_M:
        raise ValueError(f"{given!r} is out of range; allowed: {_ALLOWED} in each direction")
    return position


def _read_walk(value: object) -> tuple[Point, ...] | None:
    text = str(value)
    if text == NONE:
        return None
    points = tuple(_point(part) for part in text.split(","))
    if points[0].at_s != 0:
        raise ValueError(f"{text!r} does not begin at 0s")
    for here, there in itertools.pairwise(points):
        if there.at_s <= here.at_s:
            raise ValueError(
                f"{text!r}: {format_duration_s(there.at_s)} is not after the one before"
            )
        if math.hypot(*_velocity_m_per_s(here, there)) > FASTEST_M_PER_S:
            raise ValueError(f"{text!r} is too fast; allowed: {FASTEST_M_PER_S:g} m/s")
    return points


def _point(text: str) -> Point:
    at, equals, position = text.partition("=")
    if not equals:
        raise ValueError(f"{text!r} is not a time and a position, as in 0s=5m,10s=40m, or {NONE!r}")
    return Point(parse_duration_s(at), _read_position(position))


def _write_walk(points: tuple[Point, ...] | None) -> str:
    if points is None:
        return NONE
    return ",".join(f"{format_duration_s(point.at_s)}={point.position}" for point in points)


def _walk_shape() -> Json:
    point = rf"[0-9.]+\s*[a-z]*\s*=\s*{_POSITION}"
    hint = f"points joined by , from 0s on, as in 0s=5m,10s=40m or 0s=5m,10s=40m/20m, or {NONE!r}"
    return either(text(f"{point}(,{point})*", "0s=5m,10s=40m", hint), jsonschema.words([NONE]))


def _position_shape() -> Json:
    return text(_POSITION, "40m/20m", f"x or x/y, each from {_ALLOWED}")


Coordinates = Annotated[
    Position,
    BeforeValidator(_read_position),
    PlainSerializer(str),
    Shape(_position_shape),
]

Walk = Annotated[
    tuple[Point, ...] | None,
    BeforeValidator(_read_walk),
    PlainSerializer(_write_walk),
    Shape(_walk_shape),
    WithCommas(),
]

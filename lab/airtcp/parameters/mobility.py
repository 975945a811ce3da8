# SPDX-License-Identifier: GPL-2.0-only
"""Mobility of the stations: `0s=5m,10s=40m` is distance over time, linear in between."""

import itertools
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, PlainSerializer

from airtcp.parameters import jsonschema
from airtcp.parameters.jsonschema import Json, Shape, either, text
from airtcp.parameters.quantity import WithCommas, format_distance_m, parse_distance_m
from airtcp.units import format_duration_s, parse_duration_s

NONE = "none"
FARTHEST_M = 100_000.0
FASTEST_M_PER_S = 1000.0


class Point(NamedTuple):
    """Time since the start of the transfer, and distance from the access point."""

    at_s: float
    distance_m: float


class Leg(NamedTuple):
    """Start, speed and duration of a movement; the last leg lasts as long as the transfer."""

    from_mm: int
    mm_per_s: int
    seconds: float | None


def legs(points: tuple[Point, ...]) -> list[Leg]:
    """The movements of a station, in order, from the start of the transfer."""
    walked = [
        Leg(
            round(here.distance_m * 1000),
            round(_speed_m_per_s(here, there) * 1000),
            there.at_s - here.at_s,
        )
        for here, there in itertools.pairwise(points)
    ]
    return [*walked, Leg(round(points[-1].distance_m * 1000), 0, None)]


def _speed_m_per_s(here: Point, there: Point) -> float:
    return (there.distance_m - here.distance_m) / (there.at_s - here.at_s)


def _read(value: object) -> tuple[Point, ...] | None:
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
        if abs(_speed_m_per_s(here, there)) > FASTEST_M_PER_S:
            raise ValueError(f"{text!r} is too fast; allowed: {FASTEST_M_PER_S:g} m/s")
    return points


def _point(text: str) -> Point:
    at, equals, distance = text.partition("=")
    if not equals:
        raise ValueError(f"{text!r} is not a time and a place, as in 0s=5m,10s=40m, or {NONE!r}")
    point = Point(parse_duration_s(at), parse_distance_m(distance))
    if not 0 <= point.distance_m <= FARTHEST_M:
        raise ValueError(f"{text!r} is out of range; allowed: 0m to {FARTHEST_M:g}m")
    return point


def _write(points: tuple[Point, ...] | None) -> str:
    if points is None:
        return NONE
    return ",".join(
        f"{format_duration_s(point.at_s)}={format_distance_m(point.distance_m)}" for point in points
    )


def _shape() -> Json:
    point = r"[0-9.]+\s*[a-z]*\s*=\s*[0-9.]+\s*m"
    hint = f"points joined by , from 0s on, as in 0s=5m,10s=40m, or {NONE!r}"
    return either(text(f"{point}(,{point})*", "0s=5m,10s=40m", hint), jsonschema.words([NONE]))


Walk = Annotated[
    tuple[Point, ...] | None,
    BeforeValidator(_read),
    PlainSerializer(_write),
    Shape(_shape),
    WithCommas(),
]

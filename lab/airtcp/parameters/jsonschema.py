# SPDX-License-Identifier: GPL-2.0-only
"""JSON Schema of values in YAML. The loader reads scalars as text, but schema checkers do not.

Checkers use YAML's interpretation of the text: `off` is false in YAML 1.1 and a string in 1.2, `7`
is a number, `"7"` a string. Schemas made here accept all of them.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from airtcp.units import ANY_NUMBER

Json = dict[str, Any]

# YAML 1.1 reads these words as booleans.
_BOOLEANS = {"on": True, "off": False}

_DIGITS = r"[0-9]+(\.[0-9]+)?"
_ZERO = r"0+(\.0+)?"

# The allowed values, for people.
HINT = "$comment"

_FOR_PEOPLE = ("examples", HINT)

# Placeholder for the schema of the named parameter.
PARAMETER = "$parameter"

SCALAR: Json = {"type": ["string", "number", "boolean"], HINT: "text"}
NUMBER: Json = {
    "anyOf": [{"type": "number"}, {"type": "string", "pattern": f"^{ANY_NUMBER}$"}],
    HINT: "a number",
}


@dataclass(frozen=True)
class Form:
    """The notation of a quantity: a pattern, an example, and the allowed numbers without a unit."""

    pattern: str
    example: str
    bare: Literal["none", "zero", "integer", "number"] = "none"

    def schema(self, low: float, high: float, none: str | None, allowed: str) -> Json:
        """The schema of a quantity in a range. none: the word for None; allowed: for people."""
        shapes = [text(self.pattern, self.example, allowed)]
        if self.bare == "zero":
            shapes.append({"const": 0})
        elif self.bare != "none":
            shapes.append({"type": self.bare, "minimum": low, "maximum": high})
        if none is not None:
            shapes.append(words([none]))
        return either(*shapes)


def with_unit(units: Iterable[str], example: str, bare: Literal["zero", "integer"]) -> Form:
    """A number with one of the units. bare: the numbers that need no unit."""
    without_unit = _ZERO if bare == "zero" else "[0-9]+"
    return Form(rf"{_DIGITS}\s*({'|'.join(units)})|{without_unit}", example, bare)


def with_sign(unit: str, example: str) -> Form:
    """A number, possibly negative, with its unit."""
    return Form(rf"-?{_DIGITS}\s*{unit}", example)


COUNT = Form("[0-9]+", "7", "integer")
FRACTION = Form(ANY_NUMBER, "0.5", "number")


@dataclass(frozen=True)
class Shape:
    """An annotation of a type: its JSON Schema, made on demand."""

    make: Callable[[], Json]

    def __get_pydantic_json_schema__(self, _core: object, _handler: object) -> Json:
        return self.make()


def words(allowed: Iterable[object], hint: str | None = None) -> Json:
    """One of these words, however YAML interprets it. hint: what they are, for long lists."""
    listed: list[str | int | bool] = [str(word) for word in allowed]
    for word in tuple(map(str, listed)):
        if word in _BOOLEANS:
            listed.append(_BOOLEANS[word])
        elif word.isdigit():
            listed.append(int(word))
    return {"enum": listed} | ({HINT: hint} if hint else {})


def text(pattern: str, example: str, allowed: str) -> Json:
    """A text that matches the pattern. allowed: the same for people."""
    return {
        "type": "string",
        "pattern": rf"^\s*({pattern})\s*$",
        "examples": [example],
        HINT: allowed,
    }


def either(*shapes: Json) -> Json:
    """One of these schemas; examples and hint are those of the first."""
    [first, *_] = shapes
    bare = [{key: shape[key] for key in shape if key not in _FOR_PEOPLE} for shape in shapes]
    shown = {key: first[key] for key in _FOR_PEOPLE if key in first}
    return {**(bare[0] if len(bare) == 1 else {"anyOf": bare}), **shown}


def joined(allowed: Iterable[str], separator: str, none: str) -> Json:
    """Any of the words, joined by the separator, or the word for none of them."""
    known = list(allowed)
    alternatives = "|".join(known)
    pattern = rf"({alternatives})(\s*{re.escape(separator)}\s*({alternatives}))*"
    listed = f"{none}, or any of {separator.join(known)}"
    return either(text(pattern, known[0], listed), words([none]))

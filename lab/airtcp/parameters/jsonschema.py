# SPDX-License-Identifier: GPL-2.0-only
"""What a JSON Schema says of a value in YAML, where the loader reads the text of a scalar.

Whoever checks a file against the schema has YAML's own reading of that text: `off` is false to some
(YAML 1.1) and a word to others (1.2), `7` a number, `"7"` a string. A shape takes them all.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

Json = dict[str, Any]

# YAML 1.1 reads these words as booleans.
_BOOLEANS = {"on": True, "off": False}

_DIGITS = r"[0-9]+(\.[0-9]+)?"
_ANY_NUMBER = r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"
_ZERO = r"0+(\.0+)?"

# What is allowed, for people.
HINT = "$comment"

_FOR_PEOPLE = ("examples", HINT)

# Stands for the schema of the parameter that it names.
PARAMETER = "$parameter"

SCALAR: Json = {"type": ["string", "number", "boolean"], HINT: "text"}
NUMBER: Json = {
    "anyOf": [{"type": "number"}, {"type": "string", "pattern": f"^{_ANY_NUMBER}$"}],
    HINT: "a number",
}


@dataclass(frozen=True)
class Form:
    """How a quantity is written: a pattern, an example, and which plain numbers are allowed."""

    pattern: str
    example: str
    bare: Literal["none", "zero", "integer", "number"] = "none"

    def schema(self, low: float, high: float, none: str | None, allowed: str) -> Json:
        """Of a quantity in a range; none is a word that stands for none."""
        shapes = [text(self.pattern, self.example, allowed)]
        if self.bare == "zero":
            shapes.append({"const": 0})
        elif self.bare != "none":
            shapes.append({"type": self.bare, "minimum": low, "maximum": high})
        if none is not None:
            shapes.append(words([none]))
        return either(*shapes)


def with_unit(units: Iterable[str], example: str, bare: Literal["zero", "integer"]) -> Form:
    """A number and one of the units; what is bare needs none."""
    needs_none = _ZERO if bare == "zero" else "[0-9]+"
    return Form(rf"{_DIGITS}\s*({'|'.join(units)})|{needs_none}", example, bare)


def with_sign(unit: str, example: str) -> Form:
    """A number, maybe a negative one, and its unit."""
    return Form(rf"-?{_DIGITS}\s*{unit}", example)


COUNT = Form("[0-9]+", "7", "integer")
FRACTION = Form(_ANY_NUMBER, "0.5", "number")


@dataclass(frozen=True)
class Shape:
    """An annotation of a type: its JSON Schema, made when it is asked for."""

    make: Callable[[], Json]

    def __get_pydantic_json_schema__(self, _core: object, _handler: object) -> Json:
        return self.make()


def words(allowed: Iterable[object], hint: str | None = None) -> Json:
    """One of these, however YAML reads them. hint: what they are, in place of a long list."""
    listed: list[str | int | bool] = [str(word) for word in allowed]
    for word in tuple(map(str, listed)):
        if word in _BOOLEANS:
            listed.append(_BOOLEANS[word])
        elif word.isdigit():
            listed.append(int(word))
    return {"enum": listed} | ({HINT: hint} if hint else {})


def text(pattern: str, example: str, allowed: str) -> Json:
    """A text of this form. allowed: the same for people."""
    return {
        "type": "string",
        "pattern": rf"^\s*({pattern})\s*$",
        "examples": [example],
        HINT: allowed,
    }


def either(*shapes: Json) -> Json:
    """One of these; examples and hint are those of the first."""
    [first, *_] = shapes
    bare = [{key: shape[key] for key in shape if key not in _FOR_PEOPLE} for shape in shapes]
    shown = {key: first[key] for key in _FOR_PEOPLE if key in first}
    return {**(bare[0] if len(bare) == 1 else {"anyOf": bare}), **shown}


def joined(allowed: Iterable[str], separator: str, none: str) -> Json:
    """Some of the words, joined, or the one that stands for none."""
    known = list(allowed)
    alternatives = "|".join(known)
    pattern = rf"({alternatives})(\s*{re.escape(separator)}\s*({alternatives}))*"
    listed = f"{none}, or any of {separator.join(known)}"
    return either(text(pattern, known[0], listed), words([none]))

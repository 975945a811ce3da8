# SPDX-License-Identifier: GPL-2.0-only
"""Turns pydantic's errors about an experiment into one-line messages."""

import re
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from airtcp import suggest
from airtcp.experiment.figures import KIND
from airtcp.experiment.topology import MODELS, Settings
from airtcp.parameters import CONFLICT, PARAMETER_NAMES, Parameters
from airtcp.parameters.quantity import Plain
from airtcp.parameters.section import keys

# Refers to the list of parameters, which is too long for a message.
_PARAMETERS_IN = "all: docs/reference/experiments.md"


def explain(error: ErrorDetails, model: type[BaseModel]) -> str:
    """The error and the allowed values; model: the model that has the key."""
    if error["type"] == "extra_forbidden":
        more = _PARAMETERS_IN if model is Parameters else ""
        key = str(error["loc"][-1])
        # As of `walk: 0s=5m,9s=6m` in braces, where the comma begins another key.
        is_part = error["input"] == "" and not suggest.nearest(key, keys(model))
        why = "; write a value that contains commas in quotes" if is_part else ""
        return f"{_unexpected(key, model)}{why}; {suggest.allowed(key, keys(model), more)}"
    if error["type"] == "missing":
        return "missing"
    if error["type"] == "literal_error":
        words = re.findall("'(.*?)'", error["ctx"]["expected"])
        return suggest.not_allowed(str(error["input"]), words, _about(error, model))
    if error["type"] in ("list_type", "tuple_type"):
        return _not_a_list(error["input"], in_list=isinstance(error["loc"][-1], int))
    if error["type"] == "string_too_short":
        return "is empty; write some text"
    if error["type"] == "too_short":
        return "give at least one value"
    if error["type"] == "too_long":
        return "{actual_length} values given; allowed: at most {max_length}".format(**error["ctx"])
    if error["type"] in ("dict_type", "model_type"):
        return f"{error['input']!r} is not a mapping; write `key: value` lines below it, or {{}}"
    if error["type"] == "string_type":
        return f"{error['input']!r} is not text; write one value"
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    if error["type"] in (CONFLICT, KIND):
        return error["msg"]
    return f"{error['msg']}, not {error['input']!r}"


def most_specific(error: ValidationError) -> ErrorDetails:
    """The most specific error: a missing key may be present but misspelt."""
    first, *others = error.errors()
    if first["type"] != "missing":
        return first
    return next((option for option in others if option["type"] == "extra_forbidden"), first)


def _unexpected(key: str, model: type[BaseModel]) -> str:
    """Why a part of a topology cannot have the key: other parts may have it."""
    if key in PARAMETER_NAMES or any(key in keys(node) for node in MODELS.values()):
        if model is Settings:
            return "cannot change during a run"
        if group := next((name for name, node in MODELS.items() if node is model), None):
            having = [name for name, node in MODELS.items() if key in keys(node)]
            but = f", but of {' and '.join(having)}" if having else ""
            return f"not a parameter of {group}{but}".replace("_", " ")
    return "unknown key"


def key_at(place: Sequence[str | int]) -> str:
    """A place in a file as text, such as flows[1].start; empty for the whole file."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return "".join(parts).lstrip(".")


def _not_a_list(given: object, in_list: bool) -> str:
    if in_list:
        return f"{given!r} is not a list; each entry is a list, as in [[a, b]]"
    if isinstance(given, str) and given:
        return f"{given!r} is not a list; write [{given}]"
    return "is not a list; begin each entry with `- `"


def _about(error: ErrorDetails, model: type[BaseModel]) -> str:
    """The help of the key, if it contains the rejected word; otherwise empty."""
    for name, field in model.model_fields.items():
        if (field.alias or name) == error["loc"][-1] and field.description:
            return field.description if str(error["input"]) in field.description else ""
    return ""


def named(error: ErrorDetails, values: Mapping[str, Plain]) -> str:
    """The parameter at fault; if it is not among the values, also the values that conflict."""
    name = str(error["loc"][0])
    if name in values:
        return name
    return " ".join(f"{key}={value}" for key, value in values.items()) + f": {name}"


def parameters_like(name: str) -> str:
    """The allowed names, in place of the name of an unknown parameter."""
    return suggest.allowed(name, PARAMETER_NAMES, _PARAMETERS_IN)

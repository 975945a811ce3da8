# SPDX-License-Identifier: GPL-2.0-only
"""What is wrong with an experiment, in one line: pydantic's errors in our words."""

import re
from collections.abc import Mapping

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from airtcp import suggest
from airtcp.experiment.figures import KIND
from airtcp.parameters import CONFLICT, PARAMETER_NAMES, Parameters
from airtcp.parameters.quantity import Plain

# Where the list of parameters is, which is too long for a message.
_PARAMETERS_IN = "all: docs/reference/experiments.md"


def explain(error: ErrorDetails, model: type[BaseModel]) -> str:
    """What is wrong and what is allowed; model: that whose key it is."""
    if error["type"] == "extra_forbidden":
        keys = (field.alias or name for name, field in model.model_fields.items())
        more = _PARAMETERS_IN if model is Parameters else ""
        return f"unknown key; {suggest.allowed(str(error['loc'][-1]), keys, more)}"
    if error["type"] == "missing":
        return "missing"
    if error["type"] == "literal_error":
        return suggest.not_allowed(error["input"], re.findall("'(.*?)'", error["ctx"]["expected"]))
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    if error["type"] in (CONFLICT, KIND):
        return error["msg"]
    return f"{error['msg']}, not {error['input']!r}"


def named(error: ErrorDetails, values: Mapping[str, Plain]) -> str:
    """The parameter at fault; when it is not among the values, also those, which conflict."""
    name = str(error["loc"][0])
    if name in values:
        return name
    return " ".join(f"{key}={value}" for key, value in values.items()) + f": {name}"


def parameters_like(name: str) -> str:
    """What is allowed where an unknown parameter is named."""
    return suggest.allowed(name, PARAMETER_NAMES, _PARAMETERS_IN)

# SPDX-License-Identifier: GPL-2.0-only
"""Types of parameters whose values are names in the kernel: ACK policies, congestion controls.

The allowed names depend on the kernel of the experiment: those of the laboratory's kernel and those
of `--policy`. They are passed as validation context. Without context every well-formed name is
allowed, because recorded results may be from other kernels, and kernels of real hosts have others.
"""

import re
from collections.abc import Callable
from typing import Annotated

from pydantic import BeforeValidator, ValidationInfo

from airtcp.kernel.names import PATTERN, Names, known
from airtcp.parameters import jsonschema
from airtcp.parameters.jsonschema import Shape
from airtcp.suggest import not_allowed

ANY: Names = {}
"""Validation context that allows every well-formed name."""


def context(own: Names | None = None) -> Names:
    """Validation context that allows the names of the laboratory's kernel, and the user's own."""
    own = own or {}
    return {parameter: names + own.get(parameter, ()) for parameter, names in known().items()}


def _reader(parameter: str, what: str) -> Callable[[object, ValidationInfo], str]:
    def read(value: object, info: ValidationInfo) -> str:
        name = str(value)
        if allowed := (info.context or ANY).get(parameter):
            if name not in allowed:
                raise ValueError(not_allowed(name, allowed, "and those that --policy adds"))
        elif not re.fullmatch(PATTERN, name):
            raise ValueError(
                f"{name!r} is not the name of {what}; allowed: up to 15 of a-z 0-9 - _"
            )
        return name

    return read


Policy = Annotated[
    str,
    BeforeValidator(_reader("ack_policy", "a policy")),
    Shape(lambda: jsonschema.words(known()["ack_policy"])),
]
CongestionControl = Annotated[
    str,
    BeforeValidator(_reader("congestion_control", "a congestion control")),
    Shape(lambda: jsonschema.words(known()["congestion_control"])),
]

# SPDX-License-Identifier: GPL-2.0-only
"""The type of ack_policy: the name of an ACK policy.

The allowed names depend on the kernel of the experiment: those of kernel/ and those of `--policy`.
They are passed as validation context. Without context every well-formed name is allowed, because
recorded results may be from other kernels.
"""

import re
from collections.abc import Iterable
from typing import Annotated

from pydantic import BeforeValidator, ValidationInfo

from airtcp.kernel.policies import NAME, names
from airtcp.parameters import jsonschema
from airtcp.parameters.jsonschema import Shape
from airtcp.suggest import not_allowed

Context = dict[str, tuple[str, ...]]

_CONTEXT = "ack_policies"


def context(own_names: Iterable[str] = ()) -> Context:
    """Validation context that allows the policies of kernel/, and the user's own."""
    return {_CONTEXT: (*names(), *own_names)}


def checked(name: str, allowed: Context) -> str:
    """The name. Raises ValueError if the context does not allow it."""
    known = allowed[_CONTEXT]
    if name not in known:
        raise ValueError(not_allowed(name, known, "and what --policy brings"))
    return name


def _read(value: object, info: ValidationInfo) -> str:
    name = str(value)
    if info.context:
        return checked(name, info.context)
    if not re.fullmatch(NAME, name):
        raise ValueError(f"{name!r} is not the name of a policy; allowed: up to 15 of a-z 0-9 - _")
    return name


Policy = Annotated[str, BeforeValidator(_read), Shape(lambda: jsonschema.words(names()))]

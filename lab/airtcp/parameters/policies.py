# SPDX-License-Identifier: GPL-2.0-only
"""The words of ack_policy: Linux and the policies of kernel/, and those of a user's own module."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import BeforeValidator

from airtcp.kernel.policies import SHIPPED
from airtcp.parameters import jsonschema
from airtcp.parameters.jsonschema import Shape
from airtcp.suggest import not_allowed

_own: list[str] = []


def allow(names: Iterable[str]) -> None:
    """Take these names too, from now on: their policies are in the kernel that is used."""
    _own.extend(name for name in names if name not in known())


def known() -> tuple[str, ...]:
    """All that is allowed."""
    return (*SHIPPED, *_own)


def _read(value: object) -> str:
    name = str(value)
    if name in known():
        return name
    raise ValueError(not_allowed(name, known(), "and what --policy brings"))


Policy = Annotated[str, BeforeValidator(_read), Shape(lambda: jsonschema.words(known()))]

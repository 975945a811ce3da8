# SPDX-License-Identifier: GPL-2.0-only
"""Modifies plans, to insert mistakes."""

from collections.abc import Iterable
from dataclasses import replace

from airtcp.steps import step
from airtcp.steps.step import Step


def with_word(steps: Iterable[Step], old: str, new: str) -> list[Step]:
    """The steps, with `old` replaced by `new` in arguments and names of sysctls."""
    return [_edited(item, old, new) for item in steps]


def _edited(item: Step, old: str, new: str) -> Step:
    match item:
        case step.In() | step.Start():
            return replace(item, steps=with_word(item.steps, old, new))
        case step.Run():
            return replace(item, argv=tuple(new if word == old else word for word in item.argv))
        case step.Sysctl(name) if name == old:
            return replace(item, name=new)
    return item

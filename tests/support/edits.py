# SPDX-License-Identifier: GPL-2.0-only
"""Plans with a mistake in them."""

from collections.abc import Iterable
from dataclasses import replace

from airtcp.steps import step
from airtcp.steps.step import Step


def with_word(steps: Iterable[Step], old: str, new: str) -> list[Step]:
    """The steps, with another word or sysctl wherever there is the old one."""
    return [_edited(one, old, new) for one in steps]


def _edited(one: Step, old: str, new: str) -> Step:
    match one:
        case step.In() | step.Start():
            return replace(one, steps=with_word(one.steps, old, new))
        case step.Run():
            return replace(one, argv=tuple(new if word == old else word for word in one.argv))
        case step.Sysctl(name) if name == old:
            return replace(one, name=new)
    return one

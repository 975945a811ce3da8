# SPDX-License-Identifier: GPL-2.0-only
"""The parameter ack_filter: stages that thin TCP ACKs on their way, joined by +."""

from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

from airtcp import suggest
from airtcp.parameters.jsonschema import Shape, joined

# In the order in which they are named; docs/explanation/ack-filter.md says what each does.
STAGES = (
    *("police", "shape", "cake", "cake-aggressive", "txq", "txq-aggressive"),
    *("hold", "multicast"),
)
NONE = "none"
# Of each group one at most.
_ALTERNATIVES = (("police", "shape"), ("cake", "cake-aggressive"), ("txq", "txq-aggressive"))


def _read(value: object) -> tuple[str, ...]:
    """`police+multicast`; raises ValueError with what is allowed."""
    if isinstance(value, tuple):
        return value
    text = str(value).strip()
    chosen = () if text == NONE else tuple(text.split("+"))
    for stage in chosen:
        if stage not in STAGES:
            known = suggest.allowed(stage, (NONE, *STAGES), "stages joined by +")
            raise ValueError(f"{stage!r} is not a stage of ACK filtering; {known}")
    for group in _ALTERNATIVES:
        if sum(stage in group for stage in chosen) > 1:
            raise ValueError(f"{text!r} has both of {' and '.join(group)}; choose one")
    return tuple(stage for stage in STAGES if stage in chosen)


Stages = Annotated[
    tuple[str, ...],
    BeforeValidator(_read),
    PlainSerializer(lambda stages: "+".join(stages) or NONE),
    Shape(lambda: joined(STAGES, "+", NONE)),
]

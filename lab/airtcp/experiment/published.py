# SPDX-License-Identifier: GPL-2.0-only
"""Figures that others have published, as an experiment declares them."""

from collections.abc import Callable
from typing import Annotated, get_args

from pydantic import BeforeValidator, Field, model_validator

from airtcp.experiment.metrics import METRICS
from airtcp.experiment.papers import Precision, Word
from airtcp.parameters import PARAMETER_NAMES, Strict, jsonschema
from airtcp.parameters.jsonschema import PARAMETER, Json, Shape


def parameter(name: str) -> Json:
    """The shape of a value of the parameter."""
    return {PARAMETER: name}


def by_parameter(schema: Callable[[str], Json]) -> Json:
    """The shape of a mapping whose keys are parameters."""
    properties = {name: schema(name) for name in PARAMETER_NAMES}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _read_value(value: object) -> float | str:
    text = str(value)
    if text in get_args(Word):
        return text
    try:
        return float(text)
    except ValueError:
        allowed = ", ".join(get_args(Word))
        raise ValueError(f"{text!r} is not a number; with relative_to also {allowed}") from None


def _value_shape() -> Json:
    return jsonschema.either(dict(jsonschema.NUMBER), jsonschema.words(get_args(Word)))


class Published(Strict):
    """A figure that others measured, and the factor values at which they did.

    With relative_to the value is a ratio: the metric over that at the same factor values but for
    these; or in words what is said of it. reason: why ours differs, as far as it is known; where it
    is empty that of the experiment.
    """

    when: Annotated[dict[str, str], Shape(lambda: by_parameter(parameter))] = Field(
        description="the parameters at which it was measured, where they differ from those above"
    )
    relative_to: Annotated[dict[str, str], Shape(lambda: by_parameter(parameter))] = Field(
        {},
        description="makes the figure a ratio: to the metric at the same parameters but for these",
    )
    metric: Annotated[str, Shape(lambda: jsonschema.words(METRICS, "a metric"))] = Field(
        description="what was measured (docs/reference/metrics.md)"
    )
    value: Annotated[float | Word, BeforeValidator(_read_value), Shape(_value_shape)] = Field(
        description="the figure, in the unit of the metric; of a ratio also more, less or same"
    )
    precision: Precision = Field(
        description="exact: printed as a number; approximate: read off a plot or a text; or a bound"
    )
    source: str = Field(description="where it stands: table, figure, page")
    reason: str = Field("", description="why ours differs, as far as it is known")

    @model_validator(mode="after")
    def _comparable(self) -> "Published":
        if isinstance(self.value, str) and not self.relative_to:
            raise ValueError(f"value {self.value}: say than when, by relative_to")
        if self.relative_to and self.precision not in ("exact", "approximate"):
            raise ValueError(f"precision {self.precision}: is of values, not of ratios")
        return self

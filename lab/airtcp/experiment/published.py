# SPDX-License-Identifier: GPL-2.0-only
"""Published values, as declared in an experiment."""

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Protocol, get_args

from pydantic import BeforeValidator, Field, model_validator

from airtcp import suggest
from airtcp.experiment.metrics import METRICS
from airtcp.experiment.papers import Precision, Word
from airtcp.parameters import PARAMETER_NAMES, jsonschema
from airtcp.parameters.jsonschema import PARAMETER, Json, Shape
from airtcp.parameters.section import Strict
from airtcp.units import parse_number

# Those of values; others are bounds.
_OF_VALUES: tuple[Precision, ...] = ("exact", "approximate")


def parameter(name: str) -> Json:
    """JSON Schema of a value of the parameter."""
    return {PARAMETER: name}


def by_parameter(schema: Callable[[str], Json]) -> Json:
    """JSON Schema of a mapping whose keys are parameters."""
    properties = {name: schema(name) for name in PARAMETER_NAMES}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _read_value(value: object) -> float | str:
    text = str(value)
    if text in get_args(Word):
        return text
    number = _number(text)
    if number is None:
        allowed = ", ".join(get_args(Word))
        raise ValueError(
            f"{text!r} is not a number of at least 0; with relative_to also allowed: {allowed}"
        )
    return number


def _value_shape() -> Json:
    return jsonschema.either(dict(jsonschema.NUMBER), jsonschema.words(get_args(Word)))


_Metric = Annotated[str, Shape(lambda: jsonschema.words(METRICS, "a metric"))]


class Published(Strict):
    """A value that others measured, and the factor values of that measurement.

    With relative_to the value is a ratio of the metric to its value at the same factor values with
    those of relative_to replaced, or a word for that ratio. reason: why our value differs, as far
    as known; if empty, the reason of the experiment applies.
    """

    when: Annotated[dict[str, str], Shape(lambda: by_parameter(parameter))] = Field(
        description="the parameters of the measurement that differ from those above"
    )
    relative_to: Annotated[dict[str, str], Shape(lambda: by_parameter(parameter))] = Field(
        {},
        description="makes the value a ratio to the metric of the case that differs in these "
        "parameters only",
    )
    metric: _Metric = Field(description="what was measured (docs/reference/metrics.md)")
    value: Annotated[float | Word, BeforeValidator(_read_value), Shape(_value_shape)] = Field(
        description="the value, in the unit of the metric; for a ratio also more, less or same"
    )
    precision: Precision = Field(
        description="exact: printed as a number; approximate: from a plot or the text; or a bound"
    )
    source: str = Field(description="where it is published: table, figure, page")
    reason: str = Field("", description="why our value differs, as far as known")

    @model_validator(mode="after")
    def _comparable(self) -> "Published":
        if isinstance(self.value, str) and not self.relative_to:
            raise ValueError(f"value {self.value}: needs relative_to, the case to compare with")
        if self.relative_to and self.precision not in _OF_VALUES:
            raise ValueError(f"precision {self.precision}: is for values, not for ratios")
        if self.relative_to and self.value == 0:
            raise ValueError("value 0: a ratio must be above 0")
        return self


class Known(Protocol):
    """A published value and its precision."""

    @property
    def value(self) -> float | str: ...

    @property
    def precision(self) -> Precision: ...


def published_ratio(value: Known, base: Known) -> float | None:
    """The ratio of two published values; None of bounds, and if one is 0."""
    numbers = float(value.value), float(base.value)
    exist = all(known.precision in _OF_VALUES for known in (value, base))
    return numbers[0] / numbers[1] if exist and all(numbers) else None


ABSENT = "-"
_BOUNDS: Mapping[str, Precision] = {"<=": "at most", ">=": "at least"}


class PublishedTable(Strict):
    """Values that others measured, one row per measurement.

    Columns are parameters, then metrics. A cell `-` is not published, `<= 5` and `>= 5` are bounds.
    """

    when: Annotated[dict[str, str], Shape(lambda: by_parameter(parameter))] = Field(
        {}, description="the parameters of all rows that differ from those above"
    )
    columns: tuple[str, ...] = Field(
        min_length=2, description="names of parameters, then of metrics"
    )
    rows: tuple[tuple[str, ...], ...] = Field(
        min_length=1,
        description="values in the order of the columns; <= 5, >= 5: a bound; - is not published",
    )
    approximate: tuple[_Metric, ...] = Field(
        (), description="metrics with precision approximate; that of others is exact"
    )
    source: str = Field(description="where it is published: table, figure, page")
    reason: str = Field("", description="why our values differ, as far as known")

    @model_validator(mode="after")
    def _complete(self) -> "PublishedTable":
        for name in self.when:
            if name not in PARAMETER_NAMES:
                raise ValueError(f"when: {name!r} is not a parameter")
        for name in self.columns:
            if name not in PARAMETER_NAMES and name not in METRICS:
                hint = suggest.hint(name, [*PARAMETER_NAMES, *METRICS])
                raise ValueError(f"columns: {name!r} is neither a parameter nor a metric{hint}")
            if self.columns.count(name) > 1:
                raise ValueError(f"columns: {name!r} is given twice")
            if name in self.when:
                raise ValueError(f"columns: {name!r} is also in when")
        if METRICS.keys().isdisjoint(self.columns):
            raise ValueError("columns: none of them is a metric; give at least one")
        for name in self.approximate:
            if name not in self.columns or name not in METRICS:
                raise ValueError(f"approximate: {name!r} is not a column with a metric")
        for number, row in enumerate(self.rows, 1):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"rows: row {number} has {len(row)} values for {len(self.columns)} columns"
                )
            for name, cell in zip(self.columns, row, strict=True):
                if name in METRICS and cell != ABSENT and _number(_bound(cell)[1]) is None:
                    raise ValueError(
                        f"rows: row {number}: {name}: {cell!r} is not a number of at least 0, a "
                        f"bound like '<= 5', or {ABSENT}"
                    )
        return self

    def values(self) -> Iterator[tuple[int, Published]]:
        """The published values, each with the index of its row."""
        for index, row in enumerate(self.rows):
            cells = dict(zip(self.columns, row, strict=True))
            when = {name: cell for name, cell in cells.items() if name in PARAMETER_NAMES}
            for metric, cell in cells.items():
                if metric in METRICS and cell != ABSENT:
                    bound, value = _bound(cell)
                    known: Precision = "approximate" if metric in self.approximate else "exact"
                    yield (
                        index,
                        Published(
                            when=self.when | when,
                            metric=metric,
                            value=value,
                            precision=bound or known,
                            source=self.source,
                            reason=self.reason,
                        ),
                    )


def _bound(cell: str) -> tuple[Precision | None, str]:
    """The precision that a cell states, if any, and its number as text."""
    for sign, precision in _BOUNDS.items():
        if cell.startswith(sign):
            return precision, cell.removeprefix(sign).strip()
    return None, cell


def _number(text: str) -> float | None:
    """The number; None if it is not one that a metric can have."""
    number = parse_number(text)
    return None if number is None or number < 0 else number

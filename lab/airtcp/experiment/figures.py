# SPDX-License-Identifier: GPL-2.0-only
"""The figures that an experiment declares for its report: content and layout.

Three kinds: metrics against each other, a quantity over time, and a comparison with a model.
A module in report/declared/ of the same name describes the figures of each kind.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from airtcp import suggest
from airtcp.experiment.metrics import METRICS, METRICS_IN, unknown_metric
from airtcp.models.aggregation import Station
from airtcp.parameters import NUMBERS, PARAMETER_NAMES, jsonschema
from airtcp.parameters.jsonschema import HINT, Json, Shape
from airtcp.parameters.quantity import OnOff, Plain, count, duration, fraction, rate, size
from airtcp.parameters.section import Strict

# Type of the error for a figure of unknown kind.
KIND = "figure_kind"

# The keys of a figure whose value may be the name of a factor.
FACTOR_KEYS = ("x", "lines", "along", "panels", "rows")


def _known(metric: str) -> str:
    if metric not in METRICS:
        raise ValueError(unknown_metric(metric))
    return metric


_TIMES = [name for name, metric in METRICS.items() if metric.unit == "ms"]


def _time(metric: str) -> str:
    if metric not in _TIMES:
        raise ValueError(f"{metric!r} is not a time; {suggest.allowed(metric, _TIMES)}")
    return metric


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


_Metric = Annotated[
    str, AfterValidator(_known), Shape(lambda: jsonschema.words(METRICS, "a metric"))
]
_Factor = Annotated[str, Shape(lambda: jsonschema.words(PARAMETER_NAMES, "a factor of the design"))]


def _metrics() -> Json:
    names = jsonschema.words(METRICS)
    several = {"type": "array", "items": names, "minItems": 1}
    return {"anyOf": [names, several], HINT: "metrics"}


def _title() -> Any:
    return Field(description="title above the figure")


def _metric_or_number(name: str) -> str:
    if name not in METRICS and name not in NUMBERS:
        raise ValueError(
            f"{name!r} is neither a metric nor a numeric parameter; "
            + suggest.allowed(name, (*METRICS, *NUMBERS), METRICS_IN)
        )
    return name


class _Panelled(Strict):
    """A figure with panels: a line for each value of a factor, a panel for each of another."""

    title: str = _title()
    lines: _Factor | None = Field(None, description="factor: a line for each value")
    panels: _Factor | None = Field(None, description="factor: a panel for each value")
    rows: _Factor | None = Field(None, description="factor: a row of panels for each value")

    @model_validator(mode="after")
    def _distinct(self) -> "_Panelled":
        seen: dict[str, str] = {}
        for key, factor in self.factors().items():
            if factor in seen:
                raise ValueError(f"{key}: {factor!r} is already used for {seen[factor]}")
            seen[factor] = key
        if self.rows and not self.panels:
            raise ValueError("rows: needs panels")
        return self

    def factors(self) -> dict[str, str]:
        """The factors of the figure, by key."""
        given = {key: getattr(self, key, None) for key in FACTOR_KEYS}
        return {key: factor for key, factor in given.items() if factor and factor not in METRICS}

    def _laid_out(self) -> str:
        laid_out = self.factors().items()
        return "".join(f", {key} {factor}" for key, factor in laid_out if key != "x")


class MetricFigure(_Panelled):
    """Metrics against another metric or a numeric factor, with one point per case.

    The points of a line are connected along a factor, which may be the one on the axis. relative_to
    is a value of the `lines` factor: the other lines are ratios to that line, at the same x.
    """

    kind: ClassVar[str] = "metric"

    x: Annotated[
        str,
        AfterValidator(_metric_or_number),
        Shape(lambda: jsonschema.words((*METRICS, *NUMBERS), "a metric, or a numeric factor")),
    ] = Field(description="a metric, or a numeric factor")
    y: Annotated[tuple[_Metric, ...], BeforeValidator(_listed), Shape(_metrics)] = Field(
        min_length=1, description="a metric, or a list of metrics with the same unit"
    )
    along: _Factor | None = Field(
        None,
        description="factor: connects the points of a line in the order of its values, words in "
        "the order of the design",
    )
    relative_to: str | None = Field(
        None, description="value of the `lines` factor: the other lines are ratios to that line"
    )

    @model_validator(mode="after")
    def _relative(self) -> "MetricFigure":
        if self.relative_to is not None and not (self.lines and self.x in NUMBERS):
            raise ValueError("relative_to: needs lines, and a numeric parameter as x")
        return self

    @model_validator(mode="after")
    def _one_axis(self) -> "MetricFigure":
        if len({METRICS[metric].unit for metric in self.y}) > 1:
            units = ", ".join(f"{metric} in {METRICS[metric].unit or '1'}" for metric in self.y)
            raise ValueError(f"y: all metrics must have the same unit, not {units}")
        return self

    def described(self) -> str:
        relative = f" relative to {self.relative_to}" if self.relative_to else ""
        return f"{' and '.join(self.y)}{relative} against {self.x}{self._laid_out()}"

    @property
    def joined(self) -> bool:
        """Whether the points of a line are connected."""
        return self.along is not None or self.x in NUMBERS


class TimeFigure(_Panelled):
    """A quantity over time for the first seed, or the distribution of its values."""

    kind: ClassVar[str] = "over_time"

    over_time: Literal[
        "cwnd",
        "cwnd_at_acks",
        "goodput",
        "flow_goodput",
        "ping",
        "rtt",
        "segments",
        "acks",
        "segments_per_ack",
        "received",
    ] = Field(description="quantity to show over time, for the first seed")
    histogram: OnOff = Field(
        False, description="distribution of the values instead of a plot over time"
    )

    def described(self) -> str:
        shown = "values of {}" if self.histogram else "{} over time"
        return f"{shown.format(self.over_time)}{self._laid_out()}"


class ModelFigure(Strict):
    """Throughput and RTT over the limit of small queues in packets, measured and from a model.

    The defaults are those of the model, whose throughput counts whole packets; payload_bytes is
    the part of each packet that goodput counts. pacing_ratio is p at pacing_factor 1. p is the
    product of both if pacing multiplies the limit, and 1 otherwise. Aggregates have at most the
    case's ampdu_mpdus.
    """

    kind: ClassVar[str] = "model"

    title: str = _title()
    model: Literal["aggregation"] = Field(
        description="aggregation: the model in docs/explanation/small-queues.md"
    )
    rtt: Annotated[
        _Metric, AfterValidator(_time), Shape(lambda: jsonschema.words(_TIMES, "a metric in ms"))
    ] = Field("tcp_rtt_ms_p50", description="the metric to compare with the RTT of the model")
    pacing_multiplies: OnOff = Field(
        True, description="pacing multiplies the limit; off: p is 1 at any pacing"
    )
    pacing_ratio: Annotated[float, fraction(0.1, 10)] = Field(
        1.2, description="p at pacing_factor 1"
    )
    packet_bytes: Annotated[int, size(1, 65535)] = Field(
        Station.packet_bytes, alias="packet", description="l, size of a packet"
    )
    payload_bytes: Annotated[int | None, size(1, 65535, "packet")] = Field(
        None, alias="payload", description="bytes of a packet that goodput counts"
    )
    overhead_bytes: Annotated[int, size(0, 65535)] = Field(
        Station.overhead_bytes, alias="overhead", description="l_oh, added to each aggregate"
    )
    rate_bps: Annotated[float, rate()] = Field(
        Station.rate_bps, alias="rate", description="r, the data rate"
    )
    most_aggregate_s: Annotated[float, duration(0, 1)] = Field(
        Station.most_aggregate_s,
        alias="most_aggregate",
        description="mxg, the longest aggregate",
    )
    access_s: Annotated[float, duration(0, 1)] = Field(
        Station.access_s, alias="access", description="t_oh, time for access to the medium"
    )
    base_rtt_s: Annotated[float, duration(0, 10)] = Field(
        Station.base_rtt_s, alias="base_rtt", description="RTT_base, the RTT without load"
    )
    backlog_factor: Annotated[float, fraction(0, 1)] = Field(
        Station.backlog_factor, description="c, the share of the limit that is queued at the radio"
    )
    buffer_packets: Annotated[int | None, count(1, 65535, "none")] = Field(
        None, alias="buffer", description="maximum packets at the radio; marks the points A to D"
    )

    def station(self, most_mpdus: int | None) -> Station:
        """The model's parameters. most_mpdus: the case's ampdu_mpdus, None with `preset`."""
        return Station(
            packet_bytes=self.packet_bytes,
            overhead_bytes=self.overhead_bytes,
            rate_bps=self.rate_bps,
            most_aggregate_s=self.most_aggregate_s,
            access_s=self.access_s,
            base_rtt_s=self.base_rtt_s,
            backlog_factor=self.backlog_factor,
            most_mpdus=most_mpdus,
            buffer_packets=self.buffer_packets,
        )

    @property
    def payload_share(self) -> float:
        """Ratio of goodput to the throughput of whole packets."""
        return 1.0 if self.payload_bytes is None else self.payload_bytes / self.packet_bytes

    def pacing(self, factor: float) -> float:
        """p of equation 1 at a pacing_factor."""
        return self.pacing_ratio * factor if self.pacing_multiplies else 1.0

    def factors(self) -> dict[str, str]:
        """Empty: the factors of the model are fixed."""
        return {}

    def described(self) -> str:
        set_up = self.model_dump(mode="json", exclude={"title", "model"})
        settings = ", ".join(f"{name} {value}" for name, value in set_up.items())
        return f"goodput and RTT compared with the {self.model} model: {settings}"


KINDS: Mapping[str, type[MetricFigure | TimeFigure | ModelFigure]] = {
    "x": MetricFigure,
    "over_time": TimeFigure,
    "model": ModelFigure,
}


def _kind(given: Any) -> str | None:
    """The kind of a figure; of a mapping: from a key that only this kind has, or a misspelt one."""
    if isinstance(given, BaseModel):
        return next((kind for kind, model in KINDS.items() if isinstance(given, model)), None)
    keys = given if isinstance(given, dict) else ()
    selected = next((kind for kind in KINDS if kind in keys), "x" if "y" in keys else None)
    known = {
        field.alias or name for kind in KINDS.values() for name, field in kind.model_fields.items()
    }
    meant = (suggest.nearest(key, KINDS) for key in keys if key not in known)
    return selected or next(filter(None, meant), None)


Figure = Annotated[
    Annotated[MetricFigure, Tag("x")]
    | Annotated[TimeFigure, Tag("over_time")]
    | Annotated[ModelFigure, Tag("model")],
    Discriminator(
        _kind,
        custom_error_type=KIND,
        custom_error_message="unknown kind of figure; give one of: x and y, over_time, model",
    ),
]


def tsq_packets(tsq: Plain) -> int | None:
    """The limit of small queues in packets; None if it is in another unit."""
    match = re.fullmatch("([0-9]+)packets", str(tsq))
    return int(match[1]) if match else None


def documented(figure: Figure) -> dict[str, Any]:
    """The declaration as in YAML, with all defaults."""
    return figure.model_dump(mode="json", exclude_none=True)


def show(declared: tuple[Figure, ...]) -> Iterator[str]:
    """A readable line for each figure."""
    return (f"{figure.title}: {figure.described()}" for figure in declared)

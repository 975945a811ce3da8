# SPDX-License-Identifier: GPL-2.0-only
"""What was measured beside what a model says: the error of each point, and their mean."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from airtcp.experiment.figures import ModelFigure, tsq_packets
from airtcp.models.aggregation import backlog_packets, bandwidth_bps, rtt_s
from airtcp.parameters.quantity import Plain
from airtcp.statistics import Summary

THROUGHPUT = "goodput_mbps"


@dataclass(frozen=True)
class Compared:
    """One quantity of one case. error: the model's value less the measured one."""

    measured: float
    ci95: float | None
    model: float
    error: float
    error_percent: float

    @classmethod
    def of(cls, summary: Summary, model: float) -> "Compared":
        error = model - summary.mean
        return cls(summary.mean, summary.ci95, model, error, 100 * error / summary.mean)


@dataclass(frozen=True)
class Point:
    """One case. backlog_packets is k of equation 1."""

    factors: Mapping[str, Plain]
    tsq_packets: int
    pacing_factor: float
    backlog_packets: float
    throughput_mbps: Compared
    rtt_ms: Compared

    def document(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> "Point":
        """The inverse of document(). Raises TypeError or KeyError."""
        compared = {name: Compared(**document[name]) for name in ("throughput_mbps", "rtt_ms")}
        return cls(**{**document, **compared})


def compare(
    figure: ModelFigure,
    factors: Mapping[str, Plain],
    parameters: Mapping[str, Plain],
    summaries: Mapping[str, Summary | None],
) -> Point | None:
    """A case beside the model; None where its limit is not in packets or nothing was measured."""
    packets = tsq_packets(parameters["tsq"])
    throughput, rtt = summaries.get(THROUGHPUT), summaries.get(figure.rtt)
    if packets is None or not (throughput and throughput.mean and rtt and rtt.mean):
        return None
    factor = float(parameters["pacing_factor"])
    backlog, model_mbps, model_ms = expected(figure, packets, factor)
    return Point(
        factors,
        packets,
        factor,
        backlog,
        Compared.of(throughput, model_mbps),
        Compared.of(rtt, model_ms),
    )


def expected(figure: ModelFigure, packets: float, factor: float) -> tuple[float, float, float]:
    """Equations 1, 5 and 4: packets at the radio, goodput in Mbit/s, RTT in ms."""
    station = figure.station
    backlog = backlog_packets(station, packets, figure.pacing(factor))
    goodput_bps = figure.payload_share * bandwidth_bps(station, backlog)
    return backlog, goodput_bps / 1e6, 1000 * rtt_s(station, backlog)


def mean_absolute_error(points: Sequence[Point]) -> dict[str, float] | None:
    """Over all points, in the quantity's unit and in percent of the measured value."""
    if not points:
        return None
    return {
        "throughput_mbps": fmean(abs(one.throughput_mbps.error) for one in points),
        "throughput_percent": fmean(abs(one.throughput_mbps.error_percent) for one in points),
        "rtt_ms": fmean(abs(one.rtt_ms.error) for one in points),
        "rtt_percent": fmean(abs(one.rtt_ms.error_percent) for one in points),
    }

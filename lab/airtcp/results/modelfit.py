# SPDX-License-Identifier: GPL-2.0-only
"""Comparison of measured values with a model: the error of each point, and the mean error."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from airtcp.experiment.figures import ModelFigure, tsq_packets
from airtcp.models.aggregation import backlog_packets, bandwidth_bps, rtt_s
from airtcp.parameters.quantity import Plain
from airtcp.parameters.section import PRESET
from airtcp.results.jsonfile import Document
from airtcp.statistics import Summary

THROUGHPUT = "goodput_mbps"


class Compared(Document):
    """One quantity of one case. error: the model's value minus the measured one."""

    measured: float
    ci95: float | None
    model: float
    error: float
    error_percent: float

    @classmethod
    def of(cls, summary: Summary, model: float) -> "Compared":
        error = model - summary.mean
        return cls(
            measured=summary.mean,
            ci95=summary.ci95,
            model=model,
            error=error,
            error_percent=100 * error / summary.mean,
        )


class Point(Document):
    """One case. backlog_packets is k of equation 1, ampdu_mpdus is None with `preset`."""

    factors: Mapping[str, Plain]
    tsq_packets: int
    pacing_factor: float
    ampdu_mpdus: int | None = None
    backlog_packets: float
    throughput_mbps: Compared
    rtt_ms: Compared


class MeanAbsoluteError(Document):
    """Mean over all points, in the quantity's unit and in percent of the measured value."""

    throughput_mbps: float
    throughput_percent: float
    rtt_ms: float
    rtt_percent: float


def compare(
    figure: ModelFigure,
    factors: Mapping[str, Plain],
    parameters: Mapping[str, Plain],
    summaries: Mapping[str, Summary | None],
) -> Point | None:
    """Compare a case with the model; None if its limit is not in packets, or without results."""
    packets = tsq_packets(parameters["tsq"])
    throughput, rtt = summaries.get(THROUGHPUT), summaries.get(figure.rtt)
    if packets is None or not (throughput and throughput.mean and rtt and rtt.mean):
        return None
    factor = float(parameters["pacing_factor"])
    given = parameters["ampdu_mpdus"]
    most_mpdus = None if given == PRESET else int(given)
    backlog, model_mbps, model_ms = expected(figure, packets, factor, most_mpdus)
    return Point(
        factors=factors,
        tsq_packets=packets,
        pacing_factor=factor,
        ampdu_mpdus=most_mpdus,
        backlog_packets=backlog,
        throughput_mbps=Compared.of(throughput, model_mbps),
        rtt_ms=Compared.of(rtt, model_ms),
    )


def expected(
    figure: ModelFigure, packets: float, factor: float, most_mpdus: int | None = None
) -> tuple[float, float, float]:
    """Equations 1, 5 and 4: packets at the radio, goodput in Mbit/s, RTT in ms."""
    station = figure.station(most_mpdus)
    backlog = backlog_packets(station, packets, figure.pacing(factor))
    goodput_bps = figure.payload_share * bandwidth_bps(station, backlog)
    return backlog, goodput_bps / 1e6, 1000 * rtt_s(station, backlog)


def mean_absolute_error(points: Sequence[Point]) -> MeanAbsoluteError | None:
    """None if there are no points."""
    if not points:
        return None
    return MeanAbsoluteError(
        throughput_mbps=fmean(abs(point.throughput_mbps.error) for point in points),
        throughput_percent=fmean(abs(point.throughput_mbps.error_percent) for point in points),
        rtt_ms=fmean(abs(point.rtt_ms.error) for point in points),
        rtt_percent=fmean(abs(point.rtt_ms.error_percent) for point in points),
    )

# SPDX-License-Identifier: GPL-2.0-only
"""Figures that compare all conditions, with a row for each policy under each condition."""

import itertools
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy

from airtcp.kernel.policies import BASELINE
from airtcp.report import model, question
from airtcp.report.figure import (
    Axis,
    Bars,
    Entry,
    Figure,
    Legend,
    Line,
    Mark,
    Panel,
    Rule,
    Style,
    Text,
    Tick,
    floats,
    with_margin,
)
from airtcp.report.formats import number, percent
from airtcp.report.model import Condition, Gain, Measured, Results
from airtcp.report.plot import Plot
from airtcp.report.policies import Policies
from airtcp.results.documents import PublishedValue
from airtcp.steps.workloads.workload import Headline
from airtcp.units import rounded

_NO_BREAK = "\N{NO-BREAK SPACE}"
_LABEL_LETTERS = 30  # width of the labels of conditions
_ROW_IN = 0.2
_LINE_IN = 0.11  # of a label

_PUBLISHED = "published"
_PUBLISHED_STYLE = Style("ink", marker="diamond", size=4.2, edge=0.9, hollow=True)
_AFTER_BAR, _AFTER_MARKER = 4, 7  # points between the end of a row and its value
_ROOM_FOR_ONE, _ROOM_FOR_TWO = 1.14, 1.3  # length of the axis: largest value and numbers

_AIRTIME_KINDS: Mapping[str, str] = {
    "data": "data",
    "ack": "TCP ACKs",
    "collision": "collisions",
    "other": "management",
    "idle": "idle",
}


_AIRTIME = "airtime_idle_share"
"""Runs that have it have all shares of airtime; without it, their sum may exceed 100%."""


def plots(results: Results) -> Iterator[Plot]:
    """Each headline metric, airtime, gains over the baseline, ACKs per segment."""
    headlines = question.tables(results)
    for headline, with_metric in headlines:
        metric = headline.metric
        yield Plot(
            headline.slug,
            headline.heading,
            _bars_caption(with_metric, metric),
            _listed(with_metric, metric, f" {headline.unit}"),
            bars(with_metric, metric, headline.title, headline.unit),
        )
    on_air = model.with_metric(results, _AIRTIME)
    if on_air.conditions:
        yield Plot(
            "airtime",
            "Airtime",
            "The airtime of an exchange, a PPDU, SIFS and the response, is shared between data and "
            "TCP ACKs in proportion to their octets. Idle includes AIFS and backoff.",
            "; ".join(
                f"{row.condition.label}, {row.measured.policy}: {_listed_airtime(row.measured)}"
                for row in _rows_with(on_air, _AIRTIME)
            ),
            airtime(on_air),
        )
    for headline, with_metric in headlines:
        gains_found = model.gains(with_metric, headline.metric)
        if any(gain.measured or gain.published for gain in gains_found):
            yield _gains_plot(with_metric, headline, gains_found)
    acks = "acks_per_segment"
    if _rows_with(results, acks):
        yield Plot(
            "acks",
            "ACKs per data segment",
            _bars_caption(results, acks),
            _listed(results, acks, ""),
            bars(results, acks, "ACKs sent per data segment received"),
        )


def _gains_plot(results: Results, headline: Headline, compared: Sequence[Gain]) -> Plot:
    caption = "Ratio of runs with the same seed"
    if any(gain.measured and gain.measured.ci95 is not None for gain in compared):
        caption += ", mean and 95% interval, which may extend beyond the axis"
    if any(gain.published for gain in compared):
        caption += "; published: ratio of the published means"
    return Plot(
        f"{headline.slug}-gain",
        f"{headline.heading} relative to {BASELINE}",
        f"{caption}." + (" Less is better." if headline.less_is_better else ""),
        "; ".join(map(_listed_gain, compared)),
        gains(results, compared, headline.title),
    )


@dataclass(frozen=True)
class _Row:
    """The row of a policy under a condition."""

    y: float
    condition: Condition
    measured: Measured


def _rows(results: Results) -> list[_Row]:
    """From top to bottom: the policies of each condition, with a gap between conditions."""
    rows: list[_Row] = []
    y = 0.0
    for condition in results.conditions:
        for measured in condition.policies:
            rows.append(_Row(y, condition, measured))
            y -= 0.9
        y -= 0.6
    return rows


def _rows_with(results: Results, metric: str) -> list[_Row]:
    """Those whose runs have the metric."""
    return [row for row in _rows(results) if metric in row.measured.summaries]


def _has_published(rows: Sequence[_Row], metric: str) -> bool:
    """Whether a value of the metric is published for one of the rows."""
    return any(metric in row.measured.published for row in rows)


def _by_condition(rows: Sequence[_Row]) -> list[list[_Row]]:
    """The rows of each condition."""
    return [list(of_one) for _, of_one in itertools.groupby(rows, lambda row: id(row.condition))]


def bars(results: Results, metric: str, name: str, unit: str = "") -> Figure:
    """Bars of a metric's means with intervals, and the published means."""
    rows = _rows_with(results, metric)
    marks: list[Mark] = []
    for policy in results.policies:
        own_rows = [row for row in rows if row.measured.policy == policy]
        if own_rows:
            summaries = [row.measured.summaries[metric] for row in own_rows]
            marks.append(
                Bars(
                    entries=[policy],
                    start=numpy.zeros(len(own_rows)),
                    length=floats(summary.mean for summary in summaries),
                    half=floats(summary.ci95 for summary in summaries),
                    y=floats(row.y for row in own_rows),
                    colour=Policies(results.policies).colour(policy),
                )
            )
    texts: list[Mark] = []
    largest = 0.0
    for row in rows:
        summary, policy = row.measured.summaries[metric], row.measured.policy
        published = row.measured.published.get(metric)
        end = summary.mean + (summary.ci95 or 0.0)
        is_last = published is not None and published.value >= end
        if published is not None:
            marks.append(_published(published.value, row.y, policy))
            end = max(end, published.value)
        texts.append(
            Text(
                text=_numbers(summary.mean, published),
                x=end,
                y=row.y,
                right=_AFTER_MARKER if is_last else _AFTER_BAR,
                entries=[policy],
            )
        )
        largest = max(largest, end)
    has_published = _has_published(rows, metric)
    room = _ROOM_FOR_TWO if has_published else _ROOM_FOR_ONE
    return _figure(
        results,
        Axis(name, unit, (0, room * largest or 1.0)),
        [*marks, *texts],
        _legend(results, results.policies, has_published),
    )


def _numbers(mean: float, published: PublishedValue | None) -> str:
    """The number at a bar: `149`, or `149 / 157` with the published value."""
    text = rounded(mean, 3)
    return f"{text} / {published.text(3)}" if published else text


def _bars_caption(results: Results, metric: str) -> str:
    rows = _rows_with(results, metric)
    caption = "Mean over seeds"
    if any(row.measured.summaries[metric].ci95 is not None for row in rows):
        caption += "; whiskers: 95% interval (Student t)"
    numbers = " Numbers: measured / published." if _has_published(rows, metric) else ""
    return f"{caption}.{numbers}"


def gains(results: Results, gains: Sequence[Gain], name: str) -> Figure:
    """A metric of each policy relative to the baseline: measured, and published."""
    marks: list[Mark] = [Rule(axis="x", at=1, colour="faint")]
    published: list[Mark] = []
    seen = [1.0]
    rows = {id(of_one[0].condition): of_one for of_one in _by_condition(_rows(results))}
    for gain in gains:
        y = _y_of_gain(rows[id(gain.condition)], gain.policy)
        if gain.measured is not None:
            mean, half = gain.measured.mean, gain.measured.ci95
            colour = Policies(results.policies).colour(gain.policy)
            marks.append(
                Line(
                    entries=[gain.policy],
                    x=floats([mean]),
                    y=floats([y]),
                    x_half=floats([half]),
                    style=Style(colour, marker="circle", size=3, edge=1, whiskers="capped"),
                )
            )
            seen += [mean - (half or 0.0), mean + (half or 0.0)]
        if gain.published is not None:
            published.append(_published(gain.published, y, gain.policy))
            seen.append(gain.published)
    # With only two runs, intervals may be so wide that they would hide everything else.
    means = [gain.measured.mean for gain in gains if gain.measured]
    largest = max([1.0, *means, *(gain.published for gain in gains if gain.published)])
    low, high = with_margin(seen)
    limits = (max(0, low), min(high, 1.6 * largest))
    policies = list(dict.fromkeys(gain.policy for gain in gains))
    return _figure(
        results,
        Axis(f"{name} relative to {BASELINE}", limits=limits),
        [*marks, *published],
        _legend(results, policies, bool(published)),
    )


def _y_of_gain(rows: Sequence[_Row], policy: str) -> float:
    """The policy's row; if only one policy is compared, the middle of the condition's rows."""
    own_rows = [row for row in rows if row.measured.policy == policy or len(rows) == 2]
    return float(numpy.mean([row.y for row in own_rows]))


def airtime(results: Results) -> Figure:
    """Shares of airtime during the transfer, in percent."""
    rows = _rows_with(results, _AIRTIME)
    marks: list[Mark] = []
    for policy in results.policies:
        own_rows = [row for row in rows if row.measured.policy == policy]
        shares = [_airtime_shares(row.measured) for row in own_rows]
        start = numpy.zeros(len(own_rows))
        for kind, label in _AIRTIME_KINDS.items():
            percents = floats([100 * share[kind] for share in shares])
            marks.append(
                Bars(
                    entries=[label],
                    detail=policy,
                    start=start,
                    length=percents,
                    y=floats(row.y for row in own_rows),
                    colour=f"air-{kind}",
                )
            )
            start = start + percents
    if len(results.policies) > 1:
        marks += [Text(text=row.measured.policy, x=100, y=row.y) for row in rows]
    entries = [Entry(label, f"air-{kind}") for kind, label in _AIRTIME_KINDS.items()]
    return _figure(
        results,
        Axis("share of the transfer's time", "%", (0, 100), grid=False),
        marks,
        Legend(entries, len(entries), spacing=1),
    )


def _airtime_shares(measured: Measured) -> dict[str, float]:
    """Mean share of each kind of airtime, of runs that have all; the remainder is management."""
    seeds = measured.by_seed(_AIRTIME)
    shares = {}
    for kind in _AIRTIME_KINDS:
        if kind != "other":
            of_runs = measured.by_seed(f"airtime_{kind}_share")
            shares[kind] = fmean(of_runs[seed] for seed in seeds)
    shares["other"] = max(0.0, 1 - sum(shares.values()))
    return {kind: shares[kind] for kind in _AIRTIME_KINDS}


def _figure(results: Results, x: Axis, marks: Sequence[Mark], legend: Legend) -> Figure:
    """One panel with a row for each policy, labelled by condition at the middle of its rows."""
    rows = _rows(results)
    ys = [row.y for row in rows]
    ticks = [
        Tick(float(numpy.mean([row.y for row in of_one])), _wrapped(of_one[0].condition.label))
        for of_one in _by_condition(rows)
    ]
    y = Axis(limits=(min(ys) - 0.7, max(ys) + 0.7), ticks=ticks, grid=False)
    height_in = 0.75 + _row_in(y) * (max(ys) - min(ys) + 1)
    return Figure([Panel(x, y, marks)], height_in, legend=legend)


def _row_in(y: Axis) -> float:
    """The height of a row in inches: more than usual if labels would overlap."""
    ticks = sorted(y.ticks, key=lambda tick: tick.at)
    at = numpy.array([y.limits[0], *(tick.at for tick in ticks), y.limits[1]])
    half_in = numpy.array([0, *(_LINE_IN / 2 * len(tick.label.split("\n")) for tick in ticks), 0])
    return max(_ROW_IN, float(numpy.max((half_in[1:] + half_in[:-1]) / numpy.diff(at))))


def _wrapped(label: str) -> str:
    """The label in lines; a factor that fits into a line stays together with its value."""
    parts = [
        part.replace(" ", _NO_BREAK) if len(part) < _LABEL_LETTERS else part
        for part in label.split(", ")
    ]
    return textwrap.fill(", ".join(parts), _LABEL_LETTERS).replace(_NO_BREAK, " ")


def _legend(results: Results, shown: Iterable[str], has_published: bool) -> Legend:
    more = [Entry(_PUBLISHED, _PUBLISHED_STYLE)] if has_published else []
    return Policies(results.policies).legend(shown, more)


def _published(x: float, y: float, policy: str) -> Line:
    return Line(
        entries=[_PUBLISHED], detail=policy, x=floats([x]), y=floats([y]), style=_PUBLISHED_STYLE
    )


def _listed(results: Results, metric: str, unit: str) -> str:
    """The values of a metric as text, for people who cannot see the bars."""
    return "; ".join(
        f"{row.condition.label}, {row.measured.policy}: "
        f"{number(row.measured.summaries[metric].mean)}{unit}"
        for row in _rows_with(results, metric)
    )


def _listed_airtime(measured: Measured) -> str:
    shares = _airtime_shares(measured).items()
    return ", ".join(f"{kind} {share:.1%}" for kind, share in shares)


def _listed_gain(gain: Gain) -> str:
    measured = percent(gain.measured.mean) if gain.measured else "not measured"
    published = f", published {percent(gain.published)}" if gain.published else ""
    return f"{gain.condition.label}, {gain.policy}: {measured}{published}"

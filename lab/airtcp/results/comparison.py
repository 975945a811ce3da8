# SPDX-License-Identifier: GPL-2.0-only
"""Comparison of published values with ours."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from airtcp.experiment.experiment import condition_of, conditions
from airtcp.experiment.published import Published, published_ratio
from airtcp.kernel.policies import BASELINE
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.results import verdicts
from airtcp.results.documents import Comparison, SweepDocument
from airtcp.results.record import RunRecord
from airtcp.results.verdicts import Verdict
from airtcp.statistics import Summary, paired_ratio, summarize
from airtcp.units import parse_duration_s

# Published values that differ by less than this share are not ordered.
_APART = 0.05
_ORDERED_SHARE = 0.75

# Durations that differ by this factor have a warning.
_FAR_APART = 10

# Values of parameters.
_Values = frozenset[tuple[str, Plain]]


def compare(
    common: Parameters,
    published: Sequence[Published],
    runs: Iterable[RunRecord],
    published_s: float | None,
) -> list[Comparison]:
    """Compare each published value, and each gain derived from them, with ours.

    common: the parameters common to all cases. published_s: the duration of the published
    measurements; runs whose duration is closest to it are compared, without it the longest ones. A
    gain (derived) is the ratio of two published values that differ only in the ACK policy, one of
    them for the baseline. There is none if one of them is a bound or 0.
    """
    measured = _Measured(common, runs, published_s)
    declared = [measured.value(value) for value in published]
    gains = [measured.value(value) for value in _gains(published)]
    return [
        *(_compared(value, declared, derived=False) for value in declared),
        *(_compared(value, declared, derived=True) for value in gains),
    ]


@dataclass(frozen=True)
class _Value:
    """A published value with our summary for its conditions; None if not measured."""

    published: Published
    under: Mapping[str, Plain]
    summary: Summary | None


class _Measured:
    """The runs of an experiment: by their conditions, then by how they were observed."""

    def __init__(
        self, common: Parameters, runs: Iterable[RunRecord], published_s: float | None
    ) -> None:
        self._parameters = common
        self._published_s = published_s
        self._runs: dict[_Values, dict[_Values, list[RunRecord]]] = {}
        for run in runs:
            # Parameters missing in a run of an older version have the current defaults.
            parameters = {**Parameters.defaults(), **run.parameters}
            under = frozenset(conditions(parameters).items())
            observed = frozenset(parameters.items()) - under
            self._runs.setdefault(under, {}).setdefault(observed, []).append(run)

    def value(self, published: Published) -> _Value:
        """A published value with the summary of our runs."""
        under = self._conditions(published.when)
        groups = [self._groups(under, published.metric)]
        if published.relative_to:
            others = self._conditions(published.when | published.relative_to)
            groups.append(self._groups(others, published.metric))
        common = [observed for observed in groups[0] if observed in groups[-1]]
        if not common:
            return _Value(published, under, None)

        def preference(observed: _Values) -> tuple[float, int]:
            lasted_s = parse_duration_s(str(dict(observed)["duration"]))
            return _preference(lasted_s, self._published_s), len(groups[0][observed])

        chosen = max(common, key=preference)
        values = groups[0][chosen]
        if published.relative_to:
            return _Value(published, under, paired_ratio(groups[1][chosen], values))
        return _Value(published, under, summarize(list(values.values())) if values else None)

    def _conditions(self, when: Mapping[str, str]) -> Mapping[str, Plain]:
        return conditions(self._parameters.replace(when).plain())

    def _groups(self, under: Mapping[str, Plain], metric: str) -> dict[_Values, dict[int, float]]:
        """The metric by seed of runs that were observed alike.

        A group without a value counts if a run failed: others should not take its place.
        """
        groups = {}
        for observed, runs in self._runs.get(frozenset(under.items()), {}).items():
            known = [run for run in runs if run.ok and metric in run.values]
            if known or not all(run.ok for run in runs):
                groups[observed] = {run.seed: run.values[metric] for run in known}
        return groups


def _preference(seconds: float, published_s: float | None) -> float:
    """Greatest for the duration closest to the published one; without one, for the longest."""
    return seconds if published_s is None else -abs(math.log(seconds / published_s))


def _gains(published: Sequence[Published]) -> Iterator[Published]:
    values = [value for value in published if not value.relative_to]
    baselines = {
        key(value.when, value.metric): value
        for value in values
        if value.when.get("ack_policy") == BASELINE
    }
    for value in values:
        policy = value.when.get("ack_policy", BASELINE)
        base = baselines.get(key(value.when, value.metric))
        if policy != BASELINE and base and (ratio := published_ratio(value, base)):
            precision = value.precision if base.precision == "exact" else base.precision
            relative = {"relative_to": {"ack_policy": BASELINE}, "value": ratio}
            yield value.model_copy(update=relative | {"precision": precision})


def key(when: Mapping[str, str], metric: str) -> tuple[object, ...]:
    """Equal for published values of the same metric under the same conditions."""
    return metric, *sorted(condition_of(when).items())


def _compared(value: _Value, declared: Sequence[_Value], *, derived: bool) -> Comparison:
    published, summary = value.published, value.summary
    number = isinstance(published.value, float)
    return Comparison(
        factors=published.when,
        relative_to=published.relative_to,
        metric=published.metric,
        published=published.value,
        precision=published.precision,
        source=published.source,
        measured=summary.mean if summary else None,
        ci95=summary.ci95 if summary else None,
        n=summary.n if summary else 0,
        ratio=summary.mean / float(published.value)
        if summary and number and published.value
        else None,
        agreement=_verdict(value, declared),
        reason=published.reason,
        derived=derived,
    )


def _verdict(value: _Value, declared: Sequence[_Value]) -> Verdict:
    published, summary = value.published, value.summary
    if summary is None:
        return "not measured"
    if isinstance(published.value, str):
        return verdicts.of_word(summary.mean, published.value)
    if published.relative_to:
        return verdicts.of_ratio(summary.mean, published.value, published.precision)
    ordered = _ordered(value, summary.mean, declared)
    return verdicts.of_value(summary.mean, published.value, published.precision, ordered)


def _ordered(value: _Value, mean: float, declared: Sequence[_Value]) -> bool:
    """Whether our values are ordered as the published ones.

    The value is compared with published values of the same metric that differ in one factor and are
    certainly at least 5% apart. Of those that we have measured, three quarters must be on the same
    side, by at least 1%.
    """
    published = value.published
    agreeing = []
    for comparable in declared:
        other = comparable.published
        if other.metric != published.metric or other.relative_to or comparable.summary is None:
            continue
        differing = sum(value.under[name] != setting for name, setting in comparable.under.items())
        apart = _apart(published, other)
        if differing == 1 and apart and abs(apart) >= _APART * float(other.value):
            ours_apart = mean - comparable.summary.mean
            seen = abs(ours_apart) >= verdicts.SEEN * comparable.summary.mean
            agreeing.append(seen and ours_apart * apart > 0)
    return bool(agreeing) and sum(agreeing) >= _ORDERED_SHARE * len(agreeing)


def _apart(published: Published, other: Published) -> float:
    """By how much a published value is above another; 0 if a bound leaves open which is larger."""
    apart = float(published.value) - float(other.value)
    above, below = (published, other) if apart > 0 else (other, published)
    return 0.0 if above.precision == "at most" or below.precision == "at least" else apart


@dataclass(frozen=True)
class Durations:
    """The durations in s of the published measurements and of our shortest and longest run."""

    published_s: float
    shortest_s: float
    longest_s: float

    def __str__(self) -> str:
        if self.shortest_s == self.published_s == self.longest_s:
            return f"Both the published runs and these runs last {self.published_s:g} s"
        ours = f"{self.longest_s:g} s"
        if self.shortest_s < self.longest_s:
            ours = f"{self.shortest_s:g} to {ours}"
        return f"The published runs last {self.published_s:g} s, these runs {ours}"

    @property
    def warning(self) -> str | None:
        """A sentence if some of the durations differ tenfold."""
        longer, shorter = self.published_s / self.shortest_s, self.longest_s / self.published_s
        if max(longer, shorter) < _FAR_APART:
            return None
        return "Slow start alone can explain a difference."


def durations(document: SweepDocument) -> Durations | None:
    """None if the publication does not state its duration, or nothing of it is measured here.

    Only bulk transfers have a duration. Of runs under equal conditions, those that are compared
    count.
    """
    published_s = document.published_duration_s
    seconds: dict[_Values, float] = {}
    for run in document.runs:
        if published_s and run.ok and run.parameters.get("workload", "bulk") == "bulk":
            lasted_s = parse_duration_s(str(run.parameters["duration"]))
            under = frozenset(conditions(run.parameters).items())
            others = (lasted_s, seconds.get(under, lasted_s))
            seconds[under] = max(others, key=lambda each: _preference(each, published_s))
    compared = any(row.measured is not None for row in document.published)
    if published_s is None or not compared or not seconds:
        return None
    return Durations(published_s, min(seconds.values()), max(seconds.values()))

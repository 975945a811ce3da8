# SPDX-License-Identifier: GPL-2.0-only
"""Compares the values of an experiment's main factor, seed by seed.

A value is compared with the factor's baseline wherever all other factors are equal. It makes a
difference if the 95% interval of the ratio does not contain 1, and the ratio is not within 0.1% of
it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from airtcp.experiment.casenames import display_name, unusual
from airtcp.experiment.figures import MetricFigure
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.report.model import POLICY, Measured, Results, factor, label_of
from airtcp.statistics import Summary, paired_ratio
from airtcp.steps.workloads.workload import Headline

# Smaller changes count as none: without an interval, and with one, which may be empty.
_SEEN_ONCE = 0.01
_SEEN = 0.001

_PLURALS: Mapping[str, str] = {
    POLICY: "ACK policies",
    "congestion_control": "congestion controls",
}


@dataclass(frozen=True)
class Row:
    """A value of the factor under a condition; ratio: to the baseline under the same one."""

    case: Measured
    name: str
    condition: str
    ratio: Summary

    @property
    def is_different(self) -> bool:
        half = self.ratio.ci95
        return abs(self.ratio.mean - 1) > (_SEEN_ONCE if half is None else max(half, _SEEN))


@dataclass(frozen=True)
class Comparison:
    """The values compared with a baseline. kind: what they are, in the plural.

    factor: the factor; "" if cases are compared that differ in several.
    """

    headline: Headline
    factor: str
    kind: str
    baseline: str
    rows: Sequence[Row]

    @property
    def best(self) -> str:
        """The best value that is better somewhere, or else the best value."""
        better = [row.name for row in self.rows if row.is_different and self.performance(row) > 1]
        return max(dict.fromkeys(better) or self.names, key=self.overall)

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(row.name for row in self.rows))

    def of(self, name: str) -> list[Row]:
        return [row for row in self.rows if row.name == name]

    def performance(self, row: Row) -> float:
        """The ratio, or its inverse if less is better."""
        mean = max(row.ratio.mean, 1e-9)
        return 1 / mean if self.headline.less_is_better else mean

    def size(self, row: Row) -> float:
        """The size of a change, the same for a ratio and its inverse."""
        return abs(math.log(self.performance(row)))

    def overall(self, name: str) -> float:
        """The geometric mean of the performance over all conditions."""
        return geometric_mean(map(self.performance, self.of(name)))

    def ratio_of(self, case: Measured) -> Summary | None:
        return next((row.ratio for row in self.rows if row.case is case), None)


def compare(results: Results, headline: Headline) -> Comparison | None:
    """Compare the values of the main factor, or all cases with one; None for one case.

    That is the one with the most usual values, the first of them.
    """
    cases = [case for case in results.cases if headline.metric in case.summaries]
    varying = _varying(cases)
    for name in _candidates(results, varying):
        base = _baseline(name, [_value(case, name) for case in cases])
        others = _independent(results, cases, name, varying)
        groups: dict[tuple[Plain, ...], list[Measured]] = {}
        for case in cases:
            groups.setdefault(_values(case, others), []).append(case)
        rows: list[Row] = []
        for group in groups.values():
            condition = _label(group[0], others, results.usual)
            rows += _rows(group, name, base, condition, headline.metric)
        if rows:
            kind = _PLURALS.get(name, f"values of {display_name(name)}")
            return Comparison(headline, name, kind, _named(name, base), rows)
    if len(cases) < 2:
        return None
    names = {id(case): _label(case, varying, results.usual) for case in cases}
    first = min(cases, key=lambda case: len(unusual(case.runs[0].record.factors, results.usual)))
    rows = [
        Row(case, names[id(case)], "", ratio)
        for case in cases
        if case is not first and (ratio := _ratio(first, case, headline.metric))
    ]
    return Comparison(headline, "", "cases", names[id(first)], rows) if rows else None


def _rows(
    group: Sequence[Measured], name: str, base: Plain, condition: str, metric: str
) -> list[Row]:
    """The cases of a group, which differ only in the factor, against its baseline."""
    baseline = next((case for case in group if _value(case, name) == base), None)
    if baseline is None:
        return []
    return [
        Row(case, _named(name, _value(case, name)), condition, ratio)
        for case in group
        if case is not baseline and (ratio := _ratio(baseline, case, metric))
    ]


def _ratio(baseline: Measured, case: Measured, metric: str) -> Summary | None:
    return paired_ratio(baseline.by_seed(metric), case.by_seed(metric))


def _independent(
    results: Results, cases: Sequence[Measured], name: str, varying: Sequence[str]
) -> list[str]:
    """The other factors without those that the factor determines, such as a filter's rate.

    Cases without a run count: failures must not make other factors look determined.
    """

    def is_determined(other: str) -> bool:
        pairs = {(str(_value(case, name)), str(_value(case, other))) for case in cases}
        pairs |= {
            (str(factors[name]), str(factors[other]))
            for factors in results.all_factors
            if {name, other} <= factors.keys()
        }
        return len(pairs) == len({value for value, _ in pairs})

    return [other for other in varying if other != name and not is_determined(other)]


def _candidates(results: Results, varying: Sequence[str]) -> list[str]:
    """The factors that may be the main one: as declared, the ACK policy, of figures, then any."""
    figures = [one.figure for one in results.figures if isinstance(one.figure, MetricFigure)]
    of_figures = [figure.factors().get(key, "") for key in ("along", "lines") for figure in figures]
    # Where each factor varies alone, none of them is the main one.
    any_factor = () if results.usual else varying
    wanted = dict.fromkeys([results.compares, POLICY, *of_figures, *any_factor])
    return [name for name in wanted if name in varying]


def _varying(cases: Sequence[Measured]) -> list[str]:
    names = dict.fromkeys(name for case in cases for name in (*case.runs[0].record.factors, POLICY))
    return [name for name in names if len({str(_value(case, name)) for case in cases}) > 1]


def _baseline(name: str, values: Sequence[Plain]) -> Plain:
    """The default if it is among the values, else the first."""
    default = Parameters.defaults().get(name)
    return next((value for value in values if value == default), values[0])


def _value(case: Measured, name: str) -> Plain:
    if name == POLICY:
        return case.policy
    run = case.runs[0]
    return run.record.factors.get(name, run.parameters.get(name, ""))


def _values(case: Measured, names: Iterable[str]) -> tuple[Plain, ...]:
    return tuple(_value(case, name) for name in names)


def _label(case: Measured, names: Iterable[str], usual: Mapping[str, Plain]) -> str:
    values = {name: _value(case, name) for name in names}
    return label_of(values, usual) if values else ""


def _named(name: str, value: Plain) -> str:
    return str(value) if name in _PLURALS else factor(name, value)

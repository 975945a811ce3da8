# SPDX-License-Identifier: GPL-2.0-only
"""Comparison of published values with ours: for an experiment, and as a page over all of them."""

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from airtcp import atomicfile, provenance
from airtcp.experiment.experiment import Experiment, condition_of, conditions
from airtcp.experiment.metrics import METRICS
from airtcp.experiment.papers import CITATIONS, SIGNS, Paper
from airtcp.experiment.published import Published, published_ratio
from airtcp.kernel.policies import BASELINE
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.results import verdicts
from airtcp.results.documents import Comparison, SweepDocument
from airtcp.results.record import RunRecord
from airtcp.results.verdicts import Verdict
from airtcp.statistics import Summary, paired_ratio, summarize
from airtcp.units import parse_duration_s, rounded

FILE = "reproduction.md"

_DIGITS = 4

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
        _key(value.when, value.metric): value
        for value in values
        if value.when.get("ack_policy") == BASELINE
    }
    for value in values:
        policy = value.when.get("ack_policy", BASELINE)
        base = baselines.get(_key(value.when, value.metric))
        if policy != BASELINE and base and (ratio := published_ratio(value, base)):
            precision = value.precision if base.precision == "exact" else base.precision
            relative = {"relative_to": {"ack_policy": BASELINE}, "value": ratio}
            yield value.model_copy(update=relative | {"precision": precision})


def _key(when: Mapping[str, str], metric: str) -> tuple[object, ...]:
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

    The value is compared with published values of the same metric that differ in one factor and by
    at least 5%. Of those that we have measured, three quarters must be on the same side, by at
    least 1%.
    """
    published = value.published
    agreeing = []
    for comparable in declared:
        other = comparable.published
        if other.metric != published.metric or other.relative_to or comparable.summary is None:
            continue
        differing = sum(value.under[name] != setting for name, setting in comparable.under.items())
        apart = float(published.value) - float(other.value)
        if differing == 1 and apart and abs(apart) >= _APART * float(other.value):
            ours_apart = mean - comparable.summary.mean
            seen = abs(ours_apart) >= verdicts.SEEN * comparable.summary.mean
            agreeing.append(seen and ours_apart * apart > 0)
    return bool(agreeing) and sum(agreeing) >= _ORDERED_SHARE * len(agreeing)


def ratios(rows: Sequence[Comparison]) -> list[list[str]]:
    """Rows for the terminal, with a heading: published ratios and words that we have measured."""
    table = [["relative to others", "n", "ratio", "published", "verdict"]]
    for row in rows:
        if row.relative_to and not row.derived and row.measured is not None:
            what = f"{row.metric}: {_where(row)}"
            table.append([what, str(row.n), ours(row), theirs(row), row.agreement])
    return table if len(table) > 1 else []


@dataclass(frozen=True)
class Durations:
    """The durations in s of the published measurements and of our shortest and longest run."""

    published_s: float
    shortest_s: float
    longest_s: float

    def __str__(self) -> str:
        if self.shortest_s == self.published_s == self.longest_s:
            return f"The published runs and these last {self.published_s:g} s"
        ours = f"{self.longest_s:g} s"
        if self.shortest_s < self.longest_s:
            ours = f"{self.shortest_s:g} to {ours}"
        return f"The published runs last {self.published_s:g} s, these {ours}"

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


def page(documents: Sequence[tuple[Experiment, SweepDocument]]) -> str:
    """The page in Markdown.

    It has a row for each published value, and lists experiments without published values.
    """
    first = documents[0][1]
    lines = [
        "# Published and measured values",
        "",
        f"Written by `{_command(first)}`; do not edit. Linux {first.kernel.version} "
        f"(kernel `{first.kernel.hash}`). {_extent(documents)}",
        "",
        verdicts.CRITERIA,
        "",
        "| Source | " + " | ".join(get_args(Verdict)) + " |",
        "|---" * (1 + len(get_args(Verdict))) + "|",
    ]
    lines += [_totals(paper, documents) for paper in CITATIONS if _of(paper, documents)]
    for paper in CITATIONS:
        of_paper = _of(paper, documents)
        if of_paper:
            lines += ["", f"## {CITATIONS[paper]}"]
        for experiment, document in of_paper:
            lines += ["", *_section(experiment, document)]
    silent = [experiment.name for experiment, document in documents if not document.published]
    if silent:
        names = ", ".join(f"`{name}`" for name in silent)
        lines += ["", f"No values are published for these experiments: {names}."]
    return "\n".join(lines) + "\n"


def write(out_dir: Path, documents: Sequence[tuple[Experiment, SweepDocument]]) -> Path:
    """Write the page into the directory of the sweeps."""
    path = out_dir / FILE
    atomicfile.write(path, page(documents).encode())
    return path


def _command(document: SweepDocument) -> str:
    """The command that did the runs, without the directory and the number of parallel runs."""
    words = provenance.split(document.command)
    for option in ("--out", "--jobs"):
        if option in words:
            place = words.index(option)
            del words[place : place + 2]
    return shlex.join(words)


def _extent(documents: Sequence[tuple[Experiment, SweepDocument]]) -> str:
    runs = [run for _, document in documents for run in document.runs]
    longest_s = max(parse_duration_s(str(run.parameters["duration"])) for run in runs)
    seeds = len({run.seed for run in runs})
    return f"{len(runs)} runs of at most {longest_s:.0f} s, at most {seeds} of each case."


def _of(
    paper: Paper, documents: Sequence[tuple[Experiment, SweepDocument]]
) -> list[tuple[Experiment, SweepDocument]]:
    return [pair for pair in documents if pair[0].paper == paper and pair[1].published]


def _totals(paper: Paper, documents: Sequence[tuple[Experiment, SweepDocument]]) -> str:
    counts = sum((_counts(*pair) for pair in _of(paper, documents)), Counter[Verdict]())
    row = " | ".join(str(counts[verdict]) for verdict in get_args(Verdict))
    return f"| {CITATIONS[paper]} | {row} |"


def _counts(experiment: Experiment, document: SweepDocument) -> Counter[Verdict]:
    """The number of values by verdict; of several readings of a value the best counts."""
    ranks = get_args(Verdict)
    best: dict[object, Verdict] = {}
    for row in document.published:
        policy = row.factors.get("ack_policy")
        reading = "" if policy in experiment.readings else policy
        other = frozenset(row.relative_to.items())
        key = row.source, row.published, reading, other, _key(row.factors, row.metric)
        best[key] = min(row.agreement, best.get(key, ranks[-1]), key=ranks.index)
    return Counter(best.values())


def _section(experiment: Experiment, document: SweepDocument) -> Iterator[str]:
    yield f"### `{experiment.name}`: {experiment.title}"
    yield ""
    if experiment.expects:
        yield experiment.expects
        yield ""
    if times := durations(document):
        yield " ".join(filter(None, (f"{times}.", times.warning)))
        yield ""
    yield "| Source | Where | Metric | Published | Measured | Seeds | Ratio | Verdict |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in document.published:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in _cells(row)) + " |"
    if any(map(needs_reason, document.published)):
        yield ""
        yield f"Why not within 10%: {experiment.reason or 'not known.'}"


def needs_reason(row: Comparison) -> bool:
    """Whether the agreement could be better, and the row gives no reason."""
    best = "same trend" if row.published in ("more", "less") else "within 10%"
    return row.agreement not in (best, "within 10%", "not measured") and not row.reason


def _cells(row: Comparison) -> list[str]:
    unit = "" if row.relative_to else f" {METRICS[row.metric].unit}"
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    verdict: str = row.agreement
    if row.reason and verdict != "within 10%":
        verdict += f": {row.reason}"
    return [
        row.source,
        _where(row),
        f"`{row.metric}`{unit}",
        theirs(row),
        ours(row),
        str(row.n),
        ratio,
        verdict,
    ]


def _where(row: Comparison) -> str:
    case = _factors(row.factors) or "all as set"
    other = _factors(row.relative_to)
    return f"{case}, relative to {other}" if other else case


def _factors(factors: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in factors.items())


def theirs(row: Comparison) -> str:
    """The published value as text."""
    if isinstance(row.published, str):
        return row.published
    return SIGNS[row.precision] + rounded(row.published, _DIGITS)


def ours(row: Comparison) -> str:
    """Our mean with the half width of its interval, as text."""
    if row.measured is None:
        return "-"
    spread = "" if row.ci95 is None else f" ± {rounded(row.ci95, _DIGITS)}"
    return rounded(row.measured, _DIGITS) + spread

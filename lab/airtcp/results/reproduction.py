# SPDX-License-Identifier: GPL-2.0-only
"""Published values beside ours: of one experiment, and the page over all of them."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from airtcp.experiment.experiment import Experiment, conditions
from airtcp.experiment.metrics import METRICS
from airtcp.experiment.papers import CITATIONS, Paper
from airtcp.experiment.published import Published
from airtcp.kernel.policies import BASELINE
from airtcp.parameters import OBSERVATION, Parameters
from airtcp.parameters.quantity import Plain
from airtcp.results import verdicts
from airtcp.results.documents import Comparison, SweepDocument
from airtcp.results.record import RunRecord
from airtcp.results.verdicts import Verdict
from airtcp.statistics import Summary, paired_ratio, summarize
from airtcp.units import parse_duration_s

FILE = "reproduction.md"

# Published values that differ by less have no order.
_APART = 0.05
_ORDERED_SHARE = 0.75

_ABOUT = {"exact": "", "approximate": "≈ ", "at most": "≤ ", "at least": "≥ "}


def compare(
    common: Parameters, published: Sequence[Published], runs: Iterable[RunRecord]
) -> list[Comparison]:
    """Each published value, and each gain that they give, beside ours.

    common: the parameters that all cases have in common. A gain (derived) is the ratio of two
    published values that differ in the ACK policy only, one of which is of the default.
    """
    measured = _Measured(common, runs)
    declared = [measured.figure(one) for one in published]
    gains = [measured.figure(one) for one in _gains(published)]
    return [
        *(_compared(one, declared, derived=False) for one in declared),
        *(_compared(one, declared, derived=True) for one in gains),
    ]


@dataclass(frozen=True)
class _Figure:
    """A published value, its conditions, and our summary under these; None if not measured."""

    published: Published
    under: Mapping[str, Plain]
    summary: Summary | None


class _Measured:
    """The runs of an experiment, by their conditions."""

    def __init__(self, common: Parameters, runs: Iterable[RunRecord]) -> None:
        self._parameters = common
        self._runs = [
            # A parameter that an older version lacks had today's default.
            (_without_observation({**Parameters.defaults(), **run.parameters}), run)
            for run in runs
            if run.ok
        ]

    def figure(self, one: Published) -> _Figure:
        """A published value with the summary of our runs."""
        under = self._conditions(one.when)
        values = self._by_seed(under, one.metric)
        if one.relative_to:
            others = self._conditions(one.when | one.relative_to)
            return _Figure(one, under, paired_ratio(self._by_seed(others, one.metric), values))
        return _Figure(one, under, summarize(list(values.values())) if values else None)

    def _conditions(self, when: Mapping[str, str]) -> Mapping[str, Plain]:
        return conditions(self._parameters.replace(when))

    def _by_seed(self, wanted: Mapping[str, Plain], metric: str) -> dict[int, float]:
        values = (
            (run.seed, run.metrics.get(metric)) for under, run in self._runs if under == wanted
        )
        return {seed: value for seed, value in values if value is not None}


def _without_observation(parameters: Mapping[str, Plain]) -> dict[str, Plain]:
    return {name: value for name, value in parameters.items() if name not in OBSERVATION}


def _gains(published: Sequence[Published]) -> Iterator[Published]:
    baselines = {
        _key(one.when, one.metric): one
        for one in published
        if not one.relative_to and one.when.get("ack_policy") == BASELINE
    }
    for one in published:
        policy = one.when.get("ack_policy", BASELINE)
        base = baselines.get(_key(one.when, one.metric))
        if policy != BASELINE and base and not one.relative_to:
            ratio = float(one.value) / float(base.value)
            relative = {"relative_to": {"ack_policy": BASELINE}, "value": ratio}
            yield one.model_copy(update=relative)


def _key(when: Mapping[str, str], metric: str) -> tuple[object, ...]:
    others = sorted((name, value) for name, value in when.items() if name != "ack_policy")
    return metric, *others


def _compared(figure: _Figure, declared: Sequence[_Figure], *, derived: bool) -> Comparison:
    one, summary = figure.published, figure.summary
    number = isinstance(one.value, float)
    return Comparison(
        factors=one.when,
        relative_to=one.relative_to,
        metric=one.metric,
        published=one.value,
        precision=one.precision,
        source=one.source,
        measured=summary.mean if summary else None,
        ci95=summary.ci95 if summary else None,
        n=summary.n if summary else 0,
        ratio=summary.mean / float(one.value) if summary and number else None,
        agreement=_verdict(figure, declared),
        reason=one.reason,
        derived=derived,
    )


def _verdict(figure: _Figure, declared: Sequence[_Figure]) -> Verdict:
    one, summary = figure.published, figure.summary
    if summary is None:
        return "not measured"
    if isinstance(one.value, str):
        return verdicts.of_word(summary.mean, one.value)
    if one.relative_to:
        return verdicts.of_ratio(summary.mean, one.value, one.precision)
    ordered = _ordered(figure, summary.mean, declared)
    return verdicts.of_value(summary.mean, one.value, one.precision, ordered)


def _ordered(figure: _Figure, mean: float, declared: Sequence[_Figure]) -> bool:
    """Whether our values have the order of the published ones.

    Compared are published values of the same metric that differ in one factor and by 5% or more.
    Three quarters of those that we have measured must be on the same side as published.
    """
    one = figure.published
    agreeing = []
    for beside in declared:
        other = beside.published
        if other.metric != one.metric or other.relative_to or beside.summary is None:
            continue
        differing = sum(figure.under[name] != value for name, value in beside.under.items())
        apart = float(one.value) - float(other.value)
        if differing == 1 and abs(apart) >= _APART * float(other.value):
            agreeing.append((mean - beside.summary.mean) * apart > 0)
    return bool(agreeing) and sum(agreeing) >= _ORDERED_SHARE * len(agreeing)


def ratios(rows: Sequence[Comparison]) -> list[list[str]]:
    """Rows for the terminal, with a head: published ratios and words that we have measured."""
    table = [["relative to others", "ratio", "published", "reproduced"]]
    for row in rows:
        if row.relative_to and not row.derived and row.measured is not None:
            what = f"{row.metric}: {_where(row)}"
            table.append([what, _ours(row), _theirs(row), row.agreement])
    return table if len(table) > 1 else []


def page(documents: Sequence[tuple[Experiment, SweepDocument]]) -> str:
    """The page in Markdown.

    A row for each published value; experiments without any are named at the end.
    """
    first = documents[0][1]
    lines = [
        "# Published values and ours",
        "",
        f"Written by `{_command(first)}`; do not edit. Linux {first.kernel.version}. "
        + _extent(documents),
        "",
        verdicts.CRITERIA,
        "",
        "| Source | " + " | ".join(get_args(Verdict)) + " |",
        "|---" * (1 + len(get_args(Verdict))) + "|",
    ]
    lines += [_totals(paper, documents) for paper in CITATIONS if _of(paper, documents)]
    for paper in CITATIONS:
        found = _of(paper, documents)
        if found:
            lines += ["", f"## {CITATIONS[paper]}"]
        for experiment, document in found:
            lines += ["", *_section(experiment, document)]
    silent = [experiment.name for experiment, document in documents if not document.published]
    if silent:
        names = ", ".join(f"`{name}`" for name in silent)
        lines += ["", f"Of these experiments nothing is published: {names}."]
    return "\n".join(lines) + "\n"


def write(out_dir: Path, documents: Sequence[tuple[Experiment, SweepDocument]]) -> Path:
    """Write the page into the directory of the sweeps."""
    path = out_dir / FILE
    path.write_text(page(documents), encoding="utf-8")
    return path


def _command(document: SweepDocument) -> str:
    """The command that did the runs, without the directory."""
    words = shlex.split(document.command)
    if "--out" in words:
        place = words.index("--out")
        del words[place : place + 2]
    return shlex.join(words)


def _extent(documents: Sequence[tuple[Experiment, SweepDocument]]) -> str:
    runs = [run for _, document in documents for run in document.runs]
    longest_s = max(parse_duration_s(str(run.parameters["duration"])) for run in runs)
    seeds = len({run.seed for run in runs})
    return f"{len(runs)} runs of at most {longest_s:.0f} s, {seeds} of each case at most."


def _of(
    paper: Paper, documents: Sequence[tuple[Experiment, SweepDocument]]
) -> list[tuple[Experiment, SweepDocument]]:
    return [one for one in documents if one[0].paper == paper and one[1].published]


def _totals(paper: Paper, documents: Sequence[tuple[Experiment, SweepDocument]]) -> str:
    counts = Counter(
        row.agreement for _, document in _of(paper, documents) for row in document.published
    )
    row = " | ".join(str(counts[verdict]) for verdict in get_args(Verdict))
    return f"| {CITATIONS[paper]} | {row} |"


def _section(experiment: Experiment, document: SweepDocument) -> Iterator[str]:
    yield f"### `{experiment.name}`: {experiment.title}"
    yield ""
    if experiment.expects:
        yield experiment.expects
        yield ""
    yield "| Published | Where | Metric | Theirs | Ours | Ratio | Reproduced |"
    yield "|---|---|---|---|---|---|---|"
    for row in document.published:
        yield "| " + " | ".join(_cases(row)) + " |"
    if any(map(_needs_reason, document.published)):
        yield ""
        yield f"Why not within tolerance: {experiment.reason or 'not known.'}"


def _needs_reason(row: Comparison) -> bool:
    """Whether the agreement could be better, and the row gives no reason."""
    best = "same trend" if row.published in ("more", "less") else "within tolerance"
    return row.agreement not in (best, "within tolerance", "not measured") and not row.reason


def _cases(row: Comparison) -> list[str]:
    unit = "" if row.relative_to else f" {METRICS[row.metric].unit}"
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    verdict: str = row.agreement
    if row.reason and verdict != "within tolerance":
        verdict += f": {row.reason}"
    return [
        row.source.replace("|", "\\|"),
        _where(row),
        f"`{row.metric}`{unit}",
        _theirs(row),
        _ours(row),
        ratio,
        verdict,
    ]


def _where(row: Comparison) -> str:
    where = _factors(row.factors) or "all as set"
    other = _factors(row.relative_to)
    return f"{where}, relative to {other}" if other else where


def _factors(factors: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in factors.items())


def _theirs(row: Comparison) -> str:
    if isinstance(row.published, str):
        return row.published
    return _ABOUT[row.precision] + _number(row.published)


def _ours(row: Comparison) -> str:
    if row.measured is None:
        return "-"
    spread = "" if row.ci95 is None else f" ± {_number(row.ci95)}"
    return _number(row.measured) + spread


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"

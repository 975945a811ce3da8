# SPDX-License-Identifier: GPL-2.0-only
"""Makes the document of a sweep from its runs, or removes runs from a document."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from airtcp.experiment.experiment import Case, Experiment
from airtcp.experiment.figures import Figure, ModelFigure
from airtcp.experiment.metrics import METRICS
from airtcp.experiment.published import Published
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.results import comparison, modelfit
from airtcp.results.documents import (
    Comparison,
    FigureRecord,
    ModelComparison,
    PublishedValue,
    SummaryRow,
    SweepDocument,
)
from airtcp.results.record import KernelRecord, Provenance, RunRecord
from airtcp.statistics import Summary, summarize


@dataclass(frozen=True)
class _CaseRuns:
    """A case, and its runs by seed."""

    factors: Mapping[str, Plain]
    parameters: Mapping[str, Plain]
    runs: Sequence[RunRecord]

    def summary(self, metric: str) -> Summary | None:
        """Summary of the runs that have the metric."""
        values = [run.values[metric] for run in self.runs if metric in run.values]
        return summarize(values) if values else None

    def row(self, metric: str, published: PublishedValue | None) -> SummaryRow:
        """The row of a metric in results.json."""
        summary = self.summary(metric)
        return SummaryRow(
            factors=self.factors,
            metric=metric,
            mean=summary.mean if summary else None,
            ci95=summary.ci95 if summary else None,
            n=summary.n if summary else 0,
            published=published,
        )


def document(
    experiment: Experiment,
    cases: Sequence[Case],
    kernel: Kernel | KernelRecord,
    results: Iterable[tuple[Case, RunRecord]],
    command: str,
) -> SweepDocument:
    """The document of a sweep: runs by case, summaries, published values and models.

    results: the runs with their cases, in any order. command: the command that did the runs.
    """
    by_case: dict[str, list[RunRecord]] = {case.slug: [] for case in cases}
    for case, run in results:
        by_case[case.slug].append(run)
    groups = [
        _CaseRuns(
            dict(case.factors),
            case.parameters.plain(),
            sorted(by_case[case.slug], key=lambda run: run.seed),
        )
        for case in cases
    ]
    runs = [run for group in groups for run in group.runs]
    return SweepDocument(
        experiment=experiment.name,
        title=experiment.title,
        source=experiment.source,
        expects=experiment.expects,
        reason=experiment.reason,
        compares=experiment.compares,
        published_duration_s=experiment.published_duration_s,
        command=command,
        kernel=KernelRecord(version=kernel.version, hash=kernel.hash),
        provenance=Provenance.here(command),
        parameters=experiment.parameters.plain(),
        runs=tuple(runs),
        summary=tuple(
            row
            for published, group in zip(experiment.published_for(cases), groups, strict=True)
            for row in _summary(published, group)
        ),
        published=tuple(
            comparison.compare(
                experiment.parameters,
                experiment.published,
                of_kernel(runs, kernel.hash),
                experiment.published_duration_s,
            )
        ),
        figures=tuple(_figure(figure, groups) for figure in experiment.figures),
    )


def _summary(published: Mapping[str, Published], group: _CaseRuns) -> list[SummaryRow]:
    known = {
        metric: PublishedValue(
            value=float(value.value), precision=value.precision, source=value.source
        )
        for metric, value in published.items()
    }
    return [group.row(metric, known.get(metric)) for metric in METRICS]


def _figure(figure: Figure, groups: Iterable[_CaseRuns]) -> FigureRecord:
    """The declaration; for a model also the comparison of every case."""
    if not isinstance(figure, ModelFigure):
        return FigureRecord(figure=figure)
    compared = [
        modelfit.compare(
            figure,
            group.factors,
            group.parameters,
            {metric: group.summary(metric) for metric in (modelfit.THROUGHPUT, figure.rtt)},
        )
        for group in groups
    ]
    points = tuple(point for point in compared if point)
    error = modelfit.mean_absolute_error(points)
    return FigureRecord(
        figure=figure, compared=ModelComparison(points=points, mean_absolute_error=error)
    )


def without(document: SweepDocument, left_out: Collection[RunRecord]) -> SweepDocument:
    """The document as if some of its runs had not been done.

    Without the common parameters of its cases, or with those of an incompatible version, published
    values cannot be compared again; the document then has none.
    """
    if not left_out:
        return document
    excluded = set(map(id, left_out))
    runs = tuple(run for run in document.runs if id(run) not in excluded)
    remaining: dict[str, list[RunRecord]] = {str(run.factors): [] for run in document.runs}
    for run in runs:
        remaining[str(run.factors)].append(run)
    groups = {
        case: _CaseRuns(run.factors, run.parameters, remaining[case])
        for case, run in {str(run.factors): run for run in document.runs}.items()
    }
    changed = {str(run.factors) for run in left_out}
    return document.model_copy(
        update={
            "runs": runs,
            "summary": tuple(
                groups[str(row.factors)].row(row.metric, row.published)
                if str(row.factors) in changed
                else row
                for row in document.summary
            ),
            "published": tuple(_compared_again(document, runs)),
            "figures": tuple(
                _figure(record.figure, groups.values()) for record in document.figures
            ),
        }
    )


def _compared_again(document: SweepDocument, runs: Sequence[RunRecord]) -> list[Comparison]:
    try:
        common = Parameters.model_validate(document.parameters)
        declared = [row.declared() for row in document.published if not row.derived]
    except ValidationError:
        return []
    return comparison.compare(
        common, declared, of_kernel(runs, document.kernel.hash), document.published_duration_s
    )


def of_kernel(runs: Iterable[RunRecord], kernel_hash: str) -> list[RunRecord]:
    """The runs of the document's kernel, the first one if kernels are a factor."""
    return [run for run in runs if run.kernel.hash == kernel_hash]

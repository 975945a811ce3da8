# SPDX-License-Identifier: GPL-2.0-only
"""The contents of a report, before anything is drawn."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from airtcp.experiment.figures import MetricFigure
from airtcp.report import declared, finding, inside, overview, positions, question, timeline
from airtcp.report.inside import Inside
from airtcp.report.model import Results
from airtcp.report.plot import Plot
from airtcp.report.policies import Policies
from airtcp.steps.workloads.workload import Headline

Count = Callable[[int, int], None]
"""Called with the number of a step, from 1, and of all steps."""


@dataclass(frozen=True)
class Contents:
    """The figures of each section, in the order of the page. Notes say why some are left out.

    finding: what the page says first; hero: the figure that shows it, which the page has in
    its place and not again in its section.
    """

    results: Results
    finding: str
    hero: Plot | None
    declared: Sequence[Plot]
    declared_notes: Sequence[str]
    overview: Sequence[Plot]
    timelines: Sequence[Plot]
    timeline_notes: Sequence[str]
    inside: Sequence[Inside]
    map: Plot | None

    @property
    def plots(self) -> Iterator[Plot]:
        yield from (*self.declared, *self.overview, *self.timelines)
        for condition in self.inside:
            yield from condition.plots
        if self.map:
            yield self.map


def describe(
    results: Results,
    timeline_ms: int | None = None,
    timeline_of: str | None = None,
    count: Count = lambda _number, _of: None,
) -> Contents:
    """Describe all figures of a report. See write_report() for the arguments and errors."""
    timelines, timeline_notes = timeline.plots(results, timeline_ms, timeline_of)
    figures, figure_notes = declared.plots(results)
    overviews = list(overview.plots(results))
    asked = question.of(results)
    hero = _hero(results, asked, figures, overviews) if asked else None
    return Contents(
        results=results,
        finding=finding.of(results, asked) if asked else "",
        hero=hero,
        declared=figures,
        declared_notes=figure_notes,
        overview=overviews,
        timelines=timelines,
        timeline_notes=timeline_notes,
        inside=list(_inside(results, count)),
        map=positions.plot(results),
    )


def _hero(
    results: Results, asked: Headline, declared: Sequence[Plot], overviews: Sequence[Plot]
) -> Plot | None:
    """The first declared figure of the metric, as the experiment chose it; else its bars."""
    showing = {
        one.figure.title
        for one in results.figures
        if isinstance(one.figure, MetricFigure) and asked.metric in (one.figure.x, *one.figure.y)
    }
    return next(
        (plot for plot in declared if plot.title in showing),
        next((plot for plot in overviews if plot.slug == asked.slug), None),
    )


def _inside(results: Results, count: Count) -> Iterator[Inside]:
    """The figures of each condition, which takes most of the time of a report."""
    for number, condition in enumerate(results.conditions, start=1):
        count(number, len(results.conditions))
        yield inside.inside(condition, Policies(results.policies))

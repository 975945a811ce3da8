# SPDX-License-Identifier: GPL-2.0-only
"""Fills the page's template from the results and the saved figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2

from airtcp.experiment import topology_text
from airtcp.experiment.metrics import METRICS, Metric
from airtcp.kernel.policies import BASELINE
from airtcp.parameters import Parameters
from airtcp.report import question
from airtcp.report.comparison import Comparison, compare
from airtcp.report.contents import Contents
from airtcp.report.declared import layout
from airtcp.report.formats import interval, number, percent, percent_interval, with_interval
from airtcp.report.model import (
    POLICY,
    Condition,
    Gain,
    Measured,
    Results,
    Run,
    factor,
    gains,
    is_bulk,
    label_of,
    readable,
)
from airtcp.report.palette import PALETTE, policy_role
from airtcp.results import reproduction
from airtcp.results.documents import Comparison as PublishedComparison
from airtcp.results.reproduction import needs_reason
from airtcp.statistics import paired_difference, summarize
from airtcp.steps.workloads import HEADLINES
from airtcp.steps.workloads.workload import Headline
from airtcp.units import counted


@dataclass(frozen=True)
class Saved:
    """A figure as the page has it: inline SVG, and paths of the files for print by format, if any.

    interactive: Plotly's document as JSON; None: the page zooms into the SVG.
    """

    svg: str
    files: Mapping[str, str]
    interactive: str | None


def render(contents: Contents, saved: Mapping[str, Saved], plotly_js: str | None) -> str:
    """The page as HTML, which refers only to files in figures/ and runs/.

    saved: the saved figures of the contents, by slug. plotly_js: makes a page without references.
    """
    results = contents.results
    measured = {name for case in results.cases for name in case.summaries}
    return fill(
        "page.html",
        contents=contents,
        results=results,
        saved=saved,
        plotly_js=plotly_js,
        has_files=any(figure.files for figure in saved.values()),
        roles={light: role for role, (light, _) in PALETTE.items()},
        settings=results.settings,
        summary=summary(results),
        ranges=ranges(results),
        tables=[_table(results, *pair) for pair in question.tables(results)],
        published=[_published_row(row) for row in results.published],
        reason=results.reason if any(map(needs_reason, results.published)) else "",
        inside=[
            (
                section,
                _metric_rows(section.condition),
                _flow_rows(section.condition),
                _station_rows(section.condition),
            )
            for section in contents.inside
        ],
        costs=[
            (condition.label, measured.policy, _added(measured.runs))
            for condition in results.conditions
            for measured in condition.policies
        ],
        total=_added(results.runs),
        on_hosts=any(condition.on_hosts for condition in results.conditions),
        usual=", ".join(factor(name, value) for name, value in results.usual.items()),
        parameters=_common_parameters(results),
        topology=_topology(results),
        versions=_versions(results.runs),
        metrics={name: METRICS[name] for name in METRICS if name in measured},
        baseline=BASELINE,
        colour=lambda policy: policy_role(results.policies.index(policy)),
        differences=lambda condition: [measured.policy for measured in _others(condition)],
    )


def fill(template: str, *directories: Path, **values: object) -> str:
    """Fill a template of templates/, or of one of the directories, with values."""
    return _environment(directories).get_template(template).render(palette=PALETTE, **values)


@cache
def _environment(directories: Sequence[Path]) -> jinja2.Environment:
    """Compiles each template once, however many pages are written."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*directories, Path(__file__).parent / "templates"]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": number,
        "interval": interval,
        "percent": percent,
        "percent_interval": percent_interval,
    }
    return environment


@dataclass(frozen=True)
class HeadlineTable:
    """A headline metric under each condition, with the gains of the policies over the baseline.

    comparison: that of another factor than the policy. has_published: some case has a published
    value.
    """

    headline: Headline
    rows: Sequence[tuple[Condition, Sequence[Gain]]]
    comparison: Comparison | None
    has_policies: bool
    has_published: bool

    @property
    def has_changes(self) -> bool:
        return self.comparison is not None or any(gains for _, gains in self.rows)


def _table(results: Results, headline: Headline, having: Results) -> HeadlineTable:
    compared = compare(having, headline)
    all_gains = gains(having, headline.metric)
    return HeadlineTable(
        headline,
        [
            (condition, [gain for gain in all_gains if gain.condition is condition])
            for condition in having.conditions
        ],
        compared if compared and compared.factor != POLICY else None,
        len(results.policies) > 1,
        any(headline.metric in case.published for case in having.cases),
    )


def summary(results: Results) -> list[str]:
    """What was measured, in sentences generated from the data."""
    runs = results.runs
    durations = dict.fromkeys(readable(run.parameters["duration"]) for run in runs if is_bulk(run))
    transfers = f", transfers of {' and '.join(durations)}" if durations else ""
    total = _added(results.runs)
    return [
        f"{counted(len(runs), 'run')}: {counted(len(results.conditions), 'condition')}, "
        f"{counted(len(results.policies), 'ACK policy', 'ACK policies')} "
        f"({', '.join(results.policies)}), {_seeds_each(results.cases)}"
        f"{transfers}.",
        _on_hosts(runs)
        or f"{number(total['virtual_s'])} s of virtual time took {number(total['wall_s'])} s of "
        f"wall time, added up over runs.",
    ]


def _seeds_each(cases: Sequence[Measured]) -> str:
    """The numbers of seeds of the cases, which differ after failed runs and Ctrl-C."""
    least, most = min(len(case.runs) for case in cases), max(len(case.runs) for case in cases)
    return f"{f'{least} to ' if least < most else ''}{counted(most, 'seed')} each"


def _on_hosts(runs: Sequence[Run]) -> str:
    """The real hosts of the runs; empty if all were simulated."""
    named = dict.fromkeys(
        f"{role} {host.ssh} (Linux {host.kernel})"
        for run in runs
        for role, host in run.hosts.items()
    )
    if not named:
        return ""
    return (
        f"Measured on real hosts: {', '.join(named)}. Parameters of the simulated radio were not "
        "applied; each run lists them in result.json."
    )


def ranges(results: Results) -> list[str]:
    """The smallest and largest gain of each policy over the baseline, by headline metric."""
    sentences = []
    for headline, having in question.tables(results):
        compared = gains(having, headline.metric)
        for policy in dict.fromkeys(gain.policy for gain in compared):
            of_policy = [gain for gain in compared if gain.policy == policy]
            measured = [(gain.measured.mean, gain) for gain in of_policy if gain.measured]
            published = [(gain.published, gain) for gain in of_policy if gain.published]
            if measured:
                text = f"{headline.heading} of {policy} against {BASELINE}: {_range(measured)}"
                text += f"; published: {_range(published)}." if published else "."
                sentences.append(text)
    return sentences


def _range(values: Sequence[tuple[float, Gain]]) -> str:
    low, high = min(values, key=lambda pair: pair[0]), max(values, key=lambda pair: pair[0])
    if len(values) == 1:
        return f"{percent(low[0])} ({low[1].condition.label})"
    if percent(low[0]) == percent(high[0]):
        return f"{percent(low[0])} under {'both' if len(values) == 2 else 'all'} conditions"
    return (
        f"from {percent(low[0])} ({low[1].condition.label})"
        f" to {percent(high[0])} ({high[1].condition.label})"
    )


@dataclass(frozen=True)
class MetricRow:
    """One metric under one condition: a cell for each policy, then the differences."""

    name: str
    metric: Metric
    cells: Sequence[str]
    differences: Sequence[str]


def _metric_rows(condition: Condition) -> list[MetricRow]:
    baseline = condition.measured(BASELINE)
    rows = []
    for name, metric in METRICS.items():
        if not any(name in measured.summaries for measured in condition.policies):
            continue
        rows.append(
            MetricRow(
                name,
                metric,
                [with_interval(measured.summaries.get(name)) for measured in condition.policies],
                [
                    with_interval(paired_difference(baseline.by_seed(name), measured.by_seed(name)))
                    for measured in _others(condition)
                    if baseline
                ],
            )
        )
    return rows


@dataclass(frozen=True)
class FlowRow:
    """One flow of a custom topology: a cell for each policy."""

    name: str
    route: str
    protocol: str
    start_s: float
    headline: Headline
    cells: Sequence[str]


def _flow_rows(condition: Condition) -> list[FlowRow]:
    first = condition.policies[0].runs[0].record.flows
    return [
        FlowRow(
            flow.name,
            f"{flow.sender} to {flow.receiver}",
            flow.congestion_control or flow.protocol,
            flow.start_s,
            HEADLINES[flow.workload],
            [
                _mean_cell(
                    [
                        getattr(run.record.flows[number], HEADLINES[flow.workload].metric)
                        for run in measured.runs
                    ]
                )
                for measured in condition.policies
            ],
        )
        for number, flow in enumerate(first)
    ]


def _mean_cell(values: Sequence[float | None]) -> str:
    """The mean over runs; a dash if not all runs have a value."""
    known = [value for value in values if value is not None]
    return with_interval(summarize(known) if len(known) == len(values) else None)


@dataclass(frozen=True)
class StationRow:
    """The airtime of a station in one direction: a cell for each policy."""

    name: str
    direction: str
    cells: Sequence[str]


def _station_rows(condition: Condition) -> list[StationRow]:
    """Two rows for each station, if the runs have several."""
    names = [station.name for station in condition.policies[0].runs[0].record.stations]
    return [
        StationRow(
            name,
            direction,
            [
                _mean_cell(
                    [
                        getattr(run.record.stations[number], attribute)
                        if run.record.stations  # not in runs of earlier versions
                        else None
                        for run in measured.runs
                    ]
                )
                for measured in condition.policies
            ],
        )
        for number, name in enumerate(names)
        for direction, attribute in (("down", "airtime_down_s"), ("up", "airtime_up_s"))
    ]


def _others(condition: Condition) -> list[Measured]:
    """The policies that are compared with the baseline; none if it was not measured."""
    if condition.measured(BASELINE) is None:
        return []
    return [measured for measured in condition.policies if measured.policy != BASELINE]


@dataclass(frozen=True)
class PublishedRow:
    """A published value and ours. what: the metric, or the ratio of two cases."""

    where: str
    what: str
    ours: str
    seeds: int
    theirs: str
    ratio: str
    verdict: str
    reason: str
    source: str


def _published_row(row: PublishedComparison) -> PublishedRow:
    unit = "ratio" if row.relative_to else METRICS[row.metric].unit
    metric = layout.name(row.metric)
    where = label_of(row.factors) if row.factors else "all as set"
    if row.relative_to:
        where += f", relative to {label_of(row.relative_to)}"
    return PublishedRow(
        where,
        f"{metric}, {unit}" if unit else metric,
        reproduction.ours(row),
        row.n,
        reproduction.theirs(row),
        "" if row.ratio is None else f"{row.ratio:.2f}",
        row.agreement,
        "" if row.agreement == "within 10%" else row.reason,
        reproduction.source(row),
    )


def _added(runs: Sequence[Run]) -> dict[str, float | None]:
    """The cost of runs. virtual_s, speed: None if real hosts did them all."""
    wall_s = sum(run.record.cost.wall_s for run in runs)
    virtual = [run.record.cost.virtual_s for run in runs if run.record.cost.virtual_s is not None]
    return {
        "runs": len(runs),
        "wall_s": wall_s,
        "cpu_s": sum(run.record.cost.cpu_s for run in runs),
        "virtual_s": sum(virtual) if virtual else None,
        "speed": sum(virtual) / wall_s if virtual and wall_s else None,
    }


def _topology(results: Results) -> list[str]:
    """The nodes, flows and changes of a custom topology, which all runs share; else empty."""
    network = results.runs[0].network
    return list(topology_text.lines(network)) if network else []


def _versions(runs: Sequence[Run]) -> list[str]:
    """The versions of airtcp that did the runs, each with its commit if it has one."""
    return list(
        dict.fromkeys(
            f"{written.version}, commit {written.commit}" if written.commit else written.version
            for run in runs
            if (written := run.record.provenance)
        )
    )


def _common_parameters(results: Results) -> list[tuple[str, dict[str, str]]]:
    """The parameters with the same value in every run: those changed, and the defaults."""
    runs, defaults = results.runs, Parameters.defaults()
    common = {
        name: value
        for name, value in runs[0].parameters.items()
        if all(run.parameters.get(name) == value for run in runs)
    }
    changed = {name for name, value in common.items() if value != defaults.get(name)}
    groups = (("Changed from the defaults", changed), ("Defaults", common.keys() - changed))
    return [
        (heading, {name: readable(value) for name, value in common.items() if name in names})
        for heading, names in groups
    ]

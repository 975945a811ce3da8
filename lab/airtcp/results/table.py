# SPDX-License-Identifier: GPL-2.0-only
"""The tables that `run` prints."""

import math
from collections.abc import Container, Iterator, Mapping, Sequence

from airtcp.experiment.casenames import case_name, usual_values
from airtcp.experiment.experiment import differing
from airtcp.experiment.metrics import METRICS
from airtcp.experiment.published import published_ratio
from airtcp.kernel.policies import BASELINE
from airtcp.parameters.quantity import Plain
from airtcp.results import reproduction
from airtcp.results.comparison import durations
from airtcp.results.documents import ModelComparison, SummaryRow, SweepDocument
from airtcp.statistics import paired_ratio
from airtcp.steps.workloads import HEADLINES
from airtcp.steps.workloads.workload import Headline

_PLAN = "plan.sh"
_COUNTED = ("segments", "MPDUs", "PPDUs", "frames")  # units of counts


def table(results: SweepDocument, metrics: Sequence[str] = ()) -> str:
    """For each workload: its headline metric in every case, published values, gains of policies.

    Then published ratios and ours, and for each figure of a model the error of every point.
    metrics: shown instead of the headline metrics.
    """
    parts: list[str] = []
    shown: list[SummaryRow] = []
    usual = usual_values([summary.factors for summary in results.summary])
    used = _workloads(results)
    for workload, headline in () if metrics else HEADLINES.items():
        summaries = [
            summary
            for summary in _summaries(results, headline.metric)
            if workload in used[case_name(summary.factors)]
        ]
        if summaries:
            change = "gain over default"
            if headline.less_is_better:
                change = "change from default (less is better)"
            parts += _tables(results, headline, summaries, change, usual)
            shown += summaries
    for metric in metrics:
        summaries = _summaries(results, metric)
        heading = Headline(metric, metric)
        parts += _tables(results, heading, summaries, "change from default", usual)
        shown += summaries
    if ratios := reproduction.ratios(results.published):
        parts.append(aligned(ratios, (0, 4)))
    for figure in results.figures:
        if figure.compared and figure.compared.points:
            parts.append(_model_table(figure.figure.title, figure.compared))
    text = "\n\n".join(parts)
    few = note([summary.n for summary in shown if summary.n])
    notes = [few] if few else []
    notes += [
        f"note: {metric} does not apply to any of these runs: {METRICS[metric].how}"
        for metric in metrics
        if any(run.ok for run in results.runs)
        and not any(summary.n for summary in _summaries(results, metric))
    ]
    if usual:
        notes.append(f"note: unless its name says otherwise, a case has {case_name(usual)}")
    if same := ", ".join(_same_values(results)):
        notes.append(f"note: some cases that differ only in {same} have equal metrics")
    times = durations(results)
    if times and times.warning:
        notes.append(f"note: {_uncapitalized(str(times))}. {times.warning}")
    return "\n".join([text, *notes])


def note(counts: Sequence[int], seeds: str = "--seeds") -> str | None:
    """A note on intervals when a case has too few runs.

    counts: the runs of each case. seeds: what there can be more of.
    """
    match min(counts, default=0):
        case 1:
            return (
                f"note: a case with one run has no interval; more {seeds} give one, unless "
                "nothing is random, as on cables without losses"
            )
        case 2:
            return (
                "note: with two runs the 95% interval is ± 12.7 standard errors (Student's t, one "
                f"degree of freedom); more {seeds} narrow it"
            )
    return None


def _same_values(results: SweepDocument) -> list[str]:
    """Factors in which cases differ whose metrics are equal for each seed, but not their plans.

    `run` reports those with equal plans before it starts.
    """
    metrics: dict[str, list[object]] = {}
    plans: dict[str, Mapping[str, Plain]] = {}
    for run in results.runs:
        if run.ok and _PLAN in run.artifacts:
            values = (run.seed, *run.metrics.values())
            metrics.setdefault(case_name(run.factors), []).append(values)
            plans.setdefault(run.artifacts[_PLAN].sha256, run.factors)
    return differing((tuple(metrics[case_name(case)]), case) for case in plans.values())


def _uncapitalized(text: str) -> str:
    return text[0].lower() + text[1:]


def _summaries(results: SweepDocument, metric: str) -> list[SummaryRow]:
    return [summary for summary in results.summary if summary.metric == metric]


def _workloads(results: SweepDocument) -> dict[str, set[str]]:
    """The workloads of each case, by its name. A case without a run has those of its factors."""
    used: dict[str, set[str]] = {}
    for run in results.runs:
        used.setdefault(case_name(run.factors), set()).update(run.workloads)
    common = set().union(*used.values()) or {"bulk"}
    for row in results.summary:
        own = {str(row.factors["workload"])} if "workload" in row.factors else common
        used.setdefault(case_name(row.factors), own)
    return used


def _tables(
    results: SweepDocument,
    headline: Headline,
    summaries: Sequence[SummaryRow],
    change: str,
    usual: Mapping[str, Plain],
) -> Iterator[str]:
    title = f"{headline.title} {headline.unit}".rstrip()
    rows = [["", "n", title, "95%", "published", "ratio"]]
    for summary in summaries:
        published = summary.published
        ratio = (
            summary.mean / published.value
            if published and published.value and summary.mean is not None
            else None
        )
        rows.append(
            [
                case_name(summary.factors, usual),
                str(summary.n),
                *_texts(headline.unit, summary),
                published.text() if published else "-",
                "-" if ratio is None else f"{ratio:.2f}",
            ]
        )
    yield aligned(_without_dashes(rows))
    heads = ["", change, "95%", "published"]
    changes = [heads, *_changes(results, headline.metric, summaries, usual)]
    if len(changes) > 1:
        yield aligned(_without_dashes(changes))


def _without_dashes(rows: Sequence[list[str]]) -> list[list[str]]:
    """The rows without the column `published` and those after it, if there is no value in them."""
    column = rows[0].index("published")
    has_values = any(cell != "-" for row in rows[1:] for cell in row[column:])
    return [row if has_values else row[:column] for row in rows]


def _model_table(title: str, compared: ModelComparison) -> str:
    """Measured value, model, and the error of the model, also in percent of the measured value."""
    rows = [[title, "Mbit/s", "model", "error", "%", "RTT ms", "model", "error", "%"]]
    for point in compared.points:
        rows.append([case_name(point.factors)])
        for comparison in (point.throughput_mbps, point.rtt_ms):
            rows[-1] += [_number(comparison.measured), _number(comparison.model)]
            rows[-1] += [f"{comparison.error:+.2f}", f"{comparison.error_percent:+.1f}"]
    if mean := compared.mean_absolute_error:
        rows.append(["mean absolute error"])
        for error, percent in (
            (mean.throughput_mbps, mean.throughput_percent),
            (mean.rtt_ms, mean.rtt_percent),
        ):
            rows[-1] += ["", "", _number(error), f"{percent:.1f}"]
    return aligned(rows)


def _changes(
    results: SweepDocument,
    metric: str,
    summaries: Sequence[SummaryRow],
    usual: Mapping[str, Plain],
) -> list[list[str]]:
    """Change from the baseline to a policy in percent, with equal other factors and seeds.

    The published change is the ratio of the published means, not a printed percentage.
    """
    values: dict[str, dict[int, float]] = {}
    for run in results.runs:
        value = run.metrics.get(metric)
        if value is not None:
            values.setdefault(case_name(run.factors), {})[run.seed] = value
    published = {case_name(summary.factors): summary.published for summary in summaries}
    rows = []
    for summary in summaries:
        factors = summary.factors
        if factors.get("ack_policy", BASELINE) == BASELINE:
            continue
        other, baseline = case_name(factors), case_name({**factors, "ack_policy": BASELINE})
        ratio = paired_ratio(values.get(baseline, {}), values.get(other, {}))
        if ratio is None:
            continue
        known = published.get(other), published.get(baseline)
        printed = published_ratio(known[0], known[1]) if known[0] and known[1] else None
        spread = "-" if ratio.ci95 is None else f"± {100 * ratio.ci95:.1f}%"
        rows.append([case_name(factors, usual), change(ratio.mean), spread, change(printed)])
    return rows


def change(ratio: float | None) -> str:
    """In percent, with a sign unless it is 0.0%; - for None."""
    if ratio is None:
        return "-"
    percent = round(100 * (ratio - 1), 1)
    return f"{percent:+.1f}%" if percent else "0.0%"


def _texts(unit: str, summary: SummaryRow) -> tuple[str, str]:
    """The mean and its interval, with as many decimal places; counts have none if all are whole."""
    mean, half = summary.mean, summary.ci95
    if mean is None:
        return "-", "-"
    form = ".3g"
    if unit in _COUNTED and mean == int(mean) and (half is None or half == int(half)):
        form = ".0f"
    elif unit:
        form = f".{_decimals(mean)}f"
    return f"{mean:{form}}", "-" if half is None else f"± {half:{form}}"


def _number(value: float) -> str:
    return f"{value:.{_decimals(value)}f}"


def _decimals(value: float) -> int:
    """Two decimal places, or those of three significant digits of a small value."""
    return 2 if value == 0 or abs(value) >= 0.1 else 2 - math.floor(math.log10(abs(value)))


def aligned(rows: Sequence[Sequence[str]], texts: Container[int] = (0,)) -> str:
    """Aligned columns: those with indices in `texts` to the left, all others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if number in texts else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)

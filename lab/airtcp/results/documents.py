# SPDX-License-Identifier: GPL-2.0-only
"""The document that an experiment gives (results.json, --json), and the table for the terminal."""

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from airtcp import atomicfile
from airtcp.errors import InputError
from airtcp.experiment import figures
from airtcp.experiment.experiment import Case, Experiment
from airtcp.experiment.metrics import HEADLINES, METRICS, Headline
from airtcp.experiment.published import Published
from airtcp.kernel.image import Kernel
from airtcp.kernel.policies import BASELINE
from airtcp.results import earlier, modelfit, reproduction
from airtcp.results.record import Result
from airtcp.statistics import Summary, paired_ratio, summarize

SCHEMA = 1
FILE = "results.json"

Document = dict[str, Any]


def document(
    experiment: Experiment,
    cases: Sequence[Case],
    kernel: Kernel,
    results: Iterable[tuple[Case, Result]],
    command: str,
) -> Document:
    """Schema 1: the runs, case by case, and a summary of each case and metric.

    mean and ci95 (half the width of the 95% interval, Student's t; null for one run) are over the
    runs that ended well. published is what others measured under the same conditions, or null; the
    list of that name has every published figure beside ours (reproduction.compare). figures are the
    experiment's, a model's with its points.
    """
    by_case: dict[str, list[Result]] = {case.slug: [] for case in cases}
    for case, result in results:
        by_case[case.slug].append(result)
    for runs in by_case.values():
        runs.sort(key=lambda run: int(run["seed"]))
    summaries = {
        case.slug: {metric: _summary(by_case[case.slug], metric) for metric in METRICS}
        for case in cases
    }
    return {
        "schema": SCHEMA,
        "experiment": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "command": command,
        "kernel": {"version": kernel.version, "hash": kernel.hash},
        "runs": [run for runs in by_case.values() for run in runs],
        "summary": [
            _summarized(case, metric, summary, published.get(metric))
            for case, published in zip(cases, experiment.published_for(cases), strict=True)
            for metric, summary in summaries[case.slug].items()
        ],
        "published": reproduction.compare(
            experiment, [run for runs in by_case.values() for run in runs]
        ),
        "figures": [_figure(figure, cases, summaries) for figure in experiment.figures],
    }


def _summary(runs: Sequence[Result], metric: str) -> Summary | None:
    values = [value for run in runs if (value := run["metrics"].get(metric)) is not None]
    return summarize(values) if values else None


def _figure(
    figure: figures.Figure,
    cases: Sequence[Case],
    summaries: Mapping[str, Mapping[str, Summary | None]],
) -> dict[str, Any]:
    """The declaration; of a model also each point with its error."""
    found = figures.documented(figure)
    if isinstance(figure, figures.ModelFigure):
        compared = (
            modelfit.compare(figure, case.factors, case.parameters.plain(), summaries[case.slug])
            for case in cases
        )
        points = [point for point in compared if point]
        found["points"] = [point.document() for point in points]
        found["mean_absolute_error"] = modelfit.mean_absolute_error(points)
    return found


def _summarized(
    case: Case, metric: str, summary: Summary | None, published: Published | None
) -> dict[str, Any]:
    return {
        "factors": dict(case.factors),
        "metric": metric,
        "mean": summary.mean if summary else None,
        "ci95": summary.ci95 if summary else None,
        "n": summary.n if summary else 0,
        "published": published
        and {
            "value": published.value,
            "precision": published.precision,
            "source": published.source,
        },
    }


def write(out_dir: Path, results: Document) -> Path:
    """Write results.json into the directory of the runs."""
    path = out_dir / FILE
    atomicfile.write_json(path, results)
    return path


def read(out_dir: Path) -> Document:
    """Read results.json of a directory of runs. Raises InputError."""
    path = out_dir / FILE
    try:
        results = json.loads(path.read_text())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; a directory that `run` wrote has it") from None
    except ValueError:
        raise InputError(f"{path}: not JSON, or cut short") from None
    if not isinstance(results, dict) or results.get("schema") != SCHEMA:
        raise InputError(f"{path}: not a document of schema {SCHEMA}")
    upgraded: Document = earlier.document(results, str(path))
    return upgraded


def table(results: Document) -> str:
    """For each workload: its headline in every case, what others published, the policies' gains.

    Then published ratios beside ours, and, for each model that the experiment has a figure of, the
    error of every point.
    """
    parts: list[str] = []
    for workload, headline in HEADLINES.items():
        summaries = [
            summary
            for summary in results["summary"]
            if summary["metric"] == headline.metric and _workload(results, summary) == workload
        ]
        if summaries:
            parts += _tables(results, headline, summaries)
    if ratios := reproduction.ratios(results.get("published", ())):
        parts.append(aligned(ratios))
    for figure in results.get("figures", ()):
        if figure.get("points"):
            parts.append(_model_table(figure))
    text = "\n\n".join(parts)
    few = note([summary["n"] for summary in results["summary"] if summary["n"]])
    return f"{text}\n{few}" if few else text


def note(counts: Sequence[int]) -> str | None:
    """What to make of intervals when a case has too few runs; counts: the runs of each case."""
    match min(counts, default=0):
        case 1:
            return "note: one run of a case has no interval; --seeds 5 makes five"
        case 2:
            return (
                "note: with two runs the 95% interval is ± 12.7 standard errors (Student's t, one "
                "degree of freedom); more --seeds narrow it"
            )
    return None


def _workload(results: Document, summary: Mapping[str, Any]) -> str:
    """That of a case: a factor, or the same in every run."""
    common = (run["parameters"].get("workload", "bulk") for run in results["runs"])
    return str(summary["factors"].get("workload") or next(common, "bulk"))


def _tables(
    results: Document, headline: Headline, summaries: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    rows = [["", "n", f"{headline.title} {headline.unit}", "95%", "published", "ratio"]]
    for summary in summaries:
        published = summary["published"]
        ratio = published and summary["mean"] and summary["mean"] / published["value"]
        rows.append(
            [
                case_name(summary["factors"]),
                str(summary["n"]),
                _number(summary["mean"]),
                f"± {_number(summary['ci95'])}",
                _published(published),
                f"{ratio:.2f}" if ratio else "-",
            ]
        )
    yield aligned(rows)
    change = (
        "change from default (less is better)" if headline.less_is_better else "gain over default"
    )
    changes = [["", change, "95%", "published"], *_changes(results, headline.metric, summaries)]
    if len(changes) > 1:
        yield aligned(changes)


def _model_table(figure: Mapping[str, Any]) -> str:
    """Measured, model, and what the model says too much, in percent of the measured."""
    rows = [[figure["title"], "Mbit/s", "model", "error", "%", "RTT ms", "model", "error", "%"]]
    for point in map(modelfit.Point.read, figure["points"]):
        rows.append([case_name(point.factors)])
        for one in (point.throughput_mbps, point.rtt_ms):
            rows[-1] += [_number(one.measured), _number(one.model)]
            rows[-1] += [f"{one.error:+.2f}", f"{one.error_percent:+.1f}"]
    mean = figure["mean_absolute_error"]
    rows.append(["mean absolute error"])
    for name, percent in (("throughput_mbps", "throughput_percent"), ("rtt_ms", "rtt_percent")):
        rows[-1] += ["", "", _number(mean[name]), f"{mean[percent]:.1f}"]
    return aligned(rows)


def _changes(
    results: Document, metric: str, summaries: Sequence[Mapping[str, Any]]
) -> list[list[str]]:
    """A policy over default, same other factors, same seeds, in percent.

    The published change is the ratio of the published means, whatever percentage was printed.
    """
    values: dict[str, dict[int, float]] = {}
    for run in results["runs"]:
        value = run["metrics"].get(metric)
        if value is not None:
            values.setdefault(case_name(run["factors"]), {})[run["seed"]] = value
    published = {
        case_name(summary["factors"]): summary["published"]["value"]
        for summary in summaries
        if summary["published"]
    }
    rows = []
    for summary in summaries:
        factors = summary["factors"]
        if factors.get("ack_policy", BASELINE) == BASELINE:
            continue
        other, baseline = case_name(factors), case_name({**factors, "ack_policy": BASELINE})
        ratio = paired_ratio(values.get(baseline, {}), values.get(other, {}))
        if ratio is None:
            continue
        printed = "-"
        if other in published and baseline in published:
            printed = f"{100 * (published[other] / published[baseline] - 1):+.1f}%"
        spread = "-" if ratio.ci95 is None else f"{100 * ratio.ci95:.1f}%"
        rows.append([other, f"{100 * (ratio.mean - 1):+.1f}%", f"± {spread}", printed])
    return rows


def case_name(factors: Mapping[str, Any]) -> str:
    """What a case is called in tables."""
    return " ".join(f"{name}={value}" for name, value in factors.items()) or "(one case)"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _published(published: Mapping[str, Any] | None) -> str:
    if published is None:
        return "-"
    about = "" if published["precision"] == "exact" else "~"
    return f"{about}{published['value']:g}"


def aligned(rows: Sequence[Sequence[str]], texts: Container[int] = (0,)) -> str:
    """Columns: those numbered in `texts` to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cases = [
            case.ljust(width) if number in texts else case.rjust(width)
            for number, (case, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cases).rstrip())
    return "\n".join(lines)

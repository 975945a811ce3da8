# SPDX-License-Identifier: GPL-2.0-only
"""Published values beside ours, as a page over all experiments and as rows of a table."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

from airtcp import atomicfile, provenance
from airtcp.experiment.experiment import Experiment
from airtcp.experiment.metrics import METRICS
from airtcp.experiment.papers import CITATIONS, SIGNS, Paper
from airtcp.results import comparison, verdicts
from airtcp.results.documents import Comparison, SweepDocument
from airtcp.results.verdicts import Verdict
from airtcp.units import parse_duration_s, rounded

FILE = "reproduction.md"

_DIGITS = 4


def ratios(rows: Sequence[Comparison]) -> list[list[str]]:
    """Rows for the terminal, with a heading: published ratios and words that we have measured."""
    table = [["relative to others", "n", "ratio", "published", "verdict"]]
    for row in rows:
        if row.relative_to and not row.derived and row.measured is not None:
            what = f"{row.metric}: {_where(row)}"
            table.append([what, str(row.n), ours(row), theirs(row), row.agreement])
    return table if len(table) > 1 else []


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
    """The number of declared values by verdict; of several readings of a value the best counts."""
    ranks = get_args(Verdict)
    best: dict[object, Verdict] = {}
    for experiment, document in _of(paper, documents):
        for row in document.published:
            if row.derived:
                continue
            key = _published_value(experiment, row)
            best[key] = min(row.agreement, best.get(key, ranks[-1]), key=ranks.index)
    counts = Counter(best.values())
    return f"| {CITATIONS[paper]} | " + " | ".join(str(counts[rank]) for rank in ranks) + " |"


def _published_value(experiment: Experiment, row: Comparison) -> object:
    """Equal for rows that compare readings with the same published value."""
    policy = row.factors.get("ack_policy")
    reading = "" if policy in experiment.readings else policy
    where = comparison.key(row.factors, row.metric)
    other = frozenset(row.relative_to.items())
    return experiment.reading_of or experiment.name, row.published, reading, other, where


def _section(experiment: Experiment, document: SweepDocument) -> Iterator[str]:
    yield f"### `{experiment.name}`: {experiment.title}"
    yield ""
    if experiment.expects:
        yield experiment.expects
        yield ""
    if experiment.reading_of:
        yield f"Another reading of `{experiment.reading_of}`: values count once with those there."
        yield ""
    if times := comparison.durations(document):
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
        source(row),
        _where(row),
        f"`{row.metric}`{unit}".rstrip(),
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


def source(row: Comparison) -> str:
    """Where the value was published; a gain is computed from two values of this source."""
    return f"{row.source} (computed)" if row.derived else row.source


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

# SPDX-License-Identifier: GPL-2.0-only
"""The page of a tournament: the standings, and a heat map of entrants by conditions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from airtcp.errors import AirtcpError
from airtcp.experiment.metrics import METRICS
from airtcp.report.formats import number, percent
from airtcp.report.page import fill
from airtcp.results.tournament import Contest, Result, Standing, Verdict

_SIGNS: Mapping[Verdict, str] = {
    "won": "\N{BLACK UP-POINTING TRIANGLE}",
    "tied": "",
    "lost": "\N{BLACK DOWN-POINTING TRIANGLE}",
}

# Lower bounds of the shades of the heat map: changes of performance.
_SHADES = (0.01, 0.03, 0.06, 0.12)


@dataclass(frozen=True)
class Cell:
    """An entrant under a condition. shade: -4 to 4, 0 for a tie; None if it did not take part."""

    text: str
    tip: str
    verdict: Verdict | None
    shade: int
    link: str | None


@dataclass(frozen=True)
class Row:
    """A condition of the heat map."""

    title: str
    tip: str
    link: str
    baseline: str
    cells: Sequence[Cell]


@dataclass(frozen=True)
class Section:
    """The conditions of one aspect."""

    aspect: str
    rows: Sequence[Row]


def write(
    out_dir: Path, standings: Sequence[Standing], contests: Sequence[Contest], command: str
) -> Path:
    """Write out_dir/index.html and return its path. Raises AirtcpError if that fails."""
    path = out_dir / "index.html"
    entrants = [standing.entrant for standing in standings]
    html = fill(
        "tournament.html",
        standings=standings,
        entrants=entrants,
        sections=_sections([each for each in contests if not each.condition.side], entrants),
        side=_sections([each for each in contests if each.condition.side], entrants),
        contests=contests,
        kernel=contests[0].document.kernel,
        runs=sum(len(contest.document.runs) for contest in contests),
        command=command,
        out_dir=out_dir,
        signs=_SIGNS,
        change=_change,
    )
    try:
        path.write_text(html, encoding="utf-8")
    except OSError as error:
        raise AirtcpError(f"{path}: {error.strerror}") from error
    return path


def _change(ratio: float | None) -> str:
    return "\N{EN DASH}" if ratio is None else percent(ratio)


def _sections(contests: Sequence[Contest], entrants: Sequence[str]) -> list[Section]:
    aspects = dict.fromkeys(contest.condition.aspect for contest in contests)
    return [
        Section(
            aspect,
            [_row(each, entrants) for each in contests if each.condition.aspect == aspect],
        )
        for aspect in aspects
    ]


def _row(contest: Contest, entrants: Sequence[str]) -> Row:
    baseline = contest.results["default"]
    unit = METRICS[contest.metric].unit
    return Row(
        contest.condition.title,
        ", ".join(f"{name} {value}" for name, value in contest.condition.changes.items()),
        f"{quote(contest.condition.name)}/",
        f"{number(baseline.mean.mean)} {unit}",
        [_cell(contest, contest.results.get(entrant)) for entrant in entrants],
    )


def _cell(contest: Contest, result: Result | None) -> Cell:
    if result is None:
        return Cell("", "did not take part", None, 0, None)
    half = f" ± {100 * result.ratio.ci95:.1f}%" if result.ratio.ci95 is not None else ""
    directory = result.runs[0].directory(Path(contest.condition.name)).parent
    return Cell(
        percent(result.ratio.mean),
        f"{result.entrant}: {number(result.mean.mean)} {METRICS[contest.metric].unit}, "
        f"{percent(result.ratio.mean)}{half}, {result.ratio.n} seeds, {result.verdict}",
        result.verdict,
        _shade(result),
        quote(f"{directory}/"),
    )


def _shade(result: Result) -> int:
    if result.verdict == "tied":
        return 0
    change = math.log(result.performance)
    return int(math.copysign(sum(abs(change) >= bound for bound in _SHADES) or 1, change))

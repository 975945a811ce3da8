# SPDX-License-Identifier: GPL-2.0-only
"""Measure thesis-lan as often as the thesis did, and what so many runs can show.

Runs the cases with a delay 10 times for 5 minutes, as the thesis, and writes a table into
docs/explanation/reproduction.md. A bootstrap gives the range within which the mean of 10 runs
lies in 95% of such series, and that of the gain between two series.
--results DIR: use the results of thesis-lan in DIR, without running anything.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy
from doctables import with_table
from numpy.typing import NDArray

from airtcp.paths import REPOSITORY
from airtcp.report.formats import number, percent
from airtcp.results import documents
from airtcp.results.documents import SweepDocument
from airtcp.statistics import summarize

POLICIES = ("default", "aad", "aad-listing")
DELAYS = ("0ms", "10ms", "50ms", "100ms")
METRIC = "goodput_mbps"
RUNS = 10
SERIES = 100_000
PAGE = REPOSITORY / "docs" / "explanation" / "reproduction.md"
OUT = REPOSITORY / "results" / "thesis-lan-10"

Values: TypeAlias = NDArray[numpy.float64]
Case: TypeAlias = tuple[str, str]  # delay, policy


def series_means(values: Sequence[float], draw: numpy.random.Generator) -> Values:
    """The means of SERIES series of RUNS runs, drawn from the values with replacement."""
    chosen: Values = draw.choice(numpy.asarray(values), size=(SERIES, RUNS))
    means: Values = chosen.mean(axis=1)
    return means


def goodput(document: SweepDocument) -> dict[Case, list[float]]:
    """Goodput in Mbit/s of all seeds, by case without a limit of the rate."""
    found: dict[Case, list[float]] = {}
    for record in document.runs:
        factors = record.factors
        if record.ok and factors.get("rate", "unlimited") == "unlimited":
            case = str(factors["delay"]), str(factors["ack_policy"])
            found.setdefault(case, []).append(record.values[METRIC])
    return found


def published(document: SweepDocument) -> dict[Case, float]:
    """The thesis' goodput in Mbit/s, by case."""
    return {
        (str(row.factors.get("delay", "0ms")), str(row.factors["ack_policy"])): float(row.published)
        for row in document.published
        if row.metric == METRIC and not row.relative_to and "rate" not in row.factors
    }


def table(measured: Mapping[Case, Sequence[float]], theirs: Mapping[Case, float]) -> str:
    """The table in Markdown. KeyError if a case was not measured."""
    lines = [
        "| Delay | Policy | Goodput | Mean of 10 runs | Published | Gain of 10 runs | Published |"
        " As large |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for delay in DELAYS:
        draw = numpy.random.default_rng(1)
        means = {policy: series_means(measured[delay, policy], draw) for policy in POLICIES}
        for policy in POLICIES:
            ours = summarize(measured[delay, policy])
            margin = "" if ours.ci95 is None else f" ± {ours.ci95:.1f}"
            cells = [
                delay.replace("ms", " ms"),
                f"`{policy}`",
                f"{ours.mean:.1f}{margin}",
                _range(means[policy], number),
                f"{theirs[delay, policy]:g}",
            ]
            if policy != "default":
                gains = means[policy] / means["default"]
                gain = theirs[delay, policy] / theirs[delay, "default"]
                cells += [_range(gains, percent), percent(gain), f"{(gains >= gain).mean():.1%}"]
            else:
                cells += [""] * 3
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _range(values: Values, form: Callable[[float], str]) -> str:
    low, high = numpy.quantile(values, (0.025, 0.975))
    return f"{form(low)} to {form(high)}"


def measure() -> None:
    """Run the cases, without captures, which the table does not need."""
    settings = [f"delay={','.join(DELAYS)}", f"ack_policy={','.join(POLICIES)}", "capture=off"]
    options = [word for setting in settings for word in ("--set", setting)]
    command = [str(REPOSITORY / "airtcp"), "run", "thesis-lan", *options]
    subprocess.run([*command, "--seeds", str(RUNS), "--out", str(OUT)], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, metavar="DIR", help="do not run anything")
    options = parser.parse_args()
    if not options.results:
        measure()
    document = documents.read(options.results or OUT)
    text = table(goodput(document), published(document))
    print(text)
    page = with_table(PAGE.read_text(encoding="utf-8"), "thesis-lan", text)
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

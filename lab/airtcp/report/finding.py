# SPDX-License-Identifier: GPL-2.0-only
"""The finding: what a page says first, computed from the results."""

from collections.abc import Sequence
from itertools import combinations

from airtcp.report import question
from airtcp.report.comparison import Comparison, Row, compare
from airtcp.report.formats import interval, number, percent, percent_interval
from airtcp.report.model import Results
from airtcp.statistics import Summary
from airtcp.steps.workloads.workload import Headline

# From here, a ratio is easier to read than a change in percent.
_TIMES = 3.0


def of(results: Results, headline: Headline) -> str:
    """The sentence about the headline metric; beside fairness, a second one about goodput.

    Equal shares of less goodput can be worse for every station.
    """
    headlines = [headline]
    has_goodput = all(question.GOODPUT.metric in case.summaries for case in results.cases)
    if headline in question.FAIRNESS and has_goodput:
        headlines.append(question.GOODPUT)
    return " ".join(sentence(results, each) for each in headlines)


def sentence(results: Results, headline: Headline) -> str:
    """What won, by how much, with its 95% interval, and where it lost.

    For a single case: its value.
    """
    compared = compare(results, headline)
    if compared is None and len(results.cases) > 1:
        return _incomparable(results, headline)
    if compared is None:
        return _value(headline, results.cases[0].summaries[headline.metric])
    best = compared.best
    rows = compared.of(best)
    differing = [row for row in rows if row.is_different]
    if not differing:
        return _no_difference(compared, best)
    better = [row for row in differing if compared.performance(row) > 1]
    worse = [row for row in differing if compared.performance(row) < 1]
    # The largest gain first, then the largest loss.
    extremes = [max(better, key=compared.performance)] if better else []
    extremes += [min(worse, key=compared.performance)] if worse else []
    upto = "up to " if len(rows) > 1 else ""
    than = compared.baseline
    subject = _subject(compared, best, bool(better), bool(worse))
    text = f"{subject} is {upto}{_change(extremes[0], than)}"
    if len(extremes) > 1:
        text += f", but up to {_change(extremes[1], '')}"
    text += "."
    if alike := [row for row in rows if not row.is_different]:
        largest = max(alike, key=compared.size)
        small = "at most 1%" if _all_single(alike) else "not significant"
        text += (
            f" Under {len(alike)} of {len(rows)} conditions the difference is {small} "
            f"({'largest: ' if len(alike) > 1 else ''}{percent(largest.ratio.mean)}, "
            f"{largest.condition})."
        )
    if any(row.ratio.ci95 is None for row in rows):
        text += " One seed gives no confidence interval; other seeds may differ."
    return text


def _incomparable(results: Results, headline: Headline) -> str:
    """Why several cases have no ratio."""
    seeds = [case.by_seed(headline.metric).keys() for case in results.cases]
    shared = any(one & other for one, other in combinations(seeds, 2))
    reason = "it is 0 in a run of the baseline" if shared else "the cases have no seed in common"
    return f"{headline.heading} cannot be compared: {reason}."


def _value(headline: Headline, value: Summary) -> str:
    unit = f" {headline.unit}" if headline.unit else ""
    text = f"{headline.heading} is {number(value.mean)}{unit}"
    if value.ci95 is None:
        return f"{text} (one seed, so no confidence interval)."
    return f"{text} (95% interval {interval(value)}, {value.n} seeds)."


def _subject(compared: Comparison, best: str, is_better: bool, is_worse: bool) -> str:
    """`With aad, goodput`; of several values, which one is best."""
    title, count = compared.headline.title, len(compared.names) + 1
    if count == 2:
        return f"With {best}, {title}"
    among = f"Of {count} {compared.kind},"
    several = len(compared.of(best)) > 1
    average = " on average" if several else ""
    highest = max(map(compared.overall, compared.names))
    if not is_better and highest > 1:
        than = compared.baseline
        return f"{among} none is significantly better than {than}: with {best}, {title}"
    if not is_better:
        return f"{among} {compared.baseline} is best{average}: with {best}, the next, {title}"
    if is_worse:
        return f"{among} none is best everywhere: with {best}, {title}"
    if compared.overall(best) < max(1, highest):
        return f"{among} {best} has the clearest gain: {title}"
    return f"{among} {best} is best{average}: {title}"


def _change(row: Row, than: str) -> str:
    """`10.9% higher than with default (delay 0 ms; 95% interval ...)`; than: "" leaves it out."""
    ratio = row.ratio.mean
    if ratio >= _TIMES and than:
        text = f"{number(ratio)} times that with {than}"
    else:
        size = percent(ratio).lstrip("+\N{MINUS SIGN}")
        text = f"{size} {'higher' if ratio > 1 else 'lower'}" + (than and f" than with {than}")
    spread = _spread(row.ratio)
    return f"{text} ({row.condition}; {spread})" if row.condition else f"{text} ({spread})"


def _spread(ratio: Summary) -> str:
    if ratio.ci95 is None:
        return "one seed"
    return f"95% interval {percent_interval(ratio)}, {ratio.n} seeds"


def _no_difference(compared: Comparison, best: str) -> str:
    rows = compared.of(best)
    largest = max(rows, key=compared.size)
    others = len(compared.names)
    among = f", the best of {others} other {compared.kind}" if others > 1 else ""
    differs, each = "is not significantly different from", "any"
    if _all_single(rows):
        differs, each = "is within 1% of", "each"
    text = f"With {best}{among}, {compared.headline.title} {differs} that with "
    text += compared.baseline
    if len(rows) == 1:
        return f"{text}: {percent(largest.ratio.mean)} ({_spread(largest.ratio)})."
    return (
        f"{text} under {each} of {len(rows)} conditions; the largest difference is "
        f"{percent(largest.ratio.mean)} ({largest.condition}; {_spread(largest.ratio)})."
    )


def _all_single(rows: Sequence[Row]) -> bool:
    """No row has an interval, so none can be significant; see Row.is_different."""
    return all(row.ratio.ci95 is None for row in rows)

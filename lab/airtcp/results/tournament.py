# SPDX-License-Identifier: GPL-2.0-only
"""The standings of a tournament of ACK policies, from the runs of its conditions.

Runs of an entrant and of the baseline are paired by seed and, if the condition has several, by
delay. Ratios are entrant over baseline.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, geometric_mean
from typing import Literal

from airtcp.experiment.experiment import Case
from airtcp.experiment.metrics import METRICS
from airtcp.experiment.tournament import Condition
from airtcp.kernel.policies import BASELINE
from airtcp.results.documents import SweepDocument
from airtcp.results.record import RunRecord
from airtcp.results.table import aligned, change
from airtcp.statistics import Summary, geometric_ci95, paired_ratio, summarize
from airtcp.units import parse_duration_s

SCHEMA = 1

MARGIN = 0.01
"""A case is tied if the ratio differs from 1 by less than this or than its 95% interval.

A single pair of runs has no interval: it is tied.
"""

# What decides a case, by workload. Small messages are judged by their slowest hundredth.
_DECISIVE = {
    "bulk": "goodput_mbps",
    "request_response": "request_response_ms_p99",
    "transfer": "completion_time_ms_mean",
    "web": "page_time_ms_mean",
}

_RTT = "tcp_rtt_ms_p50"

Verdict = Literal["won", "tied", "lost"]


@dataclass(frozen=True)
class Result:
    """An entrant under a condition. ratio: of the decisive metric, paired by seed.

    rtt_ratio: of TCP's RTT; None if it was not measured.
    """

    entrant: str
    mean: Summary
    ratio: Summary
    less_is_better: bool
    runs: Sequence[RunRecord]
    rtt_ratio: float | None = None

    @property
    def performance(self) -> float:
        """The ratio, inverted where less is better: above 1 is better than the baseline."""
        return 1 / self.ratio.mean if self.less_is_better else self.ratio.mean

    @property
    def verdict(self) -> Verdict:
        change, half = self.ratio.mean - 1, self.ratio.ci95
        if half is None or abs(change) <= max(MARGIN, half):
            return "tied"
        return "won" if (change < 0) == self.less_is_better else "lost"


@dataclass(frozen=True)
class Contest:
    """All entrants under a condition; results are of those with a pair of successful runs.

    failed: number of runs that failed or left no record, of entrants that have any.
    """

    condition: Condition
    metric: str
    results: Mapping[str, Result]
    failed: Mapping[str, int]
    document: SweepDocument

    def share_of_best(self, entrant: str) -> float | None:
        """Its goodput relative to the best of the entrants whose TCP RTT is no longer.

        At most 1, because it is one of them. None for times, and without RTT or goodput.
        """
        own = self.results[entrant]
        if own.less_is_better or own.rtt_ratio is None:
            return None
        best = max(
            each.ratio.mean
            for each in self.results.values()
            if each.rtt_ratio is not None and each.rtt_ratio <= own.rtt_ratio
        )
        return own.ratio.mean / best if best else None


def contest(
    condition: Condition, cases: Mapping[str, Sequence[Case]], document: SweepDocument, seeds: int
) -> Contest | None:
    """Judge the runs of a condition. cases: of each entrant, each run with `seeds` seeds.

    None if nothing can be compared with the baseline: it has no runs, or one with a value of 0.
    """
    workload = cases[BASELINE][0].parameters.workload
    metric = _DECISIVE[workload]
    successful: dict[str, list[RunRecord]] = {
        entrant: [
            run
            for case in of_entrant
            for run in document.runs
            if run.ok and dict(run.factors) == case.factors
        ]
        for entrant, of_entrant in cases.items()
    }
    failed = {
        name: number
        for name, of_entrant in cases.items()
        if (number := len(of_entrant) * seeds - len(successful[name]))
    }
    baseline = _by_pair(successful[BASELINE], metric)
    results = {}
    for entrant, of_entrant in successful.items():
        values = _by_pair(of_entrant, metric)
        ratio = paired_ratio(baseline, values)
        rtt = paired_ratio(_by_pair(successful[BASELINE], _RTT), _by_pair(of_entrant, _RTT))
        if ratio:
            results[entrant] = Result(
                entrant,
                summarize(list(values.values())),
                ratio,
                METRICS[metric].unit == "ms",
                of_entrant,
                rtt.mean if rtt else None,
            )
    return Contest(condition, metric, results, failed, document) if BASELINE in results else None


def _by_pair(runs: Sequence[RunRecord], metric: str) -> dict[tuple[str, int], float]:
    """The values of a metric by what runs are paired by."""
    return {
        (str(run.parameters["delay"]), run.seed): run.values[metric]
        for run in runs
        if metric in run.values
    }


@dataclass(frozen=True)
class Standing:
    """An entrant over all conditions that count. Ratios are to the baseline.

    shared: those of its results under conditions in which every entrant has one. failed: number of
    conditions in which its runs failed and no pair of runs is left. shares: share_of_best() of
    those that have it.
    """

    entrant: str
    title: str
    results: Sequence[Result]
    baselines: Sequence[Result]
    shared: Sequence[Result]
    failed: int = 0
    shares: Sequence[float] = ()

    @cached_property
    def goodput_geomean(self) -> float | None:
        ratios = [one.ratio.mean for one in self.results if not one.less_is_better]
        if 0 in ratios:
            return 0.0
        return geometric_mean(ratios) if ratios else None

    @cached_property
    def goodput_ci95(self) -> float | None:
        """The half width of the 95% interval of goodput_geomean, if conditions are independent."""
        return geometric_ci95([one.ratio for one in self.results if not one.less_is_better])

    @cached_property
    def worst_result(self) -> Result | None:
        """That with the lowest performance."""
        return min(self.results, key=lambda one: one.performance, default=None)

    @property
    def worst(self) -> float | None:
        """The performance in the worst case of those with results."""
        return self.worst_result.performance if self.worst_result else None

    @property
    def worst_ci95(self) -> float | None:
        """The half width of the 95% interval of `worst`, to first order for times."""
        worst = self.worst_result
        if not worst or worst.ratio.ci95 is None:
            return None
        return worst.ratio.ci95 * (worst.performance**2 if worst.less_is_better else 1)

    @property
    def share_of_best(self) -> float | None:
        """Its lowest share of the goodput of the best entrant whose TCP RTT is no longer."""
        return min(self.shares, default=None)

    @property
    def latency_p50_ratio(self) -> float | None:
        return self._ratio("request_response_ms_p50")

    @property
    def latency_p99_ratio(self) -> float | None:
        return self._ratio("request_response_ms_p99")

    @property
    def completion_ratio(self) -> float | None:
        return self._ratio("completion_time_ms_mean")

    @property
    def rtt_ratio(self) -> float | None:
        return self._ratio(_RTT)

    @property
    def acks_per_s(self) -> float | None:
        """The mean rate of ACKs without data that filters let through, over shared bulk transfers.

        Without the conditions of some entrants only: on a cable there are many more ACKs.
        """
        return self._mean(_acks_per_s)

    @property
    def ack_airtime(self) -> float | None:
        """The mean share of airtime of exchanges that carry only ACKs, over the same."""
        return self._mean(lambda run: run.values.get("airtime_ack_share"))

    def count(self, verdict: Verdict) -> int:
        return sum(one.verdict == verdict for one in self.results)

    def _mean(self, value: Callable[[RunRecord], float | None]) -> float | None:
        """The mean over shared bulk transfers, of each of which the mean over runs."""
        of_conditions = (
            [known for run in one.runs if (known := value(run)) is not None]
            for one in self.shared
            if not one.less_is_better
        )
        means = [fmean(values) for values in of_conditions if values]
        return fmean(means) if means else None

    def _ratio(self, metric: str) -> float | None:
        """The geometric mean of the paired ratios of a metric, where it was measured."""
        pairs = (
            paired_ratio(_by_pair(base.runs, metric), _by_pair(one.runs, metric))
            for one, base in zip(self.results, self.baselines, strict=True)
        )
        ratios = [pair.mean for pair in pairs if pair]
        return geometric_mean(ratios) if ratios else None


def _acks_per_s(run: RunRecord) -> float | None:
    """The rate of ACKs without data in a bulk transfer, without those that filters dropped."""
    sent = run.values.get("acks_sent")
    if sent is None:
        return None
    arrived = sent - run.values.get("acks_filtered", 0)
    return arrived / parse_duration_s(str(run.parameters["duration"]))


def standings(contests: Sequence[Contest], titles: Mapping[str, str]) -> list[Standing]:
    """The standing of each entrant, best geometric mean of goodput first, the baseline among them.

    titles: of all entrants, by name. Conditions in side tables do not count.
    """
    counted = [contest for contest in contests if not contest.condition.side]
    names = {name for contest in counted for name in contest.results}
    shared = [contest for contest in counted if names <= contest.results.keys()]
    found = []
    for name, title in titles.items():
        having = [contest for contest in counted if name in contest.results]
        failed = sum(name in each.failed and name not in each.results for each in counted)
        shares = [contest.share_of_best(name) for contest in having]
        if having or failed:
            found.append(
                Standing(
                    name,
                    title,
                    [contest.results[name] for contest in having],
                    [contest.results[BASELINE] for contest in having],
                    [contest.results[name] for contest in shared if name in contest.results],
                    failed,
                    [value for value in shares if value is not None],
                )
            )
    return sorted(found, key=lambda standing: standing.goodput_geomean or 0.0, reverse=True)


def document(standings: Sequence[Standing], contests: Sequence[Contest]) -> dict[str, object]:
    """For --json. Ratios are to the baseline; null where nothing was measured."""
    return {
        "schema": SCHEMA,
        "policies": [
            {
                "name": standing.entrant,
                "goodput_geomean": standing.goodput_geomean,
                "goodput_ci95": standing.goodput_ci95,
                "worst": standing.worst,
                "share_of_best": standing.share_of_best,
                "won": standing.count("won"),
                "tied": standing.count("tied"),
                "lost": standing.count("lost"),
                "failed": standing.failed,
                "latency_p50_ratio": standing.latency_p50_ratio,
                "latency_p99_ratio": standing.latency_p99_ratio,
                "completion_ratio": standing.completion_ratio,
                "tcp_rtt_ratio": standing.rtt_ratio,
                "acks_per_s": standing.acks_per_s,
                "airtime_ack_share": standing.ack_airtime,
            }
            for standing in standings
        ],
        "cases": [
            {
                "name": contest.condition.name,
                "aspect": contest.condition.aspect,
                "title": contest.condition.title,
                "counted": not contest.condition.side,
                "parameters": contest.condition.parameters,
                "metric": contest.metric,
                "results": [
                    {
                        "policy": result.entrant,
                        "mean": result.mean.mean,
                        "ratio": result.ratio.mean,
                        "ci95": result.ratio.ci95,
                        "n": result.ratio.n,
                        "verdict": result.verdict,
                        "tcp_rtt_ratio": result.rtt_ratio,
                        "share_of_best": contest.share_of_best(result.entrant),
                    }
                    for result in contest.results.values()
                ],
                "failed_runs": contest.failed,
            }
            for contest in contests
        ],
    }


def share(value: float | None) -> str:
    """0.983 is 98.3%."""
    return "-" if value is None else f"{100 * value:.1f}%"


def table(standings: Sequence[Standing]) -> str:
    """The standings, for the terminal."""
    head = ["", "goodput", "worst", "share of best", "won", "tied", "lost", "failed"]
    head += ["p99", "completion", "RTT", "ACKs/s"]
    rows = [
        [
            standing.entrant,
            change(standing.goodput_geomean),
            change(standing.worst),
            share(standing.share_of_best),
            *(str(standing.count(verdict)) for verdict in ("won", "tied", "lost")),
            str(standing.failed),
            change(standing.latency_p99_ratio),
            change(standing.completion_ratio),
            change(standing.rtt_ratio),
            "-" if standing.acks_per_s is None else f"{standing.acks_per_s:.0f}",
        ]
        for standing in standings
    ]
    return aligned([head, *rows])

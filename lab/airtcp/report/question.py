# SPDX-License-Identifier: GPL-2.0-only
"""The question of an experiment: the metric that answers it, which its page shows first."""

from airtcp.report.model import Results, headlines
from airtcp.steps.workloads import HEADLINES
from airtcp.steps.workloads.workload import Headline

GOODPUT = HEADLINES["bulk"]
LATENCY = (
    Headline("ping_rtt_ms_p50", "median ping RTT"),
    Headline("udp_ping_rtt_ms_p50", "median RTT of UDP requests"),
)
FAIRNESS = (
    Headline("goodput_jain", "fairness between stations"),
    Headline("flow_jain", "fairness between flows"),
)


def of(results: Results) -> Headline | None:
    """Time for transfers, latency for RRUL, fairness of several flows, else goodput.

    Goodput also if there are bulk transfers beside others, as in the other tables.
    Metrics that some cases do not have cannot compare them. None if there is no such metric.
    """
    for headline in (*_of_workloads(results), *_of_bulk(results), GOODPUT):
        if all(headline.metric in case.summaries for case in results.cases):
            return headline
    return None


def tables(results: Results) -> list[tuple[Headline, Results]]:
    """The question, then the other headline metrics, each with the conditions that have it."""
    first = of(results)
    others = [(each, having) for each, having in headlines(results) if each != first]
    return [*([(first, results)] if first else []), *others]


def _of_workloads(results: Results) -> list[Headline]:
    """The headlines of workloads that are not bulk transfers, and of those beside them."""
    used = {workload for run in results.runs for workload in run.record.workloads}
    others = [headline for name, headline in HEADLINES.items() if name in used - {"bulk"}]
    return [GOODPUT, *others] if others and "bulk" in used else others


def _of_bulk(results: Results) -> tuple[Headline, ...]:
    """RRUL has transfers in both directions, or UDP requests beside them."""
    is_rrul = all(
        "udp_ping_rtt_ms_p50" in case.summaries or run.parameters.get("direction") == "both"
        for case in results.cases
        for run in case.runs
    )
    return LATENCY if is_rrul else FAIRNESS

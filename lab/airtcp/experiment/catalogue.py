# SPDX-License-Identifier: GPL-2.0-only
"""The set of all experiments that come with the laboratory."""

from collections.abc import Sequence
from typing import Any

from airtcp.experiment import reader, summaries
from airtcp.experiment.experiment import Case, Experiment
from airtcp.experiment.papers import CITATIONS

ALL = "all"

# --quick: upper limits for the transfer and for the idle baseline before and after it.
_QUICK_DURATION_S = 10
_QUICK_BASELINE_S = 1


def experiments(checked: bool = True) -> list[Experiment]:
    """All experiments, grouped by paper. checked: see reader.load."""
    found = [reader.load(name, checked=checked) for name in summaries.names()]
    papers = list(CITATIONS)
    return sorted(found, key=lambda one: papers.index(one.paper))


def listed(found: Sequence[Experiment]) -> list[dict[str, Any]]:
    """For `list --json`: title, factors and published values of each experiment."""
    return [
        {
            "name": one.name,
            "title": one.title,
            "paper": one.paper,
            "source": one.source,
            "expects": one.expects,
            "factors": one.factors,
            "cases": len(one.cases()),
            "published": [figure.model_dump(mode="json") for figure in one.published],
        }
        for one in found
    ]


def quick(chosen: Experiment) -> list[Case]:
    """The cases with published values, or the first case if none; each limited to 10 s."""
    own = chosen.parameters
    shorter = {}
    if own.duration_s > _QUICK_DURATION_S:
        shorter["duration"] = f"{_QUICK_DURATION_S}s"
    if own.baseline_s > _QUICK_BASELINE_S:
        shorter["baseline"] = f"{_QUICK_BASELINE_S}s"
    short = chosen.model_copy(update={"parameters": own.replace(shorter)})
    return short.published_cases() or short.cases()[:1]

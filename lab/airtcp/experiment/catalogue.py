# SPDX-License-Identifier: GPL-2.0-only
"""The set of all experiments that come with the laboratory."""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from airtcp.errors import InputError
from airtcp.experiment import reader, summaries
from airtcp.experiment.experiment import Case, Experiment
from airtcp.experiment.messages import explain
from airtcp.experiment.papers import CITATIONS
from airtcp.parameters import Parameters

ALL = "all"

# Upper limit for the idle baseline before and after the transfer.
_QUICK_BASELINE_S = 1


def experiments(checked: bool = True) -> list[Experiment]:
    """All experiments, grouped by paper. checked: see reader.load."""
    loaded = [reader.load(name, checked=checked) for name in summaries.names()]
    papers = list(CITATIONS)
    return sorted(loaded, key=lambda experiment: papers.index(experiment.paper))


def listed(experiments: Sequence[Experiment]) -> list[dict[str, Any]]:
    """For `list --json`: title, factors and published values of each experiment."""
    return [
        {
            "name": experiment.name,
            "title": experiment.title,
            "paper": experiment.paper,
            "source": experiment.source,
            "expects": experiment.expects,
            "factors": experiment.factors,
            "cases": len(experiment.cases()),
            "published": [value.model_dump(mode="json") for value in experiment.published],
        }
        for experiment in experiments
    ]


def shortened(experiment: Experiment) -> Experiment:
    """The experiment with transfers of at most quick_duration_s and baselines of at most 1 s."""
    parameters, most_s = experiment.parameters, experiment.quick_duration_s
    shorter = {}
    if parameters.duration_s > most_s:
        shorter["duration"] = f"{most_s:g}s"
    if parameters.baseline_s > _QUICK_BASELINE_S:
        shorter["baseline"] = f"{_QUICK_BASELINE_S}s"
    return experiment.model_copy(update={"parameters": parameters.replace(shorter)})


def quick(experiment: Experiment) -> list[Case]:
    """The cases with published values, or the first case if none; each shortened.

    Tables of published values have too many cases. Raises InputError if a case cannot be shortened.
    """
    in_tables = sum(len(list(table.values())) for table in experiment.published_tables)
    single = experiment.published[: len(experiment.published) - in_tables]
    try:
        short = shortened(experiment).model_copy(update={"published": single})
        return short.published_cases() or short.cases()[:1]
    except ValidationError as error:
        first = error.errors()[0]
        name, text = first["loc"][0], explain(first, Parameters)
        raise InputError(f"--quick: {name}: {text}") from None
    except InputError as error:
        raise InputError(f"--quick: {error}") from None

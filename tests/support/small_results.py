# SPDX-License-Identifier: GPL-2.0-only
"""Results of an experiment in memory, from the values of a metric, without files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fake_run import record

from airtcp import statistics
from airtcp.experiment.experiment import Case
from airtcp.parameters import Parameters
from airtcp.report import model
from airtcp.report.model import Condition, Measured, Results, Run
from airtcp.results.record import KernelRecord

Cases = Sequence[tuple[Mapping[str, str], Sequence[float]]]
"""The factors of each case, and a value for each seed."""


def results(cases: Cases, *metrics: str, **changed: Any) -> Results:
    """The results of cases with these values of each metric (default: goodput).

    changed: other fields of Results.
    """
    names = metrics or ("goodput_mbps",)
    measured = [_measured(factors, values, names) for factors, values in cases]
    by_condition: dict[str, list[Measured]] = {}
    for case in measured:
        factors = case.runs[0].record.factors
        others = {name: value for name, value in factors.items() if name != model.POLICY}
        by_condition.setdefault(model.label_of(others), []).append(case)
    fields = {
        **{"name": "x", "title": "", "source": "", "command": "", "expects": "", "reason": ""},
        **{"failures": (), "damaged": (), "figures": (), "published": (), "durations": None},
        **{"kernels": [KernelRecord(version="6.12", hash="0")], "compares": "", "usual": {}},
        "policies": list(dict.fromkeys(case.policy for case in measured)),
        "conditions": [Condition(label, label, each) for label, each in by_condition.items()],
    }
    return Results(**{**fields, **changed})


def _measured(
    factors: Mapping[str, str], values: Sequence[float], metrics: Sequence[str]
) -> Measured:
    case = Case(dict(factors), Parameters().replace(factors))
    runs = [
        Run(record(case, seed, dict.fromkeys(metrics, value)), Path())
        for seed, value in enumerate(values, start=1)
    ]
    policy = str(case.parameters.ack_policy)
    return Measured(policy, runs, dict.fromkeys(metrics, statistics.summarize(values)), {})

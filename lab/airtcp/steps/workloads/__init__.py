# SPDX-License-Identifier: GPL-2.0-only
"""All workloads, by name: every module of this package can define some in WORKLOADS."""

import pkgutil
from collections.abc import Mapping, Sequence
from importlib import import_module

from airtcp.steps.workloads.workload import Headline, Workload
from airtcp.testbed.model import Flow


def _found() -> Mapping[str, Workload]:
    modules = (
        import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)
    )
    return {
        name: workload
        for module in modules
        for name, workload in getattr(module, "WORKLOADS", {}).items()
    }


WORKLOADS = _found()

# Ordered: a workload may also have the metrics of earlier ones, but not of later ones.
HEADLINES: Mapping[str, Headline] = {
    name: workload.headline for name, workload in WORKLOADS.items()
}


def headline_of(workload: str, metrics: Mapping[str, float | None]) -> Headline:
    """The headline of a run: of its parameter `workload` if it has that metric.

    A custom topology may have other workloads only: then of the last one that it has.
    """
    measured = [line for line in HEADLINES.values() if metrics.get(line.metric) is not None]
    wanted = HEADLINES[workload]
    return wanted if wanted in measured or not measured else measured[-1]


def input_files(flows: Sequence[Flow], seed: int) -> dict[str, str]:
    """The files that the programs of all flows of a run read, by name."""
    return {
        name: text
        for number, flow in enumerate(flows)
        for name, text in WORKLOADS[flow.workload].files(flow, number, seed).items()
    }

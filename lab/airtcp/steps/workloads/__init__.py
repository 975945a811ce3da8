# SPDX-License-Identifier: GPL-2.0-only
"""The workloads, by name: every module here can define some in WORKLOADS."""

import pkgutil
from collections.abc import Mapping
from importlib import import_module

from airtcp.steps.workloads.workload import Headline, Workload


def _found() -> Mapping[str, Workload]:
    modules = (import_module(f"{__name__}.{one.name}") for one in pkgutil.iter_modules(__path__))
    return {
        name: workload
        for module in modules
        for name, workload in getattr(module, "WORKLOADS", {}).items()
    }


WORKLOADS = _found()

# Later workloads have metrics of earlier ones, but not the other way round.
HEADLINES: Mapping[str, Headline] = {name: one.headline for name, one in WORKLOADS.items()}

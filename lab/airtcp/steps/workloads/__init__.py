# SPDX-License-Identifier: GPL-2.0-only
"""All workloads, by name: every module of this package can define some in WORKLOADS."""

import pkgutil
from collections.abc import Mapping
from importlib import import_module

from airtcp.steps.workloads.workload import Headline, Workload


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

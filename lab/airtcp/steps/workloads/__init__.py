# SPDX-License-Identifier: GPL-2.0-only
"""The workloads: of each a module with its steps, and how long they take."""

from collections.abc import Mapping

from airtcp.steps.workloads import bulk, exchange, web
from airtcp.steps.workloads.workload import Workload

WORKLOADS: Mapping[str, Workload] = {**bulk.WORKLOADS, **exchange.WORKLOADS, **web.WORKLOADS}

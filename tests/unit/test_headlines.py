# SPDX-License-Identifier: GPL-2.0-only
"""The headline metric of a run."""

import pytest

from airtcp.steps.workloads import headline_of

GOODPUT, COMPLETION, PAGES = "goodput_mbps", "completion_time_ms_mean", "page_time_ms_mean"


@pytest.mark.parametrize(
    ("workload", "measured", "expected"),
    [
        ("bulk", [GOODPUT], GOODPUT),
        # Pages consist of transfers.
        ("web", [COMPLETION, PAGES], PAGES),
        ("bulk", [GOODPUT, COMPLETION, PAGES], GOODPUT),
        ("bulk", [COMPLETION, PAGES], PAGES),
    ],
    ids=["the only one", "of the workload", "custom topology", "other workloads only"],
)
def test_headline_is_that_of_the_workload(
    workload: str, measured: list[str], expected: str
) -> None:
    metrics = {name: 1.0 if name in measured else None for name in (GOODPUT, COMPLETION, PAGES)}
    assert headline_of(workload, metrics).metric == expected

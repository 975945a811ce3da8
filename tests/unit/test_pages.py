# SPDX-License-Identifier: GPL-2.0-only
"""The docs describe every metric."""

from pathlib import Path

from airtcp.experiment.metrics import METRICS

METRICS_PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"


def test_every_metric_is_documented_with_its_help_text() -> None:
    text = METRICS_PAGE.read_text()
    for name, metric in METRICS.items():
        assert f"| `{name}` | {metric.unit or '1'} | {metric.how} |" in text

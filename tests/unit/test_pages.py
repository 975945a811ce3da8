# SPDX-License-Identifier: GPL-2.0-only
"""The docs describe every metric and have no broken links."""

import re
from pathlib import Path

import pytest

from airtcp.experiment.metrics import METRICS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_every_metric_is_documented_with_its_help_text() -> None:
    text = (ROOT / "docs" / "reference" / "metrics.md").read_text()
    for name, metric in METRICS.items():
        assert f"| `{name}` | {metric.unit or '1'} | {metric.how} |" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_targets_of_links_exist(page: Path) -> None:
    for target in re.findall(r"\]\((?!https:)([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target

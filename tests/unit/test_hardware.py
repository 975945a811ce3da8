# SPDX-License-Identifier: GPL-2.0-only
"""The comparison with real hardware (bench/hardware.py)."""

import hardware
from doctables import with_table

from airtcp.experiment.reader import load


def pair(rate: str, policy: str, metric: str, ours: float) -> hardware.Pair:
    return hardware.Pair(rate, policy, metric, 100, ours)


def test_errors_are_means_by_rate_and_by_use() -> None:
    found = [
        pair(rate, policy, metric, ours)
        for rate, ours in (("ht20-mcs6", 90), ("ht40-mcs13", 130), ("ht20-mcs13", 105))
        for policy in hardware.KERNELS
        for metric in hardware.METRICS
    ]
    found += [
        pair("ht40-mcs6", policy, metric, 85)
        for policy in hardware.KERNELS
        for metric in hardware.METRICS
    ]
    lines = hardware.table(found).splitlines()
    assert "| ht20-mcs6 | `default` | `default` | 1 | 10.0% | 10.0% |" in lines
    assert "| calibrated | `default` | `default` | 2 | 20.0% | 20.0% |" in lines
    assert "| predicted | `tcpaad` | `aad` | 2 | 10.0% | 10.0% |" in lines


def test_the_page_has_a_place_for_the_table() -> None:
    page = hardware.PAGE.read_text(encoding="utf-8")
    assert "new\n<!-- end -->\n" in with_table(page, "errors", "new\n")


def test_every_experiment_compares_all_conditions() -> None:
    """16 conditions: goodput and RTT of two kernels, one of them as two readings."""
    for rate in hardware.CALIBRATED:
        values = load(f"hardware-{rate}", checked=False).published
        compared = [value for value in values if value.metric in hardware.METRICS]
        assert len(compared) == 16 * len(hardware.KERNELS) * len(hardware.METRICS)

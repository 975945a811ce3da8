# SPDX-License-Identifier: GPL-2.0-only
"""Earlier names of parameters, which are accepted for one version with a warning."""

import warnings
from collections.abc import Iterable, Mapping

from airtcp.errors import RenamedWarning

RENAMED: Mapping[str, str] = {
    "hand_up": "rx_delivery",
    "sense": "cca_threshold",
    "idle": "baseline",
    "marking": "dscp",
    "patience": "iperf3_block",
    "reading": "reading_time",
}


def current(name: str, where: str) -> str:
    """The current name of a parameter. where: the place that a warning names."""
    if name not in RENAMED:
        return name
    warn([name], where)
    return RENAMED[name]


def warn(names: Iterable[str], where: str) -> None:
    """One line about earlier names."""
    renamed = ", ".join(f"{name} is now {RENAMED[name]}" for name in names)
    warnings.warn(f"{where}: {renamed}; accepted in this version only", RenamedWarning, 3)

# SPDX-License-Identifier: GPL-2.0-only
"""The files of airsim call each other one way only."""

import re
from graphlib import TopologicalSorter

from airtcp.kernel.source import OVERLAY

AIRSIM = OVERLAY / "drivers/net/wireless/virtual/airsim"
# The type may stand on a line of its own; a function's name begins a line, or follows it.
DEFINITION = re.compile(r"^(?!static\b)[a-z][\w *]*\b(airsim_\w+)\([^;{]*\)\n\{", re.M)
CALL = re.compile(r"\b(airsim_\w+)\(")


def test_no_circle_of_calls() -> None:
    texts = {path.name: path.read_text() for path in AIRSIM.glob("*.c")}
    where = {name: file for file, text in texts.items() for name in DEFINITION.findall(text)}
    assert len(where) > 70 and where["airsim_transmit"] == "signal.c"
    calls = {
        file: {where[name] for name in CALL.findall(text) if name in where} - {file}
        for file, text in texts.items()
    }
    assert "signal.c" in calls["exchange.c"]
    order = list(TopologicalSorter(calls).static_order())
    assert order.index("exchange.c") < order.index("medium.c")

# SPDX-License-Identifier: GPL-2.0-only
"""The files of airsim do not call each other in cycles."""

import re
from graphlib import TopologicalSorter

from airtcp.kernel.source import OVERLAY

AIRSIM = OVERLAY / "drivers/net/wireless/virtual/airsim"
# The function's name starts a line, or follows its type.
DEFINITION = re.compile(r"^(?!static\b)[a-z][\w *]*\b(airsim_\w+)\([^;{]*\)\n\{", re.M)
CALL = re.compile(r"\b(airsim_\w+)\(")


def test_files_have_no_cycle_of_calls() -> None:
    texts = {path.name: path.read_text() for path in AIRSIM.glob("*.c")}
    file_of = {name: file for file, text in texts.items() for name in DEFINITION.findall(text)}
    assert len(file_of) > 70 and file_of["airsim_transmit"] == "signal.c"
    calls = {
        file: {file_of[name] for name in CALL.findall(text) if name in file_of} - {file}
        for file, text in texts.items()
    }
    assert "signal.c" in calls["exchange.c"]
    order = list(TopologicalSorter(calls).static_order())
    assert order.index("exchange.c") < order.index("medium.c")

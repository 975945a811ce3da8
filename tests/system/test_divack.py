# SPDX-License-Identifier: GPL-2.0-only
"""Senders whose peer divides its ACKs: by default it gains nothing; tcp_divack_sender is a bound.

S. Savage, N. Cardwell, D. Wetherall, T. Anderson, "TCP congestion control with a misbehaving
receiver", 1999: a receiver controls the rate of a sender that grows its window for each ACK.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from test_packets import INTERPRETER

from airtcp.backends.guesttools import GuestTools
from airtcp.backends.uml import boot
from airtcp.kernel.image import Kernel

GUEST = Path(__file__).parents[1] / "guest"

ALL = 1460
"""Bytes per ACK of an honest peer: a segment. An attacker sends 20 ACKs of 73 bytes."""

Cases = dict[str, tuple[dict[str, Any], list[int]]]

IGNORED: Cases = {
    "honest": ({"step": ALL}, [10, 20, 40]),
    "steps of 73 bytes": ({}, [10, 20, 40]),
    "steps of a byte": ({"step": 1}, [10, 20, 40]),
    "no SACK": ({"sack": False}, [10, 20, 40]),
    "no TSO": ({"tso": False}, [10, 20, 40]),
    "duplicates": ({"duplicates": 2}, [10, 20, 40]),
    "duplicates, no SACK": ({"duplicates": 2, "sack": False}, [10, 20, 40]),
    "cubic": ({"congestion": "cubic"}, [10, 20, 40]),
}
"""Behaviour of the peer, and the window in each round of a sender with the default of the sysctl,
which is also the number of segments in flight."""

BOUNDED: Cases = {
    f"{bound}{name}": ({"bound": bound, **given}, [10, 10 * (2 + bound), 10 * (2 + bound) ** 2])
    for bound in (1, 4, 8)
    for name, given in {
        "": {},
        ", no SACK": {"sack": False},
        ", no TSO": {"tso": False},
        ", neither": {"sack": False, "tso": False},
    }.items()
} | {
    "4, steps of a byte": ({"bound": 4, "step": 1, "rounds": 1}, [10, 60]),
    "4, duplicates": ({"bound": 4, "duplicates": 2}, [10, 60, 360]),
    "4, duplicates, no SACK": ({"bound": 4, "duplicates": 2, "sack": False}, [10, 60, 360]),
    "4, cubic": ({"bound": 4, "congestion": "cubic"}, [10, 60, 360]),
    "4, but no divacks": ({"bound": 4, "step": ALL}, [10, 20, 40]),
    "8, but 3 divacks": ({"bound": 8, "step": ALL // 4, "duplicates": 2}, [10, 50, 250]),
    "64": ({"bound": 64, "step": 20, "rounds": 1}, [10, 660]),
}
"""The window grows by one for each segment, and by one for each divack up to the bound."""

NOT_COUNTED: Cases = {
    "outside slow start": ({"congestion": "cubic", "ssthresh": 10}, [10, 10, 11]),
    "ssthresh reached": ({"congestion": "cubic", "ssthresh": 15}, [10, 15, 16]),
    "bbr": ({"congestion": "bbr"}, [10, 20, 30]),
    "window not used up": ({"segments": 3, "rounds": 1}, [10, 10]),
}
"""Conditions in which a sender that counts 16 divacks per segment does not count any."""

PAPER = {0: [3, 6, 12, 24, 48, 96, 147, 238, 152], 15: [3, 51, 673]}
"""Table II of Arcia-Moret et al., "A Tunable Slow Start for TCP", 2012: segments that arrive in
each round trip of 250 ms, by divacks per segment; 727 in total, initial window 3."""

DOUBLES = [3, 6, 12, 24, 48, 96, 192, 346]

TRANSFERS: Cases = {
    "0 parts": ({}, DOUBLES),
    "15 parts, ignored": ({"parts": 15}, DOUBLES),
    "15 parts, 15 count": ({"parts": 15, "bound": 15}, [3, 51, 673]),
    "15 parts, 4 count": ({"parts": 15, "bound": 4}, [3, 18, 108, 598]),
    "3 parts, 15 count": ({"parts": 3, "bound": 15}, [3, 15, 75, 375, 259]),
}
"""The same with the policy divack: ACKs per segment (parts), and how many count (bound)."""


@pytest.fixture(scope="module")
def results(
    lab_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Results by function of divack_peer.py and case, from one guest."""
    run_dir = tmp_path_factory.mktemp("divack")
    for path in (*INTERPRETER, GUEST / "divack_peer.py"):
        shutil.copy(path, run_dir)
    attacks = {name: given for name, (given, _) in (IGNORED | BOUNDED).items()}
    for name, (given, _) in NOT_COUNTED.items():
        attacks[f"{name}, honest"] = {**given, "bound": 16, "step": ALL}
        attacks[f"{name}, divacks"] = {**given, "bound": 16}
    transfers = {name: given for name, (given, _) in TRANSFERS.items()}
    cases = {"attack": attacks, "slow_start": transfers}
    (run_dir / "cases.json").write_text(json.dumps(cases))
    (run_dir / "plan.sh").write_text("python3 -B divack_peer.py\n")
    result = boot(lab_kernel, tools, run_dir, seed=1, timeout_wall_s=300)
    assert result.status == "ok", (result.reason, result.console.read_text()[-2000:])
    output: dict[str, Any] = json.loads((run_dir / "results.json").read_text())
    return output


@pytest.mark.parametrize("case", IGNORED)
def test_divacks_gain_nothing_by_default(results: dict[str, Any], case: str) -> None:
    assert results["attack"][case] == [[window, window] for window in IGNORED[case][1]]


@pytest.mark.parametrize("case", BOUNDED)
def test_divacks_gain_no_more_than_the_bound(results: dict[str, Any], case: str) -> None:
    assert results["attack"][case] == [[window, window] for window in BOUNDED[case][1]]


@pytest.mark.parametrize("case", NOT_COUNTED)
def test_divacks_gain_nothing_outside_slow_start(results: dict[str, Any], case: str) -> None:
    honest, attack = (results["attack"][f"{case}, {peer}"] for peer in ("honest", "divacks"))
    assert [window for window, _ in honest] == NOT_COUNTED[case][1]
    assert attack == honest


@pytest.mark.parametrize("case", TRANSFERS)
def test_segments_in_each_round_trip(results: dict[str, Any], case: str) -> None:
    assert results["slow_start"][case] == TRANSFERS[case][1]


def test_slow_start_as_in_the_paper(results: dict[str, Any]) -> None:
    segments = results["slow_start"]
    assert segments["15 parts, 15 count"] == PAPER[15]
    # Later the paper's window no longer doubles; it does not say what limits it.
    assert segments["0 parts"][:6] == PAPER[0][:6]

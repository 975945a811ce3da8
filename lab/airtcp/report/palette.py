# SPDX-License-Identifier: GPL-2.0-only
"""The colours of figures, by role.

The first eight policies have the colours of Okabe and Ito, kinds of airtime those of Paul Tol; both
sets are distinguishable with colour blindness. Kinds of frames also differ in height.
"""

from collections.abc import Mapping

# (in print and on a light page, on a dark page)
PALETTE: Mapping[str, tuple[str, str]] = {
    "ink": ("#1b1f24", "#e6e8eb"),
    "faint": ("#667079", "#9aa4af"),
    "grid": ("#dfe3e8", "#343b44"),
    "policy0": ("#0072b2", "#4aa8e0"),
    "policy1": ("#d55e00", "#f28e3c"),
    "policy2": ("#009e73", "#2fc79a"),
    "policy3": ("#cc79a7", "#e2a0c4"),
    "policy4": ("#e69f00", "#f5bc42"),
    "policy5": ("#56b4e9", "#86cdf5"),
    "policy6": ("#a89b00", "#e8dc3c"),
    "policy7": ("#50565d", "#b4bbc3"),
    "policy8": ("#7f3c8d", "#b985c6"),
    "policy9": ("#8b4513", "#c68a5e"),
    "policy10": ("#1f4e5f", "#74a9b9"),
    "policy11": ("#b3003c", "#f2768f"),
    "tint0": ("#8fc1de", "#2f5f80"),
    "tint1": ("#efb58c", "#84502a"),
    "tint2": ("#8ad1bd", "#28705a"),
    "tint3": ("#e8c3d7", "#7c5169"),
    "tint4": ("#f3d08a", "#866827"),
    "tint5": ("#b3dcf4", "#4a7186"),
    "tint6": ("#d6cf80", "#807a24"),
    "tint7": ("#aeb3b9", "#636b73"),
    "tint8": ("#c9a6d1", "#664870"),
    "tint9": ("#cfae96", "#6d4c34"),
    "tint10": ("#9db8c1", "#42616b"),
    "tint11": ("#e29ab0", "#85414f"),
    "air-data": ("#332288", "#8577d6"),
    "air-ack": ("#ddcc77", "#d3bf5e"),
    "air-other": ("#88ccee", "#6bb4d8"),
    "air-collision": ("#cc6677", "#d97080"),
    "air-idle": ("#e4e6ea", "#2b323a"),
    "frame-multicast": ("#aa4499", "#cf79c2"),
    "frame-management": ("#66aacc", "#6bb4d9"),
    "frame-beacon": ("#1f6f8b", "#3e93b0"),
    "frame-protection": ("#999933", "#b8b84e"),
    "frame-bar": ("#c98a1b", "#dba544"),
    "frame-ack": ("#117733", "#3fa862"),
    "frame-blockack": ("#44aa99", "#5cc7b5"),
    "frame-lost": ("#dd3322", "#ff6b57"),
    "paper": ("#ffffff", "#1a2027"),
}

POLICY_COLOURS = 12


def print_colour(role: str) -> str:
    """The colour of a role in print and on a light page, as #rrggbb."""
    return PALETTE[role][0]


def policy_role(number: int, kind: str = "policy") -> str:
    """The role of the policy with this number; kind "tint": its lighter shade."""
    return f"{kind}{number % POLICY_COLOURS}"

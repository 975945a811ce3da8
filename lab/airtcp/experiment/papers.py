# SPDX-License-Identifier: GPL-2.0-only
"""The publications that experiments reproduce, and the precision of published values."""

from collections.abc import Mapping
from typing import Literal

Paper = Literal[
    "avkhadeev-2025",
    "grazia-2022",
    "statkus-2017",
    "arcia-moret-2012",
    "aad-tests-2025",
    "own",
]

OWN: Paper = "own"

CITATIONS: Mapping[Paper, str] = {
    "avkhadeev-2025": "Avkhadeev, Performance Evaluation of Delayed Acknowledgment in TCP over "
    "Wi-Fi (thesis, Innopolis University, 2025): TCP-AAD",
    "grazia-2022": "Grazia et al., Aggregating Without Bloating: Hard Times for TCP on Wi-Fi "
    "(IEEE/ACM Transactions on Networking, 2022): small queues and pacing",
    "statkus-2017": "Statkus, Performance Investigation of Data Packets Transport Control Protocol "
    "in Heterogeneous Networks (dissertation, VGTU, 2017): ACK filtering and limiting",
    "arcia-moret-2012": "Arcia-Moret, Diaz, Montavont, A Tunable Slow Start for TCP "
    "(GIIS, 2012): ACK division",
    "aad-tests-2025": "4ry1337, TCP-AAD-Tests (public repository, results of 2025): iperf3 "
    "over the access point of the thesis",
    OWN: "airtcp's own",
}

Precision = Literal["exact", "approximate", "at most", "at least"]

# What is written before a value.
SIGNS: Mapping[Precision, str] = {
    "exact": "",
    "approximate": "≈ ",
    "at most": "≤ ",
    "at least": "≥ ",
}

Word = Literal["more", "less", "same"]

# SPDX-License-Identifier: GPL-2.0-only
"""Random settings of radios under load: no MPDU is lost track of, and nothing stops for good."""

from pathlib import Path
from random import Random

import pytest
from airsim_attrs import Attr, attrs
from guests import assert_silent
from radio import Cell, Counters, flow, read_sample, run

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters

HE = Parameters().replace({"standard": "802.11ax", "width": "80MHz", "mcs": 7, "streams": 1})
# Stations that do not contend for 0.4 s after they have answered a Trigger frame.
MU_EDCA = "he_mu_edca_ac_be_aifsn=0\nhe_mu_edca_ac_be_timer=50"
# In both directions and in three access categories. The last number is the TOS.
FLOWS = [("ap", "one", 0), ("one", "ap", 0), ("other", "ap", 0xB8), ("ap", "other", 0xA0)]
ATTRS = attrs()
SETTINGS = [
    name
    for name, attr in ATTRS.items()
    if attr.object in ("settings", "burst", "position") and name not in ("placed", "rate_fixed")
]
AIR = [name for name, attr in ATTRS.items() if attr.object == "air"]
CHANGES = 60


def text(attr: Attr, value: int) -> str:
    return attr.words[value] if attr.words else str(value)


def drawn(names: list[str], random: Random) -> str:
    """Some keys with their minimum, maximum or default, or a value between."""
    words = []
    for name in random.sample(names, random.randint(1, min(5, len(names)))):
        attr = ATTRS[name]
        values = (attr.low, attr.high, attr.default, random.randint(attr.low, attr.high))
        words.append(f"{name} {text(attr, random.choice(values))}")
    return " ".join(words)


def defaults(names: list[str]) -> str:
    return " ".join(f"{name} {text(ATTRS[name], ATTRS[name].default)}" for name in names)


def script(cells: list[Cell], random: Random) -> str:
    lines = [
        flow(cells, sender, receiver, CHANGES / 10, tos, 200_000) for sender, receiver, tos in FLOWS
    ]
    for number in range(CHANGES):
        lines.append(f"must airsim radio set {random.randrange(3)} {drawn(SETTINGS, random)}\n")
        if number % 10 == 9:
            lines.append(f"must airsim air set {drawn(AIR, random)}\n")
        lines.append(f"sleep {random.choice((0.001, 0.02, 0.1))}\n")
    lines.append(f"must airsim air set {defaults(AIR)}\n")
    lines += [f"must airsim radio set {radio} {defaults(SETTINGS)}\n" for radio in range(3)]
    # The senders end, and what is queued is sent or dropped.
    lines.append(f"sleep {CHANGES / 10 + 10:g}\nsample after\ndmesg --notime >dmesg.txt\n")
    return "".join(lines)


def untracked(counters: Counters) -> tuple[int, int]:
    """MPDUs that were taken from mac80211, or received, and are in no other counter."""
    sent = ("acked", "unanswerable", "queued")
    dropped = ("dropped_retries", "dropped_stopped", "dropped_queue_gone")
    received = ("handed_up", "rx_no_memory", "rx_dropped_stopped", "rx_waiting")
    return (
        counters["taken"] - sum(counters[name] for name in (*sent, *dropped)),
        counters["received"] - sum(counters[name] for name in received),
    )


@pytest.mark.parametrize("queueing", ["txq", "fifo"])
def test_all_mpdus_are_accounted_for(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, queueing: str
) -> None:
    cells = [Cell("ap", ["one", "other"], HE, hostapd=MU_EDCA)]
    run(lab_kernel, tools, tmp_path, cells, script(cells, Random(1)), keys=f"queueing {queueing}")
    for name, counters in read_sample(tmp_path / "after").nodes.items():
        print(name, {key: counters[key] for key in ("taken", "retries", "dropped_retries")})
        assert counters["taken"] > 300
        assert untracked(counters) == (0, 0)
        assert counters["queued"] == counters["rx_waiting"] == 0
    assert_silent(tmp_path / "dmesg.txt")

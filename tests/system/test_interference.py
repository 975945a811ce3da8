# SPDX-License-Identifier: GPL-2.0-only
"""What overlapping frames and lost frames do to receptions and to the next channel access."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from radio import CAPTURE, CAPTURE_END, LEGACY, Cell, blocked, flow, run
from wifi_timing import ACK, AIFSN, legacy, ppdu_us

from airtcp.backends.guesttools import GuestTools
from airtcp.files import airtrace
from airtcp.files.airtrace import Transmission
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters

HT = Parameters().replace({"standard": "802.11n", "width": "20MHz", "mcs": 7})
SIFS_US, SLOT_US = 16, 9
AIFS_US = SIFS_US + AIFSN * SLOT_US
EIFS_US = SIFS_US + ppdu_us(legacy(6000), ACK) + AIFS_US
HT_PREAMBLE_NS = 36_000
HE_PREAMBLE_NS = 64_800
"""Of four streams with a guard interval of 0.8 us."""

Air = Callable[..., list[Transmission]]


@pytest.fixture
def air(lab_kernel: Kernel, tools: GuestTools, tmp_path: Path) -> Air:
    """A function that returns the transmissions of one second of saturated flows, by start."""

    def capture(
        cells: Sequence[Cell], flows: Sequence[tuple[str, str]], before: str = ""
    ) -> list[Transmission]:
        parts = [before, CAPTURE, *(flow(cells, *pair, 1, 0, 200_000) for pair in flows)]
        run(lab_kernel, tools, tmp_path, cells, "".join([*parts, "sleep 1\n", CAPTURE_END]))
        return sorted(airtrace.read(tmp_path / "air.pcap"), key=lambda sent: sent.start_ns)

    return capture


def data(sent: Sequence[Transmission], sender: int) -> list[Transmission]:
    return [one for one in sent if one.kind == "data" and one.sender == sender]


def mpdus(sent: Transmission, preamble_ns: int = HT_PREAMBLE_NS) -> list[tuple[float, float, bool]]:
    """Start, end, and whether it arrived, of each MPDU of a PPDU, to some microseconds."""
    at_ns = float(sent.start_ns + preamble_ns)
    octet_ns = (sent.end_ns - at_ns) / sent.octets
    found = []
    for place, octets in enumerate(sent.mpdu_octets):
        end_ns = at_ns + octets * octet_ns
        found.append((at_ns, end_ns, place not in sent.lost))
        at_ns = end_ns
    return found


def test_no_mpdu_arrives_while_another_signal_interferes(air: Air) -> None:
    """Also after the first of two interfering signals has ended."""
    names = ["long", "one", "other"]
    windows = "wmm_ac_be_cwmin=6\nwmm_ac_be_cwmax=6"
    single = HT.replace({"mcs": 3, "ampdu_mpdus": 1})
    fast = HT.replace({"width": "40MHz", "streams": 2})
    cells = [Cell("ap", names, fast, {"one": single, "other": single}, windows)]
    sent = air(cells, [(name, "ap") for name in names], blocked(1, 2, 3))
    others = data(sent, 2) + data(sent, 3)
    parts = [part for ppdu in data(sent, 1) for part in mpdus(ppdu)]
    margin_ns = 8_000
    clear = [
        arrived
        for start_ns, end_ns, arrived in parts
        if not any(o.start_ns < end_ns and o.end_ns > start_ns for o in others)
    ]
    overlapped = [
        arrived
        for start_ns, end_ns, arrived in parts
        if any(o.start_ns < end_ns - margin_ns and o.end_ns > start_ns + margin_ns for o in others)
    ]
    print(f"{sum(clear)} of {len(clear)} arrived, {sum(overlapped)} of {len(overlapped)}")
    assert sum(clear) > 30 and len(overlapped) > 300
    assert not any(overlapped)


def test_a_captured_frame_suffers_from_the_signal_that_it_overlaps(air: Air) -> None:
    """Short frames, 6 dB stronger than the long ones during which they begin and end."""
    long = LEGACY.replace({"legacy_rate": "6Mbit"})
    cells = [Cell("ap", ["weak", "strong"], LEGACY, {"weak": long})]
    placed = "".join(
        f"must airsim radio set {radio} errors snr capture on x_mm {x_mm}\n"
        for radio, x_mm in enumerate((0, 12_700, 8_000))
    )
    sent = air(cells, [("weak", "ap"), ("strong", "ap")], blocked(1, 2) + placed)
    within = [
        one
        for one in data(sent, 2)
        if any(o.start_ns < one.start_ns and one.end_ns < o.end_ns for o in data(sent, 1))
    ]
    print(f"{sum(not one.lost for one in within)} of {len(within)} arrived")
    assert len(within) > 50
    assert all(one.lost for one in within)


def test_interference_destroys_all_mpdus_of_a_symbol(air: Air) -> None:
    """Five MPDUs in each symbol of 13.6 us, and other signals that are as strong."""
    fast = Parameters().replace(
        {"standard": "802.11ax", "width": "160MHz", "mcs": 11, "streams": 4}
    )
    cells = [Cell("ap", ["one", "other"], fast)]
    placed = "".join(
        f"must airsim radio set {radio} errors snr capture on x_mm 0\n" for radio in range(3)
    )
    sent = air(cells, [("one", "ap"), ("other", "ap")], blocked(1, 2) + placed)
    overlapped = [
        arrived
        for sender, interferer in ((1, 2), (2, 1))
        for ppdu in data(sent, sender)
        for other in data(sent, interferer)
        if ppdu.start_ns + HE_PREAMBLE_NS < other.start_ns < ppdu.end_ns
        for start_ns, end_ns, arrived in mpdus(ppdu, HE_PREAMBLE_NS)
        if other.start_ns < start_ns - 30_000 and end_ns + 30_000 < other.end_ns
    ]
    print(f"{sum(overlapped)} of {len(overlapped)} arrived")
    assert len(overlapped) > 1000
    assert not any(overlapped)


def gaps_us(
    sent: Sequence[Transmission], before: Sequence[Transmission], sender: int
) -> list[float]:
    """Times from the ends of frames to the starts of the next frames, where a sender sends them."""
    ends = {one.end_ns for one in before}
    found = []
    for one, after in pairwise(sent):
        if one.end_ns in ends and after.kind == "data" and after.sender == sender:
            found.append((after.start_ns - one.end_ns) / 1000)
    return found


def test_the_receiver_of_a_lost_frame_waits_eifs(air: Air) -> None:
    """10.3.2.3.7"""
    cells = [Cell("ap", ["sta"], LEGACY)]
    flows = [("ap", "sta"), ("sta", "ap")]
    sent = air(cells, flows, "must airsim radio set 0 mpdu_error_ppm 500000\n")
    lost = [one for one in data(sent, 1) if one.lost and not one.collided]
    answered = [one for one in sent if one.kind == "ack"]
    after_lost, after_answer = gaps_us(sent, lost, 0), gaps_us(sent, answered, 0)
    print(f"{len(after_lost)} and {len(after_answer)}: {min(after_lost)}, {min(after_answer)} us")
    assert min(after_answer) == pytest.approx(AIFS_US)
    assert min(after_lost) == pytest.approx(EIFS_US)


def test_a_frame_missed_while_sending_is_no_frame_with_an_error(air: Air) -> None:
    """10.3.2.3.7: of two stations that collide, the one with the shorter frame waits AIFS."""
    slow = LEGACY.replace({"legacy_rate": "6Mbit"})
    windows = "wmm_ac_be_cwmin=2\nwmm_ac_be_cwmax=2"
    cells = [Cell("ap", ["long", "short"], LEGACY, {"long": slow}, windows)]
    sent = air(cells, [("long", "ap"), ("short", "ap")])
    gaps = []
    for one in data(sent, 1):
        after = next((other for other in sent if other.start_ns > one.end_ns), one)
        if one.collided and (after.kind, after.sender) == ("data", 2):
            gaps.append((after.start_ns - one.end_ns) / 1000)
    print(f"{len(gaps)}: {min(gaps)} us")
    assert len(gaps) > 50
    assert min(gaps) == pytest.approx(AIFS_US)


def test_a_signal_of_another_primary_channel_is_no_frame_with_an_error(air: Air) -> None:
    wide = Parameters().replace(
        {"standard": "802.11ac", "channel": 36, "width": "80MHz", "mcs": 7, "streams": 1}
    )
    other = wide.replace({"channel": 44, "width": "40MHz"})
    cells = [Cell("ap0", ["sta0"], wide), Cell("ap1", ["sta1"], other)]
    sent = air(cells, [("ap0", "sta0"), ("ap1", "sta1")])
    # Radio 2 is the other access point, and radio 3 its station.
    foreign = [one for one in sent if one.kind == "blockack" and one.sender == 3]
    gaps = gaps_us(sent, foreign, 0)
    early = sum(gap < EIFS_US for gap in gaps)
    print(f"{early} of {len(gaps)}")
    assert early > 0.2 * len(gaps)


def test_eifs_ends_with_the_next_signal_of_another_primary_channel(air: Air) -> None:
    """A station loses a frame, then waits for others, then accesses the medium after AIFS."""
    wide = Parameters().replace(
        {"standard": "802.11ac", "channel": 36, "width": "80MHz", "mcs": 7, "ampdu_mpdus": 1}
    )
    other = wide.replace({"channel": 44, "width": "40MHz"})
    cells = [
        Cell("ap0", ["sta0"], wide, hostapd="wmm_ac_be_cwmin=2\nwmm_ac_be_cwmax=2"),
        Cell("ap1", ["sta1"], other),
    ]
    flows = [("ap0", "sta0"), ("sta0", "ap0"), ("ap1", "sta1")]
    sent = air(cells, flows, "must airsim radio set 1 mpdu_error_ppm 1000000\n")
    gaps = [
        (after.start_ns - answer.end_ns) / 1000
        for lost, foreign, answer, after in zip(sent, sent[1:], sent[2:], sent[3:], strict=False)
        if [one.sender for one in (lost, foreign, answer, after)] == [0, 2, 3, 1]
        and lost.lost
        and not any(one.collided for one in (lost, foreign, answer))
    ]
    print(f"{len(gaps)}: {min(gaps)} us")
    assert min(gaps) == pytest.approx(AIFS_US)

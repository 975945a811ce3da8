# SPDX-License-Identifier: GPL-2.0-only
"""BBRv2 and BBRp on a path of 50 Mbit/s and 20 ms: what its draft, and our reading, promise."""

from collections.abc import Callable
from itertools import pairwise
from statistics import fmean, median
from typing import Any

import pytest
from guests import GUEST, guest_output

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel

SCRIPT = GUEST / "senders.py"

# What of 50 Mbit/s is left for data, with headers of 66 bytes for 1448, and packets in 20 ms.
GOODPUT_MBPS = 50 * 1448 / 1514
BDP_PACKETS = 50e6 / 8 / 1514 * 0.02

# Pacing gains in units of 1/256, as ss shows them.
STARTUP, DRAIN, DOWN, CRUISE, UP = 710, 128, 230, 256, 320

Columns = dict[str, list[float]]


class Scenarios(dict[str, Any]):
    """What the scenarios of the script tell: each runs in a guest of its own, when asked for."""

    def __init__(self, run: Callable[[str], dict[str, Any]]) -> None:
        self.run = run

    def __missing__(self, name: str) -> Any:
        self |= self.run(name)
        return self[name]


@pytest.fixture(scope="module")
def said(
    lab_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory
) -> Scenarios:
    return Scenarios(
        lambda name: guest_output(SCRIPT, lab_kernel, tools, tmp_path_factory.mktemp(name), name)
    )


def within(columns: Columns, start_s: float, end_s: float = float("inf")) -> Columns:
    rows = [i for i, time_s in enumerate(columns["time_s"]) if start_s <= time_s < end_s]
    return {name: [values[i] for i in rows] for name, values in columns.items()}


def goodput_mbps(columns: Columns) -> float:
    acked, times_s = columns["bytes_acked"], columns["time_s"]
    return (acked[-1] - acked[0]) * 8e-6 / (times_s[-1] - times_s[0])


def queue_ms(columns: Columns) -> float:
    return fmean(columns["rtt_us"]) / 1000 - 20


def lost_percent(columns: Columns) -> float:
    retrans, sent = columns["retrans"], columns["data_segs_out"]
    return 100 * (retrans[-1] - retrans[0]) / (sent[-1] - sent[0])


def phases(columns: Columns) -> list[tuple[float, float, float]]:
    """Gain, start and length of each but the last, which has not ended."""
    found: list[tuple[float, float]] = []
    for gain, time_s in zip(columns["pacing_gain"], columns["time_s"], strict=True):
        if not found or found[-1][0] != gain:
            found.append((gain, time_s))
    return [(gain, start_s, end_s - start_s) for (gain, start_s), (_, end_s) in pairwise(found)]


def test_it_fills_the_path_with_a_tenth_of_cubics_queue(said: dict[str, Any]) -> None:
    told = {name: within(said["bulk"][name], 2) for name in ("bbr2", "bbr", "cubic")}
    assert goodput_mbps(told["bbr2"]) == pytest.approx(GOODPUT_MBPS, rel=0.05)
    assert queue_ms(told["bbr2"]) < queue_ms(told["cubic"]) / 10
    assert queue_ms(told["bbr2"]) < queue_ms(told["bbr"])
    assert told["bbr2"]["retrans"][-1] == 0


def test_its_states_follow_each_other(said: dict[str, Any]) -> None:
    gains = [gain for gain, _, _ in phases(said["bulk"]["bbr2"])]
    assert gains[:2] == [STARTUP, DRAIN]
    # DOWN may be over before the first sample: Drain has emptied the queue.
    cycles = gains[gains.index(UP) :]
    assert len(cycles) > 12
    assert cycles == ([UP, DOWN, CRUISE] * len(cycles))[: len(cycles)]


def test_it_probes_for_bandwidth_as_seldom_as_reno_can_live_with(said: dict[str, Any]) -> None:
    starts = [start_s for gain, start_s, _ in phases(said["bulk"]["bbr2"]) if gain == UP]
    apart = [later - earlier for earlier, later in pairwise(starts)]
    # 63 rounds of 20 to 25 ms; ProbeRTT begins the count again.
    usual = [time_s for time_s in apart if time_s < 1.6]
    assert len(usual) >= len(apart) - 2 >= 4
    assert all(62 * 0.02 <= time_s <= 63 * 0.025 for time_s in usual), apart


def test_it_probes_for_the_round_trip_time_every_5_s(said: dict[str, Any]) -> None:
    columns = within(said["bulk"]["bbr2"], 1)
    low = [
        time_s
        for time_s, cwnd in zip(columns["time_s"], columns["cwnd"], strict=True)
        if cwnd < 0.6 * BDP_PACKETS
    ]
    starts = [time_s for before, time_s in zip([0, *low], low, strict=False) if time_s - before > 1]
    assert len(starts) == 2
    assert 5 < starts[1] - starts[0] < 5.6
    # Half a BDP, no less, for 200 ms and a round trip.
    assert min(columns["cwnd"]) >= 0.45 * BDP_PACKETS
    assert 0.4 <= 0.005 * len(low) <= 0.6
    assert min(columns["min_rtt_us"]) == pytest.approx(20000, rel=0.03)


def test_ss_shows_its_estimates(said: dict[str, Any]) -> None:
    text = said["bulk"]["ss"]
    assert " bbr2 " in text
    assert "bbr:(bw:47" in text
    assert "mrtt:20" in text


def test_it_paces_by_its_estimate_gain_and_factor(said: dict[str, Any]) -> None:
    for start_s, end_s, factor in ((1, 2, 1), (2.1, 4, 2)):
        columns = within(said["gains"]["bbr2"], start_s, end_s)
        ratios = [
            pacing / bw / (gain / 256)
            for pacing, bw, gain in zip(
                *(columns[name] for name in ("pacing_Bps", "bw_lo", "pacing_gain")), strict=True
            )
        ]
        assert median(ratios) == pytest.approx(0.99 * factor, rel=0.01)
    assert columns["retrans"][-1] == 0


def test_loss_below_2_percent_costs_little_and_above_much(said: dict[str, Any]) -> None:
    few, many = (
        {name: within(said["loss"][name][percent], 2) for name in ("bbr2", "cubic")}
        for percent in ("0.5", "8")
    )
    assert goodput_mbps(few["bbr2"]) > 0.75 * GOODPUT_MBPS
    assert goodput_mbps(few["bbr2"]) > 3 * goodput_mbps(few["cubic"])
    assert goodput_mbps(many["bbr2"]) < 0.25 * GOODPUT_MBPS
    assert max(many["bbr2"]["cwnd"]) < BDP_PACKETS < max(few["bbr2"]["cwnd"])


@pytest.mark.slow
def test_it_keeps_to_what_a_shallow_queue_holds(said: dict[str, Any]) -> None:
    ours, mainline = (within(said["shallow"][name], 2) for name in ("bbr2", "bbr"))
    assert goodput_mbps(ours) > 0.9 * GOODPUT_MBPS
    assert lost_percent(ours) < 0.2
    assert lost_percent(ours) < lost_percent(mainline) / 5


@pytest.mark.slow
def test_two_come_closer_to_equal_shares(said: dict[str, Any]) -> None:
    early, late = (
        [goodput_mbps(within(columns, *times_s)) for columns in said["two"]]
        for times_s in ((4, 8), (26, 30))
    )
    assert sum(early) == pytest.approx(GOODPUT_MBPS * 0.4, rel=0.03)
    assert sum(late) == pytest.approx(GOODPUT_MBPS * 0.4, rel=0.03)
    # Slowly, for each probes every few seconds, and no more than 2 BDP may be in flight.
    assert max(late) / min(late) < max(early) / min(early) / 2


@pytest.mark.slow
def test_it_follows_the_rate_of_the_path(said: dict[str, Any]) -> None:
    columns = said["slower_and_faster"]
    # The maximum of two cycles of 2 to 3 s has to pass, and ProbeRTT begins a cycle again.
    slow, fast = within(columns, 15, 17), within(columns, 19)
    for part, factor in ((slow, 0.4), (fast, 1)):
        assert goodput_mbps(part) == pytest.approx(GOODPUT_MBPS * factor, rel=0.06)
        assert median(part["bw_lo"]) * 8e-6 == pytest.approx(GOODPUT_MBPS * factor, rel=0.06)
        assert queue_ms(part) < 15


def test_what_the_application_does_not_send_is_no_estimate(said: dict[str, Any]) -> None:
    columns = said["little_and_nothing_to_send"]
    little, again = within(columns, 4, 8), within(columns, 10.2)
    assert goodput_mbps(little) == pytest.approx(4, rel=0.05)
    assert min(within(columns, 4)["bw_lo"]) * 8e-6 == pytest.approx(GOODPUT_MBPS, rel=0.05)
    # And after being idle it is as fast as before, at once.
    assert goodput_mbps(again) == pytest.approx(GOODPUT_MBPS, rel=0.05)
    assert again["retrans"][-1] == 0


def test_what_was_not_lost_after_all_lowers_no_bound(said: dict[str, Any]) -> None:
    told = said["spurious"]
    assert told["undone"] >= 1
    before = within(told["columns"], 2, 3)
    stalled, after = within(told["columns"], 3.2, 3.5), within(told["columns"], 3.6)
    assert min(stalled["cwnd"]) == 1
    assert min(after["cwnd"]) >= median(before["cwnd"])
    assert min(after["bw_lo"]) >= 0.95 * median(before["bw_lo"])


def test_bbrp_bursts_for_a_round_trip_and_drains(said: dict[str, Any]) -> None:
    columns = within(said["bulk"]["bbrp"], 1)
    # Whole ones: the first may have been under way.
    bursts_and_drains = phases(columns)[1:]
    assert {gain for gain, _, _ in bursts_and_drains} == {512, 192}
    assert len(bursts_and_drains) > 40
    assert all(0.015 < length < 0.035 for gain, _, length in bursts_and_drains if gain == 512)
    # A round trip at +1 takes four at -1/4, if what is in flight does not drain before.
    assert all(length < 0.11 for gain, _, length in bursts_and_drains if gain == 192)

    ends = [
        columns["unacked"][columns["time_s"].index(start_s + length) - 1]
        for gain, start_s, length in bursts_and_drains
        if gain == 192
    ]
    assert max(ends) < 1.5 * BDP_PACKETS
    assert median(columns["unacked"]) > 1.2 * BDP_PACKETS
    assert max(columns["unacked"]) < 2.3 * BDP_PACKETS
    assert goodput_mbps(columns) == pytest.approx(GOODPUT_MBPS, rel=0.03)


def test_bbrps_gain_can_be_chosen(said: dict[str, Any]) -> None:
    columns = said["gains"]["bbrp"]
    assert set(within(columns, 1, 2)["pacing_gain"]) == {512, 192}
    assert set(within(columns, 2.1)["pacing_gain"]) == {768, 192}


def test_bbr_keeps_its_cycle(said: dict[str, Any]) -> None:
    columns = within(said["bulk"]["bbr"], 1)
    gains = [gain for gain, _, _ in phases(columns)]
    first = gains.index(320)
    assert len(gains) > 60
    assert gains[first:] == ([320, 192, 256] * len(gains))[: len(gains) - first]
    assert columns["pacing_gain"].count(256) > 0.6 * len(columns["pacing_gain"])

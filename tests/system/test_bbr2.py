# SPDX-License-Identifier: GPL-2.0-only
"""BBRv2 and BBRp on a path of 50 Mbit/s and 20 ms: what the draft specifies."""

from collections.abc import Callable
from itertools import pairwise
from statistics import fmean, median
from typing import Any

import pytest
from guests import GUEST, guest_output

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel

SCRIPT = GUEST / "senders.py"

# Data rate at 50 Mbit/s, with headers of 66 bytes for 1448, and packets in 20 ms.
GOODPUT_MBPS = 50 * 1448 / 1514
BDP_PACKETS = 50e6 / 8 / 1514 * 0.02

# Pacing gains in units of 1/256, as ss shows them.
STARTUP, DRAIN, DOWN, CRUISE, UP = 710, 128, 230, 256, 320

Columns = dict[str, list[float]]


class Scenarios(dict[str, Any]):
    """Output of the script by scenario; each scenario runs in its own guest on first access."""

    def __init__(self, run: Callable[[str], dict[str, Any]]) -> None:
        self.run = run

    def __missing__(self, name: str) -> Any:
        self |= self.run(name)
        return self[name]


@pytest.fixture(scope="module")
def scenarios(
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
    """Gain, start and length of each phase but the last, which has not ended."""
    starts: list[tuple[float, float]] = []
    for gain, time_s in zip(columns["pacing_gain"], columns["time_s"], strict=True):
        if not starts or starts[-1][0] != gain:
            starts.append((gain, time_s))
    return [(gain, start_s, end_s - start_s) for (gain, start_s), (_, end_s) in pairwise(starts)]


def test_fills_the_path_with_a_tenth_of_cubics_queue(scenarios: dict[str, Any]) -> None:
    bulk = {name: within(scenarios["bulk"][name], 2) for name in ("bbr2", "bbr", "cubic")}
    assert goodput_mbps(bulk["bbr2"]) == pytest.approx(GOODPUT_MBPS, rel=0.05)
    assert queue_ms(bulk["bbr2"]) < queue_ms(bulk["cubic"]) / 10
    assert queue_ms(bulk["bbr2"]) < queue_ms(bulk["bbr"])
    assert bulk["bbr2"]["retrans"][-1] == 0


def test_states_are_in_the_specified_order(scenarios: dict[str, Any]) -> None:
    gains = [gain for gain, _, _ in phases(scenarios["bulk"]["bbr2"])]
    assert gains[:2] == [STARTUP, DRAIN]
    # The first DOWN may end before a sample, because Drain has emptied the queue.
    cycles = gains[gains.index(UP) :]
    assert len(cycles) > 12
    assert cycles == ([UP, DOWN, CRUISE] * len(cycles))[: len(cycles)]


def test_interval_of_bandwidth_probes_allows_reno_to_coexist(scenarios: dict[str, Any]) -> None:
    starts = [start_s for gain, start_s, _ in phases(scenarios["bulk"]["bbr2"]) if gain == UP]
    intervals_s = [later - earlier for earlier, later in pairwise(starts)]
    # 63 rounds of 20 to 25 ms; ProbeRTT restarts the count.
    undisturbed = [time_s for time_s in intervals_s if time_s < 1.6]
    assert len(undisturbed) >= len(intervals_s) - 2 >= 4
    assert all(62 * 0.02 <= time_s <= 63 * 0.025 for time_s in undisturbed), intervals_s


def test_probes_the_round_trip_time_every_5_s(scenarios: dict[str, Any]) -> None:
    columns = within(scenarios["bulk"]["bbr2"], 1)
    low = [
        time_s
        for time_s, cwnd in zip(columns["time_s"], columns["cwnd"], strict=True)
        if cwnd < 0.6 * BDP_PACKETS
    ]
    starts = [time_s for before, time_s in zip([0, *low], low, strict=False) if time_s - before > 1]
    assert len(starts) == 2
    assert 5 < starts[1] - starts[0] < 5.6
    # At least half a BDP, for 200 ms and a round trip.
    assert min(columns["cwnd"]) >= 0.45 * BDP_PACKETS
    assert 0.4 <= 0.005 * len(low) <= 0.6
    assert min(columns["min_rtt_us"]) == pytest.approx(20000, rel=0.03)


def test_ss_shows_its_estimates(scenarios: dict[str, Any]) -> None:
    text = scenarios["bulk"]["ss"]
    assert " bbr2 " in text
    assert "bbr:(bw:47" in text
    assert "mrtt:20" in text


def test_pacing_rate_is_estimate_times_gain_times_factor(scenarios: dict[str, Any]) -> None:
    for start_s, end_s, factor in ((1, 2, 1), (2.1, 4, 2)):
        columns = within(scenarios["gains"]["bbr2"], start_s, end_s)
        ratios = [
            pacing / bw / (gain / 256)
            for pacing, bw, gain in zip(
                *(columns[name] for name in ("pacing_Bps", "bw_lo", "pacing_gain")), strict=True
            )
        ]
        assert median(ratios) == pytest.approx(0.99 * factor, rel=0.01)
    assert columns["retrans"][-1] == 0


def test_goodput_suffers_only_from_loss_above_2_percent(scenarios: dict[str, Any]) -> None:
    light, heavy = (
        {name: within(scenarios["loss"][name][percent], 2) for name in ("bbr2", "cubic")}
        for percent in ("0.5", "8")
    )
    assert goodput_mbps(light["bbr2"]) > 0.75 * GOODPUT_MBPS
    assert goodput_mbps(light["bbr2"]) > 3 * goodput_mbps(light["cubic"])
    assert goodput_mbps(heavy["bbr2"]) < 0.25 * GOODPUT_MBPS
    assert max(heavy["bbr2"]["cwnd"]) < BDP_PACKETS < max(light["bbr2"]["cwnd"])


@pytest.mark.slow
def test_loses_little_in_a_shallow_queue(scenarios: dict[str, Any]) -> None:
    bbr2, mainline = (within(scenarios["shallow"][name], 2) for name in ("bbr2", "bbr"))
    assert goodput_mbps(bbr2) > 0.9 * GOODPUT_MBPS
    assert lost_percent(bbr2) < 0.2
    assert lost_percent(bbr2) < lost_percent(mainline) / 5


@pytest.mark.slow
def test_two_flows_converge_to_equal_shares(scenarios: dict[str, Any]) -> None:
    early, late = (
        [goodput_mbps(within(columns, *times_s)) for columns in scenarios["two"]]
        for times_s in ((4, 8), (26, 30))
    )
    assert sum(early) == pytest.approx(GOODPUT_MBPS * 0.4, rel=0.03)
    assert sum(late) == pytest.approx(GOODPUT_MBPS * 0.4, rel=0.03)
    # Slowly, because each probes every few seconds, with at most 2 BDP in flight.
    assert max(late) / min(late) < max(early) / min(early) / 2


@pytest.mark.slow
def test_follows_the_rate_of_the_path(scenarios: dict[str, Any]) -> None:
    columns = scenarios["slower_and_faster"]
    # The maximum over two cycles of 2 to 3 s has to expire, and ProbeRTT restarts a cycle.
    slow, fast = within(columns, 15, 17), within(columns, 19)
    for part, factor in ((slow, 0.4), (fast, 1)):
        assert goodput_mbps(part) == pytest.approx(GOODPUT_MBPS * factor, rel=0.06)
        assert median(part["bw_lo"]) * 8e-6 == pytest.approx(GOODPUT_MBPS * factor, rel=0.06)
        assert queue_ms(part) < 15


def test_application_limited_rate_does_not_lower_the_estimate(scenarios: dict[str, Any]) -> None:
    columns = scenarios["little_and_nothing_to_send"]
    limited, unlimited = within(columns, 4, 8), within(columns, 10.2)
    assert goodput_mbps(limited) == pytest.approx(4, rel=0.05)
    assert min(within(columns, 4)["bw_lo"]) * 8e-6 == pytest.approx(GOODPUT_MBPS, rel=0.05)
    # After idling, it is as fast as before at once.
    assert goodput_mbps(unlimited) == pytest.approx(GOODPUT_MBPS, rel=0.05)
    assert unlimited["retrans"][-1] == 0


def test_spurious_timeout_lowers_no_bound(scenarios: dict[str, Any]) -> None:
    assert scenarios["spurious"]["undone"] >= 1
    columns = scenarios["spurious"]["columns"]
    before = within(columns, 2, 3)
    stalled, after = within(columns, 3.2, 3.5), within(columns, 3.6)
    assert min(stalled["cwnd"]) == 1
    assert min(after["cwnd"]) >= median(before["cwnd"])
    assert min(after["bw_lo"]) >= 0.95 * median(before["bw_lo"])


def test_bbrp_bursts_for_a_round_trip_and_drains(scenarios: dict[str, Any]) -> None:
    columns = within(scenarios["bulk"]["bbrp"], 1)
    # Without the first, which may be incomplete.
    bursts_and_drains = phases(columns)[1:]
    assert {gain for gain, _, _ in bursts_and_drains} == {512, 192}
    assert len(bursts_and_drains) > 40
    assert all(0.015 < length < 0.035 for gain, _, length in bursts_and_drains if gain == 512)
    # A round trip at +1 takes up to four at -1/4 to drain.
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


def test_gain_of_bbrp_can_be_set(scenarios: dict[str, Any]) -> None:
    columns = scenarios["gains"]["bbrp"]
    assert set(within(columns, 1, 2)["pacing_gain"]) == {512, 192}
    assert set(within(columns, 2.1)["pacing_gain"]) == {768, 192}


def test_bbr_keeps_its_cycle(scenarios: dict[str, Any]) -> None:
    columns = within(scenarios["bulk"]["bbr"], 1)
    gains = [gain for gain, _, _ in phases(columns)]
    first = gains.index(320)
    assert len(gains) > 60
    assert gains[first:] == ([320, 192, 256] * len(gains))[: len(gains) - first]
    assert columns["pacing_gain"].count(256) > 0.6 * len(columns["pacing_gain"])

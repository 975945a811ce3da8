# SPDX-License-Identifier: GPL-2.0-only
"""Contention: Bianchi's model, two cells, hidden stations and RTS/CTS, internal collisions."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from bianchi_model import BEST_EFFORT, solve
from edca_simulation import simulate
from radio import (
    MPDU_OCTETS,
    Cell,
    Sample,
    address,
    blocked,
    counted,
    flow,
    mbps,
    run,
    saturated_uplink,
)
from wifi_timing import ACK, legacy, ppdu_us

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters

LEGACY = Parameters().replace({"standard": "802.11a", "preset": "wifi-11a", "width": "20MHz"})
HT = Parameters().replace(
    {"standard": "802.11n", "width": "40MHz", "guard_interval": "400ns", "mcs": 5, "streams": 2}
)

Measured = Callable[..., Sample]


@pytest.fixture
def measured(lab_kernel: Kernel, tools: GuestTools, tmp_path: Path) -> Measured:
    """A function that lets flows run for a second, then returns counters over `seconds`."""

    def measure_flows(
        cells: Sequence[Cell],
        flows: Sequence[tuple[str, str]],
        seconds: float,
        before: str = "",
        buffer: int = 400_000,
    ) -> Sample:
        parts = [before]
        parts += [flow(cells, *pair, seconds + 3, 0, buffer) for pair in flows]
        parts.append(f"sleep 1\nsample before\nsleep {seconds:g}\nsample after\n")
        run(lab_kernel, tools, tmp_path, cells, "".join(parts))
        return counted(tmp_path)

    return measure_flows


@pytest.mark.parametrize(
    ("cw_min", "n", "seconds", "seeds"),
    [
        # W = 128, m = 3, as in Fig. 6 of Bianchi's paper.
        *((127, 1, 5, [1]), (127, 10, 30, [1])),
        pytest.param(127, 2, 250, [1, 2, 3, 4], marks=pytest.mark.slow),
        pytest.param(127, 5, 50, [1, 2, 3, 4, 5, 6], marks=pytest.mark.slow),
        pytest.param(127, 20, 20, [1], marks=pytest.mark.slow),
        pytest.param(127, 50, 15, [1], marks=pytest.mark.slow),
        # Best effort. Two stations are not independent: see docs/explanation/airsim.md.
        (15, 2, 60, [1]),
        pytest.param(15, 20, 15, [1], marks=pytest.mark.slow),
    ],
)
def test_saturated_stations_match_bianchis_model(
    lab_kernel: Kernel,
    tools: GuestTools,
    tmp_path: Path,
    cw_min: int,
    n: int,
    seconds: int,
    seeds: list[int],
) -> None:
    throughput, p = saturated_uplink(lab_kernel, tools, tmp_path, n, seconds, cw_min, seeds)
    times_us = ppdu_us(legacy(54_000), MPDU_OCTETS), ppdu_us(legacy(24_000), ACK)
    edca = replace(BEST_EFFORT, cw_min=cw_min)
    model, simulated = solve(n, *times_us, edca=edca), simulate(n, *times_us, edca=edca)
    print(
        f"n={n}: {throughput:.3f} Mbit/s, model {model.throughput_mbps:.3f}, simulation "
        f"{simulated.throughput_mbps:.3f}; p {p:.4f}, model {model.collision_probability:.4f}, "
        f"simulation {simulated.collision_probability:.4f}"
    )
    assert throughput == pytest.approx(model.throughput_mbps, rel=0.03)
    expected = simulated if (cw_min, n) == (15, 2) else model
    assert p == pytest.approx(expected.collision_probability, rel=0.03, abs=1e-6)


def test_two_access_points_share_a_channel(measured: Measured) -> None:
    cells = [Cell("ap0", ["sta0"], HT), Cell("ap1", ["sta1"], HT)]
    alone = mbps(measured(cells, [("ap0", "sta0")], 5), "sta0")
    sample = measured(cells, [("ap0", "sta0"), ("ap1", "sta1")], 5)
    first, second = mbps(sample, "sta0"), mbps(sample, "sta1")
    print(f"alone {alone:.1f}, together {first:.1f} and {second:.1f} Mbit/s")
    assert 0.45 < first / (first + second) < 0.55
    # Less than alone, because each collision costs a whole PPDU.
    assert 0.75 < (first + second) / alone < 1


def test_access_points_on_two_channels_do_not_share_airtime(measured: Measured) -> None:
    far = HT.replace({"channel": 149})
    cells = [Cell("ap0", ["sta0"], HT), Cell("ap1", ["sta1"], far)]
    alone = mbps(measured(cells, [("ap0", "sta0")], 3), "sta0")
    sample = measured(cells, [("ap0", "sta0"), ("ap1", "sta1")], 3)
    assert mbps(sample, "sta0") == pytest.approx(alone, rel=0.01)
    assert mbps(sample, "sta1") == pytest.approx(alone, rel=0.01)


def test_rts_restores_the_goodput_of_hidden_stations(measured: Measured) -> None:
    """At 6 Mbit/s, frames are too long to fit between those of the other station."""
    slow = LEGACY.replace({"legacy_rate": "6Mbit"})
    cells = [Cell("ap", ["left", "right"], slow)]
    flows = [("left", "ap"), ("right", "ap")]
    hide = blocked(1, 2)
    rts = "".join(
        f"must node {name} iw phy phy{index} set rts 500\n"
        for index, name in enumerate(("left", "right"), start=1)
    )
    seen = mbps(measured(cells, flows, 10), "ap")
    hidden = measured(cells, flows, 10, hide)
    protected = measured(cells, flows, 10, hide + rts)
    print(f"seen {seen:.1f}, hidden {mbps(hidden, 'ap'):.1f}, RTS {mbps(protected, 'ap'):.1f}")
    assert mbps(hidden, "ap") < 0.5 * mbps(protected, "ap")
    assert mbps(protected, "ap") > 0.75 * seen
    assert hidden.nodes["left"]["rts_sent"] == 0 < protected.nodes["left"]["rts_sent"]


# Best effort and voice have the same windows, so that they often gain access at the same time.
EQUAL = "".join(
    f"wmm_ac_{ac}_{name}\n"
    for ac in ("be", "vo")
    for name in ("aifs=2", "cwmin=1", "cwmax=1", "txop_limit=0")
)
VOICE_TOS = 0xC0


def test_only_a_function_with_frames_collides_internally(measured: Measured) -> None:
    """A voice packet arrives while best effort sends its only one, then both have a backoff."""
    cells = [Cell("ap", ["sta"], HT.replace({"mcs": 0, "streams": 1}), hostapd=EQUAL)]
    echo = f"node sta ping -nq -c 1 -W 0.02 -s 1400 {address(0, 0)} >/dev/null"
    pairs = (
        "must node ap sysctl -qw net.ipv4.icmp_echo_ignore_all=1\n"
        f"for n in $(seq 60); do\n{echo} &\nsleep 0.0003\n{echo} -Q {VOICE_TOS} &\n"
        "sleep 0.05\ndone &\n"
    )
    single = measured(cells, [], 2, pairs)
    voice = flow(cells, "sta", "ap", 5, VOICE_TOS)
    saturated = measured(cells, [("sta", "ap")], 3, voice)
    counts = [
        (sample.nodes["sta"]["ppdus"], sample.nodes["sta"]["internal_collisions"])
        for sample in (single, saturated)
    ]
    print(counts)
    assert counts[0][0] > 30 and counts[0][1] == 0
    assert counts[1][1] > 0.1 * counts[1][0]

# SPDX-License-Identifier: GPL-2.0-only
"""Fading on the air: how often frames are lost, and that both directions fade together."""

import math
from pathlib import Path

import pytest
from radio import LEGACY, MPDU_OCTETS, Cell, counted, flow, run
from wifi_timing import legacy, ppdu_us

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel

# With a constant contention window, losses do not change how often a frame is sent.
WINDOW = "wmm_ac_be_cwmin=4\nwmm_ac_be_cwmax=4"
CELLS = [Cell("ap", ["sta"], LEGACY.replace({"legacy_rate": "12Mbit"}), hostapd=WINDOW)]
DOPPLER_HZ = 20
SECONDS = 120


def unanswered(
    kernel: Kernel, tools: GuestTools, directory: Path, keys: str, seeds: int
) -> list[float]:
    """By seed: share of frames without an ACK.

    Each frame is sent once, with a mean signal that is 10 dB above the CCA threshold.
    """
    script = (
        "must node sta iw phy phy1 set retry short 1\n"
        "must airsim radio set 0 errors snr\n"
        "must airsim radio set 1 errors snr\n"
        "must airsim link set 0 1 loss_mdb 90000\n"
        "must airsim link set 1 0 loss_mdb 90000\n"
        f"{flow(CELLS, 'sta', 'ap', SECONDS + 2)}"
        f"must airsim air set cca_threshold_mdbm -80000 doppler_millihz {DOPPLER_HZ}000 {keys}\n"
        f"sleep 1\nsample before\nsleep {SECONDS}\nsample after\n"
    )
    shares = []
    for seed in range(1, seeds + 1):
        where = run(kernel, tools, directory / str(seed), CELLS, script, seed=seed)
        counters = counted(where).nodes["sta"]
        dropped = counters["dropped_retries"]
        shares.append(dropped / (dropped + counters["acked"]))
    return shares


def test_rayleigh_fading_loses_frames_below_the_threshold(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """The signal is below a tenth of its mean in 9.5% of the time.

    In both directions at once: if these faded independently, 18% would be unanswered. Fades that
    begin between a frame and its ACK are expected at the rate of level crossings (Jakes, "Microwave
    Mobile Communications", 1.3).
    """
    shares = unanswered(lab_kernel, tools, tmp_path, "", seeds=4)
    power = 0.1
    below = 1 - math.exp(-power)
    fades_per_s = math.sqrt(2 * math.pi * power) * DOPPLER_HZ * math.exp(-power)
    expected = below + fades_per_s * ppdu_us(legacy(12_000), MPDU_OCTETS) * 1e-6
    mean = sum(shares) / len(shares)
    print(f"unanswered: {', '.join(f'{each:.4f}' for each in shares)}; expected: {expected:.4f}")
    assert mean == pytest.approx(expected, rel=0.06)
    assert len(set(shares)) == len(shares)


def test_a_line_of_sight_leaves_few_deep_fades(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """With K = 10 dB the power is below a tenth of its mean in 0.07% of the time (Marcum's Q)."""
    [share] = unanswered(lab_kernel, tools, tmp_path, "rician_k_milli 10000", seeds=1)
    print(f"unanswered: {share:.5f}")
    assert 0.0003 < share < 0.002

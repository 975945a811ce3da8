# SPDX-License-Identifier: GPL-2.0-only
"""Gains of BBR and its variants, BBR without an allowance for aggregation, congestion controls."""

from pathlib import Path
from statistics import median
from typing import get_args

import pytest
from guests import Measure

from airtcp.backends.guesttools import GuestTools
from airtcp.backends.uml import boot
from airtcp.files.tcpwatch import read_flows
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.testbed.default import testbed

GAINS = {
    **{"bbr_startup_gain": (1, 739, 1023), "bbr_drain_gain": (1, 88, 1023)},
    **{"bbr_probe_up_gain": (1, 320, 1023), "bbr_probe_down_gain": (1, 192, 1023)},
    **{"bbr_cwnd_gain": (1, 512, 1023), "bbr_extra_acked_gain": (0, 256, 1023)},
    **{"bbrp_gain": (256, 512, 1023)},
    **{"bbr_pacing_percent": (1, 100, 1000), "bbr2_pacing_percent": (1, 100, 1000)},
}


@pytest.fixture(scope="module")
def outputs(
    lab_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    """Available congestion controls; gains after writes to each; gains in another namespace."""
    directory = tmp_path_factory.mktemp("bbr")
    lines = ["cat /proc/sys/net/ipv4/tcp_available_congestion_control >available"]
    for name, (low, _, high) in GAINS.items():
        path = f"/proc/sys/net/ipv4/tcp_{name}"
        lines.append(f"echo {name} $(cat {path}) >>gains")
        lines += [
            f"(echo {value} >{path}) 2>/dev/null; echo {name} $(cat {path}) >>gains"
            for value in (low - 1, high + 1, low, high)
        ]
    names = " ".join(f"net.ipv4.tcp_{name}" for name in GAINS)
    lines.append(f"ip netns add other && ip netns exec other sysctl -n {names} >other")
    (directory / "plan.sh").write_text("mkdir -p /run/netns\n" + "\n".join(lines) + "\n")
    result = boot(lab_kernel, tools, directory, seed=1, timeout_wall_s=60)
    assert result.status == "ok", result.reason
    return [(directory / name).read_text() for name in ("available", "gains", "other")]


def test_every_congestion_control_of_the_parameters_is_available(outputs: list[str]) -> None:
    names = get_args(Parameters.model_fields["congestion_control"].annotation)
    assert {*names, "bbrp", "bbr2"} <= set(outputs[0].split())


def test_gains_have_ranges_and_are_per_namespace(outputs: list[str]) -> None:
    assert outputs[1].splitlines() == [
        f"{name} {value}"
        for name, (low, default, high) in GAINS.items()
        for value in (default, default, default, low, high)
    ]
    assert outputs[2].splitlines() == [str(default) for _, default, _ in GAINS.values()]


@pytest.mark.parametrize("name", ["bbr", "bbr_plain"])
def test_pacing_factor_applies_to_bbr(measure: Measure, tmp_path: Path, name: str) -> None:
    ratios = []
    for factor in (1, 2):
        measure(
            *("rate=20Mbit", "delay=10ms", "duration=4s", f"congestion_control={name}"),
            f"pacing_factor={factor}",
        )
        [run_dir] = tmp_path.glob(f"runs/*pacing_factor-{factor}*/seed-1")
        [trace] = read_flows(run_dir, testbed(Parameters()).flows).sent
        rates_bps = trace.columns["pacing_rate_bps"]
        # Startup takes at most a second.
        ratios.append(median(rates_bps[len(rates_bps) // 2 :]) / 20e6)
    # It estimates the rate of the wire, 20 Mbit/s, without headers, and paces 1% below that.
    assert ratios[0] == pytest.approx(0.95, abs=0.05)
    assert ratios[1] / ratios[0] == pytest.approx(2, rel=0.05)


def test_window_is_smaller_without_allowance_for_aggregation(measure: Measure) -> None:
    upload = ("direction=upload", "preset=ar5bhb116", "formed_ppdus=preset")
    plain, mainline = (
        measure(*upload, f"congestion_control={name}").values for name in ("bbr_plain", "bbr")
    )
    assert plain["cwnd_segments_mean"] * 1.2 < mainline["cwnd_segments_mean"]

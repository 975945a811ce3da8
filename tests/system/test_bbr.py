# SPDX-License-Identifier: GPL-2.0-only
"""The gains of BBR and its kin, BBR without its room for aggregation, all congestion controls."""

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
def said(
    lab_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    directory = tmp_path_factory.mktemp("bbr")
    lines = ["cat /proc/sys/net/ipv4/tcp_available_congestion_control >there"]
    for name, (least, _, most) in GAINS.items():
        path = f"/proc/sys/net/ipv4/tcp_{name}"
        lines.append(f"echo {name} $(cat {path}) >>said")
        lines += [
            f"(echo {value} >{path}) 2>/dev/null; echo {name} $(cat {path}) >>said"
            for value in (least - 1, most + 1, least, most)
        ]
    names = " ".join(f"net.ipv4.tcp_{name}" for name in GAINS)
    lines.append(f"ip netns add other && ip netns exec other sysctl -n {names} >other")
    (directory / "plan.sh").write_text("mkdir -p /run/netns\n" + "\n".join(lines) + "\n")
    result = boot(lab_kernel, tools, directory, seed=1, timeout_wall_s=60)
    assert result.status == "ok", result.reason
    return [(directory / name).read_text() for name in ("there", "said", "other")]


def test_every_congestion_control_of_the_parameters_is_there(said: list[str]) -> None:
    names = get_args(Parameters.model_fields["congestion_control"].annotation)
    assert {*names, "bbrp", "bbr2"} <= set(said[0].split())


def test_gains_have_ranges_and_belong_to_a_namespace(said: list[str]) -> None:
    assert said[1].splitlines() == [
        f"{name} {value}"
        for name, (least, usual, most) in GAINS.items()
        for value in (usual, usual, usual, least, most)
    ]
    assert said[2].splitlines() == [str(usual) for _, usual, _ in GAINS.values()]


@pytest.mark.parametrize("name", ["bbr", "bbr_plain"])
def test_the_factor_of_pacing_holds_for_bbr(measure: Measure, tmp_path: Path, name: str) -> None:
    ratios = []
    for factor in (1, 2):
        measure(
            *("rate=20Mbit", "delay=10ms", "duration=4s", f"congestion_control={name}"),
            f"pacing_factor={factor}",
        )
        [run_dir] = tmp_path.glob(f"runs/*pacing_factor-{factor}*/seed-1")
        [trace] = read_flows(run_dir, testbed(Parameters()).flows).sent
        rates_bps = trace.columns["pacing_rate_bps"]
        # Start-up is over after a second or less.
        ratios.append(median(rates_bps[len(rates_bps) // 2 :]) / 20e6)
    # It estimates what the wire carries, 20 Mbit/s, less headers; paces 1% below that.
    assert ratios[0] == pytest.approx(0.95, abs=0.05)
    assert ratios[1] / ratios[0] == pytest.approx(2, rel=0.05)


def test_without_room_for_aggregation_the_window_is_smaller(measure: Measure) -> None:
    upload = ("direction=upload", "preset=ar5bhb116", "formed_ppdus=preset")
    plain, mainline = (
        measure(*upload, f"congestion_control={name}").values for name in ("bbr_plain", "bbr")
    )
    assert plain["cwnd_segments_mean"] * 1.2 < mainline["cwnd_segments_mean"]

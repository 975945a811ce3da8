# SPDX-License-Identifier: GPL-2.0-only
"""Packets that cross a cable leave their socket, so that no radio behind it changes the sender.

mac80211 raises the limit of TCP small queues of each socket whose packets it sees, and TCP builds
larger bursts. IP forwarding also takes packets from their socket.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.experiment import Case
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one

# BBR without an allowance for aggregation: only bursts make its window larger.
LAN: dict[str, Plain] = {
    **{"duration": "5s", "congestion_control": "bbr_plain", "sack": "off", "nagle": "off"},
    **{"gro": "off", "gso": "off", "tso": "off", "tcp_sample": "1ms"},
    **{"preset": "tl-wdr4300", "standard": "802.11n", "width": "40MHz", "streams": 2, "mcs": 5},
    **{"guard_interval": "400ns", "ampdu_mpdus": 64, "formed_ppdus": 0},
}
TOPOLOGY = """\
name: custom
title: The same network, as a topology
source: Nobody
description: None
topology:
  servers:
    server: {}
  access_points:
    ap: {}
  stations:
    station: {access_point: ap}
flows:
  - {from: server, to: station}
design:
  - {}
"""

Metrics = Mapping[str, float]


@pytest.fixture(scope="module")
def metrics(
    lab_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory
) -> "dict[str, Metrics]":
    """Metrics by the path from the server to the access point."""
    out_dir = tmp_path_factory.mktemp("wire")
    path = out_dir / "custom.yaml"
    path.write_text(TOPOLOGY + yaml.safe_dump({"parameters": LAN}))
    cases = {
        name: Case({"router": router}, Parameters().replace({**LAN, "router": router}))
        for name, router in (("bridged", "none"), ("routed", "custom"))
    }
    [cases["custom topology"]] = load(path).cases()
    return {name: _measured(lab_kernel, tools, case, out_dir) for name, case in cases.items()}


def _measured(kernel: Kernel, tools: GuestTools, case: Case, out_dir: Path) -> Metrics:
    result = run_one(RunRequest.of(kernel, tools, case, 1), out_dir)
    assert result.error is None
    return result.values


@pytest.mark.parametrize("network", ["bridged", "custom topology"])
def test_server_sends_as_if_behind_a_router(metrics: dict[str, Metrics], network: str) -> None:
    routed, here = metrics["routed"], metrics[network]
    for name, tolerance in (("goodput_mbps", 0.02), ("cwnd_segments_mean", 0.1)):
        print(f"{name}: {network} {here[name]:.1f}, routed {routed[name]:.1f}")
        assert here[name] == pytest.approx(routed[name], rel=tolerance), name

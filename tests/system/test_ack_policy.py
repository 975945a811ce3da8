# SPDX-License-Identifier: GPL-2.0-only
"""The policies inside the real stack: `default` is Linux to the packet, `aad` is not."""

import re
from pathlib import Path

import pytest
from guests import Measure, Say, thesis_case

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel import image
from airtcp.kernel.image import Kernel
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one

CAPTURES = ("server.pcapng", "station.pcapng", "air.pcapng")


@pytest.mark.parametrize("settings", [(), ("delay=10ms", "sack=on", "gro=on", "error_rate=0.02")])
def test_default_is_linux_to_the_packet(
    lab_kernel: Kernel,
    tools: GuestTools,
    say: Say,
    tmp_path: Path,
    settings: tuple[str, ...],
) -> None:
    plain = image.build(patches="lab", say=say)
    assert plain.hash != lab_kernel.hash
    case = thesis_case("capture=server,station,air", "capture_duration=unlimited", *settings)
    ours = run_one(RunRequest.of(lab_kernel, tools, case, 1), tmp_path / "ours")
    theirs = run_one(RunRequest.of(plain, tools, case, 1), tmp_path / "theirs")
    assert ours.error is None
    assert theirs.error is None
    for name in CAPTURES:
        assert ours.artifacts[name].sha256 == theirs.artifacts[name].sha256
    assert ours.metrics == theirs.metrics


def test_aad_acknowledges_once_an_aggregate(measure: Measure) -> None:
    """No ACK inside an aggregate: one ACK a few aggregates instead of one a second segment.

    With SACK: without it a third of seeds has 0.12 to 0.31 ACKs a segment in so short a run.
    """
    default = measure("sack=on").values
    aad = measure("ack_policy=aad", "sack=on").values
    assert aad["acks_per_segment"] < 0.2 < 0.48 < default["acks_per_segment"]
    assert aad["airtime_ack_share"] < default["airtime_ack_share"] / 2


def test_what_a_policy_decides_can_be_kept(measure: Measure, tmp_path: Path) -> None:
    measure("ack_policy=aad", "ack_trace=on")
    [trace] = tmp_path.rglob("ack-trace.txt")
    text = trace.read_text()
    assert len(re.findall("tcp_ackpol_decision: .*reason=delayed iat_us=", text)) > 1000
    assert len(re.findall("tcp_ackpol_decision: .*reason=timer ", text)) > 100
    waited = [int(us) for us in re.findall(r"tcp_ackpol_ack: .*waited_us=(\d+)", text)]
    assert max(waited) > 1000

# SPDX-License-Identifier: GPL-2.0-only
"""Policies in whole runs: `default` sends the same packets as plain Linux, `aad` fewer ACKs."""

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


@pytest.mark.slow  # builds plain Linux
@pytest.mark.parametrize("settings", [(), ("delay=10ms", "sack=on", "gro=on", "error_rate=0.02")])
def test_default_is_linux_to_the_packet(
    lab_kernel: Kernel,
    tools: GuestTools,
    say: Say,
    tmp_path: Path,
    settings: tuple[str, ...],
) -> None:
    plain = image.build(plain=True, say=say)
    assert plain.hash != lab_kernel.hash
    case = thesis_case("capture=server,station,air", "capture_duration=unlimited", *settings)
    patched_run = run_one(RunRequest.of(lab_kernel, tools, case, 1), tmp_path / "patched")
    plain_run = run_one(RunRequest.of(plain, tools, case, 1), tmp_path / "plain")
    assert patched_run.error is None
    assert plain_run.error is None
    for name in CAPTURES:
        assert patched_run.artifacts[name].sha256 == plain_run.artifacts[name].sha256
    assert patched_run.metrics == plain_run.metrics


def test_aad_sends_no_ack_within_an_aggregate(measure: Measure) -> None:
    """It sends an ACK every few aggregates instead of every few segments.

    The radio interrupts for several frames at once, and the reader is woken once for them.
    """
    default = measure("sack=on").values
    aad = measure("ack_policy=aad", "sack=on").values
    assert aad["acks_per_segment"] < 0.1 < 0.25 < default["acks_per_segment"]
    assert aad["airtime_ack_share"] < default["airtime_ack_share"] / 2


def test_decisions_of_a_policy_can_be_traced(measure: Measure, tmp_path: Path) -> None:
    measure("ack_policy=aad", "ack_trace=on")
    [trace] = tmp_path.rglob("ack-trace.txt")
    text = trace.read_text()
    assert len(re.findall("tcp_ackpol_decision: .*reason=delayed iat_us=", text)) > 1000
    assert len(re.findall("tcp_ackpol_decision: .*reason=timer ", text)) > 100
    waited = [int(us) for us in re.findall(r"tcp_ackpol_ack: .*waited_us=(\d+)", text)]
    assert max(waited) > 1000

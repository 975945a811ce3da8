# SPDX-License-Identifier: GPL-2.0-only
"""A user's policy, built into the laboratory's kernel, is used; build errors are reported."""

import re
import shutil
from pathlib import Path

import pytest
from guests import Say, thesis_case

from airtcp.backends.guesttools import GuestTools
from airtcp.errors import AirtcpError
from airtcp.kernel import own_policy
from airtcp.kernel.image import Kernel
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one

SAMPLES = Path(__file__).parents[2] / "samples"
SAMPLE = SAMPLES / "ackpol"


def test_users_policy_decides_when_acks_are_sent(
    lab_kernel: Kernel, tools: GuestTools, say: Say, tmp_path: Path
) -> None:
    """The sample delays an ACK by 5 ms from the first segment that it acknowledges."""
    policy = own_policy.read(SAMPLE)
    built = own_policy.build(policy, None, say=say)
    assert built.hash != lab_kernel.hash

    case = thesis_case("ack_policy=fixed", "ack_trace=on", "duration=1s", own_policies=policy.names)
    result = run_one(RunRequest.of(built, tools, case, 1), tmp_path)
    assert result.error is None
    [trace] = tmp_path.rglob("ack-trace.txt")
    delays_us = re.findall(r"reason=delayed .* ato_us=(\d+) segs=1 ", trace.read_text())
    assert len(delays_us) > 100
    assert set(delays_us) == {"5000"}


def test_readings_of_aad_differ_in_when_they_acknowledge(
    lab_kernel: Kernel, tools: GuestTools, say: Say, tmp_path: Path
) -> None:
    """Only aad-ns3 has no rule of two segments, neither on arrival nor on reading."""
    policy = own_policy.read(SAMPLES / "aad-readings")
    built = own_policy.build(policy, None, say=say)
    rates = {}
    for name in policy.names:
        case = thesis_case(f"ack_policy={name}", "sack=on", own_policies=policy.names)
        result = run_one(RunRequest.of(built, tools, case, 1), tmp_path)
        assert result.error is None
        rates[name] = result.values["acks_per_segment"]
    assert rates.pop("aad-ns3") < 0.1
    assert set(rates) == {"aad-at-read", "aad-no-quick", "aad-uptime"}
    assert min(rates.values()) > 0.2


def test_first_error_of_the_compiler_is_reported(
    lab_kernel: Kernel, say: Say, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(SAMPLE, broken)
    module = broken / "tcp_ackpol_fixed.c"
    module.write_text(module.read_text().replace("READ_ONCE(delay_us)", "READ_ONCE(delay_u)"))
    line = (
        module.read_text().splitlines().index("\tu64 due_us = ap->first_us + READ_ONCE(delay_u);")
    )
    with pytest.raises(AirtcpError) as error:
        own_policy.build(own_policy.read(broken), None, say=say)
    assert f"{module}:{line + 1}:" in str(error.value)
    assert "delay_u" in str(error.value)
    assert "\n" not in str(error.value)


def test_makefile_without_a_module_is_reported(
    lab_kernel: Kernel, say: Say, tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    shutil.copytree(SAMPLE, empty)
    (empty / "Makefile").write_text("# nothing\n")
    with pytest.raises(AirtcpError, match="obj-m of the Makefile names no module"):
        own_policy.build(own_policy.read(empty), None, say=say)

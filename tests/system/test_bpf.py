# SPDX-License-Identifier: GPL-2.0-only
"""BPF programs choose ACK policies, and MPTCP has none: one guest for x86-64 that checks itself.

The guest's clock counts its instructions, so that times do not hang on the host. AIRTCP_TEST_BPF
builds the kernel (`make bpf-check`), which takes ten minutes the first time.
"""

import json
import os
import shutil
from typing import Any

import pytest
from guests import GUEST, Say, splats

from airtcp.backends import qemu
from airtcp.backends.guesttools import GuestTools
from airtcp.kernel import image

pytestmark = pytest.mark.skipif(
    not os.environ.get("AIRTCP_TEST_BPF"), reason="takes minutes: make bpf-check"
)

# A jiffy is 1 ms. The timer's wheel may add one, and a test that polls as much.
NEXT_JIFFY_MS = 4
# What both policies have an ACK for one segment wait for.
DELAY_MS = 100
ENOENT = -2


@pytest.fixture(scope="module")
def told(say: Say, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What bpf_policies.py prints. A warning, an oops or a stack that is used up is a panic."""
    fragments = (*image.FRAGMENTS_OF_X86, "x86-bpf")
    built = image.build(fragments=fragments, arch="x86_64", say=say)
    directory = tmp_path_factory.mktemp("bpf")
    shutil.copy(GUEST / "bpf_policies.py", directory)
    (directory / "plan.sh").write_text(
        "ip link set lo up\n"
        "python3 -B bpf_policies.py >said.json || exit 1\n"
        "grep debug_locks /proc/lockdep_stats >lockdep\n"
    )
    result = qemu.boot(built, tools, directory, cpus=2, instructions=True, timeout_wall_s=1200)
    console = result.console.read_text(errors="replace")
    assert splats(result.console) == [], console[-3000:]
    assert result.status == "ok", (result.reason, console[-3000:])
    # After its first report lockdep is off.
    assert (directory / "lockdep").read_text().split() == ["debug_locks:", "1"]
    said: dict[str, Any] = json.loads((directory / "said.json").read_text())
    return said


def test_program_chooses_when_a_connection_is_established(told: dict[str, Any]) -> None:
    choice = told["choice"]
    # A program needs no leave, as with CAP_NET_ADMIN.
    assert choice["allowed"] == ["default"]
    assert choice["aad"]["ends"] == ["aad", "aad"]
    assert (choice["aad"]["set"], choice["aad"]["other"]) == (2, 0)
    assert choice["aad"]["got"] == "aad"
    # It was the first choice of all, which has to enable the hooks of TCP from a softirq.
    assert choice["aad"]["counted"] > 0
    assert choice["detached"] == ["default", "default"]


@pytest.mark.parametrize("name", ["nonesuch", "limit"])
def test_program_cannot_load_a_policy(told: dict[str, Any], name: str) -> None:
    said = told["choice"][name]
    assert (said["set"], said["other"], said["returned"]) == (0, 2, ENOENT)
    assert said["ends"] == ["default", "default"]
    assert said["got"] == "default"
    assert name not in told["choice"]["available"]


def test_program_that_alternates_is_not_called_again(
    told: dict[str, Any],
) -> None:
    said = told["alternating"]
    assert said["bytes"] == 400 * 2000
    assert said["deepest"] == 1
    assert said["depth"] == 0
    assert said["set"] == said["calls"] > 50
    assert said["last"] in ("aad", "count")


def test_waiting_ack_leaves_when_the_policy_changes(
    told: dict[str, Any],
) -> None:
    alone, changed = told["waiting ack"]["left alone"], told["waiting ack"]["policy changed"]
    assert alone["waits"] == changed["waits"] == 1
    assert DELAY_MS / 2 < alone["ms"] <= DELAY_MS + NEXT_JIFFY_MS
    assert changed["changes"] > 0
    assert changed["ms"] <= NEXT_JIFFY_MS
    # It was an ACK of its own.
    assert not changed["data"]
    assert changed["deepest"] == 1


@pytest.mark.parametrize("name", ["divack", "divack spread"])
def test_policy_cannot_be_changed_while_its_hook_sends(told: dict[str, Any], name: str) -> None:
    said = told[name]
    assert said["bytes"] == 400 * 2000
    assert said["busy"] > 0
    assert said["set"] > 0
    assert said["other"] == 0
    assert said["busy"] + said["set"] == said["calls"]
    assert said["deepest"] == 1


def test_mptcp_has_no_policy(told: dict[str, Any]) -> None:
    default, aad = told["mptcp default"], told["mptcp aad"]
    for said in (default, aad):
        assert said["messages"] == 1000
        assert said["is mptcp"] == [1, 1]
        assert said["counted"] == 0
    # DATA_ACKs do not wait for the policy, nor does anything else.
    assert aad["s"] < 1.2 * default["s"]
    assert aad["slowest DATA_ACK ms"] < 1.2 * default["slowest DATA_ACK ms"]
    # Plain TCP in these namespaces.
    assert default["tcp"] == ["default", "default"]
    assert default["counted with tcp"] == 0
    assert aad["tcp"] == ["aad", "aad"]
    assert aad["counted with tcp"] > 0

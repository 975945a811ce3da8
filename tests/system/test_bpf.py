# SPDX-License-Identifier: GPL-2.0-only
"""BPF programs select ACK policies, and MPTCP has none: an x86-64 guest with a debugging kernel.

The guest's clock counts its instructions, so that times do not depend on the host. AIRTCP_TEST_BPF
builds the kernel (`make bpf-check`), which takes ten minutes the first time.
"""

import os
import shutil
from typing import Any

import pytest
from guests import GUEST, Say, checked_output

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel import image

pytestmark = pytest.mark.skipif(
    not os.environ.get("AIRTCP_TEST_BPF"), reason="takes minutes: make bpf-check"
)

# A jiffy is 1 ms. The timer wheel may add one, and polling by the test another.
NEXT_JIFFY_MS = 4
# Delay of an ACK for one segment with both policies.
DELAY_MS = 100
ENOENT = -2


@pytest.fixture(scope="module")
def output(say: Say, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The output of bpf_policies.py. A warning, an oops or a stack overflow is a panic."""
    fragments = (*image.FRAGMENTS_OF_X86, "x86-bpf")
    built = image.build(fragments=fragments, arch="x86_64", say=say)
    directory = tmp_path_factory.mktemp("bpf")
    for name in ("bpf_policies.py", "bpf_sockops.py", "netns.py"):
        shutil.copy(GUEST / name, directory)
    return checked_output(
        "bpf_policies.py", built, tools, directory, instructions=True, timeout_wall_s=1200
    )


def test_program_chooses_when_a_connection_is_established(output: dict[str, Any]) -> None:
    choice = output["choice"]
    # A program may select any policy, as with CAP_NET_ADMIN.
    assert choice["allowed"] == ["default"]
    assert choice["aad"]["ends"] == ["aad", "aad"]
    assert (choice["aad"]["set"], choice["aad"]["other"]) == (2, 0)
    assert choice["aad"]["got"] == "aad"
    # It was the first policy set since boot, which enables the hooks in TCP from a softirq.
    assert choice["aad"]["counted"] > 0
    assert choice["detached"] == ["default", "default"]


@pytest.mark.parametrize("name", ["nonesuch", "limit"])
def test_program_cannot_load_a_policy(output: dict[str, Any], name: str) -> None:
    result = output["choice"][name]
    assert (result["set"], result["other"], result["returned"]) == (0, 2, ENOENT)
    assert result["ends"] == ["default", "default"]
    assert result["got"] == "default"
    assert name not in output["choice"]["available"]


def test_program_that_alternates_is_not_called_again(
    output: dict[str, Any],
) -> None:
    result = output["alternating"]
    assert result["bytes"] == 400 * 2000
    assert result["deepest"] == 1
    assert result["depth"] == 0
    assert result["set"] == result["calls"] > 50
    assert result["last"] in ("aad", "count")


def test_waiting_ack_leaves_when_the_policy_changes(
    output: dict[str, Any],
) -> None:
    alone, changed = output["waiting ack"]["left alone"], output["waiting ack"]["policy changed"]
    assert alone["waits"] == changed["waits"] == 1
    assert DELAY_MS / 2 < alone["ms"] <= DELAY_MS + NEXT_JIFFY_MS
    assert changed["changes"] > 0
    assert changed["ms"] <= NEXT_JIFFY_MS
    # It was a pure ACK.
    assert not changed["data"]
    assert changed["deepest"] == 1
    # Another segment, which the new policy would let wait, does not defer it.
    more = output["waiting ack"]["more data"]
    assert more["waits"] == 1
    assert more["changes"] > 0
    assert more["ms"] <= NEXT_JIFFY_MS


def test_program_removes_the_policy_while_tcp_sends_a_delayed_ack(output: dict[str, Any]) -> None:
    result = output["removal"]
    # In a third of the rounds, TCP sent the ACK because it was nearly due, not by a timer.
    assert result["at once"] >= result["rounds"] / 3
    # The program ran in each of them.
    assert result["left"] == ["default"] * result["rounds"]
    assert result["set"] == result["calls"] >= result["rounds"]
    assert result["other"] == 0


@pytest.mark.parametrize("name", ["divack", "divack spread"])
def test_policy_cannot_be_changed_while_its_hook_sends(output: dict[str, Any], name: str) -> None:
    result = output[name]
    assert result["bytes"] == 400 * 2000
    assert result["busy"] > 0
    assert result["set"] > 0
    assert result["other"] == 0
    assert result["busy"] + result["set"] == result["calls"]
    assert result["deepest"] == 1


def test_mptcp_has_no_policy(output: dict[str, Any]) -> None:
    default, aad = output["mptcp default"], output["mptcp aad"]
    for result in (default, aad):
        assert result["messages"] == 1000
        assert result["is mptcp"] == [1, 1]
        assert result["counted"] == 0
    # The policy delays neither DATA_ACKs nor anything else.
    assert aad["s"] < 1.2 * default["s"]
    assert aad["slowest DATA_ACK ms"] < 1.2 * default["slowest DATA_ACK ms"]
    # Plain TCP in these namespaces.
    assert default["tcp"] == ["default", "default"]
    assert default["counted with tcp"] == 0
    assert aad["tcp"] == ["aad", "aad"]
    assert aad["counted with tcp"] > 0

# SPDX-License-Identifier: GPL-2.0-only
"""No policy delays an ACK so long that a sender retransmits without losses."""

from typing import Any

import pytest
from guests import GUEST, guest_output

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel import policies
from airtcp.kernel.image import Kernel

# divack acknowledges each segment immediately, in parts.
POLICIES = [name for name in policies.names() if name != "divack"]
GAPS_MS = (20, 60, 100, 150, 190, 400)


@pytest.fixture(scope="module")
def counters(
    lab_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """The sender's counters after 300 writes of 100 bytes, by "POLICY GAP_MS TLP"."""
    script, run_dir = GUEST / "even_writes.py", tmp_path_factory.mktemp("even")
    return guest_output(script, lab_kernel, tools, run_dir, *POLICIES, "aad:unbounded")


@pytest.mark.parametrize("tlp", ["TLP", "no TLP"])
@pytest.mark.parametrize("gap_ms", GAPS_MS)
@pytest.mark.parametrize("policy", POLICIES)
def test_even_spacing_costs_no_retransmission(
    counters: dict[str, Any], policy: str, gap_ms: int, tlp: str
) -> None:
    values = counters[f"{policy} {gap_ms} {tlp}"]
    assert len(values) == 4
    assert {name: value for name, value in values.items() if value} == {}


def test_without_the_bound_the_sender_retransmits(counters: dict[str, Any]) -> None:
    assert counters["aad:unbounded 100 TLP"]["TCPLossProbes"] > 0
    assert counters["aad:unbounded 100 no TLP"]["TCPTimeouts"] > 0

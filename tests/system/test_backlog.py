# SPDX-License-Identifier: GPL-2.0-only
"""ACKs for segments that arrive while a process owns the socket, and wait in its backlog.

The kernel has the module tests/guest/hold_socket in addition.
"""

import re
from typing import Any

import pytest
from guests import Say
from test_packets import TESTS, copy_interpreter, marked, run_scripts

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel import own_policy
from airtcp.kernel.image import Kernel

SCRIPTS = TESTS / "packets" / "backlog"
POLICIES = ("default", "aad", "auto", "count", "every", "limit", "tack")


@pytest.fixture(scope="module")
def results(
    lab_kernel: Kernel, tools: GuestTools, say: Say, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """The results of the scripts, of dctcp.pkt for each policy."""
    policy = own_policy.read(TESTS / "guest" / "hold_socket")
    kernel = own_policy.build(policy, None, say=say)
    run_dir = tmp_path_factory.mktemp("backlog")
    copy_interpreter(run_dir)
    scripts = {"auto": (SCRIPTS / "auto.pkt").read_text()}
    dctcp = (SCRIPTS / "dctcp.pkt").read_text()
    scripts |= {f"dctcp {name}": dctcp.replace("=POLICY", f"={name}") for name in POLICIES}
    for name, script in scripts.items():
        (run_dir / "scripts" / name).write_text(script)
    return run_scripts(kernel, tools, run_dir)


@pytest.mark.parametrize("policy", POLICIES)
def test_dctcp_reports_marks_of_segments_in_the_backlog(
    results: dict[str, Any], policy: str
) -> None:
    assert marked(results[f"dctcp {policy}"]["sent"]) == list(range(42001, 46001, 100))


def test_auto_acknowledges_a_backlog_once(results: dict[str, Any]) -> None:
    sent = results["auto"]["sent"]
    acked = [int(number) for line in sent for number in re.findall(r" ack (\d+)", line)]
    assert acked[-2:] == [3018001, 3088001], results["auto"]["problem"]

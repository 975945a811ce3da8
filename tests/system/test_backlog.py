# SPDX-License-Identifier: GPL-2.0-only
"""ACKs for segments that arrive while a process owns the socket, and wait in its backlog.

The kernel has the module tests/guest/hold_socket in addition, whose policy faults.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from guests import Say
from test_packets import TESTS, copy_interpreter, marked, run_scripts

from airtcp.backends.guesttools import GuestTools
from airtcp.backends.uml import boot
from airtcp.kernel import own_policy
from airtcp.kernel.image import Kernel

SCRIPTS = TESTS / "packets" / "backlog"
POLICIES = ("default", "aad", "auto", "count", "every", "limit", "tack")


@pytest.fixture(scope="module")
def kernel(lab_kernel: Kernel, say: Say) -> Kernel:
    return own_policy.build(own_policy.read(TESTS / "guest" / "hold_socket"), None, say=say)


@pytest.fixture(scope="module")
def results(
    kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """The results of the scripts, of dctcp.pkt for each policy."""
    run_dir = tmp_path_factory.mktemp("backlog")
    copy_interpreter(run_dir)
    scripts = {name: (SCRIPTS / f"{name}.pkt").read_text() for name in ("auto", "count-tun")}
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


def test_segments_of_merged_packets_are_counted(results: dict[str, Any]) -> None:
    """If they were not, the bound would send the ACK 2 ms after the socket is released."""
    last = results["count-tun"]["sent"][-1]
    assert " ack 24001 " in last and float(last.split()[0]) < 25, last


def test_a_fault_of_a_policy_is_reported_with_its_function(
    kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    copy_interpreter(tmp_path)
    script = "--policy=hold\n+0 handshake\n+1ms segments(1, 40, 1000, 1000us, any)\n"
    (tmp_path / "scripts" / "fault").write_text(script)
    (tmp_path / "plan.sh").write_text("python3 -B packets.py scripts/*\n")
    result = boot(kernel, tools, tmp_path, seed=1, timeout_wall_s=300)
    assert result.status == "panic"
    assert re.search(r"Kernel panic - .* in tcp_hold_ack_delay_us\+0x", result.reason)
    assert "? tcp_ackpol_ack_now+0x" in result.console.read_text()

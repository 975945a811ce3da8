# SPDX-License-Identifier: GPL-2.0-only
"""A debugging kernel (KASAN, UBSAN, lockdep, debug objects, kmemleak) reports no problem.

It runs an experiment with losses and a capture, and changes and removes radios under load.
"""

import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from guests import GUEST, assert_silent, copy_helpers, thesis_case

from airtcp.backends.guesttools import GuestTools
from airtcp.backends.uml import boot
from airtcp.kernel import image
from airtcp.kernel.image import Kernel
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def debug_kernel(say: Callable[[str], None]) -> Kernel:
    return image.build(fragments=(*image.FRAGMENTS, "debug"), say=say)


@pytest.mark.parametrize("policy", ["default", "aad"])
def test_experiment_causes_no_report(
    debug_kernel: Kernel, tools: GuestTools, tmp_path: Path, policy: str
) -> None:
    case = thesis_case(f"ack_policy={policy}", "error_rate=0.1", "capture=air")
    result = run_one(RunRequest.of(debug_kernel, tools, case, 1), tmp_path)
    assert result.error is None
    [console] = tmp_path.rglob("console.log")
    assert_silent(console)
    assert result.values["tx_retries"] > 100


def test_radios_removed_under_load_leave_no_objects(
    debug_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    shutil.copy(GUEST / "churn.sh", tmp_path / "plan.sh")
    shutil.copy(GUEST / "churn_load.py", tmp_path)
    copy_helpers(tmp_path)
    result = boot(debug_kernel, tools, tmp_path, seed=1, memory_mb=1024, timeout_wall_s=600)
    assert_silent(result.console)
    assert result.status == "ok", result.reason
    assert_silent(tmp_path / "dmesg.txt")
    assert (tmp_path / "leaks").read_text() == ""
    # lockdep turns itself off after its first report, or when its tables are full.
    assert re.search(r"^ debug_locks: +1$", (tmp_path / "lockdep").read_text(), re.M)

    # There was load, and all of these events occurred.
    total: Counter[str] = Counter()
    for line in (tmp_path / "counters").read_text().splitlines():
        key, value = line.split(" ", 1)
        if value.isdigit():
            total[key] += int(value)
    assert total["received"] > 1000
    assert total["handed_up"] > 1000
    acted = (
        *("retries", "collided", "rts_sent", "cts_to_self_sent", "bar_sent", "dropped_retries"),
        "tb_sent",
    )
    for key in acted:
        assert total[key] > 0, key
    assert total["dropped_queue_gone"] > 0

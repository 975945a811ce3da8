# SPDX-License-Identifier: GPL-2.0-only
"""The KUnit tests of kernel/, run at boot with kunit.enable=1."""

import re
from pathlib import Path

import kunit_suites
from guests import TIME_LIMIT_S, Say

from airtcp.backends.guesttools import GuestTools
from airtcp.backends.uml import boot
from airtcp.kernel.image import Kernel


def test_kunit_suites_pass(lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, say: Say) -> None:
    (tmp_path / "plan.sh").write_text("dmesg --notime >dmesg.txt")
    result = boot(
        lab_kernel,
        tools,
        tmp_path,
        seed=1,
        timeout_wall_s=TIME_LIMIT_S,
        parameters=["kunit.enable=1"],
    )
    assert result.status == "ok", result.reason
    log = (tmp_path / "dmesg.txt").read_text()
    suites = re.findall(r"^ok \d+ (\S+)", log, re.M)
    # Linux has others.
    assert kunit_suites.suites() - {*suites} == set(), log
    assert not re.findall(r"^ *not ok .*", log, re.M), log
    say(f"KUnit: {len(re.findall(r'^ +ok ', log, re.M))} tests in {', '.join(suites)}")

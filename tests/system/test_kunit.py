# SPDX-License-Identifier: GPL-2.0-only
"""The KUnit tests of kernel/, which run at boot and write KTAP to the kernel's log."""

import re
from pathlib import Path

from guests import Say

from airtcp.backends.guesttools import GuestTools
from airtcp.backends.uml import boot
from airtcp.kernel import image


def test_kunit_suites_pass(
    fragments: tuple[str, ...], tools: GuestTools, tmp_path: Path, say: Say
) -> None:
    built = image.build(fragments=(*fragments, "kunit"), say=say)
    (tmp_path / "plan.sh").write_text("dmesg --notime >dmesg.txt")
    result = boot(built, tools, tmp_path, seed=1, timeout_wall_s=120)
    assert result.status == "ok", result.reason
    log = (tmp_path / "dmesg.txt").read_text()
    suites = re.findall(r"^ok \d+ (\S+)", log, re.M)
    assert suites, log
    assert not re.findall(r"^ *not ok .*", log, re.M), log
    say(f"KUnit: {len(re.findall(r'^ +ok ', log, re.M))} tests in {', '.join(suites)}")

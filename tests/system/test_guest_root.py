# SPDX-License-Identifier: GPL-2.0-only
"""Runs see nothing of the host; commands of the user see its files and all programs."""

import sys
from pathlib import Path

import pytest
from guests import thesis_case

from airtcp.backends import prompt
from airtcp.backends.guesttools import GuestTools
from airtcp.backends.uml import boot
from airtcp.kernel.image import Kernel


def test_runs_see_only_the_root_file_system(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    (tmp_path / "plan.sh").write_text(
        f"for f in /* /etc/*; do echo $f; done >files; [ ! -e {tools.directory} ] || exit 1\n"
        "echo x >/etc/x && exit 2\n"
        "for f in exchange airsim drain; do $f >/dev/null 2>$f; [ $? -ne 127 ] || exit 3; done\n"
        "exit 0\n"
    )
    result = boot(lab_kernel, tools, tmp_path, seed=1, timeout_wall_s=120, root=tools.root)
    assert result.status == "ok", result.reason
    names = (tmp_path / "files").read_text().split()
    assert names == [
        *("/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/root", "/run", "/sys", "/tmp"),
        *("/etc/group", "/etc/hosts", "/etc/ld.so.cache", "/etc/passwd"),
    ]


def test_commands_see_the_host_and_programs_that_it_may_lack(
    lab_kernel: Kernel, tools: GuestTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = (
        "grep -q ^ID= /etc/os-release && ! touch /usr/x 2>/dev/null && "
        "PATH=/tmp/programs iw dev wlan0 link >/dev/null && [ $(pwd) = /tmp ]"
    )
    with Path("/dev/null").open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        argv = ["sh", "-c", script]
        case = thesis_case()
        plan = prompt.command_plan(case, "station", argv)
        assert prompt.execute(lab_kernel, tools, case, plan) == 0
    assert not Path("/usr/x").exists()

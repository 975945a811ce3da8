# SPDX-License-Identifier: GPL-2.0-only
"""`policy load`, `list` and `unload` on a kernel with ACK policies in BPF (`make bpf-check`)."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from guests import GUEST, Say, splats
from test_bpf_policies import FRAGMENTS

from airtcp.backends import qemu
from airtcp.backends.guesttools import GuestTools
from airtcp.kernel import image
from airtcp.paths import REPOSITORY

pytestmark = pytest.mark.skipif(
    not os.environ.get("AIRTCP_TEST_BPF"), reason="takes minutes: make bpf-check"
)


def test_policies_are_loaded_for_a_cgroup_and_a_namespace(
    tools: GuestTools, tmp_path: Path, say: Say
) -> None:
    kernel = image.build(fragments=FRAGMENTS, arch="x86_64", say=say)
    for name in ("bpf_command.py", "bpf_policies.py"):
        shutil.copy(GUEST / name, tmp_path)
    (tmp_path / "plan.sh").write_text(
        "ip link set lo up\n"
        f"python3 -B bpf_command.py {sys.executable} {REPOSITORY / 'lab'} >output.json\n"
    )
    result = qemu.boot(kernel, tools, tmp_path, cpus=2, timeout_wall_s=1200)
    assert splats(result.console) == []
    assert result.status == "ok", (result.reason, result.console.read_text()[-3000:])
    assert json.loads((tmp_path / "output.json").read_text()) == {
        "nothing to unload": [1, "airtcp: bpf_auto is not loaded\n"],
        "load for a cgroup": [0, "bpf_auto\n"],
        "in the cgroup": ["bpf_auto", "bpf_auto"],
        "outside": ["default", "default"],
        "load again": [1, "airtcp: bpf_auto is already loaded\n"],
        "load for the namespace": [0, "bpf_count\n"],
        "list": [0, "bpf_auto\nbpf_count (of this network namespace)\n"],
        "in the namespace": ["bpf_count", "bpf_count"],
        "unload for the cgroup": [0, ""],
        "in the cgroup after": ["bpf_count", "bpf_count"],
        "unload": [[0, ""], [0, ""]],
        "namespace after": "default",
        "left": [],
    }

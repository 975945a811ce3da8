# SPDX-License-Identifier: GPL-2.0-only
"""`policy load`, `list` and `unload` on a kernel with ACK policies in BPF (`make bpf-check`)."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from guests import GUEST, Say, checked_output
from test_bpf_policies import FRAGMENTS

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel import image
from airtcp.paths import REPOSITORY, RUN_DIR_IN_GUEST

pytestmark = pytest.mark.skipif(
    not os.environ.get("AIRTCP_TEST_BPF"), reason="takes minutes: make bpf-check"
)


def test_policies_are_loaded_for_a_cgroup_and_a_namespace(
    tools: GuestTools, tmp_path: Path, say: Say
) -> None:
    kernel = image.build(fragments=FRAGMENTS, arch="x86_64", say=say)
    for name in ("bpf_command.py", "bpf_policies.py", "bpf_sockops.py", "netns.py"):
        shutil.copy(GUEST / name, tmp_path)
    # The repository may be below /tmp, which is empty in a guest.
    for name in ("lab", "kernel", "experiments"):
        shutil.copytree(
            REPOSITORY / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    program = f"bpf_command.py {sys.executable} {RUN_DIR_IN_GUEST}/lab"
    assert checked_output(program, kernel, tools, tmp_path, timeout_wall_s=1200) == {
        "nothing to unload": [1, "airtcp: bpf_auto is not loaded\n"],
        "load for a cgroup": [0, "bpf_auto\n"],
        "in the cgroup": ["bpf_auto", "bpf_auto"],
        "outside": ["default", "default"],
        "load again": [1, "airtcp: bpf_auto is already loaded\n"],
        "load for the namespace": [0, "bpf_count\n"],
        "list": [0, "bpf_auto\nbpf_count (of this network namespace)\n"],
        "in the namespace": ["bpf_count", "bpf_count"],
        "unload for the cgroup": [0, ""],
        "unload for the cgroup again": [
            1,
            "airtcp: /run/cgroup/group does not have the policy bpf_auto\n",
        ],
        "pinned": [],
        "in the cgroup after": ["bpf_count", "bpf_count"],
        "unload": [[0, ""], [0, ""]],
        "namespace after": "default",
        "left": [],
    }

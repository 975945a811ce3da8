# SPDX-License-Identifier: GPL-2.0-only
"""Host limits that stop guests."""

from pathlib import Path

import pytest

from airtcp.backends import hostlimits
from airtcp.errors import CrowdedError


@pytest.mark.parametrize(
    "failure",
    [
        "Kernel panic - not syncing: Kernel mode signal 7",
        "keep /sys/kernel/debug/airsim/stats airsim-before.txt (exit code 135)",
        "Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000007",
    ],
)
def test_bus_error_means_that_the_host_lacks_memory(failure: str) -> None:
    with pytest.raises(CrowdedError, match="does not have enough memory for the guest: "):
        hostlimits.raise_if_host_failed(failure, 1, b"", hostlimits.oom_kills())


def test_another_failure_is_not_blamed_on_the_host() -> None:
    failure = "ip link add (exit code 13); the console's last line is: [135.7] exit code 1"
    hostlimits.raise_if_host_failed(failure, 1, b"", hostlimits.oom_kills())


GROUPS = {
    "version 2": ("0::/job/step\n", "", ("memory.max", "memory.current"), ""),
    "version 1": (
        "5:cpu:/\n4:memory:/job/step\n0::/\n",
        "memory",
        ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        "total_",
    ),
}


@pytest.mark.parametrize("version", GROUPS)
def test_memory_cgroups_limit_the_available_memory(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a batch job or a container, and of the groups around it; not the cache of files."""
    own, below, (limit, usage), prefix = GROUPS[version]
    (tmp_path / "own").write_text(own)
    monkeypatch.setattr(hostlimits, "_OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(hostlimits, "_CGROUPS", tmp_path)
    step = tmp_path / below / "job" / "step"
    step.mkdir(parents=True)
    for group, limit_mb in ((step, 900), (step.parent, 700)):
        (group / limit).write_text(f"{limit_mb << 20}\n")
        (group / usage).write_text(f"{500 << 20}\n")
        cache = f"{prefix}inactive_file {100 << 20}\n{prefix}active_file {50 << 20}\n"
        (group / "memory.stat").write_text(f"anon 1\n{cache}")
    (host_mb, _), *groups = hostlimits.available_memory()
    assert 0 < host_mb < 1 << 30
    assert groups == [
        (550, f"the memory cgroup {step} has 550 MB left"),
        (350, f"the memory cgroup {step.parent} has 350 MB left"),
    ]
    (step / limit).write_text("max\n")
    assert [left_mb for left_mb, _ in hostlimits.available_memory()[1:]] == [350]

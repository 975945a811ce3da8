# SPDX-License-Identifier: GPL-2.0-only
"""Host limits that stop guests."""

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
        hostlimits.blame(failure, 1, b"", hostlimits.oom_kills())


def test_another_failure_is_not_blamed_on_the_host() -> None:
    failure = "ip link add (exit code 13); the console's last line is: [135.7] exit code 1"
    hostlimits.blame(failure, 1, b"", hostlimits.oom_kills())

# SPDX-License-Identifier: GPL-2.0-only
"""iperf3_block.so, which makes iperf3 wait instead of polling."""

import subprocess
import sys

from airtcp.backends.guesttools import GuestTools

# A sender whose timers are due, and which does not ask whether it may write.
POLLS = """
import ctypes, time
select = ctypes.CDLL(None).select
for _ in range(4):
    reads, writes, timeout = (ctypes.create_string_buffer(octets) for octets in (128, 128, 16))
    start = time.perf_counter()
    select(1, reads, writes, None, timeout)
    print(time.perf_counter() - start)
"""


def test_repeated_polling_waits(tools: GuestTools) -> None:
    """In a guest virtual time stands still while a program polls."""
    done = subprocess.run(
        [sys.executable, "-c", POLLS],
        env={"LD_PRELOAD": str(tools.directory / "iperf3_block.so")},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    _, *others_s = (float(line) for line in done.stdout.split())
    assert min(others_s) >= 0.001

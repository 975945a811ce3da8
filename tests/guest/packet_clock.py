# SPDX-License-Identifier: GPL-2.0-only
"""The guest's clock, and how exactly a packet script keeps to it. All times are nanoseconds."""

import ctypes
import os
import struct
import time
from dataclasses import dataclass, replace

PHASE_NS = 8_000_000
"""Scripts start at a multiple of this, which is the start of a jiffy and a tick of the clock."""
TIMER_ABSTIME, PR_SET_TIMERSLACK = 1, 29

libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Timing:
    lead_ns: int
    """The queue gets a segment at most this long before its time, and sends it on time."""
    late_ns: int
    """Allowed delay of what TCP sends."""
    call_ns: int
    """Calls are made this long after their time, after all other events of that time."""
    call_late_ns: int
    """Allowed delay of what a call sends."""
    early_ns: int = 0
    """What TCP sends may be this much earlier, and by as much later than without this."""
    jitter_ns: int = 0
    """Each segment arrives on time or this much later, which is pseudo-random."""
    ahead_ns: int | None = None
    """With this much time until the next call, the queue gets segments that arrive after it."""
    settle_ns: int = 500_000_000
    """Time between the creation of a namespace and the start of its script."""

    def allows(self, after_ns: int, by_call: bool) -> bool:
        """Whether TCP may send this long after the time of the script."""
        late_ns = self.call_late_ns if by_call else self.late_ns
        return -self.early_ns <= after_ns < late_ns + self.early_ns


# The guest's clock has a resolution of 256 ns, its timers expire at least 500 ns after they are
# set, and TCP's own clock has a resolution of 1000 ns. It advances while a program runs.
VIRTUAL = Timing(lead_ns=100_000, late_ns=768, call_ns=1_000, call_late_ns=10_000)

# Some policies set timers to multiples of an IAT.
JITTER = replace(VIRTUAL, call_ns=1_999, early_ns=10_000, jitter_ns=999)

# Each instruction takes 1 ns. Measured without runtime checks in the kernel: up to 27 us until TCP
# has sent an ACK, up to 108 us if a program that wakes up causes it. It takes longer while the
# other processor passes segments to the queue, so the start of the script waits until those of the
# first 3 seconds are there. That takes 150 us for each; the longest script has 7,000 segments.
COUNTED = Timing(
    lead_ns=3_000_000_000,
    late_ns=50_000,
    call_ns=50_000,
    call_late_ns=150_000,
    ahead_ns=30_000,
    settle_ns=2_000_000_000,
)


class Clock:
    """CLOCK_MONOTONIC, relative to the start of the script."""

    def __init__(self, timing: Timing) -> None:
        self.after_ns = timing.call_ns
        # Exact, because each of these calls advances the guest's clock equally.
        before, real, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        self._real_ns = real - (before + after) // 2
        self.begin_ns = -(-(after + timing.settle_ns) // PHASE_NS) * PHASE_NS

    def left_ns(self, at_ns: int) -> int:
        """Time until sleep_past(at_ns) would return."""
        return at_ns + self.begin_ns + self.after_ns - time.monotonic_ns()

    def sleep_past(self, at_ns: int) -> None:
        """Sleep until after_ns later, after all other events of that time."""
        at_ns = max(0, at_ns + self.begin_ns + self.after_ns)
        when = struct.pack("ll", *divmod(at_ns, 1_000_000_000))
        error = libc.clock_nanosleep(time.CLOCK_MONOTONIC, TIMER_ABSTIME, when, None)
        if error:
            raise OSError(error, os.strerror(error))

    def of_stamp(self, seconds: int, nanoseconds: int) -> int:
        return seconds * 1_000_000_000 + nanoseconds - self._real_ns - self.begin_ns


def set_exact_timers() -> None:
    """The default timer slack allows the kernel to wake a process up to 50 us late."""
    libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)

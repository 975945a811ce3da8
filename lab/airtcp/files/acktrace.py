# SPDX-License-Identifier: GPL-2.0-only
"""Intervals in which the timers of ACK policies ran, from ack-trace.txt (ack_trace=on).

A policy arms a socket's timer to delay an ACK. The ACK is sent when the timer fires, or earlier for
another reason, which cancels the timer.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from airtcp.files.text import NUMBER, TRACE_ENTRIES, lines

FILE = "ack-trace.txt"

_EVENT = re.compile(
    rf" {NUMBER}: tcp_ackpol_(decision|ack): .*?(?:reason=(\w+) )?(?:iat_us=-?\d+ )?"
    r"(?:ato_us=(\d+) )?segs=(\d+) .*sock_cookie=(\w+)"
)
# Upper bound of the delay of all policies: a running timer was armed at most this long ago.
_LONGEST_NS = 1_000_000_000


@dataclass(frozen=True)
class Wait:
    """The time from the segment that armed a timer to the ACK, by the guest's monotonic clock.

    delay_us: the delay that the policy chose at the last arrival. segments: how many the ACK
    acknowledges. fired: whether the timer sent it.
    """

    armed_ns: int
    ended_ns: int
    delay_us: int
    segments: int
    fired: bool


def overwritten_ns(path: Path) -> int | None:
    """The time of the first event, if the kernel's buffer was full and lost earlier ones.

    Raises AirtcpError.
    """
    full = False
    for line in lines(path):
        if entries := TRACE_ENTRIES.match(line):
            full = entries.group(1) != entries.group(2)
        elif event := _EVENT.search(line):
            return _ns(event.group(1)) if full else None
    return None


def _ns(time_s: str) -> int:
    return round(float(time_s) * 1e6) * 1000


def read_waits(path: Path, from_ns: float, to_ns: float) -> Iterator[Wait]:
    """Yield the waits that overlap [from_ns, to_ns), ordered by end. Raises AirtcpError."""
    armed: dict[str, tuple[int, int]] = {}  # by socket: start in ns, delay in us
    fired: set[str] = set()
    for event in filter(None, map(_EVENT.search, lines(path))):
        time_s, kind, reason, delay_us, segments, socket = event.groups()
        time_ns = _ns(time_s)
        if time_ns < from_ns - _LONGEST_NS:
            continue
        if reason == "delayed":
            since_ns, _ = armed.get(socket, (time_ns, 0))
            armed[socket] = since_ns, int(delay_us)
            if all(armed_ns >= to_ns for armed_ns, _ in armed.values()):
                break
        elif reason == "timer":
            fired.add(socket)
        elif kind == "ack":
            by_timer = socket in fired
            fired.discard(socket)
            if socket not in armed:
                continue
            since_ns, last_us = armed.pop(socket)
            if time_ns >= from_ns and since_ns < to_ns:
                yield Wait(since_ns, time_ns, last_us, int(segments), by_timer)

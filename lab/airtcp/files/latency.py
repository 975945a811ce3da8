# SPDX-License-Identifier: GPL-2.0-only
"""Latency probes: output of ping and of the guest's program udpecho."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy

from airtcp.errors import AirtcpError
from airtcp.files.text import NUMBER, read_text
from airtcp.parameters import Parameters
from airtcp.statistics import Floats

_PING_REPLY = re.compile(rf"\[{NUMBER}\] .*icmp_seq=(\d+) .*time={NUMBER} ms")
_SEQUENCE_NUMBERS = 1 << 16


@dataclass(frozen=True)
class Latency:
    """Latency probes: when each was sent, in s since the first, and its round-trip time.

    rtt_ms is NaN for probes without a reply.
    """

    sent_s: Floats
    rtt_ms: Floats

    def within(self, start_s: float, end_s: float) -> "Latency":
        selected = (self.sent_s >= start_s) & (self.sent_s < end_s)
        return Latency(self.sent_s[selected], self.rtt_ms[selected])

    @property
    def answered(self) -> "Latency":
        answered = ~numpy.isnan(self.rtt_ms)
        return Latency(self.sent_s[answered], self.rtt_ms[answered])


def during_transfer(probes: Latency, parameters: Parameters) -> Latency:
    """The probes sent during the flows, which start after `baseline`; all if there is none."""
    idle_s = parameters.baseline_s
    return probes.within(idle_s, idle_s + parameters.duration_s) if idle_s else probes


def read_ping(run_dir: Path, file: str = "ping.txt") -> Latency:
    """Read the output of ping, up to the last reply. Raises AirtcpError if there is none.

    ping does not list requests without a reply: their numbers are missing, and their times are
    interpolated.
    """
    path = run_dir / file
    replies = _PING_REPLY.findall(read_text(path))
    if not replies:
        raise AirtcpError(f"{path}: no ping was answered")
    stamps, numbers, times_ms = numpy.array(replies, dtype=numpy.float64).T
    numbers, first = numpy.unique(
        numpy.unwrap(numbers, period=_SEQUENCE_NUMBERS), return_index=True
    )
    # `ping -D` prints the times of replies.
    sent_s = stamps[first] - times_ms[first] / 1e3
    sent = numpy.arange(1, numbers[-1] + 1)
    rtt_ms = numpy.full(sent.size, numpy.nan)
    rtt_ms[numbers.astype(int) - 1] = times_ms[first]
    return Latency(_sent_s(sent, numbers, sent_s), rtt_ms)


def _sent_s(
    sent: Floats,
    answered: Floats,
    answered_s: Floats,
) -> Floats:
    """When each request was sent, in s since the first, from the times of those answered."""
    times_s: Floats = numpy.interp(sent, answered, answered_s)
    before = int(answered[0]) - 1
    if before and answered.size > 1:
        interval_s = (answered_s[-1] - answered_s[0]) / (answered[-1] - answered[0])
        times_s[:before] -= interval_s * numpy.arange(before, 0, -1)
    times_s -= times_s[0]
    return times_s


def read_udp_ping(path: Path) -> Latency:
    """Read the requests of udpecho. Raises AirtcpError if there is none."""
    header, *lines = read_text(path).splitlines() or [""]
    if header != "sent_ns,rtt_ns":
        raise AirtcpError(f"{path}: no header of udpecho")
    rows = []
    for number, line in enumerate(lines, start=2):
        try:
            sent_ns, rtt_ns = line.split(",")
            rows.append((int(sent_ns), int(rtt_ns) / 1e6 if rtt_ns else numpy.nan))
        except ValueError:
            raise AirtcpError(f"{path}:{number}: not a row of udpecho, or truncated") from None
    if not rows:
        raise AirtcpError(f"{path}: contains no request")
    sent_s = numpy.array([(sent_ns - rows[0][0]) / 1e9 for sent_ns, _ in rows])
    return Latency(sent_s, numpy.array([rtt_ms for _, rtt_ms in rows]))

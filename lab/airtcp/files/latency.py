# SPDX-License-Identifier: GPL-2.0-only
"""Probes of latency: ping's output, and what the guest's program udpecho measured."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy
from numpy.typing import NDArray

from airtcp.errors import AirtcpError
from airtcp.files.text import read_text

_PING_REPLY = re.compile(r"\[([0-9.]+)\] .*icmp_seq=\d+ .*time=([0-9.]+) ms")


@dataclass(frozen=True)
class Latency:
    """Probes of latency: when each was sent, in s since the first, and its round-trip time.

    rtt_ms is NaN for those that were not answered.
    """

    sent_s: NDArray[numpy.float64]
    rtt_ms: NDArray[numpy.float64]

    def within(self, start_s: float, end_s: float) -> "Latency":
        chosen = (self.sent_s >= start_s) & (self.sent_s < end_s)
        return Latency(self.sent_s[chosen], self.rtt_ms[chosen])

    @property
    def answered_ms(self) -> NDArray[numpy.float64]:
        return self.rtt_ms[~numpy.isnan(self.rtt_ms)]


def read_ping(run_dir: Path, file: str = "ping.txt") -> Latency:
    """The replies in a file. At least one; ping does not tell of those that are missing."""
    path = run_dir / file
    replies = _PING_REPLY.findall(read_text(path))
    if not replies:
        raise AirtcpError(f"{path}: no ping was answered")
    rtt_ms = numpy.array([float(time_ms) for _, time_ms in replies])
    # The stamps of `ping -D` are those of replies.
    sent_s = numpy.array([float(stamp) for stamp, _ in replies]) - rtt_ms / 1e3
    return Latency(sent_s - sent_s[0], rtt_ms)


def read_udp_ping(path: Path) -> Latency:
    """What the guest's program udpecho measured. At least one request."""
    header, *lines = read_text(path).splitlines() or [""]
    if header != "sent_ns,rtt_ns":
        raise AirtcpError(f"{path}: no header of udpecho")
    rows = []
    for number, line in enumerate(lines, start=2):
        try:
            sent_ns, rtt_ns = line.split(",")
            rows.append((int(sent_ns), int(rtt_ns) / 1e6 if rtt_ns else numpy.nan))
        except ValueError:
            raise AirtcpError(f"{path}:{number}: not a row of udpecho, or cut short") from None
    if not rows:
        raise AirtcpError(f"{path}: no request")
    sent_s = numpy.array([(sent_ns - rows[0][0]) / 1e9 for sent_ns, _ in rows])
    return Latency(sent_s, numpy.array([rtt_ms for _, rtt_ms in rows]))

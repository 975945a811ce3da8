# SPDX-License-Identifier: GPL-2.0-only
"""Latency probes: output of ping and of the guest's program udpecho."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy
from numpy.typing import NDArray

from airtcp.errors import AirtcpError
from airtcp.files.text import read_text
from airtcp.parameters import Parameters

_PING_REPLY = re.compile(r"\[([0-9.]+)\] .*icmp_seq=\d+ .*time=([0-9.]+) ms")


@dataclass(frozen=True)
class Latency:
    """Latency probes: when each was sent, in s since the first, and its round-trip time.

    rtt_ms is NaN for probes without a reply.
    """

    sent_s: NDArray[numpy.float64]
    rtt_ms: NDArray[numpy.float64]

    def within(self, start_s: float, end_s: float) -> "Latency":
        selected = (self.sent_s >= start_s) & (self.sent_s < end_s)
        return Latency(self.sent_s[selected], self.rtt_ms[selected])

    @property
    def answered_ms(self) -> NDArray[numpy.float64]:
        return self.rtt_ms[~numpy.isnan(self.rtt_ms)]


def during_transfer(probes: Latency, parameters: Parameters) -> Latency:
    """The probes sent during the flows, which start after `baseline`; all if there is none."""
    idle_s = parameters.baseline_s
    return probes.within(idle_s, idle_s + parameters.duration_s) if idle_s else probes


def read_ping(run_dir: Path, file: str = "ping.txt") -> Latency:
    """Read the replies of ping, which does not list missing ones. Raises AirtcpError for none."""
    path = run_dir / file
    replies = _PING_REPLY.findall(read_text(path))
    if not replies:
        raise AirtcpError(f"{path}: no ping was answered")
    rtt_ms = numpy.array([float(time_ms) for _, time_ms in replies])
    # `ping -D` prints the times of replies.
    sent_s = numpy.array([float(stamp) for stamp, _ in replies]) - rtt_ms / 1e3
    return Latency(sent_s - sent_s[0], rtt_ms)


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
            raise AirtcpError(f"{path}:{number}: not a row of udpecho, or cut short") from None
    if not rows:
        raise AirtcpError(f"{path}: contains no request")
    sent_s = numpy.array([(sent_ns - rows[0][0]) / 1e9 for sent_ns, _ in rows])
    return Latency(sent_s, numpy.array([rtt_ms for _, rtt_ms in rows]))

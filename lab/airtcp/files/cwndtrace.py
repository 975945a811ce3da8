# SPDX-License-Identifier: GPL-2.0-only
"""cwnd-trace.txt: the sender's window at every ACK, from the kernel's trace."""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy

from airtcp.errors import AirtcpError
from airtcp.files.text import NUMBER, TRACE_ENTRIES, read_text
from airtcp.statistics import Floats

_PROBE = re.compile(
    rf" {NUMBER}: tcp_probe: .*? src=(\S+):(\d+) dest=(\S+):(\d+) .*? snd_cwnd=(\d+) "
)

Sender = tuple[str, int]
"""The address of a sender, and the port to which one of both ends connected."""


def read_cwnd_trace(
    run_dir: Path, senders: Mapping[Sender, frozenset[int] | None]
) -> list[tuple[Floats, Floats]]:
    """Read (time in s, cwnd in segments) of each connection of these senders.

    senders: the ports from which the data connections were made; None: all connections. There is a
    value for every segment that a sender received, before that segment was processed. Raises
    AirtcpError if a sender has none, or if the kernel's buffer was full.
    """
    path = run_dir / "cwnd-trace.txt"
    text = read_text(path)
    if (lines := TRACE_ENTRIES.search(text)) and lines.group(1) != lines.group(2):
        raise AirtcpError(
            f"{path}: contains only the last {lines.group(1)} of {lines.group(2)} segments: the "
            "kernel's buffer was full; use a shorter duration"
        )
    samples: dict[Sender, dict[tuple[str, str, str], list[tuple[float, float]]]]
    samples = {sender: {} for sender in senders}
    for time_s, address, port, peer, peer_port, cwnd in _PROBE.findall(text):
        for one, other in ((port, peer_port), (peer_port, port)):
            sender = address, int(one)
            ports = senders.get(sender)
            if sender in senders and (not ports or int(other) in ports):
                of_connection = samples[sender].setdefault((port, peer, peer_port), [])
                of_connection.append((float(time_s), float(cwnd)))
    for (address, _), of_sender in samples.items():
        if not of_sender:
            raise AirtcpError(f"{path}: no ACK reached {address}")
    traces = (numpy.array(rows).T for found in samples.values() for rows in found.values())
    return [(times_s, cwnd) for times_s, cwnd in traces]

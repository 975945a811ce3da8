# SPDX-License-Identifier: GPL-2.0-only
"""cwnd-trace.txt: the sender's window at every ACK, from the kernel's trace."""

import re
from pathlib import Path

import numpy
from numpy.typing import NDArray

from airtcp.errors import AirtcpError
from airtcp.files.text import read_text
from airtcp.testbed.model import PORT

_PROBE = re.compile(
    r" ([0-9.]+): tcp_probe: .*? src=(\S+):(\d+) dest=\S+:(\d+) .*? snd_cwnd=(\d+) "
)


def read_cwnd_trace(
    run_dir: Path, sender: str, transfer_port: int = PORT
) -> list[tuple[NDArray[numpy.float64], NDArray[numpy.float64]]]:
    """Read (time in s, cwnd in segments) of each connection of the transfer's port.

    sender: its address. There is a value for every segment that it received, before that segment
    was processed. Raises AirtcpError if there is none.
    """
    path = run_dir / "cwnd-trace.txt"
    samples: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for time_s, source, port, peer, cwnd in _PROBE.findall(read_text(path)):
        if source == sender and str(transfer_port) in (port, peer):
            samples.setdefault((port, peer), []).append((float(time_s), float(cwnd)))
    if not samples:
        raise AirtcpError(f"{path}: no ACK reached {sender}")
    return [
        (columns[0], columns[1]) for columns in (numpy.array(rows).T for rows in samples.values())
    ]

# SPDX-License-Identifier: GPL-2.0-only
"""iperf3's JSON documents."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

from airtcp.errors import AirtcpError
from airtcp.files.text import read_text
from airtcp.statistics import Floats


@dataclass(frozen=True)
class Iperf3:
    """One iperf3 JSON document."""

    path: Path
    document: Mapping[str, Any]

    def number(self, *keys: str) -> float:
        """The number at a path of keys: "end", "sum", "seconds" for end.sum.seconds.

        Raises AirtcpError if there is none.
        """
        value: Any = self.document
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if not isinstance(value, int | float):
            raise AirtcpError(f"{self.path}: no number at {'.'.join(keys)}")
        return float(value)

    @property
    def data_ports(self) -> frozenset[int]:
        """The client's ports of the data connections."""
        try:
            return frozenset(
                int(connection["local_port"]) for connection in self.document["start"]["connected"]
            )
        except (KeyError, TypeError, ValueError):
            raise AirtcpError(f"{self.path}: no local_port in start.connected") from None

    def stream_series(self) -> list[tuple[Floats, Floats]]:
        """For each flow: (times in s since the start, bits transferred until then)."""
        streams: dict[int, list[tuple[float, float]]] = {}
        try:
            for interval in self.document["intervals"]:
                for stream in interval["streams"]:
                    seen = streams.setdefault(int(stream["socket"]), [(0.0, 0.0)])
                    seen.append((float(stream["end"]), seen[-1][1] + 8 * float(stream["bytes"])))
        except (KeyError, TypeError, ValueError):
            raise AirtcpError(f"{self.path}: malformed intervals") from None
        series = [numpy.array(seen).T for seen in streams.values()]
        return [(times_s, bits) for times_s, bits in series]


def read_iperf3(path: Path) -> Iperf3:
    """Read iperf3's JSON document. The client is the sender of the data."""
    text = read_text(path)
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise AirtcpError(f"{path}:{error.lineno}: not JSON, or truncated") from None
    if not isinstance(document, dict):
        raise AirtcpError(f"{path}: not an iperf3 document")
    if "error" in document:
        raise AirtcpError(f"{path}: iperf3 says: {explained(document['error'])}")
    return Iperf3(path, document)


def explained(error: object) -> str:
    """The error message of iperf3 or udpflow, with its likely cause if there was no answer."""
    unanswered = any(words in str(error) for words in ("Broken pipe", "timed out", "No route"))
    return f"{error} (no answer: is a station out of reach?)" if unanswered else str(error)


def error_in(run_dir: Path, pattern: str) -> str | None:
    """What iperf3 says is wrong, in the first document of a pattern that has an error."""
    for path in sorted(run_dir.glob(pattern)):
        try:
            return explained(json.loads(path.read_text())["error"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None

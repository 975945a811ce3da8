# SPDX-License-Identifier: GPL-2.0-only
"""Readers of what one run leaves in its directory: iperf3, exchanges, TCP state, the air, ping.

Each reader raises AirtcpError with one line that names the file when it is missing, cut short or
not what it should be.
"""

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy
from numpy.typing import NDArray

from airtcp.errors import AirtcpError
from airtcp.nodes import numbered, station_address

Node = Literal["server", "station"]

# The columns of tcpwatch that the metrics and figures need.
_TCP_COLUMNS = frozenset(
    {"time_ns", "event", "local", "remote", "cwnd", "srtt_us", "retrans"}
    | {"segs_out", "data_segs_out", "data_segs_in"}
)

_AMPDU_SIZE = re.compile(r"ampdu_size_(\d+)")
_PING_REPLY = re.compile(r"icmp_seq=\d+ .*time=([0-9.]+) ms")


@dataclass(frozen=True)
class Iperf3:
    """One iperf3 JSON document."""

    path: Path
    document: Mapping[str, Any]

    def number(self, *keys: str) -> float:
        """The number found at end.sum.seconds when keys are "end", "sum", "seconds"."""
        value: Any = self.document
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if not isinstance(value, int | float):
            raise AirtcpError(f"{self.path}: no number at {'.'.join(keys)}")
        return float(value)

    @property
    def data_ports(self) -> frozenset[int]:
        """Local ports of the data connections, which are the client's."""
        try:
            return frozenset(int(one["local_port"]) for one in self.document["start"]["connected"])
        except (KeyError, TypeError, ValueError):
            raise AirtcpError(f"{self.path}: no local_port in start.connected") from None

    def goodput_series(self) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
        """(end of each interval in s since the start, goodput in it in Mbit/s)."""
        try:
            sums = [interval["sum"] for interval in self.document["intervals"]]
            ends = [float(one["end"]) for one in sums]
            rates = [float(one["bits_per_second"]) / 1e6 for one in sums]
        except (KeyError, TypeError, ValueError):
            raise AirtcpError(f"{self.path}: intervals are not as iperf3 writes them") from None
        return numpy.array(ends), numpy.array(rates)


@dataclass(frozen=True)
class TcpTrace:
    """One data connection as tcpwatch saw it at one end.

    columns: every integer column of the samples, in time order. final: the exact counters when
    the connection was destroyed.
    """

    port: int
    columns: Mapping[str, NDArray[numpy.float64]]
    final: Mapping[str, int]


def read_iperf3(run_dir: Path, role: Literal["client", "server"], station: int = 1) -> Iperf3:
    """Read iperf3-ROLE.json of a station; the client is the sender of the data."""
    path = run_dir / numbered(f"iperf3-{role}", station, ".json")
    text = _text(path)
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise AirtcpError(f"{path}:{error.lineno}: not JSON, or cut short") from None
    if not isinstance(document, dict):
        raise AirtcpError(f"{path}: not an iperf3 document")
    if "error" in document:
        raise AirtcpError(f"{path}: iperf3 says: {document['error']}")
    return Iperf3(path, document)


@dataclass(frozen=True)
class TcpConnections:
    """All that tcpwatch saw at a node: the rows of each connection, by its two ends."""

    path: Path
    columns: Sequence[str]
    samples: Mapping[tuple[str, str], Sequence[Sequence[int]]]
    closed: Mapping[tuple[str, str], Sequence[int]]

    def traces(self, data_ports: frozenset[int], station: str) -> list[TcpTrace]:
        """The data connections of a station, by port; each has samples and a final state."""
        ends = self._ends(data_ports, station)
        return [self._trace(port, ends.get(port, ("", ""))) for port in sorted(data_ports)]

    def finals(self, data_ports: frozenset[int], station: str) -> list[Mapping[str, int]]:
        """Their final states alone: connections may be too short for a sample."""
        ends = self._ends(data_ports, station)
        return [self._final(port, ends.get(port, ("", ""))) for port in sorted(data_ports)]

    def _ends(self, data_ports: frozenset[int], station: str) -> dict[int, tuple[str, str]]:
        return {
            port: ends
            for ends in self.samples.keys() | self.closed.keys()
            for port in data_ports.intersection(_port(end) for end in ends)
            if station in (_host(end) for end in ends)
        }

    def _trace(self, port: int, ends: tuple[str, str]) -> TcpTrace:
        if ends not in self.samples:
            raise AirtcpError(f"{self.path}: no sample of the data connection of port {port}")
        values = numpy.array(self.samples[ends], dtype=numpy.float64).T
        columns = dict(zip(self.columns, values, strict=True))
        return TcpTrace(port, columns, self._final(port, ends))

    def _final(self, port: int, ends: tuple[str, str]) -> Mapping[str, int]:
        if ends not in self.closed:
            raise AirtcpError(f"{self.path}: no close row for the data connection of port {port}")
        return dict(zip(self.columns, self.closed[ends], strict=True))


def read_tcp(run_dir: Path, node: Node, data_ports: frozenset[int]) -> list[TcpTrace]:
    """Read the data connections of the first station from tcp-NODE.csv."""
    return read_connections(run_dir, node).traces(data_ports, station_address(1))


def read_connections(run_dir: Path, node: Node, station: int = 1) -> TcpConnections:
    """Read tcp-server.csv, which has the connections of all stations, or that of a station."""
    path = run_dir / numbered(f"tcp-{node}", station if node == "station" else 1, ".csv")
    reader = csv.DictReader(io.StringIO(_text(path)))
    if missing := _TCP_COLUMNS.difference(reader.fieldnames or ()):
        raise AirtcpError(f"{path}: no column {min(missing)!r}")
    text_columns = ("event", "local", "remote", "state")
    names = [name for name in reader.fieldnames or () if name not in text_columns]
    samples: dict[tuple[str, str], list[list[int]]] = {}
    closed: dict[tuple[str, str], list[int]] = {}
    for row in reader:
        try:
            ends = (row["local"], row["remote"])
            for end in ends:
                _port(end)
            values = [int(row[name]) for name in names]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise AirtcpError(
                f"{path}:{reader.line_num}: not a row of tcpwatch, or cut short"
            ) from None
        if row["event"] == "close":
            closed[ends] = values
        else:
            samples.setdefault(ends, []).append(values)
    return TcpConnections(path, names, samples, closed)


def _host(end: str) -> str:
    """Of `10.0.0.1:5201` and of `[::ffff:10.0.0.1]:5201` it is 10.0.0.1."""
    return end.rpartition(":")[0].strip("[]").removeprefix("::ffff:")


def _port(end: str) -> int:
    return int(end.rpartition(":")[2])


def read_airsim(run_dir: Path) -> dict[str, int]:
    """How much each counter of airsim grew from before the transfer to after it."""
    before = _counters(run_dir / "airsim-before.txt")
    after = read_airsim_totals(run_dir)
    return {name: value - before.get(name, 0) for name, value in after.items()}


def read_airsim_totals(run_dir: Path) -> dict[str, int]:
    """Each counter of airsim after the transfer, since boot."""
    return _counters(run_dir / "airsim-after.txt")


def ampdu_sizes(counters: Mapping[str, int]) -> dict[int, int]:
    """Number of data PPDUs by how many MPDUs each carried, smallest first."""
    matches = ((_AMPDU_SIZE.fullmatch(name), count) for name, count in counters.items())
    sizes = {int(match.group(1)): count for match, count in matches if match and count}
    return dict(sorted(sizes.items()))


def read_ping_ms(run_dir: Path) -> NDArray[numpy.float64]:
    """Round-trip times of the replies in ping.txt, in ms. At least one."""
    path = run_dir / "ping.txt"
    replies = _PING_REPLY.findall(_text(path))
    if not replies:
        raise AirtcpError(f"{path}: no ping was answered")
    return numpy.array([float(reply) for reply in replies])


@dataclass(frozen=True)
class Exchanges:
    """What the guest's program exchange measured: each time in ms, the ports of the receiver."""

    times_ms: NDArray[numpy.float64]
    ports: frozenset[int]


def read_exchanges(run_dir: Path) -> Exchanges:
    """Read exchanges.csv. At least one."""
    path = run_dir / "exchanges.csv"
    header, *lines = _text(path).splitlines() or [""]
    if header != "port,start_ns,end_ns":
        raise AirtcpError(f"{path}: no header of exchange")
    rows = []
    for number, line in enumerate(lines, start=2):
        try:
            port, start_ns, end_ns = map(int, line.split(","))
        except ValueError:
            raise AirtcpError(f"{path}:{number}: not a row of exchange, or cut short") from None
        rows.append((port, (end_ns - start_ns) / 1e6))
    if not rows:
        raise AirtcpError(f"{path}: no exchange")
    ports, times_ms = zip(*rows, strict=True)
    return Exchanges(numpy.array(times_ms), frozenset(ports))


def _counters(path: Path) -> dict[str, int]:
    counters: dict[str, int] = {}
    for number, line in enumerate(_text(path).splitlines(), start=1):
        name, _, value = line.partition(" ")
        try:
            counters[name] = int(value)
        except ValueError:
            raise AirtcpError(f"{path}:{number}: not a line `name value`") from None
    return counters


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise AirtcpError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise AirtcpError(f"{path}: not text") from None

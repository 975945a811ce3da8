# SPDX-License-Identifier: GPL-2.0-only
"""The state of TCP connections, sampled by tcpwatch."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy

from airtcp.errors import AirtcpError
from airtcp.files.exchanges import Exchanges, read_exchanges
from airtcp.files.iperf3 import read_iperf3
from airtcp.files.text import read_text
from airtcp.statistics import Floats
from airtcp.testbed.model import Flow

# The columns of tcpwatch that the metrics and figures need.
_TCP_COLUMNS = frozenset(
    {"time_ns", "event", "local", "remote", "cwnd", "srtt_us", "retrans"}
    | {"segs_out", "data_segs_out", "data_segs_in"}
)


_TEXTS = ("event", "local", "remote")


@dataclass(frozen=True)
class TcpTrace:
    """One data connection, sampled at one end.

    columns: every integer column of the samples, in time order. final: the exact counters when
    the connection was destroyed.
    """

    port: int
    columns: Mapping[str, Floats]
    final: Mapping[str, int]


class Ends(NamedTuple):
    """Connections from ports of a client to one port of a server.

    A client may connect from the same port to several ports of the server.
    """

    client: str
    ports: frozenset[int]
    server: str
    server_port: int


@dataclass(frozen=True)
class TcpConnections:
    """Everything that tcpwatch recorded at a node: the rows of connections, by their two ends.

    A client uses ports again: several connections, one after another, may have the same ends.
    """

    path: Path
    columns: Sequence[str]
    samples: Mapping[tuple[str, str], Sequence[Sequence[int]]]
    closed: Mapping[tuple[str, str], Sequence[Sequence[int]]]

    def traces(self, ends: "Ends") -> list[TcpTrace]:
        """The connections between the ends, ordered by port.

        Raises AirtcpError if one has no samples or no final state.
        """
        seen = self._between(ends)
        return [self._trace(port, seen.get(port, ("", ""))) for port in sorted(ends.ports)]

    def sampled(self, ends: "Ends") -> list[TcpTrace]:
        """Those of the connections that lasted until a sample, ordered by port."""
        seen = sorted(self._between(ends).items())
        return [self._trace(port, pair) for port, pair in seen if pair in self.samples]

    def finals(self, ends: "Ends") -> list[Mapping[str, int]]:
        """Only their final states: connections may be too short for a sample."""
        seen = self._between(ends)
        return [
            final
            for port in sorted(ends.ports)
            for final in self._finals(port, seen.get(port, ("", "")))
        ]

    def _between(self, ends: "Ends") -> dict[int, tuple[str, str]]:
        return _between(self.samples.keys() | self.closed.keys(), ends)

    def _trace(self, port: int, ends: tuple[str, str]) -> TcpTrace:
        if ends not in self.samples:
            raise AirtcpError(f"{self.path}: no sample of the data connection of port {port}")
        values = numpy.array(self.samples[ends], dtype=numpy.float64).T
        columns = dict(zip(self.columns, values, strict=True))
        return TcpTrace(port, columns, self._finals(port, ends)[-1])

    def _finals(self, port: int, ends: tuple[str, str]) -> list[Mapping[str, int]]:
        if ends not in self.closed:
            raise AirtcpError(f"{self.path}: no close row for the data connection of port {port}")
        return [dict(zip(self.columns, row, strict=True)) for row in self.closed[ends]]


def read_connections(run_dir: Path, node: str) -> TcpConnections:
    """Read tcp-NODE.csv; the server's has the connections of all stations."""
    path = run_dir / f"tcp-{node}.csv"
    text = read_text(path)
    known = _already_read(run_dir)
    if node not in known or known[node][0] != text:
        known[node] = (text, _connections(path, text))
    return known[node][1]


@lru_cache(maxsize=1)  # metrics, series.csv and run.flent.gz need the same files
def _already_read(run_dir: Path) -> dict[str, tuple[str, TcpConnections]]:
    """The text and the connections of each node of a run, filled by read_connections()."""
    return {}


def _connections(path: Path, text: str) -> TcpConnections:
    reader = csv.reader(io.StringIO(text))
    columns = next(reader, [])
    if missing := _TCP_COLUMNS.difference(columns):
        raise AirtcpError(f"{path}: no column {min(missing)!r}")
    text_columns = ("event", "local", "remote", "state")
    names = [name for name in columns if name not in text_columns]
    # A long run has many rows, so this must be fast.
    texts_of = itemgetter(*map(columns.index, _TEXTS))
    numbers_of = itemgetter(*map(columns.index, names))
    samples: dict[tuple[str, str], list[list[int]]] = {}
    closed: dict[tuple[str, str], list[list[int]]] = {}
    for row in filter(None, reader):
        try:
            event, local, remote = texts_of(row)
            values = list(map(int, numbers_of(row)))
            if (local, remote) not in samples:
                for end in (local, remote):
                    _port(end)
        except (IndexError, ValueError):
            raise AirtcpError(
                f"{path}:{reader.line_num}: not a row of tcpwatch, or truncated"
            ) from None
        if event == "close":
            closed.setdefault((local, remote), []).append(values)
        else:
            samples.setdefault((local, remote), []).append(values)
    return TcpConnections(path, names, samples, closed)


def _between(pairs: Iterable[tuple[str, str]], ends: Ends) -> dict[int, tuple[str, str]]:
    """The connections between the ends, by port, among the pairs of ends of connections."""
    return {
        _port(pair[here]): pair
        for pair in pairs
        for here in (0, 1)
        if _port(pair[here]) in ends.ports
        and _port(pair[1 - here]) == ends.server_port
        and (_host(pair[here]), _host(pair[1 - here])) == (ends.client, ends.server)
    }


def _host(end: str) -> str:
    """The address: 10.0.0.1 for `10.0.0.1:5201` and for `[::ffff:10.0.0.1]:5201`."""
    return end.rpartition(":")[0].strip("[]").removeprefix("::ffff:")


def _port(end: str) -> int:
    return int(end.rpartition(":")[2])


Samples = Mapping[str, Floats]
"""Columns of the samples of a connection, in time order."""


class Flows(NamedTuple):
    """The connections of flows, in order, sampled at their senders and at their receivers."""

    sent: list[TcpTrace]
    received: list[TcpTrace]


def read_flows(run_dir: Path, flows: Sequence[Flow]) -> Flows:
    """Read the connections of bulk flows over TCP. Raises AirtcpError."""
    # Read each file once: with both directions, a node is sender and receiver.
    nodes = dict.fromkeys(node for flow in flows for node in (flow.sender, flow.receiver))
    connections = {node: read_connections(run_dir, node) for node in nodes}
    traces = Flows([], [])
    for flow in flows:
        ports = read_iperf3(run_dir / flow.file("client")).data_ports
        ends = Ends(flow.sender_address, ports, flow.receiver_address, flow.port)
        traces.sent.extend(connections[flow.sender].traces(ends))
        traces.received.extend(connections[flow.receiver].traces(ends))
    return traces


def read_sent(run_dir: Path, flows: Sequence[Flow], names: Sequence[str]) -> list[Samples]:
    """Only the columns with these names of the samples at the senders; see read_flows().

    Takes a fraction of the time, which matters for figures of hundreds of runs.
    """
    nodes = dict.fromkeys(flow.sender for flow in flows)
    sampled = {node: _sampled(run_dir / f"tcp-{node}.csv", names) for node in nodes}
    samples = []
    for flow in flows:
        ports = read_iperf3(run_dir / flow.file("client")).data_ports
        ends = Ends(flow.sender_address, ports, flow.receiver_address, flow.port)
        pairs = _between(sampled[flow.sender], ends)
        for port in sorted(ports):
            if port not in pairs:
                path = run_dir / f"tcp-{flow.sender}.csv"
                raise AirtcpError(f"{path}: no sample of the data connection of port {port}")
            samples.append(sampled[flow.sender][pairs[port]])
    return samples


def _sampled(path: Path, names: Sequence[str]) -> Mapping[tuple[str, str], Samples]:
    """Columns of the samples of each connection, by its two ends."""
    # Imported here because it takes longer than to read a short file without it.
    import pyarrow
    from pyarrow import csv as arrow_csv

    word = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    types = dict.fromkeys(_TEXTS, word) | dict.fromkeys(names, pyarrow.int64())
    try:
        with path.open("rb") as file:
            table = arrow_csv.read_csv(
                file,
                arrow_csv.ReadOptions(use_threads=False),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=types, include_columns=list(types)
                ),
            )
    except (pyarrow.ArrowInvalid, pyarrow.ArrowKeyError) as error:
        raise AirtcpError(f"{path}: not a file of tcpwatch, or truncated: {error}") from None
    except OSError as error:
        raise AirtcpError(f"{path}: {error.strerror}") from None
    event, local, remote = (table[name].combine_chunks() for name in _TEXTS)
    [samples] = numpy.nonzero(event.cast(pyarrow.string()).to_numpy(False) != "close")
    ends = local.indices.to_numpy() * len(remote.dictionary) + remote.indices.to_numpy()
    samples = samples[numpy.argsort(ends[samples], kind="stable")]
    pairs, firsts = numpy.unique(ends[samples], return_index=True)
    columns = {name: table[name].to_numpy()[samples].astype(numpy.float64) for name in names}
    parts = {name: numpy.split(column, firsts[1:]) for name, column in columns.items()}
    return {
        (
            local.dictionary[pair // len(remote.dictionary)].as_py(),
            remote.dictionary[pair % len(remote.dictionary)].as_py(),
        ): {name: parts[name][number] for name in names}
        for number, pair in enumerate(pairs.tolist())
    }


def exchange_ends(exchanges: Exchanges, flow: Flow) -> Ends:
    """The ends of exchanges: the client is the receiver of the data, the server its sender."""
    return Ends(flow.receiver_address, exchanges.ports, flow.sender_address, flow.port)


def read_exchange_ends(run_dir: Path, flow: Flow) -> list[TcpTrace]:
    """The connections of exchanges, sampled at the receiver of the data."""
    ends = exchange_ends(read_exchanges(run_dir / flow.exchanges_file), flow)
    return read_connections(run_dir, flow.receiver).traces(ends)

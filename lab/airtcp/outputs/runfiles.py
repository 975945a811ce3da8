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
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from airtcp.errors import AirtcpError
from airtcp.paths import BEGAN
from airtcp.testbed.addresses import ADDRESSES
from airtcp.testbed.flows import PORT, Pair

# The columns of tcpwatch that the metrics and figures need.
_TCP_COLUMNS = frozenset(
    {"time_ns", "event", "local", "remote", "cwnd", "srtt_us", "retrans"}
    | {"segs_out", "data_segs_out", "data_segs_in"}
)

_AMPDU_SIZE = re.compile(r"ampdu_size_(\d+)")
_PING_REPLY = re.compile(r"\[([0-9.]+)\] .*icmp_seq=\d+ .*time=([0-9.]+) ms")


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

    def stream_series(self) -> list[tuple[NDArray[numpy.float64], NDArray[numpy.float64]]]:
        """For each flow: (times in s since the start, bits transferred until then)."""
        streams: dict[int, list[tuple[float, float]]] = {}
        try:
            for interval in self.document["intervals"]:
                for one in interval["streams"]:
                    seen = streams.setdefault(int(one["socket"]), [(0.0, 0.0)])
                    seen.append((float(one["end"]), seen[-1][1] + 8 * float(one["bytes"])))
        except (KeyError, TypeError, ValueError):
            raise AirtcpError(f"{self.path}: intervals are not as iperf3 writes them") from None
        series = [numpy.array(seen).T for seen in streams.values()]
        return [(times_s, bits) for times_s, bits in series]


@dataclass(frozen=True)
class TcpTrace:
    """One data connection as tcpwatch saw it at one end.

    columns: every integer column of the samples, in time order. final: the exact counters when
    the connection was destroyed.
    """

    port: int
    columns: Mapping[str, NDArray[numpy.float64]]
    final: Mapping[str, int]


def read_iperf3(path: Path) -> Iperf3:
    """Read the document of an iperf3; the client is the sender of the data."""
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


class Ends(NamedTuple):
    """Connections from ports of a client to that of a server: their addresses.

    A client may go from the same port to several ports of the server.
    """

    client: str
    ports: frozenset[int]
    server: str
    server_port: int


@dataclass(frozen=True)
class TcpConnections:
    """All that tcpwatch saw at a node: the rows of each connection, by its two ends."""

    path: Path
    columns: Sequence[str]
    samples: Mapping[tuple[str, str], Sequence[Sequence[int]]]
    closed: Mapping[tuple[str, str], Sequence[int]]

    def traces(self, ends: "Ends") -> list[TcpTrace]:
        """The connections between the ends, by port; each has samples and a final state."""
        seen = self._between(ends)
        return [self._trace(port, seen.get(port, ("", ""))) for port in sorted(ends.ports)]

    def finals(self, ends: "Ends") -> list[Mapping[str, int]]:
        """Their final states alone: connections may be too short for a sample."""
        seen = self._between(ends)
        return [self._final(port, seen.get(port, ("", ""))) for port in sorted(ends.ports)]

    def _between(self, ends: "Ends") -> dict[int, tuple[str, str]]:
        return {
            _port(pair[here]): pair
            for pair in self.samples.keys() | self.closed.keys()
            for here in (0, 1)
            if _port(pair[here]) in ends.ports
            and _port(pair[1 - here]) == ends.server_port
            and (_host(pair[here]), _host(pair[1 - here])) == (ends.client, ends.server)
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


def read_connections(run_dir: Path, node: str) -> TcpConnections:
    """Read tcp-NODE.csv; that of the server has the connections of all stations."""
    path = run_dir / f"tcp-{node}.csv"
    return _connections(path, _text(path))


@lru_cache(maxsize=2)  # metrics, series.csv and run.flent.gz are made of the same two files
def _connections(path: Path, text: str) -> TcpConnections:
    reader = csv.reader(io.StringIO(text))
    columns = next(reader, [])
    if missing := _TCP_COLUMNS.difference(columns):
        raise AirtcpError(f"{path}: no column {min(missing)!r}")
    text_columns = ("event", "local", "remote", "state")
    names = [name for name in columns if name not in text_columns]
    # Of a long run there are many rows.
    texts_of = itemgetter(*map(columns.index, ("event", "local", "remote")))
    numbers_of = itemgetter(*map(columns.index, names))
    samples: dict[tuple[str, str], list[list[int]]] = {}
    closed: dict[tuple[str, str], list[int]] = {}
    for row in filter(None, reader):
        try:
            event, local, remote = texts_of(row)
            values = list(map(int, numbers_of(row)))
            if (local, remote) not in samples:
                for end in (local, remote):
                    _port(end)
        except (IndexError, ValueError):
            raise AirtcpError(
                f"{path}:{reader.line_num}: not a row of tcpwatch, or cut short"
            ) from None
        if event == "close":
            closed[local, remote] = values
        else:
            samples.setdefault((local, remote), []).append(values)
    return TcpConnections(path, names, samples, closed)


def _host(end: str) -> str:
    """Of `10.0.0.1:5201` and of `[::ffff:10.0.0.1]:5201` it is 10.0.0.1."""
    return end.rpartition(":")[0].strip("[]").removeprefix("::ffff:")


def _port(end: str) -> int:
    return int(end.rpartition(":")[2])


class Flows(NamedTuple):
    """The flows of all transfers in their order, as their senders and their receivers saw them."""

    sent: list[TcpTrace]
    received: list[TcpTrace]


def read_flows(run_dir: Path, pairs: Sequence[Pair]) -> Flows:
    """Each file once: with both directions a node is sender and receiver."""
    nodes = dict.fromkeys(node for pair in pairs for node in (pair.sender, pair.receiver))
    seen = {node: read_connections(run_dir, node) for node in nodes}
    flows = Flows([], [])
    for pair in pairs:
        ports = read_iperf3(run_dir / pair.file("client")).data_ports
        ends = Ends(pair.sender_address, ports, pair.receiver_address, pair.port)
        flows.sent.extend(seen[pair.sender].traces(ends))
        flows.received.extend(seen[pair.receiver].traces(ends))
    return flows


def exchange_ends(exchanges: "Exchanges", asker: str, answerer: str) -> Ends:
    """The connections of exchanges, from the node that asked to the one that answered."""
    return Ends(ADDRESSES[asker], exchanges.ports, ADDRESSES[answerer], PORT)


def read_exchange_ends(run_dir: Path, asker: str, answerer: str) -> list[TcpTrace]:
    """The connections of exchanges as the node that asked saw them."""
    ends = exchange_ends(read_exchanges(run_dir), asker, answerer)
    return read_connections(run_dir, asker).traces(ends)


_PROBE = re.compile(
    r" ([0-9.]+): tcp_probe: .*? src=(\S+):(\d+) dest=\S+:(\d+) .*? snd_cwnd=(\d+) "
)


def read_cwnd_trace(
    run_dir: Path, sender: str, transfer_port: int = PORT
) -> list[tuple[NDArray[numpy.float64], NDArray[numpy.float64]]]:
    """cwnd-trace.txt: (time in s, cwnd in segments) of each connection of the transfer's port.

    sender: its address. A value for every segment that it received, before that had its effect.
    """
    path = run_dir / "cwnd-trace.txt"
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for time_s, source, port, peer, cwnd in _PROBE.findall(_text(path)):
        if source == sender and str(transfer_port) in (port, peer):
            found.setdefault((port, peer), []).append((float(time_s), float(cwnd)))
    if not found:
        raise AirtcpError(f"{path}: no ACK reached {sender}")
    return [(own[0], own[1]) for own in (numpy.array(rows).T for rows in found.values())]


def read_began_ns(run_dir: Path) -> int:
    """When the flows of a custom topology began, by the guest's clock."""
    path = run_dir / BEGAN
    try:
        return int(_text(path))
    except ValueError:
        raise AirtcpError(f"{path}: not a time in ns") from None


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
    replies = _PING_REPLY.findall(_text(path))
    if not replies:
        raise AirtcpError(f"{path}: no ping was answered")
    rtt_ms = numpy.array([float(time_ms) for _, time_ms in replies])
    # The stamps of `ping -D` are those of replies.
    sent_s = numpy.array([float(stamp) for stamp, _ in replies]) - rtt_ms / 1e3
    return Latency(sent_s - sent_s[0], rtt_ms)


def read_udp_ping(path: Path) -> Latency:
    """What the guest's program udpecho measured. At least one request."""
    header, *lines = _text(path).splitlines() or [""]
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


@dataclass(frozen=True)
class Exchanges:
    """What the guest's program exchange measured, of each: its times, its page, its port.

    start_ns and end_ns are of CLOCK_REALTIME. page is 0 where there are no pages.
    """

    start_ns: Sequence[int]
    end_ns: Sequence[int]
    page: Sequence[int]
    ports: frozenset[int]

    @property
    def times_ms(self) -> NDArray[numpy.float64]:
        pairs = zip(self.start_ns, self.end_ns, strict=True)
        return numpy.array([(end - start) / 1e6 for start, end in pairs])

    def by_page(self) -> "Exchanges":
        """Each page as a whole: from the start of its first object to the end of its last."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for page, start, end in zip(self.page, self.start_ns, self.end_ns, strict=True):
            first[page] = min(start, first.get(page, start))
            last[page] = max(end, last.get(page, end))
        pages = sorted(first)
        starts, ends = [first[page] for page in pages], [last[page] for page in pages]
        return Exchanges(starts, ends, pages, self.ports)


def read_exchanges(run_dir: Path) -> Exchanges:
    """Read exchanges.csv. At least one."""
    path = run_dir / "exchanges.csv"
    header, *lines = _text(path).splitlines() or [""]
    columns = ["port", "start_ns", "end_ns"]
    if header.split(",") not in (columns, pages := [*columns, "page", "bytes"]):
        raise AirtcpError(f"{path}: no header of exchange")
    rows = []
    for number, line in enumerate(lines, start=2):
        try:
            row = [int(word) for word in line.split(",")]
        except ValueError:
            row = []
        if len(row) != len(header.split(",")):
            raise AirtcpError(f"{path}:{number}: not a row of exchange, or cut short")
        rows.append(row)
    if not rows:
        raise AirtcpError(f"{path}: no exchange")
    return Exchanges(
        start_ns=[row[1] for row in rows],
        end_ns=[row[2] for row in rows],
        page=[row[3] if header.split(",") == pages else 0 for row in rows],
        ports=frozenset(row[0] for row in rows),
    )


def read_qdisc(path: Path, kind: str) -> dict[str, int]:
    """The counters of the first qdisc of a kind in what `tc -s -j qdisc` has written."""
    try:
        listed = json.loads(_text(path))
        own = next(one for one in listed if one["kind"] == kind)
        return {name: int(own[name]) for name in ("bytes", "packets", "drops")}
    except (ValueError, KeyError, TypeError, StopIteration):
        raise AirtcpError(f"{path}: no counters of a qdisc {kind}") from None


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

# SPDX-License-Identifier: GPL-2.0-only
"""Converts what `ss` reports about TCP on a real host into a file like that of tcpwatch."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from airtcp.errors import AirtcpError
from airtcp.files.text import NUMBER, read_text

COLUMNS = (
    *("time_ns", "event", "local", "remote", "state", "cwnd", "ssthresh", "srtt_us", "rttvar_us"),
    *("min_rtt_us", "rto_us", "rcv_rtt_us", "bytes_acked", "bytes_received", "segs_out"),
    *("segs_in", "data_segs_out", "data_segs_in", "retrans", "lost", "unacked"),
    *("delivery_rate_bps", "pacing_rate_bps", "notsent_bytes"),
)

# Columns whose values ss prints as NAME:NUMBER, in the unit of the column times the factor.
_NUMBERS = {
    "cwnd": ("cwnd", 1.0),
    "ssthresh": ("ssthresh", 1.0),
    "min_rtt_us": ("minrtt", 1e3),
    "rto_us": ("rto", 1e3),
    "rcv_rtt_us": ("rcv_rtt", 1e3),
    "lost": ("lost", 1.0),
    "unacked": ("unacked", 1.0),
    "notsent_bytes": ("notsent", 1.0),
    **{
        name: (name, 1.0)
        for name in ("bytes_acked", "bytes_received", "segs_out", "segs_in", "data_segs_out")
    },
    "data_segs_in": ("data_segs_in", 1.0),
}
_PAIR = re.compile(rf"(?:^| )([a-z_]+):{NUMBER}(?:/{NUMBER})?(?= |$)")
_RATE = re.compile(r"\b(delivery|pacing)_rate ([0-9]+)bps")


def convert(
    samples: Path,
    closes: Path,
    out: Path,
    *,
    names: Mapping[str, str],
    ahead_ns: int,
    epoch_ns: int,
) -> None:
    """Write samples of connections, and their last counters when they were closed.

    A connection whose end ss has missed is closed by its last sample. names: what to write instead
    of addresses. ahead_ns: by how much the clock of the host is ahead; times are relative to
    epoch_ns of ours. Raises AirtcpError if a file cannot be read.
    """
    rows: list[tuple[object, ...]] = []
    last: dict[tuple[str, str], Mapping[str, object]] = {}
    time_ns = 0
    for line in read_text(samples).splitlines():
        if line.isdigit():
            time_ns = int(line) - ahead_ns - epoch_ns
        elif row := _row(line, names):
            last[str(row["local"]), str(row["remote"])] = row
            rows.append(_cells(row, time_ns, "sample"))
    if not time_ns:
        raise AirtcpError(f"{samples}: contains no sample of ss with a time in ns")
    ended = {
        (str(row["local"]), str(row["remote"])): row
        for line in read_text(closes).splitlines()
        if (row := _row(line, names))
    }
    rows += [_cells(ended.get(ends, row), time_ns, "close") for ends, row in last.items()]
    lines = [",".join(map(str, row)) for row in (COLUMNS, *rows)]
    out.write_text("\n".join(lines) + "\n")


def _cells(row: Mapping[str, object], time_ns: int, event: str) -> tuple[object, ...]:
    known = {**row, "time_ns": time_ns, "event": event}
    return tuple(known[column] for column in COLUMNS)


def _row(line: str, names: Mapping[str, str]) -> dict[str, object] | None:
    """A connection, as printed by `ss -tinOH`; None without counters, as in time-wait."""
    words = line.split(maxsplit=5)
    if len(words) < 6 or ":" not in words[3] or "cwnd:" not in words[5]:
        return None
    pairs = {name: (first, second) for name, first, second in _PAIR.findall(words[5])}
    rates = {f"{kind}_rate_bps": int(bps) for kind, bps in _RATE.findall(words[5])}
    # ss does not print what is 0.
    row: dict[str, object] = {
        column: round(float(pairs.get(name, ("0", ""))[0]) * factor)
        for column, (name, factor) in _NUMBERS.items()
    }
    rtt_ms = pairs.get("rtt", ("0", "0"))
    row |= {"srtt_us": round(float(rtt_ms[0]) * 1e3), "rttvar_us": round(float(rtt_ms[1]) * 1e3)}
    row["retrans"] = int(pairs.get("retrans", ("0", "0"))[1] or 0)
    row |= {"delivery_rate_bps": 0, "pacing_rate_bps": 0} | rates
    row |= dict(zip(("local", "remote"), _renamed(words[3:5], names), strict=True))
    row["state"] = words[0]
    return row


def _renamed(ends: list[str], names: Mapping[str, str]) -> Iterator[str]:
    for end in ends:
        host, _, port = end.rpartition(":")
        # A server that listens on IPv6, too, has such addresses.
        host = host.strip("[]").removeprefix("::ffff:").partition("%")[0]
        yield f"{names.get(host, host)}:{port}"

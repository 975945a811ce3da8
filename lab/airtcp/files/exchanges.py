# SPDX-License-Identifier: GPL-2.0-only
"""exchanges.csv: the output of the guest's program exchange."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy

from airtcp.errors import AirtcpError
from airtcp.files.text import read_text
from airtcp.statistics import Floats


@dataclass(frozen=True)
class Exchanges:
    """Times, page and ports of exchanges.

    start_ns and end_ns are times of CLOCK_REALTIME. page is 0 if the workload has no pages.
    """

    start_ns: Sequence[int]
    end_ns: Sequence[int]
    page: Sequence[int]
    ports: frozenset[int]

    @property
    def times_ms(self) -> Floats:
        pairs = zip(self.start_ns, self.end_ns, strict=True)
        return numpy.array([(end - start) / 1e6 for start, end in pairs])

    def by_page(self) -> "Exchanges":
        """An entry for each page: from the start of its first object to the end of its last."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for page, start, end in zip(self.page, self.start_ns, self.end_ns, strict=True):
            first[page] = min(start, first.get(page, start))
            last[page] = max(end, last.get(page, end))
        pages = sorted(first)
        starts, ends = [first[page] for page in pages], [last[page] for page in pages]
        return Exchanges(starts, ends, pages, self.ports)


def read_exchanges(path: Path) -> Exchanges:
    """Read the exchanges of a file. Raises AirtcpError if there is none."""
    header, *lines = read_text(path).splitlines() or [""]
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
            raise AirtcpError(f"{path}:{number}: not a row of exchange, or truncated")
        rows.append(row)
    if not rows:
        raise AirtcpError(f"{path}: contains no exchange")
    return Exchanges(
        start_ns=[row[1] for row in rows],
        end_ns=[row[2] for row in rows],
        page=[row[3] if header.split(",") == pages else 0 for row in rows],
        ports=frozenset(row[0] for row in rows),
    )

# SPDX-License-Identifier: GPL-2.0-only
"""Write the tables of docs/explanation/tsq-paper.md from the experiments of the TSQ paper.

Runs the experiments that are named, by default all, and writes their tables; the others remain.
--results DIR: use the results in the directories of the experiments in DIR, without running
anything.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from doctables import with_table

from airtcp.errors import AirtcpError
from airtcp.paths import REPOSITORY
from airtcp.report.model import readable
from airtcp.results import documents
from airtcp.results.documents import SweepDocument
from airtcp.results.record import RunRecord

SEEDS = 1
PAGE = REPOSITORY / "docs" / "explanation" / "tsq-paper.md"

GOODPUT, MPDUS = "goodput_mbps", "ampdu_mpdus_mean"
DOWN, UP = "goodput_download_mbps", "goodput_upload_mbps"
PING, RTT, WINDOW = "ping_rtt_ms_p50", "tcp_rtt_ms_p50", "cwnd_segments_mean"

# How the values of a metric are called, and their decimal places.
SHOWN: Mapping[str, tuple[str, int]] = {
    GOODPUT: ("goodput in Mbit/s", 0),
    DOWN: ("goodput down in Mbit/s", 0),
    UP: ("up", 0),
    MPDUS: ("MPDUs per aggregate", 0),
    PING: ("ping in ms", 1),
    RTT: ("TCP's RTT in ms", 0),
    WINDOW: ("mean window in segments", 0),
}
HEADINGS = {
    "pacing_factor": "{:g}p",
    "flows": "flows {}",
    "ampdu_mpdus": "ampdu_mpdus {}",
    "formed_ppdus": "formed_ppdus {}",
    "return_loss": "loss {:g}",
    "tsq_burst": "bursts {}",
    "rx_delivery": "rx_delivery {}",
    "ssthresh": "ssthresh {}",
    "memory_linux54": "memory_linux54 {}",
    "hystart_linux54": "hystart_linux54 {}",
    "forget_cwnd_limited": "forget_cwnd_limited {}",
}
# Values of factors that have no effect; labels omit them.
NEUTRAL = ("unlimited", "kernel", "preset")


@dataclass(frozen=True)
class Table:
    """A table of an experiment: a row and a column for each combination of some factors' values.

    where: the values of the other factors.
    """

    name: str
    experiment: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    metrics: tuple[str, ...] = (GOODPUT, MPDUS, PING, RTT)
    where: Mapping[str, str] = field(default_factory=dict)


CONTROLS = ("congestion_control",)
PACED = ("tsq", "pacing_factor")

TABLES = (
    Table("tsq-inflight", "tsq-inflight", ("tsq",), ("ampdu_mpdus",), (GOODPUT, MPDUS, PING)),
    Table("tsq-udp", "tsq-udp", ("protocol", "udp_rate"), ("direction",), (GOODPUT, MPDUS)),
    Table("tsq-variants", "tsq-variants", CONTROLS, ("flows",)),
    Table("tsq-size", "tsq-size", CONTROLS, ("tsq",)),
    *(
        Table(
            f"tsq-formed {preset}",
            "tsq-formed",
            rows,
            ("formed_ppdus",),
            (GOODPUT, MPDUS, PING),
            {"preset": preset},
        )
        for preset, rows in (
            ("ar5bhb116", ("ssthresh", *CONTROLS)),
            ("ar9271", ("direction", "completion")),
            ("qca6178", ("return_loss", *CONTROLS)),
        )
    ),
    Table(
        "tsq-kernel bursts",
        "tsq-kernel",
        ("tsq",),
        ("tsq_burst", "formed_ppdus"),
        (GOODPUT, MPDUS, PING, WINDOW),
        {"congestion_control": "bbr_plain"},
    ),
    Table(
        "tsq-kernel windows",
        "tsq-kernel",
        CONTROLS,
        ("memory_linux54", "hystart_linux54", "forget_cwnd_limited"),
        (GOODPUT, MPDUS, PING, WINDOW),
        {"tsq": "1ms", "tsq_burst": "1ms", "formed_ppdus": "preset"},
    ),
    *(
        Table(
            f"tsq-interrupts {tsq}",
            "tsq-interrupts",
            CONTROLS,
            ("rx_delivery", "memory_linux54", "ssthresh"),
            where={"tsq": tsq},
        )
        for tsq in ("1ms", "16ms")
    ),
    *(
        Table(
            f"tp-rate {tsq}",
            "tp-rate",
            CONTROLS,
            ("pacing_factor",),
            where={"tsq": tsq, "bbr_probe_up_gain": "kernel"},
        )
        for tsq in ("1ms", "4ms")
    ),
    Table("tsq-cwnd", "tsq-cwnd", CONTROLS, PACED, (WINDOW,)),
    Table("tsq-size-ac", "tsq-size-ac", CONTROLS, ("tsq",), (GOODPUT, MPDUS, PING)),
    Table("tp-rate-ac", "tp-rate-ac", CONTROLS, PACED, (GOODPUT, PING)),
    Table("rrul", "rrul", CONTROLS, ("tsq",), (DOWN, UP, PING)),
    Table("rrul-fifo", "rrul-fifo", CONTROLS, ("tsq",), (DOWN, UP, PING)),
    Table("rrul-tp", "rrul-tp", CONTROLS, ("pacing_factor",), (DOWN, UP, PING)),
)


def text(table: Table, document: SweepDocument) -> str:
    """The table in Markdown, below a line with its extent. AirtcpError if it has no run."""
    runs = [run for run in document.runs if run.ok and _is(run, table.where)]
    if not runs:
        raise AirtcpError(f"{table.experiment}: no run for the table {table.name!r}")
    rows, columns = (
        {_values(run, names): None for run in runs} for names in (table.rows, table.columns)
    )
    lines = [
        f"{_extent(table, runs)}:",
        "",
        "| | " + " | ".join(_label(table.columns, column) for column in columns) + " |",
        "|---" * (1 + len(columns)) + "|",
    ]
    for row in rows:
        cells = [
            _cell(table, [run for run in runs if _at(run, table) == (row, column)])
            for column in columns
        ]
        lines.append(f"| {_label(table.rows, row)} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


Values = tuple[object, ...]


def _is(run: RunRecord, where: Mapping[str, str]) -> bool:
    return all(str(run.parameters[name]) == value for name, value in where.items())


def _values(run: RunRecord, names: Iterable[str]) -> Values:
    return tuple(run.parameters[name] for name in names)


def _at(run: RunRecord, table: Table) -> tuple[Values, Values]:
    return _values(run, table.rows), _values(run, table.columns)


def _label(names: Sequence[str], values: Values) -> str:
    shown = []
    for name, value in zip(names, values, strict=True):
        if name == "congestion_control" or name == "preset":
            shown.append(f"`{value}`")
        elif name in HEADINGS and value not in NEUTRAL:
            shown.append(HEADINGS[name].format(value))
        elif value not in NEUTRAL or len(names) == 1:
            shown.append(readable(value))
    return ", ".join(shown) or ", ".join(str(readable(value)) for value in values)


def _cell(table: Table, runs: Sequence[RunRecord]) -> str:
    """The means over the seeds; - if there are none."""
    parts = []
    for metric in table.metrics:
        found = [value for run in runs if (value := run.metrics.get(metric)) is not None]
        parts.append(f"{fmean(found):.{SHOWN[metric][1]}f}" if found else "-")
    return " / ".join(parts) if runs else "-"


def _extent(table: Table, runs: Sequence[RunRecord]) -> str:
    metrics = " / ".join(SHOWN[metric][0] for metric in table.metrics)
    seeds = len({run.seed for run in runs})
    durations = sorted({readable(run.parameters["duration"]) for run in runs})
    count = f"{seeds} seeds" if seeds > 1 else "one seed"
    return f"`{table.experiment}`, {', '.join(durations)}, {count}: {metrics}"


def experiments(names: Sequence[str]) -> Iterator[str]:
    """The experiments with tables, or those named. AirtcpError for others."""
    known = dict.fromkeys(table.experiment for table in TABLES)
    for name in names or known:
        if name not in known:
            raise AirtcpError(f"{name!r} has no table; allowed: {' '.join(known)}")
        yield name


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", metavar="EXPERIMENT", nargs="*")
    parser.add_argument("--results", metavar="DIR", type=Path)
    options = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    for name in experiments(options.names):
        out_dir = (options.results or REPOSITORY / "results") / name
        if not options.results:
            command = [str(REPOSITORY / "airtcp"), "run", name]
            subprocess.run([*command, "--seeds", str(SEEDS), "--out", str(out_dir)], check=True)
        document = documents.read(out_dir)
        for table in TABLES:
            if table.experiment == name:
                page = with_table(page, table.name, text(table, document))
        PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AirtcpError as error:
        sys.exit(f"tsq_paper: {error}")

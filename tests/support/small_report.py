# SPDX-License-Identifier: GPL-2.0-only
"""Results of a small experiment with round numbers, and the contents of its report."""

import json
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from fake_capture import ethernet, tcp_packet, write_pcap
from fake_run import DATA_PORT, START_NS, write_run, write_udp

from airtcp import atomicfile
from airtcp.experiment.metrics import METRICS, Value
from airtcp.files import capture
from airtcp.parameters import Parameters
from airtcp.report import contents, model, page
from airtcp.report.plot import Plot
from airtcp.results import timeseries
from airtcp.results.metrics import compute
from airtcp.statistics import Summary, summarize
from airtcp.testbed.default import testbed

# Goodput in Mbit/s of the two seeds by policy and delay, and published values.
GOODPUT = {
    ("default", "0ms"): (100.0, 102.0),
    ("aad", "0ms"): (110.0, 112.2),
    ("default", "50ms"): (40.0, 40.0),
    ("aad", "50ms"): (38.0, 38.0),
}
PUBLISHED = {("default", "0ms"): 157.4, ("aad", "0ms"): 174.4}


AGAINST = {
    "title": "Ping <and> goodput",
    "x": "ping_rtt_ms_p50",
    "y": ["goodput_mbps"],
    "lines": "ack_policy",
    "along": "delay",
}


def write_results(
    out_dir: Path,
    delays: tuple[str, ...] = ("0ms",),
    figures: Sequence[Mapping[str, Any]] = (),
    **parameters: str,
) -> Path:
    """Write the runs and results.json (schema 1) of the experiment; returns out_dir."""
    runs: list[dict[str, Any]] = []
    summary: list[dict[str, Any]] = []
    for (policy, delay), rates in GOODPUT.items():
        if delay not in delays:
            continue
        factors = {"ack_policy": policy, "delay": delay}
        resolved = Parameters().replace({"duration": "4s", **factors, **parameters})
        metrics = []
        for seed, rate in enumerate(rates, start=1):
            directory = Path("runs") / f"{policy}_{delay}" / f"seed-{seed}"
            write_run(out_dir / directory, goodput_mbps=rate)
            if resolved.protocol == "udp":
                write_udp(out_dir / directory, packets=100 * round(rate))
            ping = directory / "ping.txt"
            tested = testbed(resolved)
            metrics.append(compute(out_dir / directory, tested))
            if tested.over("tcp"):
                series_csv = out_dir / directory / "series.csv"
                timeseries.write_csv(series_csv, out_dir / directory, tested)
            runs.append(
                {
                    "schema": 1,
                    "factors": factors,
                    "seed": seed,
                    "status": "ok",
                    "error": None,
                    "metrics": metrics[-1],
                    "cost": {"wall_s": 2.0, "cpu_s": 1.5, "virtual_s": 15.0},
                    "artifacts": {
                        "ping.txt": {"path": str(ping), "sha256": atomicfile.sha256(out_dir / ping)}
                    },
                    "parameters": resolved.plain(),
                    "kernel": {"version": "6.12.9", "hash": "0123456789abcdef"},
                    "identity": f"cd34 {policy} {delay} {seed}",
                }
            )
        summary += _summary(factors, metrics)
    document = {
        "schema": 1,
        "experiment": "small",
        "title": "A <small> experiment",
        "source": "A thesis & more",
        "command": "./airtcp run small --seeds 2",
        "kernel": {"version": "6.12.9", "hash": "0123456789abcdef"},
        "runs": runs,
        "summary": summary,
        **({"figures": figures} if figures else {}),
    }
    save(out_dir, document)
    return out_dir


def write_long_names(out_dir: Path) -> None:
    """The results with a command line in the names of both conditions, and a failed run."""
    write_results(out_dir, ("0ms", "50ms"))
    document = json.loads((out_dir / "results.json").read_text())
    for item in document["runs"] + document["summary"]:
        words = " ".join("0123456789" for _ in range(14))
        item["factors"]["command"] = f"fetch {item['factors']['delay']} {words}"
    failed = document["runs"][-1]
    failed |= {"status": "failed", "error": f"no answer (console: {100 * 'x'})", "metrics": {}}
    save(out_dir, document)


def save(out_dir: Path, document: Mapping[str, Any]) -> None:
    """Write results.json and result.json of each run, in schema 1."""
    (out_dir / "results.json").write_text(json.dumps(document))
    for run in document["runs"]:
        ping = out_dir / run["artifacts"]["ping.txt"]["path"]
        ping.with_name("result.json").write_text(json.dumps(run))


def text_of(out_dir: Path) -> str:
    """The HTML of the report, with empty figures."""
    shown = contents.describe(model.load(out_dir))
    return page.render(
        shown, {plot.slug: page.Saved("<svg></svg>", {}, None) for plot in shown.plots}, None
    )


def plots_of(out_dir: Path) -> dict[str, Plot]:
    """The figures of a report, by slug."""
    return {plot.slug: plot for plot in contents.describe(model.load(out_dir)).plots}


def _summary(
    factors: Mapping[str, str], metrics: Sequence[Mapping[str, Value]]
) -> list[dict[str, Any]]:
    """The rows of a condition, given the metrics of its runs."""
    rows: list[dict[str, Any]] = []
    for name in METRICS:
        known = [value for of_run in metrics if (value := of_run[name]) is not None]
        mean = summarize(known) if known else Summary(0, None, 0)
        key = factors["ack_policy"], factors["delay"]
        published = PUBLISHED.get(key) if name == "goodput_mbps" else None
        rows.append(
            {
                "factors": factors,
                "metric": name,
                "mean": mean.mean if known else None,
                "ci95": mean.ci95,
                "n": mean.n,
                "published": published
                and {"value": published, "precision": "exact", "source": "Table <5.1>"},
            }
        )
    return rows


ARRIVALS_US = (0, 50, 100, 400, 450, 500, 900, 950)
ACKS_US = (60, 110, 510)


def write_station_capture(run: Path, arrivals_us: Sequence[int] = ARRIVALS_US) -> None:
    """Data segments at arrivals_us, with sequence numbers 0, 1, ...; pure ACKs at ACKS_US."""
    data = [(us, sequence, True) for sequence, us in enumerate(arrivals_us)]
    acks = [(us, 0, False) for us in ACKS_US]
    write_pcap(
        run / "station.pcap",
        capture.LINKTYPE_ETHERNET,
        (
            (START_NS + us * 1000, ethernet(segment(sequence, is_data)))
            for us, sequence, is_data in sorted(data + acks)
        ),
    )
    capture.convert(run / "station.pcap", run / "station.pcapng", "wlan0")


def segment(sequence: int, is_data: bool) -> bytes:
    return tcp_packet(
        data_port=DATA_PORT,
        from_server=is_data,
        sequence=sequence,
        payload_bytes=100 if is_data else 0,
    )


class Elements(HTMLParser):
    """Collects ids, references, text of table rows and elements left open."""

    VOID = frozenset({"meta", "link", "br", "path", "use"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.references: list[str] = []
        self.rows: list[list[str]] = []
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name in ("href", "src", "xlink:href"):
                self.references.append(value or "")
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td") and self.rows:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag
        if tag in ("td", "th") and self.rows and self.rows[-1]:
            self.rows[-1][-1] = self.rows[-1][-1].strip()

    def handle_data(self, data: str) -> None:
        if self.open[-1:] and {"td", "th"} & set(self.open) and self.rows and self.rows[-1]:
            self.rows[-1][-1] += data

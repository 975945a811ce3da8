# SPDX-License-Identifier: GPL-2.0-only
"""The report of a small experiment whose figures are round numbers."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import pytest
from fake_capture import ethernet, on_air, tcp_packet, write_pcap
from fake_run import DATA_PORT, START_NS, write_exchanges, write_run

from airtcp import atomicfile
from airtcp.errors import InputError
from airtcp.experiment.figures import KINDS, MetricFigure, TimeFigure
from airtcp.experiment.metrics import METRICS
from airtcp.files import capture
from airtcp.kernel.policies import names
from airtcp.parameters import Parameters
from airtcp.paths import REPOSITORY
from airtcp.report import contents, formats, model, mpl, page, palette, series, write_report
from airtcp.report.declared import layout, over_time
from airtcp.report.figure import Labels, Line, Steps
from airtcp.report.plot import Plot
from airtcp.report.saved import Saved
from airtcp.report.writer import Writer
from airtcp.results.metrics import compute
from airtcp.statistics import Summary, summarize
from airtcp.testbed.default import testbed

EN_DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"

# Goodput in Mbit/s of the two seeds, by policy and delay; and what was published.
GOODPUT = {
    ("default", "0ms"): (100.0, 102.0),
    ("aad", "0ms"): (110.0, 112.2),
    ("default", "50ms"): (40.0, 40.0),
    ("aad", "50ms"): (38.0, 38.0),
}
PUBLISHED = {("default", "0ms"): 157.4, ("aad", "0ms"): 174.4}


def write_results(
    out_dir: Path,
    delays: tuple[str, ...] = ("0ms",),
    figures: Sequence[Mapping[str, Any]] = (),
    **parameters: str,
) -> Path:
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
            ping = directory / "ping.txt"
            metrics.append(compute(out_dir / directory, testbed(resolved)))
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
                    "identity": "cd34",
                }
            )
        for name in METRICS:
            values = [one[name] for one in metrics]
            known = [value for value in values if value is not None]
            mean = summarize(known) if known else Summary(0, None, 0)
            published = PUBLISHED.get((policy, delay)) if name == "goodput_mbps" else None
            summary.append(
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


def save(out_dir: Path, document: Mapping[str, Any]) -> None:
    """results.json, and result.json of every run, of schema 1."""
    (out_dir / "results.json").write_text(json.dumps(document))
    for run in document["runs"]:
        ping = out_dir / run["artifacts"]["ping.txt"]["path"]
        ping.with_name("result.json").write_text(json.dumps(run))


def text_of(out_dir: Path) -> str:
    """The page, with empty figures: they are not drawn."""
    shown = contents.describe(model.load(out_dir))
    return page.render(shown, {plot.slug: Saved("<svg></svg>", {}, None) for plot in shown.plots})


def plots_of(out_dir: Path) -> dict[str, Plot]:
    """The figures of a report, by slug."""
    return {plot.slug: plot for plot in contents.describe(model.load(out_dir)).plots}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    return text_of(write_results(tmp_path_factory.mktemp("out"), ("0ms", "50ms")))


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

    def handle_data(self, data: str) -> None:
        if self.open[-1:] and {"td", "th"} & set(self.open) and self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.strip()


def test_page_is_well_formed_and_refers_to_nothing_outside(site: Path) -> None:
    report = (site / "one" / "report.html").read_text()
    elements = Elements(report)
    assert not elements.open
    assert len(elements.ids) == len(set(elements.ids))
    for reference in elements.references:
        if reference.startswith("#"):
            assert reference[1:] in elements.ids
        else:
            assert re.fullmatch(r"(figures|runs)/[\w./-]+", reference)
    fragments = re.findall(r"url\(#([^)]+)\)", report)
    assert set(fragments) <= set(elements.ids)
    assert not re.search(r"@import|url\((?!#)", report)
    assert "timelines" in elements.ids
    assert "Ping &lt;and&gt; goodput" in report


def test_every_figure_is_on_the_page_and_in_files(site: Path) -> None:
    names = [*(f"figure-{number}" for number in (1, 2)), "goodput", "airtime", "goodput-gain"]
    names += ["acks", "timeline-aad", *(f"delay-0-ms-{kind}" for kind in ("time", "arrivals"))]
    names += ["delay-0-ms-ampdu", "delay-0-ms-ping"]
    files = {f"{name}.{kind}" for name in names for kind in ("pdf", "png", "svg")}
    figures = site / "one" / "figures"
    assert {path.name for path in figures.iterdir()} == files | {"plotly.min.js"}
    references = Elements((site / "one" / "report.html").read_text()).references
    assert {f"figures/{file}" for file in files} <= set(references)
    assert b"/FontFile2" in (figures / "goodput.pdf").read_bytes()  # fonts are embedded


def test_a_timeline_tells_what_each_box_is(site: Path) -> None:
    report = (site / "one" / "report.html").read_text()
    start = report.index('aria-labelledby="timeline-aad-t')
    svg = report[start : report.index("</svg>", start)]
    assert re.search(r'<g id="timeline-aad-box\d+"><title>data, radio 0 to radio 1; 7\.000 ms', svg)
    assert "#dd3322" not in svg  # the page's style sheet has the colours
    assert "var(--frame-lost)" in svg


def test_text_from_the_experiment_is_escaped(report: str) -> None:
    assert "A &lt;small&gt; experiment" in report
    assert "Table &lt;5.1&gt;" in report
    assert "<small>" not in report


def test_table_has_measured_interval_published_ratio_and_gain(report: str) -> None:
    rows = Elements(report).rows
    # t(0.975, 1) = 12.706; the standard error of 100 and 102 is 1.
    assert ["delay 0 ms", "default", "101", "88.29 to 113.7", "2", "157.4", "0.64"] in rows
    assert ["aad", "111.1", "97.12 to 125.1", "2", "174.4", "0.64"] in rows
    # Paired by seed the ratio is 1.1 both times; 174.4 / 157.4 is 1.108.
    assert ["gain of aad", "+10.0%", "+10.0% to +10.0%", "2", "+10.8%", ""] in rows
    assert ["delay 50 ms", "default", "40.00", "40.00 to 40.00", "2", EN_DASH, EN_DASH] in rows
    assert ["gain of aad", f"{MINUS}5.0%", f"{MINUS}5.0% to {MINUS}5.0%", "2", EN_DASH, ""] in rows


def test_summary_is_made_of_the_data(report: str) -> None:
    assert "8 runs: 2 conditions, 2 ACK policies (default, aad), 2 seeds each" in report
    assert f"from {MINUS}5.0% (delay 50 ms) to +10.0% (delay 0 ms)" in report


def test_page_says_how_to_make_it_again(report: str, tmp_path: Path) -> None:
    ping = atomicfile.sha256(write_run(tmp_path / "run") / "ping.txt")
    for text in ("./airtcp run small --seeds 2", "6.12.9", "0123456789abcdef", ping, "cd34"):
        assert text in report


def test_without_a_capture_the_page_says_how_to_get_one(report: str) -> None:
    assert "--set capture=server,station,air" in report


def test_equal_results_give_equal_bytes(site: Path, tmp_path: Path) -> None:
    """Two figures of those of the report, drawn once more."""
    plots = plots_of(site / "one")
    again = Writer(tmp_path)
    kinds = ["goodput", "figure-1"]
    with mpl.style():
        saved = {slug: again.save(plots[slug]) for slug in kinds}
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (site / "one" / "figures" / path.name).read_bytes()
    report = (site / "one" / "report.html").read_text()
    assert all(one.svg in report for one in saved.values())
    assert (saved["goodput"].interactive or "-") in report


def test_a_missing_file_leaves_out_its_figure_and_is_named(tmp_path: Path) -> None:
    out_dir = write_results(tmp_path / "out")
    (out_dir / "runs" / "aad_0ms" / "seed-1" / "tcp-server.csv").unlink()
    assert re.search(r"Left out, aad: .*tcp-server\.csv: No such file", text_of(out_dir))
    assert "delay-0-ms-ampdu" in plots_of(out_dir)


def test_udp_has_no_figures_of_tcp(tmp_path: Path) -> None:
    shown = plots_of(write_results(tmp_path / "out", protocol="udp"))
    assert "delay-0-ms-ampdu" in shown
    assert "delay-0-ms-time" not in shown
    assert "acks" not in shown


def test_latency_is_a_table_of_its_own_in_which_less_is_better(tmp_path: Path) -> None:
    out_dir = write_results(tmp_path / "out")
    document = json.loads((out_dir / "results.json").read_text())
    times_ms = {"default": 10.0, "aad": 12.0}
    for run in document["runs"]:
        time_ms = times_ms[run["factors"]["ack_policy"]]
        run["parameters"]["workload"] = "request_response"
        run["metrics"] |= {"goodput_mbps": None, "request_response_ms_mean": time_ms}
        run_dir = out_dir / Path(run["artifacts"]["ping.txt"]["path"]).parent
        write_exchanges(run_dir, [time_ms] * 3, [DATA_PORT])
        (run_dir / "ping.txt").touch()
        run["artifacts"]["ping.txt"]["sha256"] = atomicfile.sha256(run_dir / "ping.txt")
    for summary in document["summary"]:
        time_ms = times_ms[summary["factors"]["ack_policy"]]
        if summary["metric"] in ("goodput_mbps", "request_response_ms_mean"):
            is_time = summary["metric"] != "goodput_mbps"
            summary |= {"published": None, "mean": time_ms if is_time else None, "n": 2}
    save(out_dir, document)
    report = text_of(out_dir)
    rows = Elements(report).rows
    assert ["delay 0 ms", "default", "10.00", EN_DASH, "2", EN_DASH, EN_DASH] in rows
    assert ["change with aad", "+20.0%", "+20.0% to +20.0%", "2", EN_DASH, ""] in rows
    assert "Mean latency of aad against default: +20.0%" in report
    assert "Less is better" in report and "Table of goodput" not in report
    shown = plots_of(out_dir)
    assert {"mean-latency", "mean-latency-gain", "delay-0-ms-exchanges"} <= shown.keys()
    assert "delay-0-ms-time" not in shown


def test_policies_have_colours_of_their_own() -> None:
    policies = names()
    roles = [palette.policy_role(number) for number in range(len(policies))]
    assert len({palette.PALETTE[role] for role in roles}) == len(policies)


def test_failed_and_damaged_runs_are_named_and_not_counted(tmp_path: Path) -> None:
    out_dir = write_results(tmp_path / "out")
    document = json.loads((out_dir / "results.json").read_text())
    document["runs"][0] |= {"status": "panic", "error": "the kernel panicked", "metrics": {}}
    save(out_dir, document)
    damaged = out_dir / "runs" / "aad_0ms" / "seed-2"
    (damaged / "ping.txt").write_text("")
    report = text_of(out_dir)
    assert "the kernel panicked" in report
    assert "Runs left out" in report and f"{damaged}: ping.txt has changed" in report
    assert "2 runs" in report
    [aad] = [one for one in model.load(out_dir).cases if one.policy == "aad"]
    goodput = aad.summaries["goodput_mbps"]
    assert (round(goodput.mean, 6), goodput.ci95, goodput.n) == (110, None, 1)


@pytest.mark.parametrize("content", [None, "", "{}", '{"schema": 1}', '{"schema": 9}'])
def test_a_directory_without_good_results_is_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "results.json").write_text(content)
    with pytest.raises(InputError, match=r"results\.json"):
        write_report(tmp_path)


ARRIVALS_US = (0, 50, 100, 400, 450, 500, 900, 950)
ACKS_US = (60, 110, 510)


def write_station_capture(run: Path) -> None:
    """Data segments at ARRIVALS_US, their number for a sequence number; pure ACKs at ACKS_US."""
    data = [(us, sequence, True) for sequence, us in enumerate(ARRIVALS_US)]
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


def test_inter_arrival_times_aggregates_and_acks(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    assert series.arrivals(run, testbed(Parameters())) is None
    write_station_capture(run)
    found = series.arrivals(run, testbed(Parameters()))
    assert found is not None
    assert [round(gap, 6) for gap in found.gaps_ms] == [0.05, 0.05, 0.3, 0.05, 0.05, 0.4, 0.05]
    assert found.aggregates == [0, 0, 1, 1, 1, 2, 2]  # by gaps of more than twice 0.05 ms
    assert found.acks_after == [1, 2, 5]  # after the segments numbered 1, 2 and 5
    assert not found.aggregates_from_air


def test_aggregates_are_those_of_the_air_where_it_was_captured(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    write_station_capture(run)
    references = [1, 1, 1, 1, 2, 2, 2, 3]
    sent = [
        (us - 5, number, reference)
        for number, (us, reference) in enumerate(zip(ARRIVALS_US, references, strict=True))
    ]
    sent.append((101, 2, 9))  # sent again after it had arrived: it came in aggregate 1
    sent.append((30, 1, 8))  # sent before it arrived, but not last
    write_pcap(
        run / "air.pcap",
        capture.LINKTYPE_RADIOTAP,
        (
            (START_NS + us * 1000, on_air(segment(number, True), reference))
            for us, number, reference in sorted(sent)
        ),
    )
    capture.convert(run / "air.pcap", run / "air.pcapng", "airsim0")
    found = series.arrivals(run, testbed(Parameters()))
    assert found is not None
    assert found.aggregates == [0, 0, 0, 1, 1, 1, 2]  # of the segments after the first
    assert found.aggregates_from_air


def test_a_capture_on_the_air_that_lacks_segments_is_not_used(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    write_station_capture(run)
    write_pcap(run / "air.pcap", capture.LINKTYPE_RADIOTAP, [(START_NS, on_air(segment(0, True)))])
    capture.convert(run / "air.pcap", run / "air.pcapng", "airsim0")
    found = series.arrivals(run, testbed(Parameters()))
    assert found is not None
    assert found.aggregates == [0, 0, 1, 1, 1, 2, 2]
    assert not found.aggregates_from_air


def test_inter_arrival_times_are_shown_with_acks(tmp_path: Path) -> None:
    out_dir = write_results(tmp_path / "out")
    assert "delay-0-ms-arrivals" not in plots_of(out_dir)
    write_station_capture(out_dir / "runs" / "aad_0ms" / "seed-1")
    plot = plots_of(out_dir)["delay-0-ms-arrivals"]
    assert "gaps longer than twice the median" in plot.caption
    assert plot.data
    shown = {
        row[0]: [one[2] for one in plot.data.rows if one[0] == row[0]] for row in plot.data.rows
    }
    assert shown["aad"] == ["0.05", "0.05", "0.4", "0.05", "0.3", "0.05", "0.05"]  # by shade
    assert len(shown["aad, ACK sent"]) == len(ACKS_US)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, EN_DASH),
        (0, "0"),
        (157.4, "157.4"),
        (51.62, "51.62"),
        (300, "300"),
        (9, "9.00"),
        (0.04567, "0.0457"),
        (1234567.8, "1\N{NARROW NO-BREAK SPACE}234\N{NARROW NO-BREAK SPACE}568"),
        (-2.5, f"{MINUS}2.50"),
    ],
)
def test_numbers_for_people(value: float | None, written: str) -> None:
    assert formats.number(value) == written


@pytest.mark.parametrize(
    ("value", "text"),
    [("50ms", "50 ms"), ("10Mbit", "10 Mbit/s"), ("802.11n", "802.11n"), (13, "13")],
)
def test_quantities_for_people(value: object, text: str) -> None:
    assert model.readable(value) == text


AGAINST = {
    "title": "Ping <and> goodput",
    "x": "ping_rtt_ms_p50",
    "y": ["goodput_mbps"],
    "lines": "ack_policy",
    "along": "delay",
}
COMPARED = {"measured": 100.0, "ci95": 2.0, "model": 90.0, "error": -10.0, "error_percent": -10.0}
POINT = {
    "factors": {"tsq": "10packets", "pacing_factor": 1.0},
    "tsq_packets": 10,
    "pacing_factor": 1.0,
    "backlog_packets": 9.6,
    "throughput_mbps": COMPARED,
    "rtt_ms": COMPARED,
}
MODEL = {
    "title": "Data and model",
    "model": "aggregation",
    "base_rtt": "3ms",
    "points": [
        POINT,
        POINT | {"tsq_packets": 20, "factors": {"tsq": "20packets", "pacing_factor": 1.0}},
        POINT | {"pacing_factor": 2.0, "factors": {"tsq": "10packets", "pacing_factor": 2.0}},
    ],
    "mean_absolute_error": {
        "throughput_mbps": 10.0,
        "throughput_percent": 10.0,
        "rtt_ms": 10.0,
        "rtt_percent": 10.0,
    },
}


def declared(tmp_path: Path, *figures: Mapping[str, Any]) -> list[Plot]:
    """The declared figures of results with two delays."""
    out_dir = write_results(tmp_path / "out", ("0ms", "50ms"), figures)
    return list(contents.describe(model.load(out_dir)).declared)


def rows(plot: Plot) -> list[list[str]]:
    assert plot.data
    return [list(row) for row in plot.data.rows]


def test_metrics_against_each_other(tmp_path: Path) -> None:
    two = AGAINST | {"y": ["ping_rtt_ms_p50", "ping_rtt_ms_p95"]}
    one_metric, two_metrics = declared(tmp_path, AGAINST, two)
    # Pings of 1 to 5 ms; nobody has published a ping.
    goodput = ["default", "0 ms", "3.00 ± 0", "101 ± 12.71", "2", EN_DASH, "157.4"]
    assert goodput in rows(one_metric)
    pings = ["aad", "50 ms", "3.00 ± 0", "3.00 ± 0", "4.80 ± 0", "2", *[EN_DASH] * 3]
    assert pings in rows(two_metrics)
    [panel] = one_metric.figure.panels
    assert (panel.x.title, panel.y.title) == ("ping RTT, median (ms)", "goodput (Mbit/s)")
    default, aad = (mark for mark in panel.marks if isinstance(mark, Line))
    assert (list(default.x), list(default.y)) == ([3, 3], [101, 40])
    assert default.y_half is not None and default.y_half[0] == pytest.approx(12.71, abs=0.01)
    assert (default.notes, default.style.dash) == (["0 ms", "50 ms"], "solid")
    assert default.style.colour != aad.style.colour
    [labels] = [mark for mark in panel.marks if isinstance(mark, Labels)]
    assert [one.text for one in labels.texts] == ["0 ms", "50 ms"] * 2
    assert [entry.name for entry in one_metric.figure.legend.entries] == ["default", "aad"]
    names = [entry.name for entry in two_metrics.figure.legend.entries]
    assert names == ["default", "aad", "ping RTT, median", "ping RTT, 95th percentile"]


def test_quantities_over_time_and_how_often_they_have_each_value(tmp_path: Path) -> None:
    over_time = [
        {"title": what, "over_time": what, "lines": "ack_policy", "panels": "delay"}
        for what in ("cwnd", "goodput", "ping")
    ]
    cwnd, goodput, ping, histogram = declared(
        tmp_path, *over_time, over_time[-1] | {"histogram": "on"}
    )
    spread = ["25.00", "10.00", "40.00"]
    assert ["default", "delay 50 ms", "tcp-server.csv", "1", "4", *spread] in rows(cwnd)
    path = "runs/default_50ms/seed-1/ping.txt"
    assert ["default", "delay 50 ms", path, "1", "5", "3.00", "1.00", "5.00"] in rows(ping)
    assert [panel.title for panel in cwnd.figure.panels] == ["delay 0 ms", "delay 50 ms"]
    assert all(isinstance(mark, Line) for panel in cwnd.figure.panels for mark in panel.marks)
    assert all(isinstance(mark, Steps) for panel in goodput.figure.panels for mark in panel.marks)
    [default, _] = histogram.figure.panels[0].marks
    assert isinstance(default, Steps)
    assert default.heights.sum() == pytest.approx(100)
    assert histogram.figure.panels[0].x.title == "ping RTT (ms)"


def test_a_model_stands_beside_what_was_measured(tmp_path: Path) -> None:
    [plot] = declared(tmp_path, MODEL)
    measured = ["100 ± 2.00", "90.00", f"{MINUS}10.00", f"{MINUS}10.00"]
    assert ["pacing factor 2", "10", "9.60", *measured, *measured] in rows(plot)
    assert plot.table and "base rtt 3 ms" in plot.table.notes[0]
    assert "RTT 10.00 ms (10.00%)" in plot.caption
    upper, lower = plot.figure.panels
    names = [mark.name for mark in upper.marks]
    assert names == [
        *("model, pacing factor 1", "model, pacing factor 2"),
        *("pacing factor 1", "pacing factor 2"),
    ]
    assert (upper.y.title, lower.y.title) == ("throughput (Mbit/s)", "RTT (ms)")
    assert upper.y.limits[0] == lower.y.limits[0] == 0 and upper.y.limits[1] > 102


def test_a_declared_figure_marks_what_was_published(tmp_path: Path) -> None:
    [plot] = declared(tmp_path, AGAINST | {"x": "goodput_mbps"})
    assert "Hollow: published for the same case" in plot.caption
    assert plot.table and plot.table.notes == ["Published: Table <5.1>"]
    hollow = [
        mark for mark in plot.figure.panels[0].marks if isinstance(mark, Line) and mark.style.hollow
    ]
    assert [float(mark.x[0]) for mark in hollow] == [157.4, 174.4]
    assert hollow[0].name == "default, published, 0 ms"


def test_a_declared_figure_relative_to_a_line(tmp_path: Path) -> None:
    figure = {
        **{"title": "Gain", "x": "delay", "y": ["goodput_mbps"]},
        **{"lines": "ack_policy", "relative_to": "default"},
    }
    [plot] = declared(tmp_path, figure)
    assert plot.figure.panels[0].y.title == "goodput relative to default"
    for delay, ratio in (("0", "1.10"), ("50.00", "0.9500")):
        assert ["aad", delay, f"{ratio} ± 0", "2", EN_DASH, EN_DASH] in rows(plot)


def test_matplotlib_is_loaded_only_to_draw() -> None:
    program = (
        "import sys, airtcp.report, airtcp.report.index; sys.exit('matplotlib' in sys.modules)"
    )
    subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(REPOSITORY / "lab")}, check=True
    )


@pytest.mark.parametrize("kind", KINDS.values())
def test_every_kind_of_declared_figure_has_a_builder(kind: Any) -> None:
    assert callable(import_module(f"airtcp.report.declared.{kind.kind}").build)


def test_everything_that_can_be_shown_over_time_can_be_read() -> None:
    assert tuple(over_time.QUANTITIES) == get_args(TimeFigure.model_fields["over_time"].annotation)


def test_cables_have_no_airtime(tmp_path: Path) -> None:
    out_dir = write_results(tmp_path / "out")
    path = out_dir / "results.json"
    document = json.loads(path.read_text())
    for one in document["summary"]:
        if one["metric"].startswith("airtime"):
            one["mean"] = one["ci95"] = None
    path.write_text(json.dumps(document))
    shown = plots_of(out_dir)
    assert "goodput" in shown and "airtime" not in shown


def test_published_ratios_stand_beside_ours(tmp_path: Path) -> None:
    out_dir = write_results(tmp_path / "out")
    path = out_dir / "results.json"
    row = {
        **{"factors": {"ack_policy": "aad"}, "relative_to": {"ack_policy": "default"}},
        **{"metric": "goodput_mbps", "published": "more", "precision": "approximate"},
        **{"measured": 1.1, "ci95": None, "derived": False, "verdict": "in direction"},
        **{"source": "", "n": 1, "ratio": None, "reason": ""},
    }
    path.write_text(json.dumps(json.loads(path.read_text()) | {"published": [row]}))
    what = "goodput_mbps: ack_policy aad, relative to ack_policy default"
    assert [what, "1.1", "more", "same trend"] in Elements(text_of(out_dir)).rows


def test_factors_that_a_figure_does_not_name_make_lines(tmp_path: Path) -> None:
    out_dir = write_results(tmp_path / "out", ("0ms", "50ms"))
    cases = model.load(out_dir).cases
    alone = layout.lay_out(MetricFigure(title="", x="goodput_mbps", y=("goodput_mbps",)), cases)
    assert alone.lines == [
        *("ack policy default, delay 0 ms", "ack policy aad, delay 0 ms"),
        *("ack policy default, delay 50 ms", "ack policy aad, delay 50 ms"),
    ]
    panels = TimeFigure(title="", over_time="cwnd", lines="delay", panels="ack_policy")
    laid_out = layout.lay_out(panels, cases)
    assert laid_out.lines == ["delay 0 ms", "delay 50 ms"]
    assert laid_out.panels == [("", "ack policy default"), ("", "ack policy aad")]


@pytest.mark.parametrize(
    ("metrics", "text"),
    [
        (["goodput_mbps"], "goodput (Mbit/s)"),
        (["ping_rtt_ms_p50"], "ping RTT, median (ms)"),
        (["tcp_rtt_ms_p95"], "TCP RTT, 95th percentile (ms)"),
        (["tcp_rtt_ms_p50", "tcp_rtt_ms_p95"], "TCP RTT (ms)"),
        (["ping_rtt_ms_p50", "tcp_rtt_ms_p50"], "ping RTT, median and TCP RTT, median (ms)"),
        (["ampdu_mpdus_mean"], "aggregate size, mean (MPDUs)"),
        (["acks_per_segment"], "ACKs per segment"),
        (["cwnd_segments_mean"], "cwnd, mean (segments)"),
    ],
)
def test_axes_for_people(metrics: list[str], text: str) -> None:
    assert layout.axis(metrics).title == text


@pytest.mark.parametrize(
    ("figure", "note"),
    [
        (AGAINST | {"y": ["completion_time_ms_mean"]}, "left out: no run has both ping_rtt_ms_p50"),
        (MODEL | {"points": [], "mean_absolute_error": None}, "left out: no case has a tsq in"),
    ],
)
def test_a_declared_figure_without_points_is_left_out_and_told(
    tmp_path: Path, figure: Mapping[str, Any], note: str
) -> None:
    out_dir = write_results(tmp_path / "out", figures=[figure])
    assert note in text_of(out_dir)
    assert "figure-1" not in plots_of(out_dir)


def test_declared_figure_omits_runs_without_their_file(tmp_path: Path) -> None:
    figure = {"title": "Window", "over_time": "cwnd", "lines": "ack_policy"}
    out_dir = write_results(tmp_path / "out", figures=[figure])
    (out_dir / "runs" / "aad_0ms" / "seed-1" / "tcp-server.csv").unlink()
    assert re.search(r"Window: aad left out: .*tcp-server\.csv: No such file", text_of(out_dir))
    assert "figure-1" in plots_of(out_dir)

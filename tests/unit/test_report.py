# SPDX-License-Identifier: GPL-2.0-only
"""The report of a small experiment with round numbers."""

import json
import re
import resource
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from fake_capture import on_air, write_pcap
from fake_run import DATA_PORT, START_NS, write_exchanges, write_run
from small_report import (
    ACKS_US,
    ARRIVALS_US,
    Elements,
    plots_of,
    save,
    segment,
    text_of,
    write_results,
    write_station_capture,
)

from airtcp import atomicfile
from airtcp.errors import AirtcpError, InputError
from airtcp.files import capture
from airtcp.kernel.policies import names
from airtcp.parameters import Parameters
from airtcp.paths import REPOSITORY
from airtcp.report import inside, model, page, palette, series, write_report, writer
from airtcp.report.figure import Line, Text
from airtcp.testbed.default import testbed

EN_DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    return text_of(write_results(tmp_path_factory.mktemp("out"), ("0ms", "50ms")))


def test_page_is_well_formed_and_self_contained(site: Path) -> None:
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


@pytest.mark.parametrize("metric", ["airtime_", "airtime_idle_share"])
def test_a_policy_may_have_no_airtime(tmp_path: Path, metric: str) -> None:
    out_dir = write_results(tmp_path / "out")
    path = out_dir / "results.json"
    document = json.loads(path.read_text())
    for summary in document["summary"]:
        if summary["metric"].startswith(metric) and summary["factors"]["ack_policy"] == "aad":
            summary["mean"] = summary["ci95"] = None
    path.write_text(json.dumps(document))
    description = plots_of(out_dir)["airtime"].description
    assert "default: data" in description and "aad" not in description


def test_a_page_in_a_single_file_refers_to_nothing_else(site: Path) -> None:
    assert [path.name for path in (site / "alone").iterdir()] == ["report.html"]
    report = (site / "alone" / "report.html").read_text()
    code = re.search(r'<script type="text/plain" id="plotly">(.*?)</script>', report, re.DOTALL)
    assert code and "Plotly" in code[1]
    page = report.replace(code[0], "")
    elements = Elements(page)
    assert not elements.open
    assert elements.references
    assert all(name.startswith("#") and name[1:] in elements.ids for name in elements.references)
    assert not re.search(r"""@import|url\((?!#)|\.src = (?!"figures/plotly)""", page)
    assert "runs/aad_0ms/seed-1/ping.txt" in page  # its hash
    assert "<h1>A title of one&#39;s &lt;own&gt;</h1>" in page


@pytest.mark.parametrize(
    ("command", "label"),
    [
        ("run small", "Expected"),
        ("run small --set x=1", "Expected with the settings of the experiment"),
    ],
)
def test_page_says_which_settings_the_expected_result_is_for(
    tmp_path: Path, command: str, label: str
) -> None:
    results = write_results(tmp_path) / "results.json"
    document = json.loads(results.read_text()) | {"command": command, "expects": "a gain"}
    results.write_text(json.dumps(document))
    assert f"{label}: a gain" in text_of(tmp_path)


def test_figures_for_print_are_linked(site: Path) -> None:
    names = [*(f"figure-{number}" for number in (1, 2)), "goodput", "airtime", "goodput-gain"]
    names += ["acks", "timeline-aad", *(f"delay-0-ms-{kind}" for kind in ("time", "arrivals"))]
    names += ["delay-0-ms-ampdu", "delay-0-ms-ping"]
    files = {f"{name}.{kind}" for name in names for kind in ("pdf", "png", "svg")}
    figures = site / "one" / "figures"
    assert {path.name for path in figures.iterdir()} == files | {"plotly.min.js"}
    references = Elements((site / "one" / "report.html").read_text()).references
    assert {f"figures/{file}" for file in files} <= set(references)
    assert b"/FontFile2" in (figures / "goodput.pdf").read_bytes()  # fonts are embedded


def test_figures_for_print_are_written_only_on_request(site: Path) -> None:
    figures = site / "two" / "figures"
    assert [path.name for path in figures.iterdir()] == ["plotly.min.js"]
    report = (site / "two" / "report.html").read_text()
    assert not any(name.startswith("figures/") for name in Elements(report).references)
    assert "--figures" in report


def test_a_full_disk_is_reported_with_what_could_not_be_written(site: Path) -> None:
    """Not with Plotly's file in the Python environment. The earlier page keeps working."""
    page, plotly = site / "two" / "report.html", site / "two" / "figures" / "plotly.min.js"
    before, size = page.read_bytes(), plotly.stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(AirtcpError) as error:
            write_report(site / "two")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(error.value) == f"{plotly}: File too large (ulimit -f: 100000 bytes per file)"
    assert page.read_bytes() == before
    assert plotly.stat().st_size == size


def test_boxes_of_a_timeline_have_tooltips(site: Path) -> None:
    report = (site / "one" / "report.html").read_text()
    start = report.index('aria-labelledby="timeline-aad-t')
    svg = report[start : report.index("</svg>", start)]
    assert re.search(r"<rect [^>]*><title>data, ap to station; 7\.000 ms", svg)
    assert "var(--frame-lost)" in svg


def test_text_from_the_experiment_is_escaped(report: str) -> None:
    assert "A &lt;small&gt; experiment" in report
    assert "<small>" not in report


def test_table_has_measured_interval_published_ratio_and_gain(report: str) -> None:
    rows = Elements(report).rows
    # t(0.975, 1) = 12.706; the standard error of 100 and 102 is 1.
    assert ["delay 0 ms", "default", "101", "88.29 to 113.7", "2", "157.4", "0.64"] in rows
    assert ["aad", "111.1", "97.12 to 125.1", "2", "174.4", "0.64"] in rows
    # The ratio is 1.1 for both seeds; 174.4 / 157.4 is 1.108.
    assert ["gain of aad", "+10.0%", "+10.0% to +10.0%", "2", "+10.8%", ""] in rows
    assert ["delay 50 ms", "default", "40.00", "40.00 to 40.00", "2", EN_DASH, EN_DASH] in rows
    assert ["gain of aad", f"{MINUS}5.0%", f"{MINUS}5.0% to {MINUS}5.0%", "2", EN_DASH, ""] in rows


def test_summary_has_the_range_of_gains(report: str) -> None:
    assert "8 runs: 2 conditions, 2 ACK policies (default, aad), 2 seeds each" in report
    assert f"from {MINUS}5.0% (delay 50 ms) to +10.0% (delay 0 ms)" in report


def test_summary_has_the_least_and_the_most_seeds_of_a_case(tmp_path: Path) -> None:
    results = model.load(write_results(tmp_path))
    [condition] = results.conditions
    first, *others = condition.policies
    shorter = replace(condition, policies=[replace(first, runs=first.runs[:1]), *others])
    [text, _] = page.summary(replace(results, conditions=[shorter]))
    assert text.startswith("3 runs: 1 condition, ") and ", 1 to 2 seeds each" in text


def test_page_starts_with_the_finding_and_its_figure(report: str) -> None:
    # Both seeds have the same ratio: 1.1 without a delay and 0.95 with one.
    finding = (
        '<p class="finding">With aad, goodput is up to 10.0% higher than with default (delay 0 ms; '
        "95% interval +10.0% to +10.0%, 2 seeds), but up to 5.0% lower (delay 50 ms; "
    )
    start = report.index("</h1>")
    parts = [finding, 'class="plots hero">', "<h2>Goodput</h2>", "<nav", 'id="results"', "8 runs: "]
    positions = [report.index(part, start) for part in parts]
    assert positions == sorted(positions)
    assert report.count(">Goodput</h") == 2  # also a table


def test_a_table_has_no_column_that_is_empty_or_constant(tmp_path: Path) -> None:
    out_dir = write_results(tmp_path / "out", ("0ms", "50ms"))
    document = json.loads((out_dir / "results.json").read_text())
    for rows in (document["runs"], document["summary"]):
        rows[:] = [row for row in rows if row["factors"]["ack_policy"] == "default"]
    for summary in document["summary"]:
        summary["published"] = None
    save(out_dir, document)
    page = text_of(out_dir)
    head = ["Condition", "Measured", "95% interval", "Runs", "Against delay 0 ms", "95% interval"]
    rows = Elements(page).rows
    assert head in rows
    [far] = [row for row in rows if row[:3] == ["delay 50 ms", "40.00", "40.00 to 40.00"]]
    assert far[4] == f"{MINUS}60.4%"
    assert "With delay 50 ms, goodput is 60.4% lower than with delay 0 ms" in page


def test_set_up_separates_what_was_changed(tmp_path: Path) -> None:
    page = text_of(write_results(tmp_path / "out"))
    changed = page[page.index("Changed from the defaults") : page.index("<summary>Defaults")]
    assert "<dt>duration</dt><dd>4 s</dd>" in changed and "<dt>sack</dt>" not in changed
    assert "<dt>sack</dt>" in page
    assert "metric-goodput_mbps" in page and "metric-page_time_ms_mean" not in page


def test_page_has_what_is_needed_to_repeat_the_runs(report: str, tmp_path: Path) -> None:
    ping = atomicfile.sha256(write_run(tmp_path / "run") / "ping.txt")
    for text in ("./airtcp run small --seeds 2", "6.12.9", "0123456789abcdef", ping, "cd34"):
        assert text in report


def test_without_a_capture_the_page_says_how_to_get_one(report: str) -> None:
    assert "--set capture=server,station,air" in report


def test_equal_figures_give_equal_files(site: Path, tmp_path: Path) -> None:
    plots = plots_of(site / "one")
    for slug in ("goodput", "figure-1"):
        writer.for_print(plots[slug], tmp_path)
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert {Path(name).suffix for name in written} == {".pdf", ".png", ".svg"}
    for name, content in written.items():
        assert content == (site / "one" / "figures" / name).read_bytes()


def test_a_missing_file_is_reported_and_its_figure_left_out(tmp_path: Path) -> None:
    out_dir = write_results(tmp_path / "out")
    (out_dir / "runs" / "aad_0ms" / "seed-1" / "tcp-server.csv").unlink()
    assert re.search(r"Left out, aad: .*tcp-server\.csv: No such file", text_of(out_dir))
    assert "delay-0-ms-ampdu" in plots_of(out_dir)


def test_udp_has_no_figures_of_tcp(tmp_path: Path) -> None:
    shown = plots_of(write_results(tmp_path / "out", protocol="udp"))
    assert "delay-0-ms-ampdu" in shown
    assert "delay-0-ms-time" not in shown
    assert "acks" not in shown


def test_latency_has_a_table_in_which_less_is_better(tmp_path: Path) -> None:
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
    assert ["delay 0 ms", "default", "10.00", EN_DASH, "2"] in rows
    assert ["change with aad", "+20.0%", "+20.0% to +20.0%", "2"] in rows
    assert "Mean latency of aad against default: +20.0%" in report
    assert "Less is better" in report and "Table of goodput" not in report
    shown = plots_of(out_dir)
    assert {"mean-latency", "mean-latency-gain", "delay-0-ms-exchanges"} <= shown.keys()
    assert "delay-0-ms-time" not in shown


def test_workloads_do_not_share_a_distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times_ms = {"web": [90.0], "request_response": [1.0, 2.0]}
    monkeypatch.setattr(inside, "_exchange_ms", lambda measured: times_ms)
    shown = plots_of(write_results(tmp_path / "out"))
    for workload, values in times_ms.items():
        plot = shown[f"delay-0-ms-exchanges-{workload}"]
        assert plot.title == f"Time of an exchange, {workload}"
        lines = [mark for mark in plot.figure.panels[0].marks if isinstance(mark, Line)]
        assert [set(line.x) for line in lines] == [set(values)] * 2


def test_a_bar_has_its_value_and_the_published_one(tmp_path: Path) -> None:
    plot = plots_of(write_results(tmp_path / "out", ("0ms", "50ms")))["goodput"]
    texts = [mark for mark in plot.figure.panels[0].marks if isinstance(mark, Text)]
    # Published: 157.4 and 174.4 Mbit/s, without delay. The number behind a published value that
    # is to the right of its bar must not look like that value.
    assert [(text.text, text.x, text.right) for text in texts] == [
        ("101 / 157", 157.4, 7),
        ("111 / 174", 174.4, 7),
        ("40", 40, 4),
        ("38", 38, 4),
    ]
    assert plot.caption.endswith("Numbers: measured / published.")
    assert "published" not in plots_of(tmp_path / "out")["acks"].caption


def test_policies_have_different_colours() -> None:
    policies = names()
    roles = [palette.policy_role(number) for number in range(len(policies))]
    assert len({palette.PALETTE[role] for role in roles}) == len(policies)


def test_failed_and_damaged_runs_are_listed_but_not_summarized(tmp_path: Path) -> None:
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
    [aad] = [case for case in model.load(out_dir).cases if case.policy == "aad"]
    goodput = aad.summaries["goodput_mbps"]
    assert (round(goodput.mean, 6), goodput.ci95, goodput.n) == (110, None, 1)


@pytest.mark.parametrize("content", [None, "", "{}", '{"schema": 1}', '{"schema": 9}'])
def test_a_directory_without_valid_results_is_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "results.json").write_text(content)
    with pytest.raises(InputError, match=r"results\.json"):
        write_report(tmp_path)


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


def test_inter_arrival_times_begin_after_slow_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first segments after a second, or the last if there are too few."""
    run = write_run(tmp_path / "run")
    write_station_capture(run)
    monkeypatch.setattr(series, "_ARRIVALS_SHOWN", 2)
    for after_us, gaps_ms, acks in (
        (90, [0.3, 0.05], [0]),  # 100, 400, 450 us; the first ACK at 110 us
        (400, [0.05, 0.05], []),  # 400, 450, 500 us
        (900, [0.4, 0.05], [0]),  # too few: 500, 900, 950 us
    ):
        monkeypatch.setattr(series, "_ARRIVALS_AFTER_NS", after_us * 1000)
        found = series.arrivals(run, testbed(Parameters()))
        assert found is not None
        assert [round(gap, 6) for gap in found.gaps_ms] == gaps_ms
        assert found.acks_after == acks


def test_aggregates_are_read_from_a_capture_of_the_air(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    write_station_capture(run)
    references = [1, 1, 1, 1, 2, 2, 2, 3]
    sent = [
        (us - 5, number, reference)
        for number, (us, reference) in enumerate(zip(ARRIVALS_US, references, strict=True))
    ]
    sent.append((101, 2, 9))  # retransmitted after it had arrived in aggregate 1
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


def test_an_incomplete_capture_of_the_air_is_not_used(tmp_path: Path) -> None:
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
        series: [row[2] for row in plot.data.rows if row[0] == series]
        for series in {row[0] for row in plot.data.rows}
    }
    assert shown["aad"] == ["0.05", "0.05", "0.4", "0.05", "0.3", "0.05", "0.05"]  # by shade
    assert len(shown["aad, ACK sent"]) == len(ACKS_US)


def test_matplotlib_is_loaded_only_for_print(site: Path, tmp_path: Path) -> None:
    shutil.copytree(site / "two", tmp_path / "two")
    program = (
        "import sys; from airtcp import cli; cli.main(['report', sys.argv[1]]); "
        "sys.exit('matplotlib' in sys.modules)"
    )
    subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "two")],
        env={"PYTHONPATH": str(REPOSITORY / "lab")},
        check=True,
    )
    first, second = (directory / "two" / "report.html" for directory in (site, tmp_path))
    assert first.read_bytes() == second.read_bytes()


def test_cables_have_no_airtime(tmp_path: Path) -> None:
    out_dir = write_results(tmp_path / "out")
    path = out_dir / "results.json"
    document = json.loads(path.read_text())
    for summary in document["summary"]:
        if summary["metric"].startswith("airtime"):
            summary["mean"] = summary["ci95"] = None
    path.write_text(json.dumps(document))
    shown = plots_of(out_dir)
    assert "goodput" in shown and "airtime" not in shown

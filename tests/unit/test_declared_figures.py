# SPDX-License-Identifier: GPL-2.0-only
"""Figures that experiments declare."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import pytest
from small_report import AGAINST, Elements, plots_of, save, text_of, write_results

from airtcp.experiment import papers
from airtcp.experiment.figures import KINDS, MetricFigure, TimeFigure
from airtcp.report import contents, model
from airtcp.report.declared import layout, over_time
from airtcp.report.figure import Labels, Line, Steps, Style, Text
from airtcp.report.plot import Plot
from airtcp.statistics import Summary

EN_DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"


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

SINGLE = {"goodput_mbps": Summary(100.0, None, 1)}


def declared(tmp_path: Path, *figures: Mapping[str, Any]) -> list[Plot]:
    """The declared figures of results for two delays."""
    out_dir = write_results(tmp_path / "out", ("0ms", "50ms"), figures)
    return list(contents.describe(model.load(out_dir)).declared)


def rows(plot: Plot) -> list[list[str]]:
    assert plot.data
    return [list(row) for row in plot.data.rows]


def test_metric_against_metric(tmp_path: Path) -> None:
    two = AGAINST | {"y": ["ping_rtt_ms_p50", "ping_rtt_ms_p95"]}
    one_metric, two_metrics = declared(tmp_path, AGAINST, two)
    # Pings take 1 to 5 ms; there are no published pings.
    goodput = ["default", "0 ms", "3.00 ± 0", "101 ± 13", "2", EN_DASH, "157.4"]
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
    assert [text.text for text in labels.texts] == ["0 ms", "50 ms"] * 2
    assert [entry.name for entry in one_metric.figure.legend.entries] == ["default", "aad"]
    names = [entry.name for entry in two_metrics.figure.legend.entries]
    assert names == ["default", "aad", "ping RTT, median", "ping RTT, 95th percentile"]


def test_the_caption_says_what_the_bars_are_if_there_are_any(tmp_path: Path) -> None:
    """A factor has no interval, but the metric over it has one."""
    over_delay = {"title": "Goodput", "x": "delay", "y": ["goodput_mbps"], "lines": "ack_policy"}
    [plot] = declared(tmp_path, over_delay)
    assert plot.caption.startswith("Mean over seeds. Thin bars: 95% interval")
    results = model.load(tmp_path / "out")
    conditions = [
        replace(each, policies=[replace(policy, summaries=SINGLE) for policy in each.policies])
        for each in results.conditions
    ]
    [single] = contents.describe(replace(results, conditions=conditions)).declared
    assert "bars" not in single.caption


def test_points_at_zero_are_not_on_the_axis(tmp_path: Path) -> None:
    """It would hide half of their markers, and their intervals."""
    over_delay = {"title": "Goodput", "x": "delay", "y": ["goodput_mbps"], "lines": "ack_policy"}
    [plot] = declared(tmp_path, over_delay)
    [panel] = plot.figure.panels
    delays = {x for mark in panel.marks if isinstance(mark, Line) for x in mark.x}
    assert delays == {0, 50}
    assert panel.x.limits[0] < -1


def test_quantities_over_time_and_histograms(tmp_path: Path) -> None:
    over_time = [
        {"title": name, "over_time": name, "lines": "ack_policy", "panels": "delay"}
        for name in ("cwnd", "goodput", "segments_per_ack", "ping")
    ]
    cwnd, goodput, ratio, ping, histogram = declared(
        tmp_path, *over_time, over_time[-1] | {"histogram": "on"}
    )
    spread = ["25.00", "10.00", "40.00"]
    assert ["default", "delay 50 ms", "tcp-server.csv", "1", "4", *spread] in rows(cwnd)
    path = "runs/default_50ms/seed-1/ping.txt"
    assert ["default", "delay 50 ms", path, "1", "5", "3.00", "1.00", "5.00"] in rows(ping)
    assert ratio.figure.panels[0].y.title == "segments per ACK"
    assert [panel.title for panel in cwnd.figure.panels] == ["delay 0 ms", "delay 50 ms"]
    assert all(isinstance(mark, Line) for panel in cwnd.figure.panels for mark in panel.marks)
    # ssthresh is known, and shown, after the first loss.
    window, threshold = (mark for mark in cwnd.figure.panels[0].marks[:2] if isinstance(mark, Line))
    assert (window.style.dash, list(window.y)) == ("solid", [10, 20, 30, 40])
    assert (threshold.style.dash, list(threshold.y)) == ("dot", [50, 50])
    assert cwnd.figure.panels[0].y.limits == (0, 53)
    assert all(isinstance(mark, Steps) for panel in goodput.figure.panels for mark in panel.marks)
    [default, _] = histogram.figure.panels[0].marks
    assert isinstance(default, Steps)
    assert default.heights.sum() == pytest.approx(100)
    assert histogram.figure.panels[0].x.title == "ping RTT (ms)"


def test_a_model_is_shown_with_measured_values(tmp_path: Path) -> None:
    [plot] = declared(tmp_path, MODEL)
    measured = ["100.0 ± 2.0", "90.00", f"{MINUS}10.00", f"{MINUS}10.00"]
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


def test_a_model_with_a_buffer_marks_the_operating_points(tmp_path: Path) -> None:
    points = [POINT | {"ampdu_mpdus": most, "tsq_packets": 300} for most in (1, None)]
    [plot] = declared(tmp_path, MODEL | {"buffer": 246, "points": points})
    upper, lower = (
        {mark.text: mark for mark in panel.marks if isinstance(mark, Text)}
        for panel in plot.figure.panels
    )
    assert upper.keys() == lower.keys() == set("ABCD")
    # 71 packets fill an aggregate, 0.96 of the limit are queued.
    limits = [upper[name].x for name in "ABCD"]
    assert limits == pytest.approx([packets / 0.96 for packets in (1, 71, 246, 246)])
    assert upper["A"].y == pytest.approx(upper["C"].y) and upper["B"].y == upper["D"].y
    assert lower["A"].y < lower["B"].y < lower["D"].y < lower["C"].y


def test_a_model_in_which_nothing_is_queued_has_no_operating_points(tmp_path: Path) -> None:
    [plot] = declared(tmp_path, MODEL | {"buffer": 246, "backlog_factor": 0})
    marks = [mark for panel in plot.figure.panels for mark in panel.marks]
    assert not any(isinstance(mark, Text) for mark in marks)


def test_pings_outside_the_transfer_are_left_out(tmp_path: Path) -> None:
    """Not those of the baseline before and after it."""
    out_dir = write_results(tmp_path / "out")
    run = model.load(out_dir).runs[0]
    idle = run.record.model_copy(update={"parameters": {**run.parameters, "baseline": "2s"}})
    lines = [
        f"[170000000{second}.001] 64 bytes: icmp_seq={second + 1} ttl=64 time=1.00 ms\n"
        for second in range(9)
    ]
    (run.directory / "ping.txt").write_text("".join(lines))
    _, [(times_s, _)] = over_time.QUANTITIES["ping"].read(replace(run, record=idle))
    assert list(times_s) == pytest.approx([0, 1, 2, 3])


@pytest.mark.parametrize(("quantity", "node"), [("cwnd", "far"), ("received", "laptop")])
def test_a_table_names_the_file_of_a_custom_topology(
    tmp_path: Path, quantity: str, node: str
) -> None:
    run = model.load(write_results(tmp_path / "out")).runs[0]
    for old, new in (("server", "far"), ("station", "laptop")):
        (run.directory / f"tcp-{old}.csv").rename(run.directory / f"tcp-{new}.csv")
    [flow] = run.testbed.flows
    own = replace(flow, sender="far", receiver="laptop")
    run.__dict__["testbed"] = replace(run.testbed, flows=(own,))
    file, _ = over_time.QUANTITIES[quantity].read(run)
    assert file == f"tcp-{node}.csv" and (run.directory / file).exists()


def test_a_declared_figure_shows_published_values(tmp_path: Path) -> None:
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


def test_a_value_that_has_no_baseline_is_not_shown_as_a_ratio(tmp_path: Path) -> None:
    """No seed is common to both policies."""
    figure = {
        **{"title": "Gain", "x": "delay", "y": ["goodput_mbps"]},
        **{"lines": "ack_policy", "relative_to": "default"},
    }
    out_dir = write_results(tmp_path / "out", ("0ms", "50ms"), [figure])
    document = json.loads((out_dir / "results.json").read_text())
    for run in document["runs"]:
        is_baseline = run["factors"]["ack_policy"] == "default"
        if run["factors"]["delay"] == "0ms" and is_baseline == (run["seed"] == 1):
            run |= {"status": "failed", "error": "no", "metrics": dict.fromkeys(run["metrics"])}
    save(out_dir, document)
    assert [row[1:3] for row in rows(plots_of(out_dir)["figure-1"])] == [["50.00", "0.9500 ± 0"]]
    for run in document["runs"]:
        if run["factors"]["delay"] == "50ms":
            run["metrics"]["goodput_mbps"] = 0
    save(out_dir, document)
    assert "figure-1" not in plots_of(out_dir)
    assert "Gain: left out: no case can be compared with default." in text_of(out_dir)


def test_a_relative_figure_compares_cases_that_differ_only_in_the_line(tmp_path: Path) -> None:
    """It does not name the delay: each case has the baseline with its own delay."""
    figure = {
        **{"title": "Gain", "x": "stations", "y": ["goodput_mbps"]},
        **{"lines": "ack_policy", "relative_to": "default"},
    }
    [plot] = declared(tmp_path, figure)
    assert [(row[0], row[2]) for row in rows(plot)] == [
        ("aad, delay 0 ms", "1.10 ± 0"),
        ("aad, delay 50 ms", "0.9500 ± 0"),
    ]


def test_a_legend_shows_lines_only_for_points_that_are_joined(tmp_path: Path) -> None:
    separate = {key: value for key, value in AGAINST.items() if key != "along"} | {
        "panels": "delay"
    }
    two = {"y": ["ping_rtt_ms_p50", "ping_rtt_ms_p95"]}
    figures = (AGAINST, AGAINST | two, separate, separate | two)
    looks = [plot.figure.legend.entries[0].look for plot in declared(tmp_path, *figures)]
    shown = [(look.dash, look.marker) if isinstance(look, Style) else "a patch" for look in looks]
    assert shown == [("solid", "circle"), ("solid", None), (None, "circle"), "a patch"]


@pytest.mark.parametrize("kind", KINDS.values())
def test_every_kind_of_declared_figure_has_a_builder(kind: Any) -> None:
    assert callable(import_module(f"airtcp.report.declared.{kind.kind}").build)


def test_every_quantity_over_time_has_a_reader() -> None:
    assert tuple(over_time.QUANTITIES) == get_args(TimeFigure.model_fields["over_time"].annotation)


def test_published_ratios_are_listed_with_ours(tmp_path: Path) -> None:
    out_dir = write_results(tmp_path / "out")
    path = out_dir / "results.json"
    row = {
        **{"factors": {"ack_policy": "aad"}, "relative_to": {"ack_policy": "default"}},
        **{"metric": "goodput_mbps", "published": "more", "precision": "approximate"},
        **{"measured": 1.1, "ci95": None, "derived": False, "verdict": "in direction"},
        **{"source": "Table <5.1>", "n": 1, "ratio": None, "reason": ""},
    }
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"published": [row], "published_duration_s": 30}))
    name = "ACK policy aad, relative to ACK policy default"
    shown = [name, "same trend", "goodput, ratio", "1.1", "1", "more", EN_DASH, "Table <5.1>"]
    page = text_of(out_dir)
    assert shown in Elements(page).rows
    assert '<span class="part">relative to ACK policy default</span>' in page
    assert "The published runs last 30 s, these runs 4 s." in page
    assert "Slow start alone" not in page and "Why values differ" not in page
    differing = row | {"verdict": "no", "measured": 0.9}
    update = {"published": [differing], "published_duration_s": 300, "reason": "The <moon>."}
    path.write_text(json.dumps(document | update))
    page = text_of(out_dir)
    assert [name, "differs", "goodput, ratio", "0.9", *shown[4:]] in Elements(page).rows
    assert "Slow start alone can explain a difference." in page
    assert "Why values differ: The &lt;moon&gt;." in page and "Table &lt;5.1&gt;" in page


def test_published_values_are_shown_with_their_sign_and_digits(tmp_path: Path) -> None:
    out_dir = write_results(tmp_path / "out", figures=[AGAINST])
    path = out_dir / "results.json"
    for precision in ("approximate", "at most", "at least"):
        document = json.loads(path.read_text())
        for row in document["summary"]:
            if row["published"]:
                row["published"] |= {"precision": precision, "value": 50}
        path.write_text(json.dumps(document))
        shown = Elements(text_of(out_dir)).rows
        # Of two policies, in the table of goodput and in that of the figure.
        assert len([row for row in shown if f"{papers.SIGNS[precision]}50" in row]) == 4


def test_factors_that_a_figure_does_not_use_become_lines(tmp_path: Path) -> None:
    out_dir = write_results(tmp_path / "out", ("0ms", "50ms"))
    cases = model.load(out_dir).cases
    by_default = layout.lay_out(
        MetricFigure(title="", x="goodput_mbps", y=("goodput_mbps",)), cases
    )
    assert by_default.lines == [
        *("ACK policy default, delay 0 ms", "ACK policy aad, delay 0 ms"),
        *("ACK policy default, delay 50 ms", "ACK policy aad, delay 50 ms"),
    ]
    panels = TimeFigure(title="", over_time="cwnd", lines="delay", panels="ack_policy")
    laid_out = layout.lay_out(panels, cases)
    assert laid_out.lines == ["delay 0 ms", "delay 50 ms"]
    assert laid_out.panels == [("", "ACK policy default"), ("", "ACK policy aad")]


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
def test_axes_have_readable_titles(metrics: list[str], text: str) -> None:
    assert layout.axis(metrics).title == text


@pytest.mark.parametrize(
    ("figure", "note"),
    [
        (AGAINST | {"y": ["completion_time_ms_mean"]}, "left out: no run has both ping_rtt_ms_p50"),
        (MODEL | {"points": [], "mean_absolute_error": None}, "left out: no case has a tsq in"),
    ],
)
def test_a_declared_figure_without_points_is_left_out_with_a_note(
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


def test_points_are_joined_by_value_not_in_the_order_of_the_cases(tmp_path: Path) -> None:
    [plot] = declared(tmp_path, AGAINST)
    shown = model.load(tmp_path / "out")
    reverse = replace(shown, conditions=shown.conditions[::-1])
    [figure] = contents.describe(reverse).declared
    [panel] = figure.figure.panels
    default = next(mark for mark in panel.marks if isinstance(mark, Line))
    assert default.notes == ["0 ms", "50 ms"]
    assert "joined along delay: 0 ms, 50 ms." in figure.caption == plot.caption


def test_words_name_lines_without_their_factor() -> None:
    values = {"ack_filter": "police+multicast", "ack_policy": "aad-listing", "tsq": "1ms"}
    names = [layout.line([name], [], values) for name in values]
    assert names == ["police+multicast", "aad-listing", "tsq 1 ms"]
    assert layout.line(["gro"], [], {"gro": "on"}) == "gro on"


def test_values_are_ordered_by_size() -> None:
    assert layout.in_order(["16ms", "500us", "2ms"]) == ["500us", "2ms", "16ms"]
    assert layout.in_order(["1MiB", "9KiB", "2kB"]) == ["2kB", "9KiB", "1MiB"]
    assert layout.in_order(["10", "9.5"]) == ["9.5", "10"]
    assert layout.in_order(["none", "1ms", "cake"]) == ["none", "1ms", "cake"]


def test_flows_of_a_figure_are_named(tmp_path: Path) -> None:
    [plot] = declared(tmp_path, {"title": "Each", "over_time": "flow_goodput", "lines": "delay"})
    names = [entry.name for entry in plot.figure.legend.entries]
    assert names[-1] == "download"
    [panel] = plot.figure.panels
    assert {mark.entries[-1] for mark in panel.marks} == {"download"}


def test_kernels_as_a_factor_have_their_own_lines_and_baselines(tmp_path: Path) -> None:
    ratio = {"title": "ratio", "x": "delay", "y": "goodput_mbps", "lines": "ack_policy"}
    figures = (AGAINST, ratio | {"relative_to": "default"})
    out_dir = write_results(tmp_path / "out", ("0ms", "50ms"), figures)
    document = json.loads((out_dir / "results.json").read_text())
    for row in (*document["runs"], *document["summary"]):
        kernel = {"0ms": "6.1.9", "50ms": "6.12.9"}[row["factors"]["delay"]]
        row["factors"] = {"kernel": kernel, "ack_policy": row["factors"]["ack_policy"]}
        if "parameters" in row:
            row["parameters"]["delay"] = "0ms"
            row["kernel"] = {"version": kernel, "hash": f"hash of {kernel}"}
    save(out_dir, document)
    page = text_of(out_dir)
    assert "hash of 6.1.9" in page and "hash of 6.12.9" in page
    goodput, gain = contents.describe(model.load(out_dir)).declared
    lines = [
        f"{policy}, kernel {kernel}"
        for kernel in ("6.1.9", "6.12.9")
        for policy in ("default", "aad")
    ]
    assert [row[0] for row in rows(goodput)] == lines
    assert [(row[0], row[2]) for row in rows(gain)] == [
        ("aad, kernel 6.1.9", "1.10 ± 0"),
        ("aad, kernel 6.12.9", "0.9500 ± 0"),
    ]

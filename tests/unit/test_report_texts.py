# SPDX-License-Identifier: GPL-2.0-only
"""Numbers, labels and ranges as a report writes them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import small_report
from small_results import Cases, results

from airtcp import statistics
from airtcp.report import formats, model, overview, page
from airtcp.report.declared import layout
from airtcp.statistics import Summary

EN_DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"


def test_a_range_between_equal_gains_has_one_value() -> None:
    cases: Cases = [
        ({"ack_policy": policy, "delay": delay}, values)
        for delay in ("0ms", "10ms", "50ms")
        for policy, values in (("default", [100.0]), ("aad", [100.0]))
    ]
    assert page.ranges(results(cases)) == [
        "Goodput of aad against default: 0.0% under all conditions."
    ]
    assert page.ranges(results(cases[:4])) == [
        "Goodput of aad against default: 0.0% under both conditions."
    ]


@pytest.mark.parametrize(
    ("values", "means", "ratios"),
    [
        ([100.0], "Mean over seeds.", "Ratio of runs with the same seed."),
        (
            [100.0, 101.0],
            "Mean over seeds; whiskers: 95% interval (Student t).",
            "Ratio of runs with the same seed, mean and 95% interval, which may extend beyond the "
            "axis.",
        ),
    ],
)
def test_captions_mention_intervals_if_there_are_some(
    values: list[float], means: str, ratios: str
) -> None:
    cases: Cases = [({"ack_policy": policy}, values) for policy in ("default", "aad")]
    captions = {plot.slug: plot.caption for plot in overview.plots(results(cases))}
    assert captions == {"goodput": means, "goodput-gain": ratios}


def test_shares_of_airtime_are_those_of_runs_that_have_all() -> None:
    """Where exchanges overlap, the idle share is null and the others may exceed 100%."""
    found = results([({"ack_policy": "default"}, [1.0, 1.0])])
    [case] = found.cases
    shares = (
        {"data": 0.8, "ack": 0.1, "collision": 0.02, "idle": 0.06},
        {"data": 1.5, "ack": 0.3, "collision": 0.1},
    )
    runs = []
    for run, given in zip(case.runs, shares, strict=True):
        metrics = {f"airtime_{kind}_share": share for kind, share in given.items()}
        runs.append(replace(run, record=run.record.model_copy(update={"metrics": metrics})))
    measured = replace(case, runs=runs)
    summaries = {
        name: statistics.summarize(list(measured.by_seed(name).values()))
        for name in runs[0].record.metrics
    }
    measured = replace(measured, summaries=summaries)
    found = replace(found, conditions=[replace(found.conditions[0], policies=[measured])])
    [plot] = [plot for plot in overview.plots(found) if plot.slug == "airtime"]
    shown = "data 80.0%, ack 10.0%, collision 2.0%, other 2.0%, idle 6.0%"
    assert plot.description.endswith(shown)


def test_a_figure_of_gains_has_at_least_one() -> None:
    cases: Cases = [({"ack_policy": policy}, [0.0, 100.0]) for policy in ("default", "aad")]
    assert [plot.slug for plot in overview.plots(results(cases))] == ["goodput"]


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
        (0.0004567, "0.00046"),
        (-0.00004, f"{MINUS}0.000040"),
        (-0.0000004, "0.0000"),
    ],
)
def test_numbers_are_readable(value: float | None, written: str) -> None:
    assert formats.number(value) == written


@pytest.mark.parametrize(
    ("summary", "written"),
    [
        (None, EN_DASH),
        (Summary(182.947, None, 1), "182.9"),
        (Summary(182.947, 3.0912, 3), "182.9 ± 3.1"),
        (Summary(-638.667, 989.556, 3), f"{MINUS}639 ± 990"),
        (Summary(0.03968, 0.000752, 3), "0.03968 ± 0.00075"),
        (Summary(67317.4, 188.4, 3), "67\N{NARROW NO-BREAK SPACE}317 ± 188"),
        (Summary(2.0, 0.0, 3), "2.00 ± 0"),
    ],
)
def test_a_mean_has_no_digits_beyond_its_interval(summary: Summary | None, written: str) -> None:
    assert formats.with_interval(summary) == written


def test_labels_omit_factors_that_do_not_vary(tmp_path: Path) -> None:
    def labels(*delays: str) -> list[str]:
        out_dir = small_report.write_results(tmp_path / "-".join(delays), delays)
        document = json.loads((out_dir / "results.json").read_text())
        for item in document["runs"] + document["summary"]:
            item["factors"]["gro"] = "on"
        small_report.save(out_dir, document)
        return [condition.label for condition in model.load(out_dir).conditions]

    assert labels("0ms", "50ms") == ["delay 0 ms", "delay 50 ms"]
    assert labels("50ms") == ["delay 50 ms, gro on"]


def test_a_label_is_not_broken_within_a_factor() -> None:
    cases: Cases = [
        ({"direction": direction, "flows": "4", "dscp": "rrul"}, [1.0])
        for direction in ("both", "upload")
    ]
    figure = overview.bars(results(cases), "goodput_mbps", "goodput")
    ticks = figure.panels[0].y.ticks
    assert ticks is not None
    assert [tick.label for tick in ticks] == [
        "direction both, flows 4,\ndscp rrul",
        "direction upload, flows 4,\ndscp rrul",
    ]


def test_intervals_of_what_is_not_negative_end_at_zero() -> None:
    wide = Summary(1.0, 2.5, 2)
    assert formats.interval(wide) == "0 to 3.50"
    assert formats.percent_interval(wide) == f"{MINUS}100.0% to +250.0%"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *(("50ms", "50 ms"), ("10Mbit", "10 Mbit/s"), ("802.11n", "802.11n"), (13, "13")),
        *(("-90dBm", f"{MINUS}90 dBm"), ("20dB", "20 dB"), ("1.5m", "1.5 m"), ("rrul", "rrul")),
        *(("99000B", "99 kB"), ("2000000B", "2 MB"), ("1500B", "1500 B"), ("0B", "0 B")),
    ],
)
def test_quantities_are_readable(value: object, text: str) -> None:
    assert model.readable(value) == text


@pytest.mark.parametrize(
    ("other", "slugs"),
    [("1us", ["delay-1-us", "delay-1-s"]), ("1.s", ["delay-1-s", "delay-1-s-2"])],
)
def test_conditions_have_different_slugs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str, slugs: list[str]
) -> None:
    """Figures have them as names and ids."""
    values = {("default", "1us"): (100.0, 102.0), ("default", "1s"): (10.0, 10.2)}
    monkeypatch.setattr(small_report, "GOODPUT", values)
    for path in small_report.write_results(tmp_path, ("1us", "1s")).rglob("result*.json"):
        path.write_text(path.read_text().replace('"delay": "1us"', f'"delay": "{other}"'))
    assert [condition.slug for condition in model.load(tmp_path).conditions] == slugs


def test_every_line_has_a_name_if_there_are_several() -> None:
    off, on = {"rate": "unlimited", "tsq": "kernel"}, {"rate": "50Mbit", "tsq": "kernel"}
    assert layout.line([], ["rate"], off) == "rate unlimited"
    assert layout.line([], ["rate"], on) == "rate 50 Mbit/s"
    assert layout.line(["tsq"], ["rate"], off) == "kernel"
    assert layout.line([], [], off) == ""


def test_titles_have_units_once() -> None:
    titles = {
        "packets_per_s": "packets (1/s)",
        "station_power_w": "station power (W)",
        "station_energy_j_per_gb": "station energy (J/GB)",
        "cwnd_segments_max": "cwnd, maximum (segments)",
        "acks_per_segment": "ACKs per segment",
        "udp_ping_rtt_ms_p50": "UDP ping RTT, median (ms)",
        "he_tb_ppdus": "HE TB PPDUs (PPDUs)",
    }
    assert {metric: layout.axis([metric]).title for metric in titles} == titles

# SPDX-License-Identifier: GPL-2.0-only
"""The document and the table: summaries, published figures, gains."""

import json
from pathlib import Path
from typing import Any

import pytest

from airtcp.errors import InputError
from airtcp.experiment.experiment import Case, Experiment, Setting
from airtcp.experiment.metrics import METRICS
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.results import documents

KERNEL = Kernel(Path("linux"), "6.12.0", "0123456789abcdef")


def run(
    case: Case, seed: int, value: float | None, metric: str = "goodput_mbps"
) -> tuple[Case, dict[str, Any]]:
    """A finished run with one metric alone, or a failed one."""
    return case, {
        "factors": dict(case.factors),
        "seed": seed,
        "status": "failed" if value is None else "ok",
        "error": "it broke" if value is None else None,
        "metrics": {} if value is None else dict.fromkeys(METRICS) | {metric: value},
        "parameters": case.parameters.plain(),
    }


def thesis(*settings: str) -> tuple[Experiment, list[Case]]:
    experiment = load("thesis-lan")
    return experiment, experiment.cases([Setting.parse(text) for text in settings])


def document(goodputs: dict[str, list[float | None]]) -> documents.Document:
    experiment, cases = thesis("delay=0ms", "ack_policy=default,aad")
    runs = [
        run(case, seed, value)
        for case in cases
        for seed, value in enumerate(goodputs[str(case.factors["ack_policy"])], start=1)
    ]
    return documents.document(experiment, cases, KERNEL, reversed(runs), "./airtcp run thesis-lan")


def summary(found: documents.Document, policy: str, metric: str) -> dict[str, Any]:
    [one] = [
        one
        for one in found["summary"]
        if one["factors"]["ack_policy"] == policy and one["metric"] == metric
    ]
    return dict(one)


def test_the_document_is_as_documented() -> None:
    found = document({"default": [160, 162], "aad": [180, 184]})
    assert found["schema"] == 1
    assert found["experiment"] == "thesis-lan"
    assert found["kernel"] == {"version": "6.12.0", "hash": "0123456789abcdef"}
    assert [(one["factors"]["ack_policy"], one["seed"]) for one in found["runs"]] == [
        ("default", 1),
        ("default", 2),
        ("aad", 1),
        ("aad", 2),
    ]
    assert len(found["summary"]) == 2 * len(METRICS)
    goodput = summary(found, "default", "goodput_mbps")
    assert goodput["mean"] == 161
    assert goodput["n"] == 2
    # Student's t for one degree of freedom is 12.706; the standard error is 1.
    assert goodput["ci95"] == pytest.approx(12.706, abs=1e-3)
    assert goodput["published"]["value"] == 157.4
    assert "Table 5.1" in goodput["published"]["source"]
    assert summary(found, "default", "retransmits")["mean"] is None
    assert summary(found, "default", "retransmits")["published"] is None


def test_a_failed_run_is_kept_and_not_counted() -> None:
    found = document({"default": [160, None], "aad": [None, None]})
    assert [one["status"] for one in found["runs"]] == ["ok", "failed", "failed", "failed"]
    goodput = summary(found, "default", "goodput_mbps")
    assert (goodput["mean"], goodput["ci95"], goodput["n"]) == (160, None, 1)
    assert summary(found, "aad", "goodput_mbps")["n"] == 0
    assert "± -" in documents.table(found)


def test_gains_come_from_means_and_not_from_printed_percentages() -> None:
    text = documents.table(document({"default": [100, 200], "aad": [110, 220]}))
    [gain] = [line for line in text.splitlines() if line.endswith("+10.8%")]
    assert gain.split() == ["delay=0ms", "ack_policy=aad", "+10.0%", "±", "0.0%", "+10.8%"]


def test_the_table_puts_published_figures_beside_ours() -> None:
    lines = documents.table(document({"default": [157.4], "aad": [348.8]})).splitlines()
    figures = ["1", "157.40", "±", "-", "157.4", "1.00"]
    assert lines[1].split() == ["delay=0ms", "ack_policy=default", *figures]
    assert lines[2].split()[-2:] == ["174.4", "2.00"]


@pytest.mark.parametrize(
    ("runs", "words"),
    [(1, "one run of a case has no interval; --seeds"), (2, "12.7 standard errors"), (3, None)],
)
def test_too_few_runs_are_said_under_the_table(runs: int, words: str | None) -> None:
    goodputs: list[float | None] = [100.0 + seed for seed in range(runs)]
    text = documents.table(document({"default": goodputs, "aad": goodputs}))
    last = text.splitlines()[-1]
    if words is None:
        assert "note" not in text
    else:
        assert last.startswith("note: ") and words in last and "--seeds" in last


@pytest.mark.parametrize(
    "factors", [("workload=bulk,request_response",), ("workload=request_response",)]
)
def test_each_workload_has_its_table_with_its_own_cells(factors: tuple[str, ...]) -> None:
    experiment, cases = thesis(*factors, "ack_policy=default,every")
    times_ms = {"default": [10.0, 20.0], "every": [9.0, 18.0]}
    runs = [
        run(case, seed, value, "request_response_ms_mean")
        if case.parameters.workload == "request_response"
        else run(case, seed, None)
        for case in cases
        for seed, value in enumerate(times_ms[str(case.factors["ack_policy"])], start=1)
    ]
    found = documents.document(experiment, cases, KERNEL, runs, "./airtcp run thesis-lan")
    tables = [part.splitlines() for part in documents.table(found).split("\n\n")]
    if "bulk" in factors[0]:
        bulk = tables.pop(0)
        assert "goodput Mbit/s" in bulk[0]
        assert ["workload=bulk" in line for line in bulk[1:]] == [True, True]
    table, changes = tables
    assert "mean latency ms" in table[0]
    assert [line.split()[3] for line in table[1:]] == ["15.00", "13.50"]
    assert "change from default (less is better)" in changes[0]
    label = ["workload=request_response", "ack_policy=every"]
    assert changes[1].split() == [*label, "-10.0%", "±", "0.0%", "-"]


MODEL = """\
name: model
title: A model
source: nobody
description: For tests.
design:
  - tsq: [10packets, 100packets, 4ms]
    pacing_factor: [1, 2]
figures:
  - title: Data and model
    model: aggregation
    rate: 216Mbit
"""
# The model by hand: 9.6 and 19.2 packets take 1035.11 and 1568.44 us, 71 of them, the most that an
# aggregate has, 4446.22 us; 96 packets are 2 aggregates, 192 are 3.
MODEL_MBPS = {10: (111.2925, 146.8974), 100: (191.6234, 191.6234)}
MODEL_MS = {10: (4.57022, 5.63689), 100: (2.5 + 2 * 4.44622, 2.5 + 3 * 4.44622)}


def modelled(directory: Path, settings: str = "") -> documents.Document:
    """Goodput is 10% below the model at 10 packets, RTT 1 ms above; else they are the model's."""
    path = directory / "model.yaml"
    path.write_text(MODEL + settings)
    experiment = load(path)
    cases = experiment.cases()
    runs = []
    for case in cases:
        packets = int(str(case.factors["tsq"]).removesuffix("packets").removesuffix("ms"))
        place = int(float(case.factors["pacing_factor"])) - 1
        one, document = run(case, 1, MODEL_MBPS.get(packets, (1, 1))[place])
        document["metrics"]["tcp_rtt_ms_p50"] = MODEL_MS.get(packets, (1, 1))[place]
        if packets == 10:
            document["metrics"]["goodput_mbps"] *= 0.9
            document["metrics"]["tcp_rtt_ms_p50"] += 1
        runs.append((one, document))
    return documents.document(experiment, cases, KERNEL, runs, "./airtcp run model")


def test_measured_points_stand_beside_the_model(tmp_path: Path) -> None:
    [figure] = modelled(tmp_path)["figures"]
    assert figure["title"] == "Data and model"
    assert (figure["rate"], figure["packet"], figure["access"]) == ("216Mbit", "1500B", "500us")
    points = figure["points"]
    assert [(one["tsq_packets"], one["pacing_factor"]) for one in points] == [
        *((10, 1), (10, 2), (100, 1), (100, 2))
    ]
    backlogs = [one["backlog_packets"] for one in points]
    assert backlogs == pytest.approx([9.6, 19.2, 96, 192])
    errors = [one["throughput_mbps"]["error_percent"] for one in points]
    assert errors == pytest.approx([100 / 9, 100 / 9, 0, 0], abs=0.01)
    assert [one["rtt_ms"]["error"] for one in points] == pytest.approx([-1, -1, 0, 0], abs=1e-3)
    mean = figure["mean_absolute_error"]
    assert mean["throughput_mbps"] == pytest.approx((11.129 + 14.690) / 4, abs=0.01)
    assert mean["throughput_percent"] == pytest.approx(100 / 18, abs=0.01)
    assert mean["rtt_ms"] == pytest.approx(0.5, abs=1e-3)


def test_the_errors_of_a_model_are_printed(tmp_path: Path) -> None:
    lines = documents.table(modelled(tmp_path)).split("\n\n")[-1].splitlines()
    assert lines[0].split()[:4] == ["Data", "and", "model", "Mbit/s"]
    assert lines[1].split()[2:] == [
        *("100.16", "111.29", "+11.13", "+11.1"),
        *("5.57", "4.57", "-1.00", "-18.0"),
    ]
    assert len(lines) == 7  # 4ms is no limit in packets; the last one is a note
    assert lines[-2].split() == ["mean", "absolute", "error", "6.45", "5.6", "0.50", "8.3"]


def test_pacing_need_not_multiply_the_limit(tmp_path: Path) -> None:
    [figure] = modelled(tmp_path, "    pacing_multiplies: off\n")["figures"]
    assert [one["backlog_packets"] for one in figure["points"]] == [8, 8, 80, 80]


def test_written_results_are_read_back(tmp_path: Path) -> None:
    found = document({"default": [1], "aad": [2]})
    documents.write(tmp_path, found)
    assert documents.read(tmp_path) == json.loads(json.dumps(found))
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "No such file"), ("{", "not JSON"), ("{}", "schema 1"), ("[]", "schema 1")],
)
def test_a_directory_without_results_is_bad_input(
    tmp_path: Path, text: str | None, message: str
) -> None:
    if text is not None:
        (tmp_path / "results.json").write_text(text)
    with pytest.raises(InputError, match=message):
        documents.read(tmp_path)

# SPDX-License-Identifier: GPL-2.0-only
"""The document and the table: summaries, published figures, gains."""

import json
from pathlib import Path
from typing import Any

import pytest

from airtcp import results
from airtcp.errors import InputError
from airtcp.experiment import Cell, Experiment, Setting, load
from airtcp.kernel import Kernel
from airtcp.metrics import METRICS

KERNEL = Kernel(Path("linux"), "6.12.0", "0123456789abcdef")


def run(
    cell: Cell, seed: int, value: float | None, metric: str = "goodput_mbps"
) -> tuple[Cell, dict[str, Any]]:
    """A finished run with one metric alone, or a failed one."""
    return cell, {
        "factors": dict(cell.factors),
        "seed": seed,
        "status": "failed" if value is None else "ok",
        "error": "it broke" if value is None else None,
        "metrics": {} if value is None else dict.fromkeys(METRICS) | {metric: value},
        "parameters": cell.parameters.plain(),
    }


def thesis(*settings: str) -> tuple[Experiment, list[Cell]]:
    experiment = load("thesis-lan")
    return experiment, experiment.cells([Setting.parse(text) for text in settings])


def document(goodputs: dict[str, list[float | None]]) -> results.Document:
    experiment, cells = thesis("delay=0ms", "ack_policy=default,aad")
    runs = [
        run(cell, seed, value)
        for cell in cells
        for seed, value in enumerate(goodputs[str(cell.factors["ack_policy"])], start=1)
    ]
    return results.document(experiment, cells, KERNEL, reversed(runs), "./airtcp run thesis-lan")


def summary(found: results.Document, policy: str, metric: str) -> dict[str, Any]:
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
    assert "± -" in results.table(found)


def test_gains_come_from_means_and_not_from_printed_percentages() -> None:
    text = results.table(document({"default": [100, 200], "aad": [110, 220]}))
    [gain] = [line for line in text.splitlines() if line.endswith("+10.8%")]
    assert gain.split() == ["delay=0ms", "ack_policy=aad", "+10.0%", "±", "0.0%", "+10.8%"]


def test_the_table_puts_published_figures_beside_ours() -> None:
    lines = results.table(document({"default": [157.4], "aad": [348.8]})).splitlines()
    figures = ["1", "157.40", "±", "-", "157.4", "1.00"]
    assert lines[1].split() == ["delay=0ms", "ack_policy=default", *figures]
    assert lines[2].split()[-2:] == ["174.4", "2.00"]


@pytest.mark.parametrize(
    "factors", [("workload=bulk,request_response",), ("workload=request_response",)]
)
def test_each_workload_has_its_table_with_its_own_cells(factors: tuple[str, ...]) -> None:
    experiment, cells = thesis(*factors, "ack_policy=default,every")
    times_ms = {"default": [10.0, 20.0], "every": [9.0, 18.0]}
    runs = [
        run(cell, seed, value, "request_response_ms_mean")
        if cell.parameters.workload == "request_response"
        else run(cell, seed, None)
        for cell in cells
        for seed, value in enumerate(times_ms[str(cell.factors["ack_policy"])], start=1)
    ]
    found = results.document(experiment, cells, KERNEL, runs, "./airtcp run thesis-lan")
    tables = [part.splitlines() for part in results.table(found).split("\n\n")]
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


def test_written_results_are_read_back(tmp_path: Path) -> None:
    found = document({"default": [1], "aad": [2]})
    results.write(tmp_path, found)
    assert results.read(tmp_path) == json.loads(json.dumps(found))
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
        results.read(tmp_path)

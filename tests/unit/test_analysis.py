# SPDX-License-Identifier: GPL-2.0-only
"""SQL over sweeps, and comparisons of two sweeps."""

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from fake_sweep import write_sweep

from airtcp import cli
from airtcp.errors import InputError
from airtcp.experiment.experiment import Case
from airtcp.experiment.metrics import METRICS
from airtcp.parameters import Parameters
from airtcp.results import analysis, documents, parquet, record
from airtcp.results.record import FlowRecord
from airtcp.sweep import session
from airtcp.sweep.request import run_directory


def no_warning(line: str) -> None:
    raise AssertionError(line)


def test_sql_selects_from_all_sweeps(tmp_path: Path) -> None:
    sweep = write_sweep(tmp_path / "it's one", {(7, 1): 10.0, (7, 2): None})
    other = write_sweep(tmp_path / "other", {(7, 1): 30.0})
    sql = "SELECT sweep, seed, goodput_mbps FROM runs ORDER BY sweep, seed"
    answer = analysis.query(sql, [sweep, other], no_warning)
    assert answer.names == ["sweep", "seed", "goodput_mbps"]
    assert answer.rows == [(str(sweep), 1, 10.0), (str(sweep), 2, None), (str(other), 1, 30.0)]
    assert answer.text("csv").split("\n")[1:3] == [f"{sweep},1,10.0", f"{sweep},2,"]
    assert json.loads(answer.text("json"))[1] == {
        "sweep": str(sweep),
        "seed": 2,
        "goodput_mbps": None,
    }
    assert answer.text("table").splitlines()[2].split()[-2:] == ["2", "-"]


def test_sql_selects_from_the_flows_of_custom_topologies(tmp_path: Path) -> None:
    sweep = write_sweep(tmp_path / "one", {(7, 1): 10.0, (6, 1): 8.0})
    document = documents.read(sweep)
    flow: dict[str, Any] = {"from": "server", "to": "phone", "protocol": "tcp", "start_s": 0}
    flow |= {"name": "main", "congestion_control": "cubic", "seconds": 1, "received_bytes": 9}
    runs = [
        run.model_copy(update={"network": {}, "flows": (FlowRecord(**flow, goodput_mbps=n),)})
        for n, run in enumerate(document.runs, 5)
    ]
    for run in runs:
        record.write(run.directory(sweep), run)
    session.write_tables(sweep, document.model_copy(update={"runs": tuple(runs)}))
    sql = (
        "SELECT mcs, receiver, flows.goodput_mbps, service FROM flows "
        "JOIN runs USING (sweep, identity) ORDER BY mcs"
    )
    answer = analysis.query(sql, [sweep], no_warning)
    assert answer.rows == [(6, "phone", 6.0, None), (7, "phone", 5.0, None)]
    assert analysis.query("SELECT flows FROM runs", [sweep], no_warning).rows == [(1,), (1,)]


def test_numbers_are_on_the_right_with_six_digits() -> None:
    answer = analysis.Answer(("name", "n", "x"), [("a", 1, 0.123456789), ("bb", 10, None)])
    assert answer.text("table").splitlines(keepends=True) == [
        "name   n         x\n",
        "a      1  0.123457\n",
        "bb    10         -\n",
    ]
    assert answer.text("json").endswith("\n]\n")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1234567.0, "1234567"),
        (16777217.0, "16777217"),
        (1e15, "1000000000000000"),
        (93.4567891, "93.4568"),
        (0.00001234567, "1.23457e-05"),
    ],
)
def test_counts_have_all_their_digits(value: float, shown: str) -> None:
    answer = analysis.Answer(("data_segments",), [(value,)])
    assert answer.text("table").split() == ["data_segments", shown]


def test_json_has_null_for_values_that_are_no_numbers(tmp_path: Path) -> None:
    sweep = write_sweep(tmp_path / "one", {(7, 1): 10.0})
    answer = analysis.query(
        "SELECT 0.0/0 AS x, seed::DOUBLE / 0 AS y FROM runs", [sweep], no_warning
    )
    assert json.loads(answer.text("json")) == [{"x": None, "y": None}]


def test_lists_and_maps_of_a_query_are_json(tmp_path: Path) -> None:
    sweep = write_sweep(tmp_path / "one", {(7, 1): 10.0})
    sql = "SELECT [0.0/0, 1.5] AS x, MAP {DATE '2026-01-02': {'a': 1.0/0}} AS y FROM runs"
    answer = analysis.query(sql, [sweep], no_warning)
    assert json.loads(answer.text("json")) == [{"x": [None, 1.5], "y": {"2026-01-02": {"a": None}}}]


def test_decimal_numbers_of_a_query_are_numbers_in_json(tmp_path: Path) -> None:
    sweep = write_sweep(tmp_path / "one", {(7, 1): 10.0})
    sql = "SELECT 1.50 AS x, [12345678901234567890123456789::DECIMAL(38, 0)] AS y FROM runs"
    answer = analysis.query(sql, [sweep], no_warning)
    assert json.loads(answer.text("json")) == [{"x": 1.5, "y": [12345678901234567890123456789]}]


def test_columns_of_a_query_have_different_names(tmp_path: Path) -> None:
    sweep = write_sweep(tmp_path / "one", {(7, 1): 10.0})
    with pytest.raises(
        InputError, match=r"^SQL: two columns have the name seed; name one with AS$"
    ):
        analysis.query("SELECT seed, seed + 1 AS seed FROM runs", [sweep], no_warning)


def test_an_error_of_a_query_has_no_traceback(tmp_path: Path) -> None:
    sweep = write_sweep(tmp_path / "one", {(7, 1): 10.0})
    with pytest.raises(InputError, match=r"^SQL: .*Required module 'pytz' failed") as error:
        analysis.query("SELECT now()", [sweep], no_warning)
    assert "Traceback" not in str(error.value)


def test_sweeps_are_the_first_column_and_dates_are_text_in_json(tmp_path: Path) -> None:
    sweep = write_sweep(tmp_path / "one", {(7, 1): 10.0})
    assert analysis.query("FROM runs", [sweep], no_warning).names[0] == "sweep"
    answer = analysis.query("SELECT DATE '2026-01-02' AS day", [sweep], no_warning)
    assert json.loads(answer.text("json")) == [{"day": "2026-01-02"}]


@pytest.mark.parametrize("sql", ["SELEC 1", "SELECT goodput FROM runs", "SELECT 1 FROM run", "("])
def test_bad_sql_is_one_line(tmp_path: Path, sql: str) -> None:
    sweep = write_sweep(tmp_path / "one", {(7, 1): 10.0})
    with pytest.raises(InputError, match=r"^SQL: [^\n]+$"):
        analysis.query(sql, [sweep], no_warning)


@pytest.mark.parametrize(
    ("measured", "metric"),
    [
        ({"page_time_ms_mean": 7.0, "completion_time_ms_mean": 2.0}, "page_time_ms_mean"),
        (
            {
                "request_response_ms_mean": 1.0,
                "completion_time_ms_mean": 2.0,
                "page_time_ms_mean": 7.0,
            },
            "page_time_ms_mean",
        ),
        ({"goodput_mbps": 9.0, "completion_time_ms_mean": 2.0}, "goodput_mbps"),
        ({}, "goodput_mbps"),
    ],
)
def test_custom_topologies_are_compared_by_what_they_measure(
    measured: dict[str, float], metric: str
) -> None:
    """Their workloads are those of their flows, not the parameter."""
    run = analysis.Run.of({"seed": 1} | dict.fromkeys(METRICS) | measured)
    pairs = analysis.Pairs([], [{1: (run, run)}], (0, 0))
    [row] = analysis.compare(pairs, ()).rows
    assert row[1] == metric


def test_sweeps_are_compared_run_by_run(tmp_path: Path) -> None:
    # Seeds 1 and 2 have ratios of 1.1 and 1.3; seed 3 has no value, 4 no counterpart.
    sweep = write_sweep(
        tmp_path / "one", {(7, 1): 100.0, (7, 2): 200.0, (7, 3): None, (7, 4): 1.0, (5, 1): 50.0}
    )
    other = write_sweep(
        tmp_path / "other", {(7, 3): 1.0, (7, 2): 260.0, (7, 1): 110.0, (6, 1): 9.0}
    )
    pairs = analysis.pair(sweep, other, no_warning)
    assert pairs.alone == (2, 1)
    answer = analysis.compare(pairs, ())
    assert answer.names == ("case", "metric", "n", "first", "second", "ratio", "ci95")
    [row] = answer.rows
    case, metric, n, first, second, ratio, ci95 = row
    assert (case, metric, n, first, second) == ("mcs=7", "goodput_mbps", 2, 150, 185)
    assert ratio == pytest.approx(1.2)
    # Student's t for one degree of freedom is 12.706; the standard error is 0.1.
    assert ci95 == pytest.approx(1.2706, abs=1e-4)
    [row] = analysis.compare(pairs, ["retransmits"]).rows
    assert row == ("mcs=7", "retransmits", 0, None, None, None, None)


def test_differences_of_topologies_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flows = [{"from": "server", "to": "phone"}]
    networks = [
        {
            "topology": {"stations": {"phone": {"distance": "5m"}}, "hidden": [["a", "b"]]},
            "flows": flows,
        },
        {"topology": {"stations": {"phone": {}, "tv": {}}}, "flows": [*flows, {"from": "tv"}]},
    ]
    sweeps = [write_sweep(tmp_path / name, {(7, 1): 100.0}) for name in ("one", "other")]
    for sweep, network in zip(sweeps, networks, strict=True):
        document = documents.read(sweep)
        runs = tuple(run.model_copy(update={"network": network}) for run in document.runs)
        for run in runs:
            record.write(run_directory(sweep, Case(run.factors, Parameters()), run.seed), run)
        session.write_tables(sweep, document.model_copy(update={"runs": runs}))
    assert cli.main(["results", "compare", *map(str, sweeps)]) == 0
    assert (
        "the topologies differ in topology.stations.phone.distance (5m; none), "
        "topology.stations.tv (none; {}), topology.hidden ([['a', 'b']]; none), "
        "flows.2 (none; {'from': 'tv'})\n"
    ) in capsys.readouterr().err
    assert analysis.pair(sweeps[0], sweeps[0], no_warning).topology == []
    default = write_sweep(tmp_path / "default", {(7, 1): 100.0})
    assert analysis.pair(default, sweeps[0], no_warning).topology == []


def test_a_sweep_whose_runs_are_all_damaged_is_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = (write_sweep(tmp_path / name, {(7, 1): 100.0}) for name in ("one", "other"))
    next(other.glob("runs/*/*/ping.txt")).write_text("changed")
    assert cli.main(["results", "compare", str(one), str(other)]) == 2
    damage, error = capsys.readouterr().err.splitlines()
    assert "ping.txt" in damage and damage.endswith("the same `run` repeats it")
    assert error == f"airtcp: {other}: no undamaged run to compare"


def test_cases_without_a_value_do_not_count_as_cases_with_few_runs() -> None:
    assert analysis.Answer(("case", "n"), [("a", 0), ("b", 3), ("c", 5)]).column("n") == [3, 5]


def test_runs_with_different_parameters_are_not_paired(tmp_path: Path) -> None:
    sweep = write_sweep(tmp_path / "one", {(7, 1): 100.0})
    other = write_sweep(tmp_path / "other", {(7, 1): 100.0}, delay="1ms")
    pairs = analysis.pair(sweep, other, no_warning)
    assert pairs.alone == (1, 1)
    assert analysis.compare(pairs, ()).rows == []


def seeds_to_kernels(out_dir: Path) -> Path:
    """Make the runs of different seeds those of different kernels with one seed."""
    document = documents.read(out_dir)
    runs = [
        run.model_copy(update={"factors": {"kernel": f"6.{run.seed}", **run.factors}, "seed": 1})
        for run in document.runs
    ]
    for run in runs:
        record.write(run.directory(out_dir), run)
    session.write_tables(out_dir, document.model_copy(update={"runs": tuple(runs)}))
    return out_dir


def test_runs_of_several_kernels_are_paired_by_kernel(tmp_path: Path) -> None:
    one = seeds_to_kernels(write_sweep(tmp_path / "one", {(7, 1): 10.0, (7, 2): 20.0}))
    two = seeds_to_kernels(write_sweep(tmp_path / "two", {(7, 2): 40.0, (7, 3): 5.0}))
    pairs = analysis.pair(one, two, no_warning)
    assert pairs.alone == (1, 1)
    [row] = analysis.compare(pairs, ()).rows
    assert row[0] == "kernel=6.2 mcs=7" and row[3:6] == (20, 40, 2)
    single = write_sweep(tmp_path / "single", {(7, 1): 10.0})
    assert analysis.pair(one, single, no_warning).differing == ["kernel (6.1 6.2; none)"]


def test_a_parameter_that_a_sweep_lacks_has_its_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = write_sweep(tmp_path / "new", {(7, 1): 100.0})
    other = write_sweep(tmp_path / "other", {(7, 1): 100.0}, wire_loss=0.5)
    old = write_sweep(tmp_path / "old", {(7, 1): 100.0})
    table = parquet.read(new).drop_columns(["wire_loss", "ack_count"])
    read = parquet.read
    monkeypatch.setattr(parquet, "read", lambda path: table if path == old else read(path))
    assert analysis.pair(old, new, no_warning).alone == (0, 0)
    assert analysis.pair(old, other, no_warning).alone == (1, 1)
    assert analysis.query(
        "SELECT count(*), sum(wire_loss) FROM runs", [old, other], no_warning
    ).rows == [(2, 0.5)]


def test_an_unknown_metric_is_reported_with_the_closest_match(tmp_path: Path) -> None:
    sweep = write_sweep(tmp_path / "one", {(7, 1): 100.0})
    with pytest.raises(InputError, match="did you mean 'goodput_mbps'"):
        analysis.compare(analysis.pair(sweep, sweep, no_warning), ["goodput_mpbs"])


@pytest.mark.parametrize(
    "sql",
    [
        "COPY runs TO '{}/stolen.csv'",
        "COPY (SELECT 1) TO '{}/results.parquet' (FORMAT parquet)",
        "EXPORT DATABASE '{}/exported'",
        "ATTACH '{}/attached.db'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '{}/results.parquet'",
        "SELECT * FROM glob('/*')",
        "INSTALL httpfs",
        "LOAD '{}/extension.so'",
        "SET enable_external_access = true",
        "SET temp_directory = '{}'",
        "SET threads = 1",
        "PRAGMA profiling_output = '{}/profile'",
        "CREATE PERSISTENT SECRET s (TYPE s3)",
        "SELECT * FROM directories",
    ],
)
def test_sql_cannot_read_or_write_files(
    tmp_path: Path, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = write_sweep(tmp_path / "one", {(7, 1): 10.0})
    analysis.query("SELECT 1", [sweep], no_warning)  # the first one writes the index
    before = {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^SQL: [^\n]+$"):
        analysis.query(sql.format(sweep), [sweep], no_warning)
    after = {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}
    assert after == before


@pytest.mark.parametrize("sql", ["", " ;", "-- nothing"])
def test_sql_without_a_statement_is_an_error(tmp_path: Path, sql: str) -> None:
    sweep = write_sweep(tmp_path / "one", {(7, 1): 10.0})
    with pytest.raises(InputError, match=r"^SQL: contains no statement; give one, such as SELECT "):
        analysis.query(sql, [sweep], no_warning)


def test_ctrl_c_ends_a_long_query(tmp_path: Path) -> None:
    sweep = write_sweep(tmp_path / "one", {(7, 1): 10.0})
    threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        analysis.query("SELECT count(*) FROM range(10000000000000)", [sweep], no_warning)
    assert time.monotonic() - began < 60


def test_parameters_that_differ_are_listed_if_there_is_no_pair(tmp_path: Path) -> None:
    sweep = write_sweep(tmp_path / "one", {(7, 1): 1.0})
    other = write_sweep(tmp_path / "other", {(7, 1): 1.0, (6, 1): 1.0}, delay="1ms")
    assert analysis.pair(sweep, other, no_warning).differing == ["delay (0ms; 1ms)"]
    assert analysis.pair(sweep, sweep, no_warning).differing == ()
    limited = write_sweep(tmp_path / "limited", {(7, 1): 1.0}, txq_limit="256")
    assert analysis.pair(sweep, limited, no_warning).differing == ["txq_limit (preset; 256)"]


def test_the_headline_of_a_case_comes_from_a_successful_run() -> None:
    """In a custom topology, the parameter `workload` need not be that of the flows."""
    row = {"seed": 1, "workload": "bulk", "page_time_ms_mean": None}
    runs = [analysis.Run.of(row), analysis.Run.of(row | {"seed": 2, "page_time_ms_mean": 5.0})]
    pairs = analysis.Pairs((), [{run.seed: (run, run) for run in runs}], (0, 0))
    [compared] = analysis.compare(pairs, ()).rows
    assert list(compared[1:4]) == ["page_time_ms_mean", 1, 5.0]

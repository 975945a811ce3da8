# SPDX-License-Identifier: GPL-2.0-only
"""SQL over sweeps, and one sweep against another."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from fake_sweep import write_sweep

from airtcp.errors import InputError
from airtcp.results import analysis, parquet


def unwarned(line: str) -> None:
    raise AssertionError(line)


def test_sql_sees_all_sweeps_by_their_directories(tmp_path: Path) -> None:
    one = write_sweep(tmp_path / "it's one", {(7, 1): 10.0, (7, 2): None})
    other = write_sweep(tmp_path / "other", {(7, 1): 30.0})
    sql = "SELECT sweep, seed, goodput_mbps FROM runs ORDER BY sweep, seed"
    answer = analysis.query(sql, [one, other], unwarned)
    assert answer.names == ["sweep", "seed", "goodput_mbps"]
    assert answer.rows == [(str(one), 1, 10.0), (str(one), 2, None), (str(other), 1, 30.0)]
    assert answer.text("csv").splitlines()[1:3] == [f"{one},1,10.0", f"{one},2,"]
    assert json.loads(answer.text("json"))[1] == {
        "sweep": str(one),
        "seed": 2,
        "goodput_mbps": None,
    }
    assert answer.text("table").splitlines()[2].split()[-2:] == ["2", "-"]


@pytest.mark.parametrize("sql", ["SELEC 1", "SELECT goodput FROM runs", "SELECT 1 FROM run", "("])
def test_bad_sql_is_one_line(tmp_path: Path, sql: str) -> None:
    one = write_sweep(tmp_path / "one", {(7, 1): 10.0})
    with pytest.raises(InputError, match=r"^SQL: [^\n]+$"):
        analysis.query(sql, [one], unwarned)


def test_sweeps_are_compared_run_by_run(tmp_path: Path) -> None:
    # Seeds 1 and 2 have ratios of 1.1 and 1.3; seed 3 has no figure, 4 no partner.
    one = write_sweep(
        tmp_path / "one", {(7, 1): 100.0, (7, 2): 200.0, (7, 3): None, (7, 4): 1.0, (5, 1): 50.0}
    )
    other = write_sweep(
        tmp_path / "other", {(7, 3): 1.0, (7, 2): 260.0, (7, 1): 110.0, (6, 1): 9.0}
    )
    pairs = analysis.pair(one, other, unwarned)
    assert pairs.alone == (2, 1)
    [row] = analysis.compare(pairs, ()).rows
    case, metric, n, first, second, ratio, ci95 = row
    assert (case, metric, n, first, second) == ("mcs=7", "goodput_mbps", 2, 150, 185)
    assert ratio == pytest.approx(1.2)
    # Student's t for one degree of freedom is 12.706; the standard error is 0.1.
    assert ci95 == pytest.approx(1.2706, abs=1e-4)
    [row] = analysis.compare(pairs, ["retransmits"]).rows
    assert row == ("mcs=7", "retransmits", 0, None, None, None, None)


def test_runs_of_other_parameters_are_no_partners(tmp_path: Path) -> None:
    one = write_sweep(tmp_path / "one", {(7, 1): 100.0})
    other = write_sweep(tmp_path / "other", {(7, 1): 100.0}, delay="1ms")
    pairs = analysis.pair(one, other, unwarned)
    assert pairs.alone == (1, 1)
    assert analysis.compare(pairs, ()).rows == []


def test_a_parameter_that_a_sweep_lacks_had_its_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = write_sweep(tmp_path / "new", {(7, 1): 100.0})
    other = write_sweep(tmp_path / "other", {(7, 1): 100.0}, wire_loss=0.5)
    old = write_sweep(tmp_path / "old", {(7, 1): 100.0})
    table = parquet.read(new).drop_columns(["wire_loss", "ack_count"])
    read = parquet.read
    monkeypatch.setattr(parquet, "read", lambda path: table if path == old else read(path))
    assert analysis.pair(old, new, unwarned).alone == (0, 0)
    assert analysis.pair(old, other, unwarned).alone == (1, 1)
    assert analysis.query(
        "SELECT count(*), sum(wire_loss) FROM runs", [old, other], unwarned
    ).rows == [(2, 0.5)]


def test_an_unknown_metric_is_told_with_the_nearest(tmp_path: Path) -> None:
    one = write_sweep(tmp_path / "one", {(7, 1): 100.0})
    with pytest.raises(InputError, match="did you mean 'goodput_mbps'"):
        analysis.compare(analysis.pair(one, one, unwarned), ["goodput_mpbs"])


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
        "PRAGMA profiling_output = '{}/profile'",
        "CREATE PERSISTENT SECRET s (TYPE s3)",
        "SELECT * FROM directories",
    ],
)
def test_sql_reads_and_writes_no_file(
    tmp_path: Path, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = write_sweep(tmp_path / "one", {(7, 1): 10.0})
    before = {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^SQL: [^\n]+$"):
        analysis.query(sql.format(one), [one], unwarned)
    after = {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}
    assert after == before


@pytest.mark.parametrize("sql", ["", " ;", "-- nothing"])
def test_sql_without_a_statement_is_told(tmp_path: Path, sql: str) -> None:
    one = write_sweep(tmp_path / "one", {(7, 1): 10.0})
    with pytest.raises(InputError, match=r"^SQL: no statement in it; give one, such as SELECT "):
        analysis.query(sql, [one], unwarned)


def test_a_long_query_ends_with_ctrl_c(tmp_path: Path) -> None:
    one = write_sweep(tmp_path / "one", {(7, 1): 10.0})
    threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        analysis.query("SELECT count(*) FROM range(10000000000000)", [one], unwarned)
    assert time.monotonic() - began < 60


def test_what_differs_is_named_where_there_is_no_pair(tmp_path: Path) -> None:
    one = write_sweep(tmp_path / "one", {(7, 1): 1.0})
    other = write_sweep(tmp_path / "other", {(7, 1): 1.0, (6, 1): 1.0}, delay="1ms")
    assert analysis.pair(one, other, unwarned).differing == ["delay (0ms; 1ms)"]
    assert analysis.pair(one, one, unwarned).differing == ()

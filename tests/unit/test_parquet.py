# SPDX-License-Identifier: GPL-2.0-only
"""results.parquet: types of columns, reproducible bytes, readable by DuckDB and Arrow."""

import json
import random
from pathlib import Path

import duckdb
import pyarrow
import pytest
from fake_run import record
from pyarrow.parquet import write_table

from airtcp.errors import InputError
from airtcp.experiment.experiment import Case
from airtcp.experiment.metrics import METRICS
from airtcp.experiment.reader import load
from airtcp.experiment.summaries import names
from airtcp.parameters import PARAMETER_NAMES, Parameters
from airtcp.results import parquet
from airtcp.results.documents import SweepDocument
from airtcp.results.record import KernelRecord, Provenance


def document(*parameters: Parameters, out_dir: Path = Path("out")) -> SweepDocument:
    """A document with a run for each of the parameters; the first run failed."""
    finished = {"metrics": dict.fromkeys(METRICS) | {"retransmits": 7}}
    console = f"{out_dir}/runs/x/console.log"
    failed = {"status": "failed", "error": f"it broke (console: {console})", "metrics": {}}
    runs = [
        record(Case({"mcs": values.mcs}, values), seed, {}).model_copy(
            update=finished if seed > 1 else failed
        )
        for seed, values in enumerate(parameters, start=1)
    ]
    return SweepDocument(
        experiment="x",
        title="",
        source="",
        command="./airtcp run",
        kernel=runs[0].kernel,
        runs=tuple(runs),
        summary=(),
    )


def test_every_parameter_and_metric_has_one_column(tmp_path: Path) -> None:
    parquet.write(tmp_path, document(Parameters()))
    found = parquet.read(tmp_path).column_names
    assert len(found) == len(set(found)) == 9 + len(PARAMETER_NAMES) + len(METRICS)
    assert found[9:] == [*PARAMETER_NAMES, *METRICS]


def test_columns_have_the_same_types_in_every_experiment(tmp_path: Path) -> None:
    schemas = set()
    for name in names():
        cases = load(name).cases()
        parquet.write(tmp_path, document(*(case.parameters for case in cases)))
        found = parquet.read(tmp_path)
        schemas.add(tuple((field.name, str(field.type)) for field in found.schema))
        for case, row in zip(cases, found.to_pylist(), strict=True):
            for parameter, value in case.parameters.plain().items():
                null_word = (found.schema.field(parameter).metadata or {}).get(b"null")
                assert row[parameter] == (
                    None if null_word and null_word.decode() == value else value
                )
                assert row[parameter] is not None or null_word
    assert len(schemas) == 1


def test_words_in_numeric_columns_are_null_and_in_the_metadata(tmp_path: Path) -> None:
    changed = Parameters().replace({"ack_count": 4, "delay": "10ms", "wire_loss": 0.5})
    parquet.write(tmp_path, document(Parameters(), changed))
    found = parquet.read(tmp_path)
    assert found["ack_count"].to_pylist() == [None, 4]
    assert found.schema.field("ack_count").metadata == {b"null": b"kernel"}
    assert found["delay"].to_pylist() == ["0ms", "10ms"]
    assert found["wire_loss"].to_pylist() == [0.0, 0.5]
    assert found["retransmits"].to_pylist() == [None, 7.0]
    assert found.schema.field("ping_rtt_ms_p50").metadata == {b"unit": b"ms"}
    metadata = {key.decode(): value for key, value in found.schema.metadata.items()}
    assert json.loads(metadata["airtcp.factors"]) == parquet.factors(found) == ["mcs"]
    assert json.loads(metadata["airtcp.units"])["goodput_mbps"] == "Mbit/s"
    assert metadata["airtcp.schema"] == b"1"


def test_kernels_are_those_of_the_runs(tmp_path: Path) -> None:
    of_one = document(Parameters(), Parameters())
    parquet.write(tmp_path, of_one)
    assert parquet.read(tmp_path)["kernel"].to_pylist() == [None, None]
    kernels = [KernelRecord(version=f"6.{minor}.1", hash=16 * str(minor)) for minor in (1, 6)]
    runs = tuple(
        run.model_copy(update={"factors": {"kernel": kernel.version, "mcs": 7}, "kernel": kernel})
        for run, kernel in zip(of_one.runs, kernels, strict=True)
    )
    parquet.write(tmp_path, of_one.model_copy(update={"kernel": kernels[0], "runs": runs}))
    found = parquet.read(tmp_path)
    assert parquet.factors(found) == ["kernel", "mcs"]
    assert found["kernel"].to_pylist() == ["6.1.1", "6.6.1"]
    assert found["kernel_version"].to_pylist() == ["6.1.1", "6.6.1"]
    assert found["kernel_hash"].to_pylist() == [16 * "1", 16 * "6"]


def test_equal_sweeps_in_different_directories_have_equal_bytes(tmp_path: Path) -> None:
    written = []
    for name in ("a", "another-directory"):
        out_dir = tmp_path / name
        out_dir.mkdir()
        runs = document(Parameters(), Parameters(), out_dir=out_dir)
        cost = runs.runs[1].cost.model_copy(update={"wall_s": len(name)})
        here = Provenance.here(f"./airtcp run x --out {name}")
        last = runs.runs[1].model_copy(update={"cost": cost, "provenance": here})
        slower = runs.model_copy(update={"runs": (runs.runs[0], last)})
        written.append(parquet.write(out_dir, slower).read_bytes())
    assert written[0] == written[1]
    assert parquet.read(tmp_path / "a")["error"][0].as_py() == (
        "it broke (console: runs/x/console.log)"
    )


def test_duckdb_reads_the_file(tmp_path: Path) -> None:
    path = parquet.write(tmp_path, document(Parameters(), Parameters()))
    sql = f"SELECT seed, ack_policy, retransmits FROM '{path}' ORDER BY seed"
    assert duckdb.execute(sql).fetchall() == [(1, "default", None), (2, "default", 7.0)]


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "No such file"), (b"", "not Parquet"), (b"PAR1xxPAR1", "not Parquet")],
)
def test_a_directory_without_the_table_is_bad_input(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / parquet.FILE).write_bytes(content)
    with pytest.raises(InputError, match=message):
        parquet.read(tmp_path)


def test_a_different_table_is_bad_input(tmp_path: Path) -> None:
    write_table(pyarrow.table({"a": [1]}), tmp_path / parquet.FILE)
    with pytest.raises(InputError, match=r"not a table that this version .* reads \(schema 1\)"):
        parquet.read(tmp_path)


def test_a_flipped_bit_is_detected_or_harmless(tmp_path: Path) -> None:
    path = parquet.write(tmp_path, document(Parameters(), Parameters()))
    content, expected = path.read_bytes(), parquet.read(tmp_path)
    rng = random.Random(1)
    refused = 0
    for _ in range(200):
        flipped = bytearray(content)
        flipped[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(flipped)
        try:
            found = parquet.read(tmp_path)
        except InputError as error:
            assert str(error).startswith(f"{path}: not "), error
            assert "None" not in str(error)
            refused += 1
        else:
            assert found.replace_schema_metadata().equals(expected.replace_schema_metadata())
    assert refused > 50

# SPDX-License-Identifier: GPL-2.0-only
"""Writes the results of a sweep without running it."""

from pathlib import Path
from typing import Any

import fake_run

from airtcp.experiment.experiment import Case
from airtcp.parameters import Parameters
from airtcp.results import artifacts, record
from airtcp.results.documents import SweepDocument
from airtcp.results.record import RunRecord
from airtcp.sweep import session
from airtcp.sweep.request import run_directory


def write_sweep(
    out_dir: Path, goodputs: dict[tuple[int, int], float | None], **values: Any
) -> Path:
    """Write runs and tables of a sweep with these goodputs in Mbit/s, by MCS and seed."""
    out_dir.mkdir()
    common = Parameters().replace(values)
    runs = [
        _write_run(out_dir, Case({"mcs": mcs}, common.replace({"mcs": mcs})), seed, goodput)
        for (mcs, seed), goodput in goodputs.items()
    ]
    document = SweepDocument(
        experiment="x",
        title="",
        source="",
        command="",
        kernel=runs[0].kernel,
        runs=tuple(runs),
        summary=(),
    )
    session.write_tables(out_dir, document)
    return out_dir


def _write_run(out_dir: Path, case: Case, seed: int, goodput: float | None) -> RunRecord:
    """Write the record of a run that has a single file."""
    run_dir = run_directory(out_dir, case, seed)
    run_dir.mkdir(parents=True)
    (run_dir / "ping.txt").write_text(f"{goodput}\n")
    files = artifacts.hashed(run_dir, out_dir)
    run = fake_run.record(case, seed, {"goodput_mbps": goodput}, artifacts=files)
    record.write(run_dir, run)
    return run

# SPDX-License-Identifier: GPL-2.0-only
"""What a sweep keeps when a failure that would affect all runs ends it."""

import errno
import os
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path

import pytest
from test_sweep import KERNEL, TOOLS, cases, result, run_sweep

from airtcp.errors import StopError
from airtcp.results.record import RunRecord, write
from airtcp.sweep import sweep
from airtcp.sweep.request import RunRequest, requests


def write_result(request: RunRequest, out_dir: Path) -> RunRecord:
    """Write a run's record as run_one() does."""
    run_dir = request.directory(out_dir)
    run_dir.mkdir(parents=True)
    done = result(request).model_copy(update={"identity": request.identity})
    write(run_dir, done)
    return done


@pytest.mark.parametrize("answered", [True, False])
def test_a_run_that_has_finished_when_another_ends_the_sweep_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answered: bool
) -> None:
    """Its process may have sent the answer, or not yet."""

    def run_one(request: RunRequest, out: Path) -> RunRecord:
        if request.case.factors["mcs"] == 0:
            while not list(out.glob("runs/mcs-1/*/result.json")):
                time.sleep(0.001)
            raise StopError("no space left")
        done = write_result(request, out)
        if not answered:
            time.sleep(60)
        return done

    def wait_for_both(answers: Sequence[Connection], timeout: float) -> None:
        wait(answers, timeout)
        time.sleep(0.5)

    monkeypatch.setattr(sweep, "wait", wait_for_both)
    todo = requests(KERNEL, TOOLS, cases(2), [1])
    outcome, _ = run_sweep(monkeypatch, run_one, todo, tmp_path)
    assert (outcome.stopped, outcome.recorded) == ("no space left", [todo[1]])
    assert (todo[1].directory(tmp_path) / "result.json").exists()


def test_a_process_that_cannot_start_ends_the_sweep(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    start = sweep._start
    started: list[RunRequest] = []

    def start_one(job: RunRequest, out_dir: Path) -> sweep._Worker:
        if started:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        started.append(job)
        return start(job, out_dir)

    monkeypatch.setattr(sweep, "_start", start_one)
    todo = requests(KERNEL, TOOLS, cases(2), [1])
    outcome, _ = run_sweep(monkeypatch, lambda job, _out: result(job), todo, tmp_path)
    assert outcome.stopped == "cannot start a run: Resource temporarily unavailable"
    assert outcome.recorded == [todo[0]]

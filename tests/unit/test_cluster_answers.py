# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps on a Dask cluster in this process; a fake replaces the work of a run."""

import errno
import io
import pickle
import platform
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise, permutations
from pathlib import Path

import fake_run
import pytest
from distributed import Scheduler, SpecCluster, Worker, get_worker

from airtcp import atomicfile
from airtcp.backends.guesttools import GuestTools
from airtcp.cache import cache_dir
from airtcp.errors import AirtcpError, InputError
from airtcp.experiment.experiment import Case
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.results import record
from airtcp.sweep import assignment, batchjobs, certificates, cluster, clusterworker
from airtcp.sweep.jobprocess import RunOutput
from airtcp.sweep.request import RunRequest, requests, run_directory
from airtcp.sweep.sweep import Failure, Outcome, collect


@pytest.fixture
def scheduler() -> Iterator[str]:
    with cluster_of(clusterworker.resources()) as address:
        yield address


@contextmanager
def cluster_of(*worker_resources: dict[str, float]) -> Iterator[str]:
    """A scheduler with a worker for each set of resources; yields its address."""
    options = {"nthreads": 2, "dashboard_address": ":0"}
    scheduler = {
        "cls": Scheduler,
        "options": {"host": "127.0.0.1", "protocol": "tcp", "dashboard_address": ":0"},
    }
    workers = {
        number: {"cls": Worker, "options": {**options, "resources": resources}}
        for number, resources in enumerate(worker_resources)
    }
    with SpecCluster(workers=workers, scheduler=scheduler) as running:
        yield running.scheduler_address


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Kernel, GuestTools]:
    """A kernel and programs on this machine, and a cache without them."""
    image = tmp_path / "0123456789abcdef" / "linux"
    tools = tmp_path / "fedcba9876543210"
    for directory, name in ((image.parent, "linux"), (tools, "init")):
        directory.mkdir()
        (directory / name).write_text(name)
    monkeypatch.setenv("AIRTCP_CACHE", str(tmp_path / "cache"))
    return Kernel(image, "6.12.0", image.parent.name), GuestTools(tools)


def answer(task: clusterworker.Task) -> bytes:
    """Seed 1: succeeds. 2: the run fails. 3: no answer. 4: an exception. 5: ends the sweep."""
    if task.seed == 3:
        return pickle.dumps(Failure("no answer"))
    if task.seed == 5:
        return pickle.dumps(Failure("on machine: no space left", "all"))
    if task.seed == 4:
        raise ValueError("two\nlines")
    scratch = Path("/scratch")
    error = f"it broke (console: {scratch}/runs/console.log)" if task.seed == 2 else None
    status = "failed" if error else "ok"
    result = fake_run.record(task.case, task.seed, {}, status=status, error=error)
    written = cache_dir() / f"files-{task.seed}"
    written.mkdir()
    (written / "plan.sh").write_text("true\n")
    record.write(written, result)
    return pickle.dumps(RunOutput(result, atomicfile.pack(written), scratch))


def run_sweep(
    where: str,
    machine: tuple[Kernel, GuestTools],
    out_dir: Path,
    seeds: int,
    lines: list[str],
    command: str = "",
) -> tuple[list[RunRequest], Outcome]:
    todo = requests(*machine, [Case({"mcs": 7}, Parameters())], range(1, seeds + 1), command)
    place = cluster.Cluster(where, None, None)
    events = cluster.events(todo, out_dir, place, lines.append)
    return todo, collect(events, lambda *_: None)


def test_runs_of_workers_are_stored_and_failures_reported(
    scheduler: str,
    machine: tuple[Kernel, GuestTools],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster, "work", answer)
    out_dir = tmp_path / "out"
    half_written = run_directory(out_dir, Case({"mcs": 7}, Parameters()), 1)
    half_written.mkdir(parents=True)
    (half_written / "rubbish").touch()
    todo, outcome = run_sweep(scheduler, machine, out_dir, 4, [])
    # In any order, because files are stored in parallel.
    assert {job.seed: record.read(job.directory(out_dir)).status for job in outcome.recorded} == {
        1: "ok",
        2: "failed",
    }
    assert [outcome.failures.get(job) for job in todo] == [
        None,
        f"it broke (console: {out_dir}/runs/console.log)",
        "no answer",
        "ValueError: two lines",
    ]
    found = {str(path.relative_to(out_dir)) for path in out_dir.rglob("*") if path.is_file()}
    assert found == {
        f"runs/mcs-7/seed-{seed}/{name}" for seed in (1, 2) for name in ("plan.sh", "result.json")
    }
    cache = tmp_path / "cache"
    assert (cache / "kernel" / machine[0].hash / "linux").read_text() == "linux"
    assert (cache / "tools" / machine[1].directory.name / "init").read_text() == "init"


def test_a_run_that_cannot_be_stored_fails(
    scheduler: str,
    machine: tuple[Kernel, GuestTools],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster, "work", succeed)
    out_dir = tmp_path / "out"
    first = run_directory(out_dir, Case({"mcs": 7}, Parameters()), 1)
    first.parent.mkdir(parents=True)
    first.symlink_to(tmp_path)
    todo, outcome = run_sweep(scheduler, machine, out_dir, 2, [])
    assert outcome.recorded == todo[1:] and list(outcome.failures) == todo[:1]
    assert str(first) in outcome.failures[todo[0]]


def succeed(task: clusterworker.Task) -> bytes:
    """As answer() for seed 1, for all seeds."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("plan.sh"))
    result = fake_run.record(task.case, task.seed, {})
    return pickle.dumps(RunOutput(result, packed.getvalue(), Path("/scratch")))


def test_a_run_does_not_query_all_workers(
    scheduler: str,
    machine: tuple[Kernel, GuestTools],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The scheduler's answer grows with the number of workers."""
    asked: list[float] = []
    ask = assignment.Workers._ask

    def count(self: assignment.Workers) -> dict[str, int]:
        asked.append(time.monotonic())
        return ask(self)

    monkeypatch.setattr(assignment.Workers, "_ask", count)
    monkeypatch.setattr(cluster, "work", succeed)
    todo, outcome = run_sweep(scheduler, machine, tmp_path / "out", 40, [])
    assert sorted(job.seed for job in outcome.recorded) == [job.seed for job in todo]
    assert all(later - earlier >= 1 for earlier, later in pairwise(asked))
    assert len(asked) < len(todo)


@pytest.mark.parametrize("code", [0, 3])
def test_a_run_without_an_answer_fails(
    scheduler: str,
    machine: tuple[Kernel, GuestTools],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: int,
) -> None:
    """A process that was asked to end, as by a batch system, ends with 0."""
    monkeypatch.setattr(clusterworker, "SERVER", ("sh", "-c", f"exit {code}"))
    longer_than_a_pipe = "x" * (1 << 20)
    todo, outcome = run_sweep(scheduler, machine, tmp_path / "out", 2, [], longer_than_a_pipe)
    message = f"on {platform.node()} its process ended with exit code {code}, without an answer"
    assert outcome.failures == dict.fromkeys(todo, message)


def test_a_failure_that_affects_all_runs_ends_the_sweep(
    scheduler: str,
    machine: tuple[Kernel, GuestTools],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster, "work", answer)
    _, outcome = run_sweep(scheduler, machine, tmp_path / "out", 7, [])
    assert outcome.stopped == "on machine: no space left"


@pytest.mark.parametrize("raised", [False, True])
def test_runs_of_an_unusable_worker_are_repeated_elsewhere(
    machine: tuple[Kernel, GuestTools],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    raised: bool,
) -> None:
    def work(task: clusterworker.Task) -> bytes:
        if get_worker().name != 0:
            return succeed(task)
        if raised:  # by a worker that could not install the kernel
            raise clusterworker.WorkerError("no space left")
        return pickle.dumps(Failure("no space left", "all"))

    monkeypatch.setattr(cluster, "work", work)
    lines: list[str] = []
    usable = clusterworker.resources()
    with cluster_of(usable, usable) as address:
        todo, outcome = run_sweep(address, machine, tmp_path / "out", 12, lines)
    assert sorted(job.seed for job in outcome.recorded) == [job.seed for job in todo]
    assert not outcome.failures and not outcome.stopped
    assert lines == ["airtcp: no space left; this worker gets no runs"]


def other_resources() -> dict[str, float]:
    """The resources of a worker of another version."""
    resources = clusterworker.resources()
    return {("airtcp:airtcp:other" if "airtcp:airtcp" in name else name): 1 for name in resources}


def test_a_worker_with_other_programs_gets_no_runs(
    machine: tuple[Kernel, GuestTools], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "work", answer)
    lines: list[str] = []
    with cluster_of(other_resources(), clusterworker.resources()) as address:
        todo, outcome = run_sweep(address, machine, tmp_path / "out", 1, lines)
    assert outcome.recorded == todo
    [line] = lines
    assert "differs from this machine in airtcp: install the same versions" in line
    assert line.endswith("; this worker gets no runs")


def test_a_cluster_with_only_other_programs_ends_the_sweep(
    machine: tuple[Kernel, GuestTools], tmp_path: Path
) -> None:
    with cluster_of(other_resources()) as address:
        _, outcome = run_sweep(address, machine, tmp_path / "out", 1, [])
    assert "differs from this machine in airtcp" in outcome.stopped


def test_error_of_a_worker_that_cannot_store_the_kernel_is_one_line(
    scheduler: str,
    machine: tuple[Kernel, GuestTools],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(_packed: bytes, directory: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomicfile, "unpack", full)
    kept = tmp_path / "cache" / "kernel" / machine[0].hash
    _, outcome = run_sweep(scheduler, machine, tmp_path / "out", 1, [])
    assert outcome.stopped.endswith(f"cannot keep {kept}: No space left on device")


def test_error_of_an_unreachable_scheduler_is_one_line(
    machine: tuple[Kernel, GuestTools], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_CONNECT_S", 1)
    with pytest.raises(AirtcpError, match=r"^--cluster tcp://127.0.0.1:1: cannot connect"):
        run_sweep("tcp://127.0.0.1:1", machine, tmp_path / "out", 1, [])


NONE = certificates.Certificates(Path("none"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "No such file"),
        ("a: [", "not YAML"),
        ("[" * 5000, ":1: nested too deeply; allowed: 20 levels"),
        *(
            (f"slurm: {{cores: {value}, memory: 1GB}}", "not YAML, or a value does not fit its tag")
            for value in ("!!bool x", "!!timestamp x", "!!int ''", "2001-13-45", "!own x")
        ),
        ("[]", "must have one section; allowed: htcondor"),
        ("slurms: {}", "must have one section"),
        ("slurm: 3", "`key: value` lines"),
        ("slurm: {cores: 1, memory: 1GB, quue: x}", "slurm.quue: unknown; allowed: "),
        ("slurm: {cores: 1, memory: 1GB, cores: 2}", "cluster.yaml:1: cores: given twice"),
        ("slurm: {cores: 1}", "slurm.memory: memory per batch job; allowed: a size"),
        ("slurm: {cores: 1, memory: 1XB}", "slurm.memory: memory per batch job; allowed: a size"),
        ("slurm: {cores: 1, memory: 1e999GB}", "slurm.memory: memory per batch job; allowed: a"),
        ("slurm: {cores: 1, memory: -1GB}", "slurm.memory: memory per batch job; allowed: a size"),
        ("slurm: {cores: true, memory: 1GB}", "slurm.cores: "),
        ("slurm: {cores: 99999999999999999999, memory: 1GB}", "slurm.cores: "),
        ("slurm: {cores: 4, memory: 1GB, processes: 2}", "slurm.processes: allowed: 1, "),
        ("slurm: {cores: 4, memory: 1GB, processes: }", "slurm.processes: allowed: 1, "),
        *(
            (f"{kind}: {{cores: 1, memory: 1GB, {option}}}", f"{kind}.{message}")
            for kind, option, message in (
                ("local", "worker-extra-args: 5", "worker-extra-args: allowed: a list of"),
                ("local", "scheduler-options: [a]", "scheduler-options: allowed: `key: value`"),
                ("local", "scheduler-options: {1: 2}", "scheduler-options: allowed: `key: value`"),
                ("slurm", "job-script-prologue: 5", "job-script-prologue: allowed: a list of"),
                ("slurm", "job-directives-skip: [[5]]", "job-directives-skip: allowed: a list"),
                ("slurm", "job-extra: {a: b}", "job-extra: allowed: a list of"),
                ("htcondor", "job-extra-directives: [a]", "job-extra-directives: allowed: `key:"),
                ("slurm", "walltime: [a]", "walltime: allowed: one value"),
            )
        ),
        ("slurm: {cores: 1, memory: [1GB]}", "slurm.memory: allowed: one value"),
        (
            "local: {cores: 1, memory: 1GB, scheduler-options: {protocol: tcp}}",
            "local.scheduler-options.protocol: not allowed: airtcp sets it",
        ),
        *(
            (
                f"local: {{cores: 1, memory: 1GB, scheduler-options: {{{first}: 1, {second}: 1}}}}",
                f"local.scheduler-options.{first}: not allowed: airtcp sets it",
            )
            for first, second in permutations(("protocol", "jupyter", "security"), 2)
        ),
        (
            "jobqueue: {slurm: {cores: 1, memory: 1GB}}",
            "sbatch, which submits batch jobs, is missing here",
        ),
    ],
)
def test_error_of_a_bad_file_is_one_line(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "cluster.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=message), batchjobs.submitted(path, None, NONE):
        pass


def test_numbers_in_lists_of_a_file_become_text(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text("slurm: {cores: 1, memory: 1GB, job-script-prologue: [a, 5], queue: }")
    name, section = batchjobs.read(path)
    assert (name, section["job-script-prologue"]) == ("slurm", ["a", "5"])


@pytest.mark.parametrize("text", ["<<: {%s}", "<<: {jobqueue: {%s}}", "jobqueue: {<<: {%s}}"])
def test_a_section_may_be_merged(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(text % "slurm: {cores: 2, memory: 1GB, walltime: 12:00:00}")
    section = {"cores": 2, "memory": "1GB", "walltime": "12:00:00"}
    assert batchjobs.read(path) == ("slurm", section)


def test_batch_jobs_start_python_from_a_path_with_spaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my $HOME").mkdir()
    program = tmp_path / "my $HOME" / "python"
    program.write_text('#!/bin/sh\necho "$PYTHONPATH $*"\n')
    program.chmod(0o755)
    monkeypatch.setattr(batchjobs, "PACKAGE", program.parent / "airtcp")
    monkeypatch.setattr(sys, "executable", str(program))
    script = f"{batchjobs.python()} -m worker"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
    assert done.stdout == f"{program.parent} -P -m worker\n"


@pytest.mark.parametrize("above", ["", "jobqueue: "])
@pytest.mark.parametrize("walltime", ["12:00:00", "'12:00:00'", "02:00:00"])
def test_a_walltime_needs_no_quotes(tmp_path: Path, above: str, walltime: str) -> None:
    """Slurm would take the number, of seconds, for minutes."""
    path = tmp_path / "cluster.yaml"
    section = f"slurm: {{cores: 1, memory: 1GB, walltime: {walltime}}}"
    path.write_text(f"{above}{{{section}}}" if above else section)
    assert batchjobs.read(path)[1]["walltime"] == walltime.strip("'")


def test_batch_jobs_cannot_have_certificates_in_a_path_with_spaces(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text("local: {cores: 1, memory: 1GB}")
    known = certificates.Certificates(tmp_path / "my certificates")
    message = f"--certificates {known.directory}: spaces and special characters are not allowed"
    with pytest.raises(InputError, match=message), batchjobs.submitted(path, None, known):
        pass

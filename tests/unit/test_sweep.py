# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps without a kernel: results, failures, Ctrl-C, resuming."""

import os
import signal
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from fake_run import record
from waiting import wait_until

from airtcp.backends import base, shell, uml
from airtcp.backends.guesttools import GuestTools
from airtcp.errors import AirtcpError, CrowdedError, StopError
from airtcp.experiment.experiment import Case
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.results import flent, metrics, timeseries
from airtcp.results.index import Index
from airtcp.results.record import RunRecord
from airtcp.steps.step import Step
from airtcp.sweep import notes, run, sweep
from airtcp.sweep.progress import Progress
from airtcp.sweep.request import Request, RunRequest, requests, without_effect
from airtcp.testbed.build import testbed_of
from airtcp.units import counted

KERNEL = Kernel(Path("linux"), "6.12.0", "0123456789abcdef")
TOOLS = GuestTools(Path("tools"))

RunOne = Callable[[RunRequest, Path], RunRecord]


def cases(count: int) -> list[Case]:
    return [Case({"mcs": mcs}, Parameters().replace({"mcs": mcs})) for mcs in range(count)]


def result(request: RunRequest) -> RunRecord:
    return record(request.case, request.seed, {"goodput_mbps": float(request.seed)})


def interrupt_when(ended: int, *exist: Path) -> sweep.Watch:
    """Send SIGINT to this process when that many runs have ended and these files exist."""
    ends = []

    def watch(event: sweep.Event) -> None:
        if event.ended:
            ends.append(event.ended)
        if len(ends) == ended and all(path.exists() for path in exist):
            os.kill(os.getpid(), signal.SIGINT)

    return watch


def run_sweep(
    monkeypatch: pytest.MonkeyPatch, run_one: RunOne, todo: list[RunRequest], out_dir: Path
) -> tuple[sweep.Outcome, list[str]]:
    """Run a sweep with a replacement for runs; returns also the lines that the user sees."""
    monkeypatch.setattr(sweep, "run_one", run_one)
    lines: list[str] = []
    progress = Progress(todo, lines.append, tty=False)
    return sweep.sweep(todo, out_dir, 2, progress, lines.append), lines


def test_every_job_runs_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    todo = requests(KERNEL, TOOLS, cases(3), [1, 2])
    assert [(job.case.factors["mcs"], job.seed) for job in todo] == [
        *((0, 1), (1, 1), (2, 1)),
        *((0, 2), (1, 2), (2, 2)),
    ]
    outcome, lines = run_sweep(monkeypatch, lambda request, _out: result(request), todo, tmp_path)
    assert not outcome.failures and not outcome.interrupted
    assert set(outcome.recorded) == set(todo)
    assert len(lines) == 6
    assert lines[-1].startswith("[6/6] ")


def test_a_job_that_fails_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run_one(request: RunRequest, _out: Path) -> RunRecord:
        match request.case.factors["mcs"]:
            case 0:
                raise AirtcpError("the disk is full")
            case 1:
                changed = {"status": "panic", "error": "it panicked"}
                return result(request).model_copy(update=changed)
            case 2:
                os._exit(3)
        return result(request)

    todo = requests(KERNEL, TOOLS, cases(4), [1])
    outcome, _ = run_sweep(monkeypatch, run_one, todo, tmp_path)
    assert [outcome.failures.get(job) for job in todo] == [
        "the disk is full",
        "it panicked",
        "its process ended with exit code 3, without an answer",
        None,
    ]
    assert set(outcome.recorded) == {todo[1], todo[3]}


def test_a_failure_of_several_seeds_of_a_case_is_one_line(tmp_path: Path) -> None:
    todo = requests(KERNEL, TOOLS, cases(2), [1, 2, 3])
    failures: dict[Request, str] = {job: f"broken (in {job.directory(tmp_path)})" for job in todo}
    failures[todo[0]] = "another one"
    others = "; the same with {} other seed{}"
    assert list(notes.failures(failures, tmp_path)) == [
        f"{todo[0].name}: another one",
        f"{todo[1].name}: {failures[todo[1]]}{others.format(2, 's')}",
        f"{todo[2].name}: {failures[todo[2]]}{others.format(1, '')}",
    ]


def test_a_failure_that_affects_all_runs_ends_the_sweep(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run_one(request: RunRequest, out: Path) -> RunRecord:
        (out / f"tried-{request.case.factors['mcs']}").touch()
        if request.case.factors["mcs"] == 2:
            while not (out / "tried-1").exists():
                time.sleep(0.01)
            raise StopError("no space left")
        if request.case.factors["mcs"] == 1:
            request.directory(out).mkdir(parents=True)
            time.sleep(60)
        return result(request)

    todo = requests(KERNEL, TOOLS, cases(8), [1])
    outcome, _ = run_sweep(monkeypatch, run_one, todo, tmp_path)
    assert outcome.stopped == "no space left"
    assert outcome.recorded == [todo[0]]
    assert not outcome.failures and not outcome.interrupted
    assert {path.name for path in tmp_path.glob("tried-*")} == {"tried-0", "tried-1", "tried-2"}
    assert not list((tmp_path / "runs").glob("*/*"))


def test_runs_that_finish_when_the_sweep_ends_print_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def run_one(request: RunRequest, _out: Path) -> RunRecord:
        if request.case.factors["mcs"] == 0:
            raise StopError("no space left")
        return result(request)

    send = Connection.send

    def send_and_be_killed(self: Connection, message: object) -> None:
        send(self, message)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(Connection, "send", send_and_be_killed)
    outcome, _ = run_sweep(monkeypatch, run_one, requests(KERNEL, TOOLS, cases(2), [1]), tmp_path)
    assert outcome.stopped == "no space left"
    assert capfd.readouterr().err == ""


def test_runs_without_memory_are_retried_with_fewer_in_parallel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run_one(request: RunRequest, out: Path) -> RunRecord:
        if request.case.factors["mcs"] == 3:
            raise CrowdedError("never any room")
        lock, refused = out / "memory", out / "refused"
        try:
            lock.mkdir()
        except FileExistsError:
            refused.touch()
            raise CrowdedError("no room beside another") from None
        wait_until(refused.exists, timeout_s=20)
        lock.rmdir()
        return result(request)

    todo = requests(KERNEL, TOOLS, cases(4), [1])
    outcome, lines = run_sweep(monkeypatch, run_one, todo, tmp_path)
    assert set(outcome.recorded) == set(todo[:3])
    assert outcome.failures == {todo[3]: "never any room"}
    [warning] = [line for line in lines if line.startswith("airtcp:")]
    assert warning == "airtcp: no room beside another; from here on at most 1 at once"


def test_a_run_without_memory_is_repeated_before_later_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run_one(request: RunRequest, out: Path) -> RunRecord:
        refused = out / "refused"
        if request.case.factors["mcs"] == 1 and not refused.exists():
            refused.touch()
            raise CrowdedError("no room beside another")
        wait_until(limited.exists, timeout_s=20)
        return result(request)

    limited = tmp_path / "limited"
    monkeypatch.setattr(uml, "memory_room", lambda _mb: (4000, ""))
    monkeypatch.setattr(sweep, "run_one", run_one)
    todo = requests(KERNEL, TOOLS, cases(4), [1])
    outcome = sweep.sweep(todo, tmp_path, 2, lambda *_: None, lambda _line: limited.touch())
    assert outcome.recorded == todo


@pytest.mark.parametrize(("room_mb", "at_once"), [(100, 1), (1100, 2), (4000, 3)])
def test_as_many_runs_at_once_as_memory_allows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, room_mb: int, at_once: int
) -> None:
    """Decided before the first run starts; a run alone is always tried."""

    def run_one(request: RunRequest, out: Path) -> RunRecord:
        mcs = int(str(request.case.factors["mcs"]))
        (out / f"began-{mcs}").touch()
        # The runs that begin together wait for each other.
        wait_until(lambda: count("began") >= mcs - mcs % at_once + at_once, timeout_s=20)
        (out / f"seen-{count('began') - count('ended')}").touch()
        time.sleep(0.1)
        (out / f"ended-{mcs}").touch()
        return result(request)

    def count(event: str) -> int:
        return len(list(tmp_path.glob(f"{event}-*")))

    monkeypatch.setattr(uml, "memory_room", lambda _mb: (room_mb, "there is little"))
    monkeypatch.setattr(sweep, "run_one", run_one)
    todo = requests(KERNEL, TOOLS, cases(6), [1])
    assert {job.testbed.memory_mb for job in todo} == {512}
    lines: list[str] = []
    outcome = sweep.sweep(todo, tmp_path, 3, lambda *_: None, lines.append)
    assert set(outcome.recorded) == set(todo) and not outcome.failures
    assert max(path.name for path in tmp_path.glob("seen-*")) == f"seen-{at_once}"
    warning = f"there is little, a run may take 512 MB, so only {counted(at_once, 'run')} at once"
    assert lines == ([warning] if at_once < 3 else [])


@pytest.mark.parametrize(
    ("values", "memory_mb"),
    [
        ({"flows": 128}, 512),
        ({"stations": 8}, 624),
        ({"stations": 8, "flows": 128, "direction": "both"}, 624 + (2048 - 256) // 2),
    ],
)
def test_guests_with_many_connections_have_more_memory(
    values: dict[str, Plain], memory_mb: int
) -> None:
    """With 2,048 connections in 624 MB, a guest had no memory left and hung."""
    assert testbed_of(Case(values, Parameters().replace(values))).memory_mb == memory_mb


def test_ctrl_c_ends_active_runs_and_keeps_finished_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run_one(request: RunRequest, out: Path) -> RunRecord:
        if request.case.factors["mcs"] == 0:
            return result(request)
        try:
            (out / "began").touch()
            time.sleep(60)
        finally:
            (out / "ended").touch()
        raise AssertionError

    monkeypatch.setattr(sweep, "run_one", run_one)
    todo = requests(KERNEL, TOOLS, cases(2), [1])
    start = time.monotonic()
    outcome = sweep.sweep(todo, tmp_path, 2, interrupt_when(1, tmp_path / "began"), print)
    assert time.monotonic() - start < 20
    assert outcome.interrupted
    assert outcome.recorded == [todo[0]]
    assert (tmp_path / "ended").exists()


def test_the_time_left_assumes_the_average_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    todo = requests(KERNEL, TOOLS, cases(2), [1])
    half_s = run.expected_virtual_s(todo[0].testbed) / 2
    times_s = iter((100.0, 130.0))
    monkeypatch.setattr(time, "monotonic", lambda: next(times_s))
    lines: list[str] = []
    progress = Progress(todo, lines.append, tty=True)
    progress(sweep.Event([(todo[0], half_s)]))
    assert "[0/2]  mcs=0 " in lines[0] and "left" not in lines[0]
    progress(sweep.Event([], (todo[0], result(todo[0]))))
    progress(sweep.Event([(todo[1], half_s)]))
    # Three quarters of all took 30 s.
    assert "[1/2]  10 s left" in lines[2]


def test_the_line_of_progress_fits_on_the_terminal_of_standard_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    todo = requests(KERNEL, TOOLS, cases(1), [1])
    opened, terminal = os.openpty()
    termios.tcsetwinsize(terminal, (24, 12))
    lines: list[str] = []
    with os.fdopen(opened), os.fdopen(terminal, "w") as narrow:
        monkeypatch.setattr(sys, "stderr", narrow)
        monkeypatch.setenv("COLUMNS", "200")
        Progress(todo, lines.append, tty=True)(sweep.Event([(todo[0], 2.0)]))
    assert lines == ["\r\033[K[0/1]  mcs="]


class Sweeps:
    """Batches that note when they are taken and how they end."""

    def __init__(
        self, *todo: list[RunRequest], out_dir: Path, watch: sweep.Watch | None = None
    ) -> None:
        self.taken: list[int] = []
        self.outcomes: dict[int, sweep.Outcome] = {}
        self._todo = todo
        self._out_dir = out_dir
        self._watch = watch

    def batches(self) -> Iterator[sweep.Batch]:
        for number, todo in enumerate(self._todo):
            self.taken.append(number)
            end = partial(self.outcomes.__setitem__, number)
            watch = self._watch or Progress(todo, lambda _line: None, tty=True)
            yield sweep.Batch(todo, self._out_dir / str(number), watch, end)


def test_the_next_batch_starts_when_a_process_is_free(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run_one(request: RunRequest, out: Path) -> RunRecord:
        (tmp_path / f"began-{out.name}").touch()
        if out.name == "0":
            wait_until((tmp_path / "began-2").exists, timeout_s=20)
        if out.name == "2":
            raise AirtcpError("the disk is full")
        return result(request)

    monkeypatch.setattr(sweep, "run_one", run_one)
    todo = [requests(KERNEL, TOOLS, cases(count), [1]) for count in (1, 0, 3)]
    sweeps = Sweeps(*todo, out_dir=tmp_path)
    sweep.sweep_batches(sweeps.batches(), 2, print)
    assert sweeps.taken == [0, 1, 2]
    assert sweeps.outcomes[0] == sweep.Outcome([*todo[0]], {}, interrupted=False)
    assert sweeps.outcomes[1] == sweep.Outcome([], {}, interrupted=False)
    assert list(sweeps.outcomes[2].failures.values()) == ["the disk is full"] * 3


def test_batches_that_have_begun_end_with_their_results_after_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run_one(request: RunRequest, out: Path) -> RunRecord:
        if request.case.factors["mcs"] == 1:
            (tmp_path / f"began-{out.name}").touch()
            time.sleep(60)
        return result(request)

    monkeypatch.setattr(sweep, "run_one", run_one)
    todo = [requests(KERNEL, TOOLS, cases(count), [1]) for count in (1, 2, 2, 1)]
    watch = interrupt_when(3, tmp_path / "began-1", tmp_path / "began-2")
    sweeps = Sweeps(*todo, out_dir=tmp_path, watch=watch)
    sweep.sweep_batches(sweeps.batches(), 2, print)
    assert sweeps.taken == [0, 1, 2]
    assert sweeps.outcomes == {
        0: sweep.Outcome([*todo[0]], {}, interrupted=False),
        1: sweep.Outcome([todo[1][0]], {}, interrupted=True),
        2: sweep.Outcome([todo[2][0]], {}, interrupted=True),
    }


def test_ctrl_c_before_a_batch_has_begun_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def batches() -> Iterator[sweep.Batch]:
        yield from sweeps.batches()
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep, "run_one", lambda request, _out: result(request))
    sweeps = Sweeps(requests(KERNEL, TOOLS, cases(1), [1]), out_dir=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        sweep.sweep_batches(batches(), 1, print)
    assert [outcome.interrupted for outcome in sweeps.outcomes.values()] == [False]


def test_no_batch_begins_after_a_failure_that_affects_all_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run_one(_request: RunRequest, _out: Path) -> RunRecord:
        raise StopError("no space left")

    monkeypatch.setattr(sweep, "run_one", run_one)
    todo = [requests(KERNEL, TOOLS, cases(1), [1]) for _ in range(3)]
    sweeps = Sweeps(*todo, out_dir=tmp_path)
    sweep.sweep_batches(sweeps.batches(), 1, print)
    assert sweeps.outcomes == {0: sweep.Outcome([], {}, interrupted=False, stopped="no space left")}


def test_only_identical_runs_are_reused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def boot(_kernel: Kernel, _tools: GuestTools, run_dir: Path, **_rest: object) -> object:
        (run_dir / "uptime").write_text("15.5 10.0\n")
        console = run_dir / "console.log"
        console.write_text("hello\n")
        return base.GuestResult("ok", 0, 1.0, 0.9, console, "")

    monkeypatch.setattr(uml, "boot", boot)
    monkeypatch.setattr(metrics, "compute", lambda *_: {"goodput_mbps": 1.0})
    monkeypatch.setattr(timeseries, "write_csv", lambda path, *_: path.touch())
    monkeypatch.setattr(flent, "write", lambda path, *_: path.touch())
    [case] = cases(1)
    done = run.run_one(RunRequest.of(KERNEL, TOOLS, case, 1), tmp_path)
    assert done.status == "ok"
    assert done.cost.virtual_s == 15.5
    written = {"plan.sh", "console.log", "uptime", "series.csv", "run.flent.gz"}
    assert set(done.artifacts) == written
    assert (tmp_path / done.artifacts["plan.sh"].path).is_file()

    jobs = requests(KERNEL, TOOLS, [case], [1, 2])
    reused, todo = sweep.split(jobs, tmp_path, Index(tmp_path), (), print, verify=False)
    assert reused == jobs[:1]
    assert todo == [jobs[1]]
    longer = Case(case.factors, case.parameters.replace({"duration": "11s"}))
    other = Kernel(Path("linux"), "6.12.0", "fedcba9876543210")
    for kernel, changed in ((KERNEL, longer), (other, case)):
        jobs = requests(kernel, TOOLS, [changed], [1])
        assert sweep.split(jobs, tmp_path, Index(tmp_path), (), print, verify=False) == ([], jobs)


def test_each_plan_is_rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def render(steps: Sequence[Step]) -> str:
        rendered.append(steps)
        return original(steps)

    rendered: list[Sequence[Step]] = []
    original = shell.render
    monkeypatch.setattr(shell, "render", render)
    of_topology = load("two-access-points").cases()
    without_effect(requests(KERNEL, TOOLS, of_topology, [1, 2]))
    assert len(rendered) == len(of_topology) > 1

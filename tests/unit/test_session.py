# SPDX-License-Identifier: GPL-2.0-only
"""How sweeps end without a guest: messages, exit codes, and what is kept."""

import errno
import os
import signal
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import fake_run
import pytest

from airtcp import interrupts
from airtcp.backends.guesttools import GuestTools
from airtcp.errors import AirtcpError
from airtcp.experiment.experiment import Case, Setting
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.results import artifacts, documents, record
from airtcp.results.documents import SweepDocument
from airtcp.sweep import session
from airtcp.sweep.request import Request
from airtcp.sweep.sweep import Batch, Outcome, Watch

CASES = [Case({"mcs": mcs}, Parameters().replace({"mcs": mcs})) for mcs in (6, 7)]
KERNEL = Kernel(Path("linux"), "6.12.0", "0123456789abcdef")

Execute = Callable[[Sequence[Request], Path], Outcome]


def options(say: Callable[[str], None], cluster: str | None = None) -> session.SweepOptions:
    tools = GuestTools(Path("tools"))
    return session.SweepOptions(KERNEL, tools, 1, None, cluster, None, "./airtcp run", say)


def replace_runs(monkeypatch: pytest.MonkeyPatch, execute: Execute) -> None:
    """Do this instead of the runs of a sweep."""

    def replaced(_: object, todo: Sequence[Request], out_dir: Path, _watch: Watch) -> Outcome:
        return execute(todo, out_dir)

    monkeypatch.setattr(session.SweepOptions, "execute", replaced)


def finish(job: Request, out_dir: Path) -> Request:
    """Write the files of a successful run."""
    run_dir = job.directory(out_dir)
    run_dir.mkdir(parents=True)
    (run_dir / "plan.sh").touch()
    files = artifacts.hashed(run_dir, out_dir)
    values = {"goodput_mbps": 1.0}
    run = fake_run.record(job.case, 1, values, artifacts=files, identity=job.identity)
    record.write(run_dir, run)
    return job


def finish_all(todo: Sequence[Request], out_dir: Path) -> Outcome:
    return Outcome([finish(job, out_dir) for job in todo], {}, interrupted=False)


def measured(out_dir: Path, cases: Sequence[Case] = CASES) -> tuple[session.SweepResult, list[str]]:
    lines: list[str] = []
    return session.measure(options(lines.append), load("thesis-lan"), cases, out_dir), lines


@pytest.mark.parametrize(
    ("failure", "interrupted", "stopped", "code", "lines"),
    [
        ("", False, "", 0, []),
        ("it broke", False, "", 1, ["airtcp: mcs=7 seed=1: it broke"]),
        ("it broke", True, "", 130, ["airtcp: interrupted: 1 of 2 runs are kept in {}"]),
        ("", False, "no space left", 1, ["airtcp: no space left; 1 of 2 runs are kept in {}"]),
    ],
)
def test_how_a_sweep_ends(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    failure: str,
    interrupted: bool,
    stopped: str,
    code: int,
    lines: list[str],
) -> None:
    def execute(todo: Sequence[Request], out_dir: Path) -> Outcome:
        failures = {todo[1]: failure} if failure else {}
        return Outcome([finish(todo[0], out_dir)], failures, interrupted, stopped)

    replace_runs(monkeypatch, execute)
    result, said = measured(tmp_path)
    assert result.exit_code == code
    assert result.document and [run.factors for run in result.document.runs] == [{"mcs": 6}]
    assert [line.removesuffix("; the same command resumes from there") for line in said] == [
        line.format(tmp_path) for line in lines
    ]
    assert documents.read(tmp_path) == result.document


def test_a_run_that_finishes_unreported_during_an_interrupt_is_in_the_results(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def execute(todo: Sequence[Request], out_dir: Path) -> Outcome:
        finish(todo[1], out_dir)
        return Outcome([], {}, interrupted=True)

    replace_runs(monkeypatch, execute)
    result, [line] = measured(tmp_path)
    assert result.document and [run.factors for run in result.document.runs] == [{"mcs": 7}]
    assert line.startswith("airtcp: interrupted: 1 of 2 runs are kept")


def test_runs_are_kept_if_the_tables_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def write_tables(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    replace_runs(monkeypatch, finish_all)
    with monkeypatch.context() as patched:
        patched.setattr(session, "write_tables", write_tables)
        result, lines = measured(tmp_path)
    assert (result.document, result.exit_code) == (None, 1)
    assert lines == [
        f"airtcp: {tmp_path}: No space left on device; results.json and results.parquet are not "
        f"written; 2 of 2 runs are kept in {tmp_path}; the same command resumes from there"
    ]
    replace_runs(monkeypatch, lambda todo, _: Outcome([], dict.fromkeys(todo, "again"), False))
    result, lines = measured(tmp_path)
    assert (result.exit_code, lines) == (0, [f"2 of 2 runs are in {tmp_path} already"])


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (Path.unlink, "is missing"),
        (lambda path: path.write_text("{}"), "is not a document of airtcp: it has no schema"),
    ],
)
def test_a_result_that_is_lost_during_the_sweep_is_a_failure(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    damage: Callable[[Path], object],
    problem: str,
) -> None:
    def execute(todo: Sequence[Request], out_dir: Path) -> Outcome:
        outcome = finish_all(todo, out_dir)
        damage(outcome.recorded[0].directory(out_dir) / "result.json")
        return outcome

    replace_runs(monkeypatch, execute)
    result, [line] = measured(tmp_path)
    assert line.startswith(f"airtcp: mcs=6 seed=1: result.json {problem}")
    assert result.exit_code == 1
    assert result.document and [run.factors for run in result.document.runs] == [{"mcs": 7}]


def test_a_sweep_says_which_runs_it_leaves_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    replace_runs(monkeypatch, finish_all)
    assert measured(tmp_path)[1] == []
    unpacked = tmp_path / "runs" / "mcs-8" / ".seed-1.new"  # that a killed sweep has left
    unpacked.mkdir(parents=True)
    (unpacked / "result.json").touch()
    result, lines = measured(tmp_path, CASES[:1])
    assert result.document and len(result.document.runs) == 1
    assert lines == [
        f"1 of 1 runs are in {tmp_path} already",
        f"note: results.json leaves out 1 run in {tmp_path} with other settings or seeds; to "
        "include them, run one command with all settings and seeds, and the same kernel",
    ]


def test_a_refused_sweep_of_several_has_the_exit_code_of_wrong_input(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    replace_runs(monkeypatch, finish_all)
    (tmp_path / ".experiment").write_text("other\n")
    lines: list[str] = []
    given = options(lines.append)
    planned = session.Planned(given, load("thesis-lan"), CASES, tmp_path)
    [(_, ended)] = session.measure_all(given, [planned])
    assert (ended.exit_code, len(lines)) == (2, 1)


def test_a_sweep_says_which_runs_it_replaces(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    replace_runs(monkeypatch, finish_all)
    measured(tmp_path)
    replace_runs(monkeypatch, lambda *_: Outcome([], {}, interrupted=False))
    lines: list[str] = []
    other = replace(options(lines.append), kernel=replace(KERNEL, hash="other"))
    session.measure(other, load("thesis-lan"), CASES, tmp_path)
    shorter = [Case(case.factors, case.parameters.replace({"duration": "5s"})) for case in CASES]
    lines += measured(tmp_path, shorter)[1]
    messages = [
        f"note: 2 runs in {tmp_path} had another {what}: new ones replace them; to keep them, "
        "give --out another directory"
        for what in ("kernel or version", "duration")
    ]
    assert [line for line in lines if "replace them" in line] == messages


def test_a_sweep_shows_a_warning_of_a_kernel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def execute(todo: Sequence[Request], out_dir: Path) -> Outcome:
        outcome = finish_all(todo, out_dir)
        for job in outcome.recorded:
            text = "[    1.0] a message\n[    2.0] WARNING: CPU: 0 PID: 1 at x.c:5 f+0x0/0x1\n"
            (job.directory(out_dir) / "console.log").write_text(text)
        return outcome

    replace_runs(monkeypatch, execute)
    [line] = measured(tmp_path)[1]
    warning = "[    2.0] WARNING: CPU: 0 PID: 1 at x.c:5 f+0x0/0x1"
    assert line.startswith(f"note: the kernel warned in 2 runs: {warning} (console: {tmp_path}/")


def test_a_sweep_without_a_run_has_no_document(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    replace_runs(monkeypatch, lambda *_: Outcome([], {}, interrupted=True))
    result, [line] = measured(tmp_path)
    assert (result.document, result.exit_code) == (None, 130)
    assert line.startswith("airtcp: interrupted: 0 of 2 runs are kept")
    assert not (tmp_path / documents.FILE).exists()


@pytest.mark.parametrize("interrupted", [False, True])
def test_after_an_interrupt_no_other_sweep_begins_on_a_cluster(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, interrupted: bool
) -> None:
    def execute(todo: Sequence[Request], out_dir: Path) -> Outcome:
        return Outcome([finish(job, out_dir) for job in todo], {}, interrupted)

    replace_runs(monkeypatch, execute)
    lines: list[str] = []
    on_cluster, experiment = options(lines.append, "tcp://scheduler"), load("thesis-lan")
    names = ("a", "taken", "damaged", "b")
    for name in names:
        (tmp_path / name).mkdir()
    (tmp_path / "taken" / ".experiment").write_text("another\n")
    (tmp_path / "damaged" / ".lock").mkdir()
    planned = [session.Planned(on_cluster, experiment, CASES, tmp_path / name) for name in names]
    ended = session.measure_all(on_cluster, planned)
    codes = {each.out_dir.name: result.exit_code for each, result in ended}
    assert codes == ({"a": 130} if interrupted else {"a": 0, "taken": 2, "damaged": 1, "b": 0})
    problem = f"thesis-lan: {tmp_path}/damaged/.lock: Is a directory"
    assert (problem in lines) is not interrupted


def test_when_the_cluster_fails_sweeps_that_have_ended_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stop(todo: Sequence[Request], out_dir: Path) -> Outcome:
        stopped = "the scheduler has disconnected" if out_dir.name == "b" else ""
        return replace(finish_all(todo, out_dir), stopped=stopped)

    def fail(todo: Sequence[Request], out_dir: Path) -> Outcome:
        if out_dir.name != "a":
            raise AirtcpError("cannot connect")
        return finish_all(todo, out_dir)

    on_cluster, experiment = options(print, "tcp://scheduler"), load("thesis-lan")
    for execute in (stop, fail):
        replace_runs(monkeypatch, execute)
        directories = [tmp_path / execute.__name__ / name for name in ("a", "b", "c")]
        planned = [session.Planned(on_cluster, experiment, CASES, path) for path in directories]
        for path in directories:
            path.mkdir(parents=True)
        ended = session.measure_all(on_cluster, planned)
        assert {each.out_dir.name: end.exit_code for each, end in ended} == {"a": 0, "b": 1}
        with pytest.raises(AirtcpError, match="cannot connect"):
            replace_runs(monkeypatch, fail)
            session.measure_all(on_cluster, planned[2:])


def test_an_interrupt_while_tables_are_written_loses_no_result(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def execute(batches: Iterable[Batch], _processes: int, _say: Callable[[str], None]) -> None:
        with suppress(KeyboardInterrupt):
            for batch in batches:
                batch.ended(finish_all(batch.todo, batch.out_dir))

    def write_interrupted(out_dir: Path, document: SweepDocument) -> SweepDocument:
        os.kill(os.getpid(), signal.SIGINT)
        return write_tables(out_dir, document)

    write_tables = session.write_tables
    monkeypatch.setattr(session, "sweep_batches", execute)
    monkeypatch.setattr(session, "write_tables", write_interrupted)
    monkeypatch.setattr(interrupts, "_wanted", False)
    here, experiment = options(print), load("thesis-lan")
    planned = [session.Planned(here, experiment, CASES, tmp_path / name) for name in ("a", "b")]
    for each in planned:
        each.out_dir.mkdir()
    before = signal.signal(signal.SIGINT, interrupts._interrupt)
    try:
        ended = session.measure_all(here, planned)
    finally:
        signal.signal(signal.SIGINT, before)
    [(each, result)] = ended
    assert each.out_dir.name == "a"
    assert result.document and len(result.document.runs) == len(CASES)


def test_as_many_runs_as_allowed_processors_unless_a_number_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tools = GuestTools(Path("tools"))
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {3, 4, 7})
    for jobs, expected in ((None, 3), (6, 6)):
        parallel = session.SweepOptions(KERNEL, tools, 1, jobs, None, None, "", print)
        assert parallel.processes == expected


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        (["rate_control=minstrel", "mcs=3,7"], "mcs"),
        (["standard=802.11ax", "guard_interval=800ns", "legacy_rate=6Mbit,54Mbit"], "legacy_rate"),
        (["mcs=3,7"], ""),
        (["workload=web", "pages=1,2"], ""),
    ],
)
def test_a_sweep_notes_factors_without_effect(settings: Sequence[str], names: str) -> None:
    lines: list[str] = []
    cases = load("thesis-lan").cases([Setting.parse(setting) for setting in settings])
    options(lines.append).requests(cases)
    note = f"note: some cases differ only in {names}, which has no effect on them"
    assert lines == ([note] if names else [])


def test_a_sweep_notes_factors_that_a_topology_overrides() -> None:
    lines: list[str] = []
    case, _ = load("two-access-points").cases()[:2]
    cases = [Case({"channel": n}, case.parameters, case.network) for n in (36, 44)]
    options(lines.append).requests(cases)
    assert lines == ["note: some cases differ only in channel, which has no effect on them"]


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        (["udp_rate=10Mbit"], "udp_rate"),
        (["rate_control=minstrel", "mcs=3", "legacy_rate=6Mbit"], "mcs, legacy_rate"),
        (["rate_control=fixed,minstrel", "mcs=3"], ""),
        (["protocol=udp", "udp_rate=10Mbit", "ack_policy=default"], ""),
    ],
)
def test_a_sweep_notes_settings_without_effect(settings: Sequence[str], names: str) -> None:
    lines: list[str] = []
    cases = load("thesis-lan").cases([Setting.parse(setting) for setting in settings])
    options(lines.append).requests(cases)
    assert lines == ([f"note: no effect in these cases: {names}"] if names else [])

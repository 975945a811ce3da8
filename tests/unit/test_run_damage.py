# SPDX-License-Identifier: GPL-2.0-only
"""Runs with damaged files, and directories with runs of another experiment."""

import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from airtcp import cli
from airtcp.backends import base, shell, uml
from airtcp.backends.guesttools import GuestTools
from airtcp.errors import AirtcpError, InputError
from airtcp.experiment import reader
from airtcp.experiment.experiment import Case
from airtcp.experiment.topology import Network
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.report import model
from airtcp.results import artifacts, assembly, documents, flent, index, metrics, record, timeseries
from airtcp.results.jsonfile import text
from airtcp.steps.step import Step
from airtcp.sweep import jobprocess, request, run, session, sweep
from airtcp.sweep.request import RunRequest, requests, run_directory
from airtcp.testbed.model import Testbed

KERNEL = Kernel(Path("linux"), "6.12.0", "0123456789abcdef")
TOOLS = GuestTools(Path("tools"))
CASE = Case({"mcs": 7}, Parameters())
REQUESTS = requests(KERNEL, TOOLS, [CASE], [1, 2])
REQUEST = REQUESTS[0]


@pytest.fixture(autouse=True)
def no_guest(monkeypatch: pytest.MonkeyPatch) -> None:
    def boot(_kernel: Kernel, _tools: GuestTools, run_dir: Path, **_rest: object) -> object:
        (run_dir / "uptime").write_text("15.5 10.0\n")
        (run_dir / "ping.txt").write_text("rtt\n")
        (run_dir / "console.log").write_text("hello\n")
        (run_dir / "exit").write_text("0\n")
        (run_dir / "progress").write_text("15.4\n")
        return base.GuestResult("ok", 0, 1.0, 0.9, run_dir / "console.log", "")

    monkeypatch.setattr(uml, "boot", boot)
    monkeypatch.setattr(metrics, "compute", lambda *_: {"goodput_mbps": 1.0})
    monkeypatch.setattr(timeseries, "write_csv", lambda path, *_: path.write_text("time_s\n"))
    monkeypatch.setattr(flent, "write", lambda path, *_: path.write_bytes(b"flent"))


def edit(run_dir: Path, **changed: object) -> None:
    """Write a valid result.json with other values; None removes a key."""
    path = run_dir / "result.json"
    result = json.loads(path.read_text()) | changed
    for key in ["sha256", *(key for key, value in changed.items() if value is None)]:
        del result[key]
    path.write_text(text(result))


def remove(*paths: Path) -> None:
    for path in paths:
        path.unlink()


def replace_by_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "deleted": (lambda run: (run / "ping.txt").unlink(), "ping.txt is missing"),
    "emptied": (lambda run: (run / "ping.txt").write_text(""), "ping.txt has changed"),
    "longer": (lambda run: (run / "ping.txt").write_text("rtt\n\0"), "ping.txt has changed"),
    "two": (
        lambda run: remove(run / "ping.txt", run / "uptime"),
        "ping.txt is missing, uptime is missing",
    ),
    "a directory": (
        lambda run: replace_by_directory(run / "ping.txt"),
        "ping.txt cannot be read (Is a directory)",
    ),
    "another schema": (
        lambda run: edit(run, schema=99),
        "result.json is of schema 99, which another version of airtcp wrote; "
        "this one reads schemas 1 to 2",
    ),
    "without metrics": (
        lambda run: edit(run, metrics=None),
        "result.json is not a complete document (metrics: Field required)",
    ),
    "other artifacts": (
        lambda run: edit(run, artifacts={"ping.txt": {}}),
        "result.json is not a complete document (artifacts.ping.txt.path: Field required)",
    ),
}


def split(
    jobs: list[RunRequest], out_dir: Path, lines: list[str]
) -> tuple[list[RunRequest], list[RunRequest]]:
    return sweep.split(jobs, out_dir, index.Index(out_dir), (), lines.append, verify=False)


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_run_whose_files_have_changed_is_repeated(tmp_path: Path, kind: str) -> None:
    lines: list[str] = []
    done = run.run_one(REQUEST, tmp_path)
    assert split([REQUEST], tmp_path, lines) == ([REQUEST], [])
    assert lines == []
    damage, message = DAMAGE[kind]
    run_dir = run_directory(tmp_path, CASE, 1)
    damage(run_dir)
    assert split([REQUEST], tmp_path, lines) == ([], [REQUEST])
    assert lines == [f"{run_dir}: {message}: this run is repeated"]
    again = run.run_one(REQUEST, tmp_path)
    assert again == done
    assert split([REQUEST], tmp_path, lines) == ([REQUEST], [])


@pytest.mark.parametrize(
    ("damage", "problem"),
    [(Path.unlink, "is missing"), (replace_by_directory, "cannot be read (Is a directory)")],
)
def test_a_lost_result_is_reported_if_the_run_was_finished(
    tmp_path: Path, damage: Callable[[Path], object], problem: str
) -> None:
    run.run_one(REQUEST, tmp_path)
    path = run_directory(tmp_path, CASE, 1) / "result.json"
    damage(path)
    lines: list[str] = []
    assert run.finished(REQUEST, tmp_path, False, lines.append) is None
    assert lines == []
    assert run.finished(REQUEST, tmp_path, True, lines.append) is None
    assert lines == [f"{path.parent}: result.json {problem}: this run is repeated"]


def flip(path: Path, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1 << bit
    path.write_bytes(content)


CORRUPTIONS: dict[str, Callable[[Path], object]] = {
    "flipped": flip,
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "deleted": Path.unlink,
}
RUN_FILES = {"console.log", "exit", "ping.txt", "plan.sh", "progress", "result.json"}
RUN_FILES |= {"run.flent.gz", "series.csv", "uptime"}


@pytest.mark.parametrize("how", CORRUPTIONS)
def test_every_file_of_a_sweep_is_checked_and_repaired(
    tmp_path: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """For each file: commands report the damage, and `run` restores the sweep."""
    out_dir = tmp_path / "out"
    measured("first", out_dir, [], seeds=2)
    before = files(out_dir)
    capsys.readouterr()
    run_dir = run_directory(out_dir, CASE, 2)
    assert {path.name for path in run_dir.iterdir()} == RUN_FILES
    for name in sorted(RUN_FILES):
        CORRUPTIONS[how](run_dir / name)
        assert cli.main(["results", "query", "SELECT seed FROM runs", str(out_dir)]) == 1
        captured = capsys.readouterr()
        assert captured.out.split() == ["seed", "1"]
        assert re.fullmatch(
            rf"airtcp: {run_dir}: {name} .*: this run is left out; .*\n", captured.err
        )
        assert [loaded.seed for loaded in model.load(out_dir).runs] == [1]
        lines: list[str] = []
        measured("first", out_dir, lines, seeds=2)
        capsys.readouterr()
        [damage, kept] = lines
        assert re.fullmatch(
            f"{run_dir}: {name} (has changed|is missing): this run is repeated", damage
        )
        assert kept == f"1 of 2 runs are in {out_dir} already"
        assert files(out_dir) == before
    for name in ("results.json", "results.parquet"):
        CORRUPTIONS[how](out_dir / name)
        assert cli.main(["results", "export", str(out_dir)]) == 2
        problem = r"has changed|is missing|No such file or directory"
        assert re.fullmatch(
            rf"airtcp: {out_dir / name}:? ({problem}); .*\n", capsys.readouterr().err
        )
        lines = []
        measured("first", out_dir, lines, seeds=2)
        assert re.fullmatch(f"{out_dir / name} ({problem}): it is written again", lines[0])
        assert lines[1:] == [f"2 of 2 runs are in {out_dir} already"]
        assert files(out_dir) == before


def test_changed_or_truncated_documents_are_detected(tmp_path: Path) -> None:
    """A change never results in another value."""
    measured("first", tmp_path, [])
    for path in (tmp_path / "results.json", run_directory(tmp_path, CASE, 1) / "result.json"):
        form = documents.FORM if path.name == "results.json" else record.FORM
        content = path.read_bytes()
        rng = random.Random(1)
        for place in [*range(30), *(len(content) - back for back in range(1, 90))]:
            flipped = bytearray(content)
            flipped[place] ^= 1 << rng.randrange(8)
            with pytest.raises(ValueError, match=r"^(has changed|is not|is of)"):
                form.parse(bytes(flipped))
            with pytest.raises(ValueError, match=r"^(has changed|is not)"):
                form.parse(content[:place])
        assert form.parse(content)


def test_an_unfinished_run_is_not_reported_as_damaged(tmp_path: Path) -> None:
    lines: list[str] = []
    measured("first", tmp_path, [], seeds=1)
    unfinished = run_directory(tmp_path, CASE, 2)
    unfinished.mkdir()
    (unfinished / "plan.sh").write_text("true\n")
    measured("first", tmp_path, lines, seeds=2)
    assert lines == [f"1 of 2 runs are in {tmp_path} already"]


def test_runs_left_out_do_not_count_in_summaries(tmp_path: Path) -> None:
    document = measured("first", tmp_path, [], seeds=3).document
    assert document
    last = document.runs[2].model_copy(update={"metrics": {"goodput_mbps": 7.0}})
    changed = document.model_copy(update={"runs": (*document.runs[:2], last)})
    assert assembly.without(changed, [last]).runs == document.runs[:2]
    rest = assembly.without(changed, changed.runs[:2])
    assert rest.runs == (last,)
    [goodput] = [row for row in rest.summary if row.metric == "goodput_mbps"]
    assert (goodput.mean, goodput.ci95, goodput.n) == (7.0, None, 1)
    assert [row.declared() for row in rest.published] == [
        row.declared() for row in document.published
    ]
    assert assembly.without(changed.model_copy(update={"parameters": None}), [last]).published == ()


def test_a_report_warns_about_runs_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_report(
        _out: Path, _choice: object, warn: Callable[[str], object], _count: object
    ) -> str:
        warn("runs/mcs-7/seed-2: uptime is missing")
        return "report.html"

    (tmp_path / "runs").mkdir()
    monkeypatch.setattr("airtcp.report.write_report", write_report)
    assert cli.main(["report", str(tmp_path)]) == 1
    assert capsys.readouterr() == (
        "report.html\n",
        "airtcp: runs/mcs-7/seed-2: uptime is missing: this run is left out; "
        "the same `run` repeats it\n",
    )


@pytest.mark.parametrize("kind", ["a symbolic link", "a file"])
def test_a_link_or_file_in_place_of_a_run_is_an_error(tmp_path: Path, kind: str) -> None:
    run_dir = run_directory(tmp_path, CASE, 1)
    run_dir.parent.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").touch()
    if kind == "a file":
        run_dir.touch()
    else:
        run_dir.symlink_to(elsewhere)
    with pytest.raises(AirtcpError) as error:
        run.run_one(REQUEST, tmp_path)
    assert str(error.value) == f"{run_dir}: is {kind}, not the directory of a run: remove it"
    assert (elsewhere / "precious").exists()


def options(lines: list[str], seeds: int) -> session.SweepOptions:
    return session.SweepOptions(KERNEL, TOOLS, seeds, 1, None, None, "./airtcp run", lines.append)


def measured(name: str, out_dir: Path, lines: list[str], seeds: int = 1) -> session.SweepResult:
    experiment = reader.load("thesis-lan").model_copy(update={"name": name})
    return session.measure(options(lines, seeds), experiment, [CASE], out_dir)


def files(directory: Path) -> dict[Path, bytes]:
    """All files except the index, which contains times."""
    paths = [path for path in directory.rglob("*") if path.is_file() and path.name != index.FILE]
    return {path: path.read_bytes() for path in paths}


@pytest.mark.parametrize("lost", [[], [".experiment"], ["results.json", "results.parquet"]])
def test_a_directory_has_runs_of_only_one_experiment(tmp_path: Path, lost: list[str]) -> None:
    """Also without the marker file of later versions, and after a sweep that was killed."""
    lines: list[str] = []
    measured("first", tmp_path, lines)
    for name in lost:
        (tmp_path / name).unlink()
    before = files(tmp_path)
    with pytest.raises(InputError) as error:
        measured("second", tmp_path, lines)
    assert str(error.value) == (
        f"{tmp_path} has the runs of the experiment first, which those of second would replace: "
        "give --out another directory, or remove this one"
    )
    assert files(tmp_path) == before
    measured("first", tmp_path, lines)
    assert lines == [f"1 of 1 runs are in {tmp_path} already"]


@pytest.mark.parametrize("mark", [b"\xff\0", bytes(6)])
def test_a_damaged_mark_of_the_experiment_is_written_again(tmp_path: Path, mark: bytes) -> None:
    measured("first", tmp_path, [])
    (tmp_path / ".experiment").write_bytes(mark)
    with pytest.raises(InputError, match="has the runs of the experiment first"):
        measured("second", tmp_path, [])
    measured("first", tmp_path, [])
    assert (tmp_path / ".experiment").read_text() == "first\n"


def test_a_sweep_may_not_be_in_the_directory_of_a_run(tmp_path: Path) -> None:
    """Repeating the run would delete the sweep."""
    lines: list[str] = []
    measured("first", tmp_path, lines)
    before = files(tmp_path)
    [run_dir] = tmp_path.glob("runs/*/*")
    with pytest.raises(InputError) as error:
        measured("second", run_dir / "more", lines)
    assert str(error.value) == (
        f"{run_dir / 'more'} is in the directory of a run of {tmp_path}, which is deleted when "
        "that run is repeated: give --out another directory"
    )
    assert files(tmp_path) == before
    measured("second", tmp_path / "more", lines)


def test_identity_is_that_of_the_loaded_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `git pull` during a sweep changes the files, but not the loaded code."""
    package = tmp_path / "airtcp"
    shutil.copytree(request._PACKAGE, package)
    assert request.hash_of_code(package) == request.CODE
    with (package / "results" / "metrics.py").open("a") as file:
        file.write("# changed\n")
    monkeypatch.setattr(request, "_PACKAGE", package)
    assert RunRequest.of(KERNEL, TOOLS, CASE, 1).identity == REQUEST.identity
    # A new process has the new files.
    assert request.hash_of_code(package) != request.CODE


def test_identity_covers_all_code_that_affects_results(tmp_path: Path) -> None:
    """Only the command line and the report are left out; all modules of a sweep are included."""
    package = tmp_path / "airtcp"
    shutil.copytree(request._PACKAGE, package, ignore=shutil.ignore_patterns("cli", "report"))
    (package / ".#units.py").symlink_to("lock@of-an-editor")
    assert request.hash_of_code(package) == request.CODE
    (package / "units.py").rename(package / "unit.py")
    assert request.hash_of_code(package) != request.CODE
    loading = "import sys, airtcp.sweep.session, airtcp.sweep.cluster\n"
    loading += "print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('airtcp.')))"
    loaded = subprocess.run(
        [sys.executable, "-P", "-c", loading], capture_output=True, text=True, check=True
    )
    assert set(map(Path, loaded.stdout.split())) <= set(request.code_files())


def test_runs_that_can_differ_have_different_identities() -> None:
    other = Kernel(Path("linux"), "6.12.0", "fedcba9876543210")
    case = Case({"mcs": 7}, Parameters().replace({"ping_interval": "1s"}))
    runs = [
        *REQUESTS,
        RunRequest.of(other, TOOLS, CASE, 1),
        RunRequest.of(KERNEL, GuestTools(Path("other")), CASE, 1),
        RunRequest.of(KERNEL, TOOLS, case, 1),
        RunRequest.of(KERNEL, TOOLS, Case({"snr": 7}, Parameters()), 1),
    ]
    assert len({request.identity for request in runs}) == len(runs)
    assert RunRequest.of(KERNEL, TOOLS, CASE, 1).identity == REQUEST.identity


def test_custom_topologies_with_equal_plans_have_different_identities() -> None:
    """The pages of a flow are in a file, not in the plan."""

    def loading(pages: int) -> RunRequest:
        network = Network.model_validate(
            {
                "topology": {
                    "servers": {"server": {}},
                    "access_points": {"ap": {}},
                    "stations": {"station": {"access_point": "ap"}},
                },
                "flows": [{"from": "server", "to": "station", "workload": "web", "pages": pages}],
            }
        )
        return RunRequest.of(KERNEL, TOOLS, Case({}, Parameters(), network), 1)

    first, second = loading(3), loading(4)
    assert shell.render(first.plan) == shell.render(second.plan)
    assert first.identity != second.identity


def test_a_plan_is_computed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[Testbed] = []

    def plan(testbed: Testbed) -> list[Step]:
        planned.append(testbed)
        return []

    monkeypatch.setattr(request, "plan", plan)
    measured("first", tmp_path, [], seeds=3)
    assert len(planned) == 1


def test_a_worker_whose_files_have_changed_does_nothing(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    outdated = jobprocess.JobInput(KERNEL, TOOLS, CASE, 1, "identity of other sources", scratch)
    end: object = jobprocess._do(outdated)
    assert isinstance(end, sweep.Failure)
    assert end.message.startswith("airtcp has changed on ")
    assert end.affects == "all"
    result = run.run_one(REQUEST, tmp_path)
    current = jobprocess.JobInput(KERNEL, TOOLS, CASE, 1, result.identity, scratch)
    assert isinstance(jobprocess._do(current), jobprocess.RunOutput)


def test_a_run_whose_directory_was_removed_is_one_damage(tmp_path: Path) -> None:
    document = measured("first", tmp_path, [], seeds=2).document
    assert document
    gone = run_directory(tmp_path, CASE, 1)
    shutil.rmtree(gone)
    assert [str(each) for each in artifacts.damaged(document.runs, tmp_path)] == [
        f"{gone}: is missing"
    ]


def test_published_values_are_not_compared_with_damaged_runs_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out_dir = tmp_path / "thesis-lan"
    measured("first", out_dir, [], seeds=1)
    (run_directory(out_dir, CASE, 1) / "plan.sh").unlink()
    assert cli.main(["report", str(tmp_path), "--published"]) == 2
    *_, damage, error = capsys.readouterr().err.splitlines()
    assert "plan.sh is missing: this run is left out" in damage
    assert error == f"airtcp: {tmp_path}: all runs in it are damaged"

# SPDX-License-Identifier: GPL-2.0-only
"""Provenance: the version, commit, command and host in results; the only difference beside cost."""

import os
import platform
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import stub_runs
import sweeps

import airtcp
from airtcp import cli, provenance
from airtcp.backends import uml
from airtcp.cli import doctor, sweeping
from airtcp.kernel import image
from airtcp.results import documents, parquet, record
from airtcp.results.record import Provenance


@pytest.fixture(autouse=True)
def stubs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Replace guests by stubs; work in an empty directory, in which nothing is cached."""
    kernel, tools = stub_runs.machine(tmp_path / "machine")
    monkeypatch.setattr(doctor, "require_programs", lambda: None)
    monkeypatch.setattr(image, "build", lambda *_, **__: kernel)
    monkeypatch.setattr(sweeping, "build_tools", lambda _say: tools)
    monkeypatch.setattr(uml, "boot", stub_runs.boot)
    monkeypatch.chdir(tmp_path)
    cached = provenance.commit
    cached.cache_clear()
    yield
    cached.cache_clear()


def run(*arguments: str) -> Path:
    common = ["--set", "ack_policy=default", "--set", "capture=off", "--duration", "1s"]
    out_dir = Path(arguments[-1])
    assert cli.main(["run", "thesis-lan", *common, *arguments]) == 0
    return out_dir


def test_results_name_version_commit_command_and_host(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(provenance, "commit", lambda: "0123456789ab-dirty")
    out_dir = run("--seeds", "2", "--jobs", "1", "--out", str(tmp_path / "out"))
    document = documents.read(out_dir)
    [written] = {run.provenance for run in document.runs}
    assert written == document.provenance
    assert isinstance(written, Provenance)
    assert (written.version, written.commit) == (airtcp.__version__, "0123456789ab-dirty")
    assert (
        written.command
        == document.command
        == (
            "./airtcp run thesis-lan --set ack_policy=default --set capture=off --duration 1s "
            "--seeds 2 --jobs 1 --out out"
        )
    )
    assert written.host.kernel == platform.release()
    assert written.host.cpu == provenance.cpu_model()
    assert str(tmp_path) not in written.model_dump_json()
    columns = parquet.read(out_dir).to_pydict()
    assert columns["airtcp_version"] == [airtcp.__version__] * 2


def test_of_equal_sweeps_only_cost_and_provenance_differ(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = run("--out", str(tmp_path / "first"))
    monkeypatch.setattr(provenance, "commit", lambda: "fedcba987654")
    monkeypatch.setattr(platform, "release", lambda: "9.9")
    second = run("--jobs", "1", "--out", str(tmp_path / "second"))
    sweeps.assert_same(first, second)
    runs = [record.read(next((out / "runs").glob("*/*"))) for out in (first, second)]
    assert runs[0].provenance != runs[1].provenance
    assert runs[0].identity == runs[1].identity


def test_a_finished_run_keeps_its_provenance(tmp_path: Path) -> None:
    out_dir = run("--out", str(tmp_path / "out"))
    run("--seeds", "2", "--out", str(tmp_path / "out"))
    document = documents.read(out_dir)
    commands = [run.provenance.command for run in document.runs if run.provenance]
    assert ["--seeds" in command for command in commands] == [False, True]
    assert document.provenance and document.provenance.command == commands[1]


@pytest.mark.parametrize(
    ("argument", "written"),
    [
        ("thesis-lan", "thesis-lan"),
        ("delay=0ms,10ms", "delay=0ms,10ms"),
        ("tls://127.0.0.1:8786", "tls://127.0.0.1:8786"),
        ("results/a b", "'results/a b'"),
        ("/home/anna/experiments/mine.yaml", ".../mine.yaml"),
        ("--out=/home/anna/results", "--out=.../results"),
        ("../anna/mine.yaml", ".../mine.yaml"),
        ("..", "..."),
        ("/", "..."),
    ],
)
def test_commands_name_no_path_outside_the_working_directory(argument: str, written: str) -> None:
    assert provenance.command_line(["run", argument]) == f"./airtcp run {written}"


def test_commands_name_paths_in_the_working_directory() -> None:
    inside = Path.cwd() / "results" / "mine"
    assert provenance.command_line(["report", str(inside)]) == "./airtcp report results/mine"


def test_the_commit_says_whether_files_have_changed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    repository = tmp_path / "repository"
    outer = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}

    def git(*arguments: str) -> str:
        name = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        command = ["git", "-C", str(repository), *name, *arguments]
        done = subprocess.run(command, env=outer, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    repository.mkdir()
    git("init", "-q")
    (repository / "file").write_text("1\n")
    git("add", "file")
    git("commit", "-q", "-m", "x")
    commit = git("rev-parse", "--short=12", "HEAD")
    found = []
    monkeypatch.setattr(provenance, "REPOSITORY", repository)
    found.append(provenance.commit())
    (repository / "file").write_text("2\n")
    provenance.commit.cache_clear()
    found.append(provenance.commit())
    assert found == [commit, f"{commit}-dirty"]
    # An installed copy below somebody else's repository has no commit.
    monkeypatch.setattr(provenance, "REPOSITORY", repository / "lib")
    provenance.commit.cache_clear()
    assert provenance.commit() is None


def test_the_commit_does_not_depend_on_the_repository_of_a_git_hook(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    expected = provenance.commit()
    assert expected
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", other], check=True)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    provenance.commit.cache_clear()
    assert provenance.commit() == expected


def test_another_user_may_own_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = provenance.commit()
    assert expected
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")  # for Git's own tests
    provenance.commit.cache_clear()
    assert provenance.commit() == expected


def test_version_is_that_of_results(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(provenance, "commit", lambda: "0123456789ab")
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out.startswith(f"airtcp {airtcp.__version__}, commit 0123456789ab, ")

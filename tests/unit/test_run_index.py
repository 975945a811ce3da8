# SPDX-License-Identifier: GPL-2.0-only
"""The index of verified runs: it saves reading, and never hides a damaged file."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import stub_runs

from airtcp import atomicfile, cli
from airtcp.backends import uml
from airtcp.results import analysis, artifacts, documents, index
from airtcp.results.index import Index
from airtcp.sweep import session
from airtcp.sweep.request import RunRequest, requests

SEEDS = 3


@pytest.fixture(autouse=True)
def no_guest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uml, "boot", stub_runs.boot)


@pytest.fixture
def out_dir(tmp_path: Path) -> Path:
    """A finished sweep with an index."""
    directory = tmp_path / "out"
    assert run(directory) == []
    return directory


def run(directory: Path, *, verify: bool = False) -> list[str]:
    """Do the sweep, or resume it; returns its messages."""
    kernel, tools = stub_runs.machine(directory.parent / "machine")
    lines: list[str] = []
    options = session.SweepOptions(
        *(kernel, tools, SEEDS, 1, None, None, "./airtcp run", lines.append, verify)
    )
    assert not session.measure(options, *stub_runs.sweep_of(1), directory).failed
    return lines


def jobs(directory: Path) -> list[RunRequest]:
    machine = stub_runs.machine(directory.parent / "machine")
    return requests(*machine, stub_runs.sweep_of(1)[1], range(1, SEEDS + 1))


def unchanged(directory: Path) -> list[int]:
    """The seeds of the runs that need not be read again."""
    known = Index(directory).unchanged(job.identity for job in jobs(directory))
    return [job.seed for job in jobs(directory) if job.identity in known]


def flip_at_the_same_time(path: Path) -> None:
    """Change a bit, and restore the size and mtime."""
    before = path.stat()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "a bit, with the old mtime": flip_at_the_same_time,
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "deleted": Path.unlink,
    "renamed": lambda path: path.rename(path.with_name("other")),
    "replaced": lambda path: (path.rename(path.with_name("x")), path.with_name("x").rename(path)),
}


@pytest.mark.parametrize("how", CHANGES)
def test_every_change_of_a_file_is_noticed(out_dir: Path, how: str) -> None:
    """Whatever happens to a file, its run is read again."""
    [first, second, *_] = jobs(out_dir)
    for name in sorted(path.name for path in first.directory(out_dir).iterdir()):
        assert unchanged(out_dir) == [1, 2, 3]
        kept = (first.directory(out_dir) / name).read_bytes()
        CHANGES[how](first.directory(out_dir) / name)
        assert unchanged(out_dir) == [2, 3], name
        (first.directory(out_dir) / "other").unlink(missing_ok=True)
        (first.directory(out_dir) / name).write_bytes(kept)
        assert unchanged(out_dir) == [2, 3], name
        assert artifacts.damaged(documents.read(out_dir).runs, out_dir) == []
    (second.directory(out_dir) / "added").touch()
    assert unchanged(out_dir) == [1, 3]


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that are hashed from now on."""
    hashed: list[Path] = []
    sha256 = atomicfile.sha256

    def count(path: Path) -> str:
        hashed.append(path)
        return sha256(path)

    monkeypatch.setattr(atomicfile, "sha256", count)
    return hashed


def test_files_of_unchanged_runs_are_not_read(
    out_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed = counted(monkeypatch)
    assert run(out_dir) == [f"3 of 3 runs are in {out_dir} already"]
    assert [path.name for path in hashed] == ["results.parquet"]  # just written
    hashed.clear()
    assert run(out_dir, verify=True) == [f"3 of 3 runs are in {out_dir} already"]
    in_run = len(list(jobs(out_dir)[0].directory(out_dir).iterdir())) - 1  # without result.json
    assert len([path for path in hashed if "runs" in path.parts]) == SEEDS * in_run


@pytest.mark.parametrize("how", ["a sweep resumes", "results are read"])
def test_a_change_while_a_run_is_read_is_noticed(
    out_dir: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    (out_dir / index.FILE).unlink()
    sha256 = atomicfile.sha256
    path = jobs(out_dir)[0].directory(out_dir) / "ping.txt"

    def change_afterwards(read: Path) -> str:
        found = sha256(read)
        if read == path:
            path.write_text("other\n")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(atomicfile, "sha256", change_afterwards)
        if how == "a sweep resumes":
            run(out_dir)
        else:
            assert artifacts.damaged(documents.read(out_dir).runs, out_dir) == []
    assert unchanged(out_dir) == [2, 3]


def test_a_directory_without_index_is_read_once(
    out_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example after a copy, which changes times."""
    for remove in (True, False):
        if remove:
            (out_dir / index.FILE).unlink()
        else:
            os.utime(jobs(out_dir)[0].directory(out_dir) / "plan.sh")
        assert artifacts.damaged(documents.read(out_dir).runs, out_dir) == []
        hashed = counted(monkeypatch)
        assert artifacts.damaged(documents.read(out_dir).runs, out_dir) == []
        assert hashed == []


def test_verify_finds_what_sizes_and_times_do_not_show(
    out_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As after a failure of the disk: here the index is told that nothing has changed."""
    run_dir = jobs(out_dir)[1].directory(out_dir)
    (run_dir / "ping.txt").write_text("other\n")
    monkeypatch.setattr(index, "_same", lambda runs: [identity for identity, *_ in runs])
    query = ["results", "query", "SELECT seed FROM runs", str(out_dir)]
    assert cli.main(query) == 0
    capsys.readouterr()
    assert cli.main([*query, "--verify"]) == 1
    captured = capsys.readouterr()
    assert captured.out.split() == ["seed", "1", "3"]
    assert "seed-2: ping.txt has changed" in captured.err
    for command in (["compare", str(out_dir), str(out_dir)], ["export", str(out_dir)]):
        assert cli.main(["results", *command]) == 0
        assert cli.main(["results", *command, "--verify"]) == 1
        assert "seed-2: ping.txt has changed" in capsys.readouterr().err
    assert run(out_dir) == [f"3 of 3 runs are in {out_dir} already"]
    [found, _] = run(out_dir, verify=True)
    assert found == f"{run_dir}: ping.txt has changed: this run is repeated"


def test_a_damaged_index_only_costs_time(out_dir: Path) -> None:
    """Flipped bits and cuts anywhere: a damaged run is found, and the others are kept."""
    whole = (out_dir / index.FILE).read_bytes()
    identities = [job.identity for job in jobs(out_dir)]
    run_dir = jobs(out_dir)[0].directory(out_dir)
    (run_dir / "ping.txt").write_text("other\n")
    for place in range(0, len(whole), 3):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << (place % 8)
        for content in (bytes(flipped), whole[:place]):
            (out_dir / index.FILE).write_bytes(content)
            assert identities[0] not in Index(out_dir).unchanged(identities)
            Index(out_dir).has_tables()
    assert artifacts.damaged(documents.read(out_dir).runs, out_dir)[0].directory == run_dir
    assert unchanged(out_dir) == [2, 3]


def test_changed_tables_are_read_again(out_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(_directory: Path) -> object:
        raise AssertionError("results.json is read")

    assert Index(out_dir).has_tables()
    monkeypatch.setattr(documents, "read", read)
    assert len(analysis.table(out_dir, print)) == SEEDS
    for name in ("results.json", "results.parquet"):
        path = out_dir / name
        flip_at_the_same_time(path)
        assert not Index(out_dir).has_tables()
        with pytest.raises(AssertionError, match=r"results.json is read"):
            analysis.table(out_dir, print)
        assert run(out_dir)[0] == f"{path} has changed: it is written again"
        assert Index(out_dir).has_tables()


def test_many_runs_are_compared_in_parallel(out_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_WORTH_PROCESSES", 0)
    monkeypatch.setattr(index, "_CHUNK", 2)
    assert unchanged(out_dir) == [1, 2, 3]


def test_the_index_stays_small(out_dir: Path) -> None:
    """Outdated lines are removed."""
    [job, *_] = jobs(out_dir)
    for _ in range(300):
        opened = Index(out_dir)
        opened.add(job.identity, job.directory(out_dir))
        opened.close()
    assert len((out_dir / index.FILE).read_text().split()) < 3 * 220
    assert unchanged(out_dir) == [1, 2, 3]

# SPDX-License-Identifier: GPL-2.0-only
"""Atomic writes: the order of fsync, rename and unlink."""

import errno
import multiprocessing
import os
import tarfile
from pathlib import Path

import pytest

from airtcp import atomicfile


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Calls that change the disk, in order, with the name of the file."""
    calls: list[tuple[str, str]] = []
    fsync, replace, unlink = os.fsync, Path.replace, Path.unlink

    def spy_fsync(descriptor: int) -> None:
        calls.append(("fsync", Path(f"/proc/self/fd/{descriptor}").readlink().name))
        fsync(descriptor)

    def spy_replace(path: Path, target: Path) -> Path:
        calls.append(("replace", target.name))
        return replace(path, target)

    def spy_unlink(path: Path, missing_ok: bool = False) -> None:
        calls.append(("unlink", path.name))
        unlink(path, missing_ok)

    monkeypatch.setattr(os, "fsync", spy_fsync)
    monkeypatch.setattr(Path, "replace", spy_replace)
    monkeypatch.setattr(Path, "unlink", spy_unlink)
    return calls


def test_a_file_is_flushed_before_it_is_renamed(
    tmp_path: Path, calls: list[tuple[str, str]]
) -> None:
    atomicfile.write(tmp_path / "x", b"new")
    assert (tmp_path / "x").read_bytes() == b"new"
    scratch = f".x.{os.getpid()}.new"
    assert calls[:3] == [("fsync", scratch), ("replace", "x"), ("fsync", tmp_path.name)]
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "x").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        atomicfile.write(tmp_path / "x", b"new")
    assert (tmp_path / "x").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_processes_can_write_the_same_file_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    contents = [bytes([number]) * 5_000_000 for number in range(4)]
    writers = [
        context.Process(target=atomicfile.write, args=(tmp_path / "x", content))
        for content in contents
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0, 0]
    assert (tmp_path / "x").read_bytes() in contents
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_an_error_names_the_file_that_was_to_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(path: Path, *_mode: str, **_options: bool) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    # On a read-only file system, unlink() fails like this even if there is no such file.
    monkeypatch.setattr(Path, "open", read_only)
    monkeypatch.setattr(Path, "unlink", read_only)
    with pytest.raises(OSError, match="Read-only") as raised:
        atomicfile.write(tmp_path / "x", b"new")
    assert raised.value.filename == str(tmp_path / "x")


def test_remove_deletes_the_marker_file_first(tmp_path: Path, calls: list[tuple[str, str]]) -> None:
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    for name in ("a", "mark", "z"):
        (run_dir / name).touch()
    atomicfile.remove(run_dir, "mark")
    assert calls[:2] == [("unlink", "mark"), ("fsync", "run")]
    assert not run_dir.exists()
    atomicfile.remove(run_dir, "mark")


def test_unpack_restores_what_pack_took(tmp_path: Path, calls: list[tuple[str, str]]) -> None:
    source = tmp_path / "one"
    source.mkdir()
    (source / "program").write_bytes(b"\0\1")
    (source / "program").chmod(0o755)
    (source / "text").write_text("text\n")
    (tmp_path / ".two.new").mkdir()
    (tmp_path / ".two.new" / "rubbish").touch()
    atomicfile.unpack(atomicfile.pack(source), tmp_path / "two")
    assert {("fsync", "program"), ("fsync", "text"), ("fsync", ".two.new")} <= set(calls)
    two = {path.name: path.read_bytes() for path in (tmp_path / "two").iterdir()}
    assert two == {"program": b"\0\1", "text": b"text\n"}
    assert os.access(tmp_path / "two" / "program", os.X_OK)
    assert not os.access(tmp_path / "two" / "text", os.X_OK)


def test_pythons_without_filters_of_archives_unpack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As 3.11.2, the one of Debian 12."""
    if hasattr(tarfile, "data_filter"):
        extractall = tarfile.TarFile.extractall

        def of_old_python(archive: tarfile.TarFile, path: Path) -> None:
            extractall(archive, path, filter="fully_trusted")

        monkeypatch.setattr(tarfile.TarFile, "extractall", of_old_python)
        monkeypatch.delattr(tarfile, "data_filter")
    source = tmp_path / "one"
    source.mkdir()
    (source / "text").write_text("text\n")
    atomicfile.unpack(atomicfile.pack(source), tmp_path / "two")
    assert (tmp_path / "two" / "text").read_text() == "text\n"


def test_a_failed_unpack_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    source = tmp_path / "one"
    source.mkdir()
    (source / "text").write_text("text\n")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        atomicfile.unpack(atomicfile.pack(source), tmp_path / "two")
    assert [path.name for path in tmp_path.iterdir()] == ["one"]

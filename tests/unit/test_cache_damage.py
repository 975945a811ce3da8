# SPDX-License-Identifier: GPL-2.0-only
"""Damaged files in the cache are detected and made again."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from airtcp import atomicfile
from airtcp.backends import guesttools
from airtcp.kernel import image, source

LAB = Path(__file__).parents[2] / "lab"


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda entry: (entry / "linux").write_bytes(b""), "linux has changed"),
    "flipped": (lambda entry: flip(entry / "linux"), "linux has changed"),
    "not executable": (lambda entry: (entry / "linux").chmod(0o644), "linux has changed"),
    "deleted": (lambda entry: (entry / "lib" / "x.ko").unlink(), "lib/x.ko is missing"),
    "truncated": (lambda entry: (entry / "build.json").write_text("{"), "build.json has changed"),
    "no contents.json": (
        lambda entry: (entry / "contents.json").unlink(),
        "contents.json is missing",
    ),
    "truncated contents.json": (
        lambda entry: (entry / "contents.json").write_text('{"linux": '),
        "contents.json cannot be read",
    ),
    "wrong contents.json": (
        lambda entry: (entry / "contents.json").write_text("[]"),
        "contents.json cannot be read",
    ),
}


def fill(new: Path) -> None:
    (new / "lib").mkdir(parents=True)
    (new / "lib" / "x.ko").write_text("module")
    (new / "linux").write_text("image")
    (new / "linux").chmod(0o755)
    (new / "build.json").write_text(json.dumps({"version": "6.12.9"}))


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_found(tmp_path: Path, kind: str) -> None:
    fill(tmp_path / "new")
    entry = tmp_path / "made"
    atomicfile.install(tmp_path / "new", entry)
    assert atomicfile.damage(entry) is None
    damage, message = DAMAGE[kind]
    damage(entry)
    assert atomicfile.damage(entry) == message
    fill(tmp_path / "new")
    atomicfile.install(tmp_path / "new", entry)
    assert atomicfile.damage(entry) is None
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_a_directory_is_flushed_before_it_is_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: set[str] = set()
    fsync, rename = os.fsync, Path.rename

    def spy_fsync(descriptor: int) -> None:
        flushed.add(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    def spy_rename(path: Path, target: Path) -> Path:
        assert {"linux", "build.json", "x.ko", "lib", "contents.json", "new"} <= flushed
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", spy_fsync)
    monkeypatch.setattr(Path, "rename", spy_rename)
    fill(tmp_path / "new")
    atomicfile.install(tmp_path / "new", tmp_path / "made")


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Replaces the build of kernels; lists the directories of those built."""
    built: list[Path] = []

    def build(*arguments: object) -> None:
        target = arguments[5]
        assert isinstance(target, Path)
        fill(tmp_path / "new")
        atomicfile.install(tmp_path / "new", target)
        built.append(target)

    tarball = tmp_path / "linux.tar"
    tarball.write_text("Linux")
    monkeypatch.setenv("AIRTCP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(image, "find_source", lambda _: tarball)
    monkeypatch.setattr(image, "_build", build)
    return built


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_kernel_is_rebuilt(builds: list[Path], kind: str) -> None:
    lines: list[str] = []
    first = image.build(say=lines.append)
    assert image.build(say=lines.append) == first
    assert len(builds) == 1 and not lines
    damage, message = DAMAGE[kind]
    damage(first.path.parent)
    assert image.build(say=lines.append) == first
    assert len(builds) == 2
    assert lines == [f"the kernel in {first.path.parent} is damaged ({message}): rebuilding it"]


@pytest.mark.parametrize("text", ["", "{", "[]", '["a"]', "null", '{"a": 1}'])
def test_a_damaged_list_of_tarballs_is_rewritten(
    builds: list[Path], tmp_path: Path, text: str
) -> None:
    first = image.build(say=print)
    sources = tmp_path / "cache" / "kernel" / "sources.json"
    sources.write_text(text)
    assert image.build(say=print) == first
    assert atomicfile.sha256(tmp_path / "linux.tar") in json.loads(sources.read_text()).values()
    assert len(builds) == 1


def test_the_hash_of_every_tarball_is_cached(
    builds: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.tar"
    other.write_text("other")
    for path in (tmp_path / "linux.tar", other):
        source.identity(path)
    monkeypatch.setattr(atomicfile, "sha256", None)
    assert source.identity(tmp_path / "linux.tar") != source.identity(other)


def test_only_sources_change_the_recipe_of_the_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = guesttools.recipe()
    sources = tmp_path / "guest"
    shutil.copytree(guesttools.SOURCES, sources)
    monkeypatch.setattr(guesttools, "SOURCES", sources)
    (sources / "__pycache__").mkdir()
    (sources / ".init.c.swp").touch()
    (sources / ".#init.c").symlink_to("user@host")
    assert guesttools.recipe() == before
    for name in ("init.c", "program.h", "modprobe"):
        (sources / name).write_text("")
        recipe, before = before, guesttools.recipe()
        assert recipe != before


def test_programs_are_compiled_once_and_again_if_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRTCP_CACHE", str(tmp_path))
    leftover = tmp_path / "tools" / "tmpkilled" / "new"
    leftover.mkdir(parents=True)
    command = "from airtcp.backends.guesttools import build_tools; build_tools(print)"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", command],
            env={**os.environ, "PYTHONPATH": str(LAB)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    outputs = [process.communicate()[0].splitlines() for process in started]
    assert [process.returncode for process in started] == [0] * 4
    compiling = "compiling the guest programs"
    assert sum(lines.count(compiling) for lines in outputs) == 1
    assert not leftover.exists()

    again: list[str] = []
    tools = guesttools.build_tools(again.append)
    assert again == []
    library = tools.directory / "iperf3_block.so"
    content = library.read_bytes()
    library.write_bytes(b"")
    assert guesttools.build_tools(again.append) == tools
    assert again == [
        f"the guest programs in {tools.directory} are damaged (iperf3_block.so has changed): "
        "rebuilding them",
        compiling,
    ]
    assert library.read_bytes() == content
    assert sorted(path.name for path in (tmp_path / "tools").iterdir()) == sorted(
        ["lock", "root.json", "root.lock", tools.directory.name]
    )

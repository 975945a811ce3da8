# SPDX-License-Identifier: GPL-2.0-only
"""The root file system of runs is found once, and again after a change; failed compilations."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from airtcp import programs
from airtcp.backends import guestroot, guesttools
from airtcp.errors import AirtcpError


@pytest.fixture
def stamp(tmp_path: Path) -> Path:
    return tmp_path / "root.json"


@pytest.fixture
def own_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of the guest that the test may change; it is not in the directories of the host."""
    directory = tmp_path / "programs"
    directory.mkdir()
    program = directory / "lab-program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")
    monkeypatch.setattr(programs, "GUEST", {"lab-program": "package-of-it"})
    return program


def libraries_of_cache(root: Path) -> set[str]:
    """Paths of the libraries in etc/ld.so.cache."""
    command = [str(programs.find("ldconfig")), "-r", str(root), "-p"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"=> /(\S+)", listed))


def test_root_has_programs_libraries_and_mount_points(stamp: Path, tmp_path: Path) -> None:
    found = guestroot.sources(stamp)
    root = tmp_path / "root"
    guestroot.create(found, root)
    assert {f"bin/{name}" for name in ("sh", "iw", "hostapd")} <= found.files.keys()
    # The dynamic loader must find all libraries inside the root.
    environment = {"PATH": "", "LD_LIBRARY_PATH": ""}
    [loader] = root.glob("lib64/ld-linux-x86-64.so.*")
    libraries = ":".join(sorted({str(path.parent) for path in root.rglob("*.so*")}))
    for program in ("iw", "hostapd", "iperf3", "nft"):
        command: list[str | Path] = [
            loader,
            "--library-path",
            libraries,
            "--list",
            root / "bin" / program,
        ]
        listed = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout
        paths = re.findall(r"=> (/\S+)", listed)
        assert paths and all(path.startswith(str(root)) for path in paths), listed
    assert libraries_of_cache(root) == {name for name in found.files if ".so" in name}
    assert all(any((root / name).iterdir()) for name in ("dev", "proc", "run", "sys", "tmp"))
    assert not any(path.is_symlink() for path in root.rglob("*"))


def test_libraries_are_found_in_any_directory(stamp: Path, tmp_path: Path) -> None:
    """As in /usr/local/lib, where the host's ld.so.conf may make the loader look."""
    [library] = [
        path for path in guestroot.sources(stamp).files.values() if "libnl-3." in path.name
    ]
    root = tmp_path / "root"
    guestroot.add({f"usr/local/lib/{library.name}": library}, root)
    assert libraries_of_cache(root) == {f"usr/local/lib/{library.name}"}


def test_libraries_are_listed_again_only_after_a_change(
    stamp: Path, own_program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = guestroot.sources(stamp)
    listed = subprocess.run

    def forbidden(*_arguments: object, **_options: object) -> None:
        raise AssertionError("ldd was run again")

    monkeypatch.setattr(subprocess, "run", forbidden)
    again = guestroot.sources(stamp)
    assert (again.files, again.sha256) == (first.files, first.sha256)
    monkeypatch.setattr(subprocess, "run", listed)
    own_program.write_text(own_program.read_text().swapcase())  # of the same size
    assert guestroot.sources(stamp).sha256 != first.sha256


@pytest.mark.parametrize("text", ["", "{", "[]", '{"files": {}}', '{"files": {"a": 1}}'])
def test_damaged_stamp_is_replaced(stamp: Path, own_program: Path, text: str) -> None:
    first = guestroot.sources(stamp)
    stamp.write_text(text)
    assert guestroot.sources(stamp).sha256 == first.sha256
    assert stamp.read_text() != text


def test_missing_program_is_named_with_its_package(stamp: Path, own_program: Path) -> None:
    own_program.unlink()
    with pytest.raises(AirtcpError, match=r"missing: lab-program; install with: .* package-of-it"):
        guestroot.sources(stamp)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("x.c: In function 'main':\nx.c:1:1: error: expected ';'", "x.c:1:1: error: expected ';'"),
        (
            "ld: final link failed: No space left on device\n"
            "collect2: error: ld returned 1 exit status",
            "ld: final link failed: No space left on device",
        ),
    ],
)
def test_cause_of_a_failed_compilation_is_reported_in_any_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, message: str
) -> None:
    gcc = f"#!/bin/sh\n[ \"$LC_ALL\" = C ] || exit 1\ncat >&2 <<'END'\n{output}\nEND\nexit 1\n"
    (tmp_path / "gcc").write_text(gcc)
    (tmp_path / "gcc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    with pytest.raises(AirtcpError) as error:
        guesttools.compile_program(tmp_path / "x", "x.c")
    assert str(error.value) == f"cannot compile x: {message}"

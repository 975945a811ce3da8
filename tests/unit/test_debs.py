# SPDX-License-Identifier: GPL-2.0-only
"""The source of the Debian packages, without building them."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import debs
import wheel
from airtcp import __version__
from airtcp.errors import AirtcpError
from airtcp.paths import REPOSITORY

DEBIAN = REPOSITORY / "packaging" / "debian"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    debs.source_tree(tmp_path / "tree", "9.8.7")
    return tmp_path / "tree"


def test_the_version_is_that_of_airtcp() -> None:
    assert (DEBIAN / "changelog").read_text().startswith(f"airtcp ({__version__}) ")


def test_a_version_is_that_of_packages_and_module(tree: Path) -> None:
    assert (tree / "debian" / "changelog").read_text().startswith("airtcp (9.8.7) ")
    assert 'PACKAGE_VERSION="9.8.7"' in (tree / "ackhold" / "dkms.conf").read_text()


def test_all_users_can_read_the_packages_of_a_user_with_another_umask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "made"

    def build(*_: object) -> list[Path]:
        made.touch()
        return [made]

    monkeypatch.setattr(debs, "build", build)
    monkeypatch.setattr(sys, "argv", ["debs.py"])
    before = os.umask(0o077)
    try:
        assert debs.main() == 0
    finally:
        os.umask(before)
    assert made.stat().st_mode & 0o777 == 0o644


def test_the_environment_has_all_licences_and_no_unused_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ("numpy-1.dist-info/licenses/include/LICENSE.txt", "airtcp/share/bin/file", "numpy/a.py")
    unused = ("numpy/tests/include/a.h", "numpy/include/b.h", "airtcp-1.dist-info/direct_url.json")

    def install(command: list[object], *_: object) -> None:
        libraries = Path(str(command[command.index("--target") + 1]))
        for name in (*kept, *unused):
            (libraries / name).parent.mkdir(parents=True, exist_ok=True)
            (libraries / name).touch()

    monkeypatch.setattr("debs.programs.run", install)
    debs.environment(tmp_path / "airtcp.whl", tmp_path)
    libraries = tmp_path / "lib" / "python3.11" / "site-packages"
    installed = [path for path in libraries.rglob("*") if path.is_file()]
    assert {str(path.relative_to(libraries)) for path in installed} == set(kept)


@pytest.mark.parametrize("main", [debs.main, wheel.main])
def test_a_full_disk_is_one_line(
    main: Callable[[], int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source, full = tmp_path / "source", tmp_path / "full"
    for directory in (source, full):
        directory.mkdir()
    (source / "a").write_text("x")
    (full / "a").symlink_to("/dev/full")

    def copy_one(*_: object) -> None:
        shutil.copy(source / "a", full)

    def copy_all(*_: object) -> None:
        shutil.copytree(source, full, dirs_exist_ok=True)

    monkeypatch.setattr(sys, "argv", ["make", "out"])
    for build, where in ((copy_one, "out or /"), (copy_all, f"{full}/a: ")):
        monkeypatch.setattr(debs, "build", build)
        monkeypatch.setattr(wheel, "build", build)
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 1
        [line] = capsys.readouterr().err.splitlines()
        assert where in line and line.endswith("No space left on device")


def test_the_package_of_a_diverted_file_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = (
        "diversion by dash from: /bin/sh\ndiversion by dash to: /bin/sh.distrib\ndash: /bin/sh\n"
    )
    program = tmp_path / "dpkg-query"
    program.write_text(f"#!/bin/sh\n[ $LC_ALL = C ] && printf %s '{answer}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert wheel.owner(Path("/bin/sh")) == "dash"


def test_every_file_that_is_installed_exists(tree: Path) -> None:
    names = [
        line.split()[0]
        for path in DEBIAN.glob("*.*")
        if path.suffix in (".install", ".manpages", ".dkms")
        for line in path.read_text().splitlines()
    ]
    assert len(names) > 6
    # Made from the wheel and the libraries.
    (tree / "environment").mkdir()
    (tree / "environment" / "pyvenv.cfg").touch()
    assert [name for name in names if not list(tree.glob(name))] == []


def test_the_source_of_the_module_is_complete_and_has_nothing_that_make_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["git", "-C", str(REPOSITORY), "ls-files", "dkms/ackhold"]
    tracked = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    repository, tree = tmp_path / "repository", tmp_path / "tree"
    for name in (*tracked, "docs/reference/airtcp.1"):
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(REPOSITORY / name, repository / name)
    for name in ("sch_ackhold.ko", "sch_ackhold.mod.c", "Module.symvers"):
        (repository / "dkms" / "ackhold" / name).touch()
    monkeypatch.setattr(debs, "REPOSITORY", repository)
    debs.source_tree(tree, "9.8.7")
    [patterns] = re.findall(r"addprefix ackhold/,([^)]+)\)", (DEBIAN / "rules").read_text())
    packaged = {path.name for each in patterns.split() for path in (tree / "ackhold").glob(each)}
    others = {"50-airtcp-ackhold", "README.md", "ackhold-stats", "airtcp-ackhold@.service"}
    assert packaged | {"dkms.conf"} == {Path(name).name for name in tracked} - others


def test_the_source_of_the_module_has_no_links(tree: Path) -> None:
    assert not any(path.is_symlink() for path in (tree / "ackhold").iterdir())


@pytest.mark.parametrize("action", ["configure", "abort-upgrade", "abort-remove"])
def test_python_is_compiled_again_after_an_aborted_removal(tmp_path: Path, action: str) -> None:
    """dpkg calls the first script, then the second one with this action."""
    compiled = tmp_path / "compiled"
    for name, script in (("py3clean", f"rm -f {compiled}"), ("py3compile", f"touch {compiled}")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    for script, argument in (("prerm", "upgrade"), ("postinst", action)):
        command = ["sh", str(DEBIAN / f"airtcp.{script}"), argument, "0.1.0"]
        subprocess.run(command, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True)
    assert compiled.exists()


@pytest.mark.parametrize(("action", "deleted"), [("remove", ["wlan0", "wlp2s0"]), ("upgrade", [])])
def test_removing_the_package_removes_its_qdisc_from_all_devices(
    tmp_path: Path, action: str, deleted: list[str]
) -> None:
    called = tmp_path / "called"
    shown = """\
qdisc noqueue 0: dev lo root refcnt 2
qdisc ackhold 8001: dev wlan0 root refcnt 2
qdisc fq_codel 0: dev eth0 root refcnt 2 limit 10240p flows 1024 quantum 1514
qdisc ackhold 8002: dev wlp2s0 root refcnt 5
"""
    tc = f'[ "$*" = "qdisc show" ] && printf %s "{shown}" || echo "$*" >>{called}'
    for name, script in (("tc", tc), ("deb-systemd-invoke", ":")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    command = ["sh", str(DEBIAN / "airtcp-dkms.prerm"), action]
    subprocess.run(command, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True)
    lines = called.read_text().splitlines() if called.exists() else []
    assert lines == [f"qdisc del dev {device} root" for device in deleted]


@pytest.mark.parametrize("action", ["purge", "remove"])
def test_purging_removes_what_enabled_the_qdisc(tmp_path: Path, action: str) -> None:
    wants = tmp_path / "etc/systemd/system/sys-subsystem-net-devices-wlan0.device.wants"
    dispatcher = tmp_path / "etc/NetworkManager/dispatcher.d/50-airtcp-ackhold"
    links = (wants / "airtcp-ackhold@wlan0.service", dispatcher)
    for link in links:
        link.parent.mkdir(parents=True)
        link.symlink_to("/nonexistent")
    before = sorted(tmp_path.rglob("*"))
    script = (DEBIAN / "airtcp-dkms.postrm").read_text().replace("/etc/", f"{tmp_path}/etc/")
    for _ in range(2):
        subprocess.run(["sh", "-c", script, "postrm", action], check=True)
    after = sorted(tmp_path.rglob("*"))
    gone = {wants, *links} if action == "purge" else set()
    assert after == [path for path in before if path not in gone]


@pytest.mark.parametrize(
    "path", sorted(DEBIAN.glob("*.lintian-overrides")), ids=lambda path: path.stem
)
def test_overrides_have_reasons(path: Path) -> None:
    for paragraph in path.read_text().split("\n\n"):
        assert re.match(r"(# .+\n)+(?:airtcp[-a-z]*: .+\n?)+\Z", paragraph), paragraph


def test_other_versions_of_python_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debs, "PYTHON", (3, 4))
    with pytest.raises(AirtcpError, match="only with Python"):
        debs.build(tmp_path / "dist")
    assert not (tmp_path / "dist").exists()


def test_a_missing_program_is_named_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(AirtcpError, match=r"^missing: dpkg-buildpackage, .*dh-dkms"):
        debs.build(tmp_path / "dist")

# SPDX-License-Identifier: GPL-2.0-only
"""The wheel of `make wheel`: contents, installation, results."""

import json
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from installs import environment, install, make_wheel

from airtcp import prebuilt
from airtcp.backends import guesttools
from airtcp.backends.guesttools import GuestTools
from airtcp.errors import AirtcpError
from airtcp.kernel import image
from airtcp.kernel.image import Kernel
from airtcp.paths import REPOSITORY

MAX_MB = 100
RUN = (
    *("run", "thesis-lan", "--set", "ack_policy=default,aad", "--set", "delay=10ms"),
    *("--duration", "1s"),
)
# Files of a run that contain times of the host.
OF_HOST = {"result.json"}


@pytest.fixture(scope="module")
def made(
    lab_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    return make_wheel(tmp_path_factory.mktemp("dist"))


def test_builds_are_reproducible(made: tuple[Path, Path], tmp_path: Path) -> None:
    for first, again in zip(made, make_wheel(tmp_path), strict=True):
        assert first.name == again.name
        assert first.read_bytes() == again.read_bytes()


def test_wheel_lists_licences_and_is_small(made: tuple[Path, Path]) -> None:
    wheel, _ = made
    assert wheel.stat().st_size < MAX_MB * 1e6
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        licences = f"{prebuilt.IN_WHEEL}/licences"
        listed = archive.read(f"{licences}/README").decode().partition("\n\n")[2]
    packages = [line.split()[0].partition(":")[0] for line in listed.splitlines()]
    assert {"libc6", "iperf3", "hostapd", "libssl3", "dash"} <= set(packages)
    assert {f"{licences}/{package}" for package in (*packages, "linux")} <= names
    assert {"airtcp/share/LICENSE", "airtcp/share/experiments/thesis-lan.yaml"} <= names


def test_kernel_runs_without_libraries_of_the_host(made: tuple[Path, Path], tmp_path: Path) -> None:
    """The tag names an old version of the C library: in an empty root the image starts, too."""
    wheel, _ = made
    assert wheel.name.endswith("-py3-none-manylinux_2_17_x86_64.whl")
    with zipfile.ZipFile(wheel) as archive:
        [name] = (each for each in archive.namelist() if re.search(r"kernel/\w+/linux$", each))
        (tmp_path / "linux").write_bytes(archive.read(name))
    (tmp_path / "linux").chmod(0o755)
    command = ["unshare", "--map-root-user", "chroot", str(tmp_path), "/linux", "--version"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout[:5]) == (0, "6.12."), done.stderr


def test_sdist_has_all_sources(made: tuple[Path, Path]) -> None:
    _, sdist = made
    command = ["git", "-C", str(REPOSITORY), "ls-files"]
    tracked = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert set(tracked.splitlines()) - packed == set()


def test_wheel_gives_the_results_of_a_checkout(
    made: tuple[Path, Path], lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """Without a compiler, and without the guest's programs."""
    installed = environment(tmp_path / "venv")
    install(installed, "--no-deps", str(made[0]))
    home, programs = tmp_path / "home", tmp_path / "programs"
    programs.mkdir()
    for name in ("prlimit", "setarch", "setpriv", "taskset"):
        (programs / name).symlink_to(Path("/usr/bin", name))
    home.mkdir()

    def airtcp(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [str(installed / "airtcp"), *arguments],
            cwd=home,
            env={"HOME": str(home), "PATH": str(programs)},
            capture_output=True,
            text=True,
        )

    done = airtcp("--version")
    assert lab_kernel.hash in done.stdout and re.search(r"commit [0-9a-f]{12}", done.stdout)
    done = airtcp(*RUN, "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "; next: airtcp report out" in done.stdout
    command = [str(REPOSITORY / "airtcp"), *RUN, "--out", str(tmp_path / "checkout")]
    subprocess.run(command, check=True, capture_output=True)
    files = [path for path in (tmp_path / "checkout" / "runs").rglob("*") if path.is_file()]
    assert any(path.suffix == ".pcapng" for path in files)
    for path in files:
        other = home / "out" / path.relative_to(tmp_path / "checkout")
        if path.name in OF_HOST:
            values = [json.loads(each.read_text())["metrics"] for each in (path, other)]
            assert values[0] == values[1]
        else:
            assert path.read_bytes() == other.read_bytes(), path


def test_checkout_uses_the_kernel_of_a_wheel_while_it_has_the_same_recipe(
    made: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRTCP_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", "/nonexistent")
    recipes: dict[prebuilt.Part, str] = {
        "kernel": image.default_recipe(),
        "tools": guesttools.recipe(),
    }
    directory = prebuilt.unpack(made[0], recipes, print)
    kernel, tools = image.build(say=print), guesttools.build_tools(print)
    assert kernel.path.is_relative_to(directory) and tools.directory.is_relative_to(directory)
    assert image.default_hash() == kernel.hash
    monkeypatch.setattr(image, "_NOT_USED", ["RUSTC=true"])
    assert not image.has_prebuilt()
    with pytest.raises(AirtcpError, match="is missing"):
        image.build(say=print)
    monkeypatch.undo()
    monkeypatch.setenv("AIRTCP_CACHE", str(tmp_path))
    kernel.path.write_bytes(b"")
    with pytest.raises(AirtcpError, match=r"is damaged \(linux has changed\): remove "):
        image.build(say=print)

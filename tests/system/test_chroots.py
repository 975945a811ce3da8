# SPDX-License-Identifier: GPL-2.0-only
"""The wheel in minimal installations of Debian, as an ordinary user and without the network.

AIRTCP_TEST_CHROOTS creates the installations (`make chroot-check`), which needs root, debootstrap,
Debian's mirror and PyPI, and takes some 15 minutes.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from guests import RecordCount, Say
from installs import make_wheel
from stockkernels import mirror

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel
from airtcp.paths import REPOSITORY

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("AIRTCP_TEST_CHROOTS"), reason="takes minutes: make chroot-check"
    ),
]

SUITES = ("bookworm", "trixie", "sid")
USER = 1000

ENTER = """\
set -e
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
exec chroot --userspec={user}:{user} "$1" \
    /usr/bin/env -i HOME=/home/user PATH=/usr/bin:/bin LANG=C.UTF-8 sh -ec "cd; $2"
"""


def inside(root: Path, commands: str) -> str:
    """Run shell commands as the ordinary user without a network; returns their output."""
    command = ["unshare", "--mount", "--net", "--pid", "--fork", "sh", "-c"]
    done = subprocess.run(
        [*command, ENTER.format(user=USER), "sh", str(root), commands],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{commands}: {done.stdout[-2000:]} {done.stderr[-2000:]}"
    return done.stdout


def installation(suite: str, root: Path) -> None:
    packages = "--include=python3,python3-venv"
    command = ["debootstrap", "--variant=minbase", packages, suite, str(root), mirror()]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    home = root / "home" / "user"
    home.mkdir()
    os.chown(home, USER, USER)


def download(wheel: Path, root: Path) -> None:
    """Put the wheel, and the libraries that it needs for this version of Python, in /wheels."""
    version = inside(root, "python3 -c 'import sys; print(*sys.version_info[:2], sep=str())'")
    options = ["--only-binary=:all:", "--implementation=cp", f"--python-version={version.strip()}"]
    glibc = range(17, 37)
    platforms = [f"--platform=manylinux_2_{minor}_x86_64" for minor in glibc]
    platforms.append("--platform=manylinux2014_x86_64")
    command = [sys.executable, "-m", "pip", "download", "-q", *options, *platforms]
    subprocess.run([*command, "-d", str(root / "wheels"), str(wheel)], check=True)


def hashes(out_dir: Path) -> dict[str, str]:
    """The SHA-256 of each capture."""
    captures = sorted(out_dir.rglob("*.pcapng"))
    assert captures
    return {
        str(path.relative_to(out_dir)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in captures
    }


@pytest.fixture(scope="module")
def wheel(lab_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_wheel(tmp_path_factory.mktemp("dist"))[0]


@pytest.fixture(scope="module")
def in_checkout(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The hashes of the captures of `demo` in this checkout."""
    out = tmp_path_factory.mktemp("checkout") / "out"
    subprocess.run([str(REPOSITORY / "airtcp"), "demo", "--out", str(out)], check=True)
    return hashes(out)


@pytest.mark.parametrize("suite", SUITES)
def test_demo_has_the_same_captures_as_in_a_checkout(
    suite: str,
    wheel: Path,
    in_checkout: dict[str, str],
    tmp_path: Path,
    say: Say,
    record_property: RecordCount,
) -> None:
    root = tmp_path / suite
    installation(suite, root)
    try:
        download(wheel, root)
        inside(root, "python3 -m venv v; v/bin/pip install -q --no-index -f /wheels airtcp")
        began = time.monotonic()
        table = inside(root, "v/bin/airtcp demo")
        demo_s = time.monotonic() - began
        python = inside(root, "python3 --version").strip()
        say(f"{suite}, {python}: demo took {demo_s:.0f} s")
        record_property(f"demo on {suite} s", round(demo_s))
        assert "gain over default" in table
        assert hashes(root / "home" / "user" / "results" / "demo") == in_checkout
    finally:
        shutil.rmtree(root)

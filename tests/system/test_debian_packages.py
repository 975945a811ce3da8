# SPDX-License-Identifier: GPL-2.0-only
"""The packages airtcp, airtcp-dkms and airtcp-kernel: lintian, and in a minimal Debian 12.

There they are installed, used, upgraded and purged. AIRTCP_TEST_PACKAGES builds them (`make
packages-check`), which needs root, debootstrap, Debian's mirror and PyPI, and takes half an hour.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from guests import Say
from stockkernels import mirror

import debs
from airtcp import __version__
from airtcp.backends.guesttools import GuestTools
from airtcp.kernel import deb, image
from airtcp.kernel.image import Kernel

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("AIRTCP_TEST_PACKAGES"), reason="takes minutes: make packages-check"
    ),
]

EARLIER = "0.0.1"
UNIT = "lib/systemd/system/airtcp-ackhold@.service"
DISPATCHERS = "/etc/NetworkManager/dispatcher.d"
DISPATCHER = "usr/share/airtcp-dkms/50-airtcp-ackhold"
SETTINGS = "etc/sysctl.d/90-airtcp.conf"
NEEDED = ("dkms", "iproute2", "kmod", "linux-headers-amd64", "python3", "systemd")


@pytest.fixture(scope="module")
def packages(
    lab_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """By name, those of this version."""
    return by_name(debs.build(tmp_path_factory.mktemp("packages")))


@pytest.fixture(scope="module")
def earlier(packages: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same with an earlier version, and in airtcp a file that this version does not have."""
    directory = tmp_path_factory.mktemp("earlier")
    old = directory / "airtcp"
    subprocess.run(["dpkg-deb", "-R", packages["airtcp"], old], check=True)
    control = old / "DEBIAN" / "control"
    control.write_text(control.read_text().replace(f": {__version__}\n", f": {EARLIER}\n"))
    (old / "usr" / "lib" / "airtcp" / "removed.py").touch()
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", old, directory], check=True)
    shutil.rmtree(old)
    tree = directory / "tree"
    debs.source_tree(tree, EARLIER)
    return by_name(debs.build_tree(tree, "all"))


def by_name(paths: list[Path]) -> dict[str, Path]:
    return {path.name.partition("_")[0]: path for path in paths}


@pytest.fixture(scope="module")
def chroot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Debian 12 with the headers of its kernel, and what the packages depend on."""
    root = tmp_path_factory.mktemp("chroot") / "bookworm"
    command = ["debootstrap", "--variant=minbase", "bookworm", str(root), mirror()]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    # Services are not started in a chroot.
    (root / "usr" / "sbin" / "policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
    (root / "usr" / "sbin" / "policy-rc.d").chmod(0o755)
    inside(root, "apt-get install -q -y --no-install-recommends " + " ".join(NEEDED))
    yield root
    shutil.rmtree(root)


def inside(root: Path, commands: str) -> str:
    """Run shell commands as root in the chroot; returns their output."""
    script = (
        'mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"; '
        'mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"; exec chroot "$1" sh -ec "$2"'
    )
    done = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "sh", "-ec", script, "sh", root, commands],
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": "/root"}
        | {"DEBIAN_FRONTEND": "noninteractive"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{commands}: {done.stdout[-3000:]} {done.stderr[-2000:]}"
    return done.stdout


def install(root: Path, *packages: Path) -> str:
    """Install packages, and what they depend on."""
    target = root / "var" / "tmp"
    for package in packages:
        shutil.copy(package, target)
    names = " ".join(f"/var/tmp/{package.name}" for package in packages)
    output = inside(root, f"apt-get install -q -y --no-install-recommends {names}")
    for package in packages:
        (target / package.name).unlink()
    return output


def everything(root: Path) -> list[str]:
    """All files with a name of airtcp."""
    command = ["find", ".", "-xdev", "-path", "./proc", "-prune", "-o", "-print"]
    names = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    return [name for name in names.splitlines() if re.search("airtcp|ackhold", name)]


@pytest.mark.parametrize("name", ["airtcp", "airtcp-dkms"])
def test_lintian_reports_nothing(packages: dict[str, Path], name: str) -> None:
    assert lintian(packages[name]) == ""


def lintian(package: Path) -> str:
    command = ["lintian", "--allow-root", "--fail-on", "none", str(package)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_packages_are_reproducible(packages: dict[str, Path], tmp_path: Path) -> None:
    """Only airtcp-dkms: building airtcp takes minutes, and `make wheel` is tested."""
    tree = tmp_path / "tree"
    debs.source_tree(tree, __version__)
    [again] = debs.build_tree(tree, "all")
    assert again.read_bytes() == packages["airtcp-dkms"].read_bytes()


def test_airtcp_is_installed_upgraded_and_purged(
    chroot: Path, packages: dict[str, Path], earlier: dict[str, Path]
) -> None:
    install(chroot, earlier["airtcp"])
    removed = "usr/lib/airtcp/removed.py"
    assert (chroot / removed).exists()
    install(chroot, packages["airtcp"])
    assert inside(chroot, "dpkg-query -W -f '${Version}' airtcp") == __version__
    assert not (chroot / removed).exists()

    inside(chroot, "useradd --create-home user")
    user = "cd; exec setpriv --reuid=user --regid=user --init-groups env HOME=/home/user "
    assert "thesis-lan" in inside(chroot, f"{user} airtcp list")
    run = "airtcp run thesis-lan --set delay=0ms --duration 1s --seeds 1 --out /home/user/results"
    table = inside(chroot, f"{user} {run}")
    assert re.search(r"ack_policy=aad +1 ", table), table
    assert "report.html" in inside(chroot, f"{user} airtcp report /home/user/results")
    assert inside(chroot, "dpkg --verify airtcp") == ""

    inside(chroot, "userdel --remove user; apt-get purge -q -y airtcp")
    assert everything(chroot) == []


def test_airtcp_dkms_is_installed_upgraded_and_purged(
    chroot: Path, packages: dict[str, Path], earlier: dict[str, Path]
) -> None:
    release = inside(chroot, "ls /lib/modules").strip()
    module = f"/lib/modules/{release}/updates/dkms/sch_ackhold.ko"
    before = inside(chroot, "find /lib/modules -name '*.ko*'")
    for version, built in ((EARLIER, earlier), (__version__, packages)):
        install(chroot, built["airtcp-dkms"])
        assert inside(chroot, f"modinfo -F version {module}").strip() == version
        [status] = inside(chroot, "dkms status").splitlines()
        assert status.startswith(f"airtcp-ackhold/{version}, {release}, ") and "installed" in status
    assert inside(chroot, f"modinfo -F alias {module}").split() == ["net-sch-ackhold"]
    assert inside(chroot, "ackhold-stats") == ""
    assert inside(chroot, f"systemd-analyze verify /{UNIT} 2>&1") == ""

    # What an administrator does to enable it.
    inside(chroot, "systemctl enable airtcp-ackhold@wlan0")
    inside(chroot, f"mkdir -p {DISPATCHERS}; ln -s /{DISPATCHER} {DISPATCHERS}")
    enabled = [path for path in everything(chroot) if path.startswith("./etc/")]
    assert len(enabled) == 2, enabled
    inside(chroot, "apt-get purge -q -y airtcp-dkms")
    assert everything(chroot) == []
    assert inside(chroot, "find /lib/modules -name '*.ko*'") == before


def test_airtcp_kernel_is_installed_upgraded_and_purged(
    chroot: Path, say: Say, tmp_path: Path
) -> None:
    small = image.build(arch="x86_64", say=say)
    config = small.path.parent / "config"
    builds = [by_name(deb.build(tmp_path / name, config=config, say=say)) for name in ("1", "2")]
    for built in builds:
        install(chroot, *built.values())
    name = next(name for name in builds[1] if name.startswith("linux-image-"))
    release = name.removeprefix("linux-image-")
    assert (chroot / "boot" / f"vmlinuz-{release}").exists()
    assert (chroot / "lib" / "modules" / release / "modules.dep").exists()
    # Lines that are not comments would change the host.
    assert re.findall(r"^[^#\n].*$", (chroot / SETTINGS).read_text(), re.M) == []
    assert lintian(builds[1]["airtcp-kernel"]) == ""

    inside(chroot, f"apt-get purge -q -y airtcp-kernel {name} linux-headers-{release}")
    assert everything(chroot) == []

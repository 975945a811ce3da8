# SPDX-License-Identifier: GPL-2.0-only
"""Debian's own kernels: their packages, modules built for them, and an initramfs to boot them."""

import lzma
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile, copytree

from guests import GUEST

from airtcp.backends.guesttools import compile_program
from airtcp.cache import cache_dir, make_dir

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


@dataclass(frozen=True)
class StockKernel:
    """A kernel's unpacked packages: linux-image, linux-headers and what they depend on."""

    root: Path
    release: str

    @property
    def image(self) -> Path:
        return self.root / "boot" / f"vmlinuz-{self.release}"

    @property
    def headers(self) -> Path:
        return self.root / "usr" / "src" / f"linux-headers-{self.release}"


def mirror() -> str:
    """The Debian mirror of this machine."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return next(line.split()[0] for line in lines if re.search(r"/debian/? \w+$", line))


def fetch(suite: str) -> StockKernel:
    """Download and unpack the kernel of a suite for x86-64, unless the cache has it."""
    root = cache_dir() / "debian" / suite
    if not (root / "release").exists():
        _unpack(suite, root)
    return StockKernel(root, (root / "release").read_text())


def _unpack(suite: str, root: Path) -> None:
    apt = make_dir(root / "apt")
    for name in ("state/lists/partial", "cache/archives/partial", "debs"):
        make_dir(apt / name)
    (apt / "sources").write_text(f"deb [signed-by={KEYRING}] {mirror()} {suite} main\n")
    options = {
        "Dir::State": apt / "state",
        "Dir::State::status": "/var/lib/dpkg/status",
        "Dir::Cache": apt / "cache",
        "Dir::Etc::sourcelist": apt / "sources",
        "Dir::Etc::sourceparts": "-",
        "APT::Sandbox::User": "root",
    }
    (apt / "config").write_text("".join(f'{name} "{value}";\n' for name, value in options.items()))
    environment = {**os.environ, "APT_CONFIG": str(apt / "config")}

    def run(*command: str) -> str:
        return subprocess.run(
            command, cwd=apt / "debs", env=environment, check=True, capture_output=True, text=True
        ).stdout

    def needs(package: str, pattern: str) -> list[str]:
        return re.findall(rf"^ *Depends: ({pattern})$", run("apt-cache", "depends", package), re.M)

    run("apt-get", "update")
    [headers] = needs("linux-headers-amd64", "linux-headers-.*")
    release = headers.removeprefix("linux-headers-")
    parts = needs(headers, "linux-headers-.*-common|linux-kbuild-.*")
    run("apt-get", "download", headers, f"linux-image-{release}", *parts)
    for package in (apt / "debs").iterdir():
        run("dpkg-deb", "-x", str(package), str(root))
    makefile = root / "usr" / "src" / headers / "Makefile"
    makefile.write_text(makefile.read_text().replace(" /usr/src", f" {root}/usr/src"))
    run("depmod", "-b", str(root), release)
    (root / "release").write_text(release)


def build(kernel: StockKernel, source: Path, directory: Path) -> Path:
    """Build a directory with one module for a kernel, without any warning; return the module."""
    copytree(source, directory)
    # BTF of a module needs pahole.
    settings = ["W=1", "CONFIG_DEBUG_INFO_BTF_MODULES="]
    environment = {name: value for name, value in os.environ.items() if name[:4] != "MAKE"}
    done = subprocess.run(
        ["make", f"KDIR={kernel.headers}", *settings],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    [module] = directory.glob("*.ko")
    return module


def initramfs(
    kernel: StockKernel, names: Sequence[str], modules: Sequence[Path], directory: Path
) -> Path:
    """Write an initramfs that loads modules of the kernel by name, and then others."""
    root = make_dir(directory / "initramfs")
    for name in ("host", "modules"):
        make_dir(root / name)
    compile_program(root / "init", GUEST / "stock_init.c", "-static")
    paths = [*_with_dependencies(kernel, names), *modules]
    for number, path in enumerate(paths):
        target = root / "modules" / f"{number:02}.ko"
        if path.suffix == ".xz":
            target.write_bytes(lzma.decompress(path.read_bytes()))
        else:
            copyfile(path, target)
    archive = directory / "initramfs.cpio"
    files = "\0".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
    with archive.open("wb") as output:
        subprocess.run(
            ["cpio", "--null", "--create", "--format=newc", "--quiet"],
            input=files.encode(),
            stdout=output,
            cwd=root,
            check=True,
        )
    return archive


def _with_dependencies(kernel: StockKernel, names: Sequence[str]) -> list[Path]:
    command = ["/sbin/modprobe", "-d", str(kernel.root), "-S", kernel.release]
    command += ["--show-depends", "--all", *names]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [Path(path) for path in dict.fromkeys(re.findall(r"^insmod (\S+)", shown, re.M))]

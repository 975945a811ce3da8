# SPDX-License-Identifier: GPL-2.0-only
"""Host programs that builds, runs and tests need, and the packages that contain them."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from airtcp.errors import AirtcpError
from airtcp.paths import PROGRAM, REPOSITORY

BUILD: Mapping[str, str] = {
    "gcc": "gcc",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "patch": "patch",
    "ccache": "ccache",
    "xz": "xz-utils",
}
# In the guest.
GUEST: Mapping[str, str] = {
    "ip": "iproute2",
    "tc": "iproute2",
    "nstat": "iproute2",
    "nft": "nftables",
    "iw": "iw",
    "hostapd": "hostapd",
    "iperf3": "iperf3",
    "ping": "iputils-ping",
    "ethtool": "ethtool",
    "tcpdump": "tcpdump",
}
# In the guest, only for stations that roam.
ROAMING: Mapping[str, str] = {"wpa_supplicant": "wpasupplicant"}
HOST: Mapping[str, str] = dict.fromkeys(("prlimit", "setarch", "setpriv", "taskset"), "util-linux")
RUN: Mapping[str, str] = {**GUEST, **HOST}
TEST: Mapping[str, str] = {
    "qemu-system-x86_64": "qemu-system-x86",
    "modprobe": "kmod",
    "flent": "flent",
    "chromium": "chromium",
    "tshark": "tshark",
}
# For `kernel deb` only; "x.h" is a header file.
DEB: Mapping[str, str] = {
    "dpkg-buildpackage": "dpkg-dev",
    "dh_builddeb": "debhelper",
    "rsync": "rsync",
    "cpio": "cpio",
    "depmod": "kmod",
    "openssl": "openssl",
    "pahole": "pahole",
    "gelf.h": "libelf-dev",
    "openssl/opensslv.h": "libssl-dev",
}
# Git sets them for its hooks; they override the repository of `git -C`.
_SELECT_A_REPOSITORY = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
)
_GUEST_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def find(program: str) -> str | None:
    """Path of a program or header file, or None; /usr/sbin is searched even if not on PATH."""
    if program.endswith(".h"):
        header = Path("/usr/include") / program
        return str(header) if header.is_file() else None
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:{_GUEST_PATH}")


def run(
    command: Sequence[object],
    failure: str,
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    signs: Sequence[str] = (),
) -> str:
    """Run a program and return its output.

    If it fails, as on a full disk, raises AirtcpError with `failure` and the end of its messages;
    given signs, only with the first line that has the first of them, or else with the first line.
    """
    program, *arguments = map(str, command)
    words = [find(program) or program, *arguments]
    done = subprocess.run(
        words, cwd=cwd, env=environment, capture_output=True, text=True, errors="replace"
    )
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        lines = lines or [f"exit code {done.returncode}"]
        said = next((line for sign in signs for line in lines if sign in line), lines[0])
        if not signs:
            said = " ".join(" ".join(lines).split()[-40:])
        raise AirtcpError(f"{failure}: {said.strip()}")
    return done.stdout


def version(program: str) -> str:
    """The output of `program --version`, for hashes: the same whatever the user's language."""
    environment = {**os.environ, "LC_ALL": "C"}
    return run([program, "--version"], f"{program} has no version", environment=environment)


def environment_of_git() -> dict[str, str]:
    """The environment without the variables that select another repository than `git -C`."""
    return {name: text for name, text in os.environ.items() if name not in _SELECT_A_REPOSITORY}


def install(packages: Iterable[str]) -> str:
    """The command that installs packages, which have Debian's names, on this machine.

    Packages that this distribution does not have keep Debian's name.
    """
    managers = (("apt-get install", 0), ("dnf install", 2), ("pacman -S", 3))
    rows = _packages()
    command, column = next(
        (manager for manager in managers if find(manager[0].split()[0])), managers[0]
    )
    names = {rows[name][column] if name in rows else name for name in packages}
    known = names - {"-"} or set(packages)
    return f"{command} {' '.join(sorted(known))}"


@cache
def _packages() -> Mapping[str, Sequence[str]]:
    """The words of each row of packages.txt, by Debian's name."""
    lines = (REPOSITORY / "lab" / "packages.txt").read_text().splitlines()
    return {row[0]: row for line in lines if not line.startswith("#") and (row := line.split())}


def require(programs: Mapping[str, str]) -> None:
    """Raise AirtcpError if one of these programs is missing."""
    missing = {name: package for name, package in programs.items() if not find(name)}
    if missing:
        raise AirtcpError(
            f"missing: {', '.join(missing)}; install with: {install(missing.values())} "
            f"({PROGRAM} doctor lists all requirements)"
        )

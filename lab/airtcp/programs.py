# SPDX-License-Identifier: GPL-2.0-only
"""The host's programs that builds, runs and tests need, and the Debian packages that bring them."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from airtcp.errors import AirtcpError

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
RUN: Mapping[str, str] = {
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
    "sysctl": "procps",
    "setarch": "util-linux",
    "setpriv": "util-linux",
    "taskset": "util-linux",
}
TEST: Mapping[str, str] = {
    "qemu-system-x86_64": "qemu-system-x86",
    "modprobe": "kmod",
    "flent": "flent",
}
# For `kernel deb` alone; "x.h" is a header file.
DEB: Mapping[str, str] = {
    "dpkg-buildpackage": "dpkg-dev",
    "dh_builddeb": "debhelper",
    "rsync": "rsync",
    "cpio": "cpio",
    "depmod": "kmod",
    "openssl": "openssl",
    "gelf.h": "libelf-dev",
    "openssl/opensslv.h": "libssl-dev",
}
_GUEST_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def find(program: str) -> str | None:
    """A program on the guest's PATH, for a user's own often lacks /usr/sbin; or a header file."""
    if program.endswith(".h"):
        header = Path("/usr/include") / program
        return str(header) if header.is_file() else None
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:{_GUEST_PATH}")


def require(programs: Mapping[str, str]) -> None:
    """AirtcpError, in one line, when one of these programs is missing."""
    lacking = {name: package for name, package in programs.items() if not find(name)}
    if lacking:
        packages = " ".join(sorted(set(lacking.values())))
        raise AirtcpError(
            f"missing: {', '.join(lacking)}; install with: apt-get install {packages} "
            "(./airtcp doctor lists everything)"
        )


def files() -> list[Path]:
    """The programs that a run needs, and the libraries that they load."""
    found = [path for name in RUN if (path := find(name))]
    linked = subprocess.run(["ldd", *found], capture_output=True, text=True).stdout
    libraries = re.findall(r"(/\S+) \(0x", linked)
    return sorted({Path(path).resolve() for path in (*found, *libraries)})

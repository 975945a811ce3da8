# SPDX-License-Identifier: GPL-2.0-only
"""Check what airtcp needs from this machine: what is present or missing, and how to get it."""

import argparse
import ctypes
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from airtcp import programs
from airtcp.backends import guesttools, hostapd
from airtcp.backends.uml import can_fix_addresses, memory_dir
from airtcp.cache import cache_dir
from airtcp.cli.options import Subcommands, add_json
from airtcp.errors import AirtcpError
from airtcp.kernel import image
from airtcp.kernel.source import DEBIAN_TARBALL, SERIES
from airtcp.paths import PROGRAM

# From linux/seccomp.h and asm/unistd_64.h.
_SECCOMP, _SECCOMP_GET_ACTION_AVAIL, _SECCOMP_RET_TRAP = 317, 2, 0x00030000

# A kernel's work tree of 0.8 GB, the compiler cache and a few images.
_CACHE_NEEDS_MB = 2048
_GUEST_MEMORY_MB = 512


@dataclass(frozen=True)
class Check:
    """One requirement of airtcp. remedy: how to satisfy it if it is not met.

    Most of airtcp works without the optional ones.
    """

    name: str
    ok: bool
    found: str
    remedy: str
    optional: bool = False


def checks() -> Iterator[Check]:
    """Check everything, cheap checks first."""
    machine = platform.machine()
    yield Check("processor", machine == "x86_64", machine, "the laboratory needs x86-64")
    for program, package in programs.HOST.items():
        yield _program(program, package)
    has_kernel = image.has_prebuilt()
    if has_kernel:
        yield Check("kernel", True, f"prebuilt: {image.default_hash()}", "")
    for program, package in _for_building().items():
        yield _program(program, package, optional=has_kernel)
    optional = (
        (programs.ROAMING, "roam_below"),
        (programs.TEST, "make test"),
        (programs.DEB, f"{PROGRAM} kernel deb"),
    )
    for needed, command in optional:
        for program, package in needed.items():
            yield _program(program, package, f" (for {command})", optional=True)
    yield _newer_hostapd()
    yield _kernel_source(has_kernel)
    yield _cache()
    yield _guest_memory()
    yield _ptrace()
    yield _seccomp()
    yield _addresses()


def _program(name: str, package: str, purpose: str = "", *, optional: bool = False) -> Check:
    path = programs.find(name)
    remedy = f"{programs.install([package])}{purpose}"
    return Check(name, bool(path), path or "missing", remedy, optional)


def require_programs(*, has_guest: bool = False) -> None:
    """Raise AirtcpError if a program that runs need is missing; warn if runs cannot be repeatable.

    has_guest: the guest's programs come from another machine, as they do from a wheel. Cheap enough
    to call before every run.
    """
    has_guest = has_guest or guesttools.has_prebuilt()
    programs.require(programs.HOST if has_guest else programs.RUN)
    if not can_fix_addresses():
        print(f"warning: {_addresses().found}; {_addresses().remedy}", file=sys.stderr)


def add(subcommands: Subcommands) -> None:
    """Add `doctor`."""
    check = subcommands.add_parser(
        "doctor", help="check this machine: what is missing and how to install it"
    )
    add_json(check, "print JSON")
    check.set_defaults(do=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    return main(as_json=options.json)


def main(*, as_json: bool) -> int:
    """Print all checks; return 0 if all required ones succeed, else 1."""
    results = list(checks())
    if as_json:
        print(json.dumps({"schema": 1, "checks": [asdict(check) for check in results]}, indent=1))
    else:
        width = max(len(check.name) for check in results)
        for check in results:
            remedy = "" if check.ok else f"; {check.remedy}"
            mark = "ok " if check.ok else "-- " if check.optional else "NO "
            print(f"{mark} {check.name:{width}}  {check.found}{remedy}")
    return 0 if all(check.ok or check.optional for check in results) else 1


def _for_building() -> Mapping[str, str]:
    """Programs for building the kernel and the root file system of the guest."""
    return programs.BUILD if guesttools.has_prebuilt() else {**programs.BUILD, **programs.GUEST}


def _newer_hostapd() -> Check:
    found = hostapd.find()
    remedy = f"{PROGRAM} setup be (for 802.11be)"
    shown = str(found or "without 802.11be" if hostapd.candidates() else "missing")
    return Check("hostapd with EHT", found is not None, shown, remedy, optional=True)


def _kernel_source(optional: bool) -> Check:
    has_tarball = DEBIAN_TARBALL.is_file()
    remedy = (
        f"apt-get install linux-source-{SERIES} (Debian 12: from the security suite), or pass a "
        f"Linux {SERIES}.y tree or tarball with --kernel-source"
    )
    return Check(
        "kernel source",
        has_tarball,
        str(DEBIAN_TARBALL) if has_tarball else "missing",
        remedy,
        optional,
    )


def _cache() -> Check:
    directory = cache_dir()
    existing = next(path for path in (directory, *directory.parents) if path.exists())
    free_mb = _free_mb(existing)
    writable = os.access(existing, os.W_OK)
    return Check(
        "cache",
        writable and free_mb >= _CACHE_NEEDS_MB,
        f"{directory}: {free_mb} MB free" + ("" if writable else ", not writable"),
        f"{_CACHE_NEEDS_MB} MB needed: free disk space, or set AIRTCP_CACHE to another directory",
    )


def _guest_memory() -> Check:
    try:
        directory = memory_dir(_GUEST_MEMORY_MB)
    except AirtcpError as error:
        return Check("guest memory", False, "not available", str(error))
    return Check("guest memory", True, f"in {directory}: {_free_mb(directory)} MB free", "")


def _ptrace() -> Check:
    """User Mode Linux traces a child at start; check that a child can be traced."""
    traceme = "import ctypes, sys; sys.exit(ctypes.CDLL(None).ptrace(0, 0, 0, 0) != 0)"
    command = [sys.executable, "-P", "-c", traceme]
    works = subprocess.run(command, capture_output=True).returncode == 0
    return Check(
        "ptrace",
        works,
        "permitted" if works else "forbidden",
        "set the sysctl kernel.yama.ptrace_scope to 0 or 1; in a container, allow it "
        "(docker run --cap-add SYS_PTRACE)",
    )


def _seccomp() -> Check:
    """User Mode Linux runs programs under seccomp if this call succeeds, else it traces them."""
    trap = ctypes.c_uint32(_SECCOMP_RET_TRAP)
    arguments = (_SECCOMP, _SECCOMP_GET_ACTION_AVAIL, 0, ctypes.byref(trap))
    works = ctypes.CDLL(None).syscall(*arguments) == 0
    return Check(
        "seccomp",
        works,
        "permitted" if works else "forbidden: programs are traced, which takes 50% longer",
        "allow seccomp(2) (docker run --security-opt seccomp=unconfined)",
        optional=True,
    )


def _addresses() -> Check:
    works = can_fix_addresses()
    return Check(
        "repeatable runs",
        works,
        "possible" if works else "this machine randomizes addresses: no two runs are identical",
        "allow personality(ADDR_NO_RANDOMIZE) (docker run --security-opt seccomp=unconfined)",
    )


def _free_mb(directory: Path) -> int:
    stat = os.statvfs(directory)
    return stat.f_bavail * stat.f_frsize >> 20

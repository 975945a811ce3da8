# SPDX-License-Identifier: GPL-2.0-only
"""ACK policies in BPF on the running kernel: compiled by clang, registered by bpftool.

The programs are those of the kernel's selftests in kernel/. They are compiled without the types of
the running kernel, to which libbpf adapts them when they are loaded (CO-RE).
"""

import json
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from airtcp import programs, suggest
from airtcp.errors import AirtcpError, InputError
from airtcp.kernel.source import OVERLAY
from airtcp.paths import REPOSITORY

PROGRAMS = OVERLAY / "tools" / "testing" / "selftests" / "bpf" / "progs"
CGROUP_PROGRAM = REPOSITORY / "lab" / "bpf" / "ackpol_cgroup.c"

_COMPILE = ("-target", "bpf", "-mcpu=v3", "-g", "-O2", "-Wall", "-Werror", f"-I{PROGRAMS}", "-c")
_NEEDED = {"clang": "clang", "bpftool": "bpftool", "bpf/bpf_helpers.h": "libbpf-dev"}

_BTF = Path("/sys/kernel/btf/vmlinux")
_OPS = "tcp_ackpol_ops"
_SYSCTL = Path("/proc/sys/net/ipv4/tcp_ack_policy")
_PINNED = Path("/sys/fs/bpf")


@dataclass(frozen=True)
class Loaded:
    """A policy in BPF that is registered. in_use: it is that of this network namespace."""

    name: str
    id: int
    in_use: bool


def names() -> list[str]:
    """The policies, without the prefix bpf_ of their names in the kernel."""
    found = (path.stem.removeprefix("bpf_ackpol_") for path in PROGRAMS.glob("bpf_ackpol_*.c"))
    arithmetic = OVERLAY / "net" / "ipv4"
    return sorted(name for name in found if (arithmetic / f"tcp_ackpol_{name}.h").is_file())


def registered_name(name: str) -> str:
    """The name in the kernel of a policy, given with or without bpf_. Raises InputError."""
    plain = name.removeprefix("bpf_")
    if plain not in names():
        raise InputError(f"policy {suggest.not_allowed(name, names())}")
    return f"bpf_{plain}"


def compile_program(source: Path, target: Path, *options: str) -> None:
    """Compile a BPF program. Raises AirtcpError with the compiler's first error."""
    programs.require(_NEEDED)
    command = ["clang", *_COMPILE, *options, source, "-o", target]
    programs.run(command, f"cannot compile {source.name}", signs=("error:",))


def load(name: str) -> Loaded:
    """Register a policy. Raises AirtcpError if the kernel does not have what it needs."""
    wanted = registered_name(name)
    _require_kernel()
    if any(policy.name == wanted for policy in loaded()):
        raise AirtcpError(f"{wanted} is already loaded")
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) / f"{wanted}.o"
        compile_program(PROGRAMS / f"bpf_ackpol_{wanted.removeprefix('bpf_')}.c", target)
        _bpftool("struct_ops", "register", target)
    return _find(wanted)


def loaded() -> list[Loaded]:
    """The registered policies."""
    _require_kernel()
    used = _SYSCTL.read_text().strip()
    return [
        Loaded(entry["name"], entry["id"], entry["name"] == used)
        for entry in json.loads(_bpftool("-j", "struct_ops", "show") or "[]")
        if entry["kernel_struct_ops"] == _OPS
    ]


def unload(name: str) -> None:
    """Remove a policy. Connections keep it until they end; namespaces have "default" again."""
    _bpftool("struct_ops", "unregister", "id", _find(registered_name(name)).id)


def choose(name: str) -> None:
    """Make a policy that of the network namespace."""
    _SYSCTL.write_text(registered_name(name))


def attach(name: str, cgroup: Path) -> None:
    """Use a policy for the connections of a cgroup that are established from now on."""
    wanted = registered_name(name)
    if _attached(wanted, cgroup):
        raise AirtcpError(f"{cgroup} already has the policy {wanted}")
    _mount_bpffs()
    # The attached program stays loaded without the pin.
    pin = _PINNED / f"airtcp_{os.getpid()}"
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) / "cgroup.o"
        compile_program(CGROUP_PROGRAM, target, f"-DPOLICY={wanted}")
        try:
            _bpftool("prog", "load", target, pin, "type", "sockops")
            _bpftool("cgroup", "attach", cgroup, "sock_ops", "pinned", pin, "multi")
        finally:
            pin.unlink(missing_ok=True)


def detach(name: str, cgroup: Path) -> None:
    """Undo attach()."""
    wanted = registered_name(name)
    require_cgroup(cgroup)
    programs_attached = _attached(wanted, cgroup)
    if not programs_attached:
        raise AirtcpError(f"{cgroup} does not have the policy {wanted}")
    for number in programs_attached:
        _bpftool("cgroup", "detach", cgroup, "sock_ops", "id", number)


def _attached(wanted: str, cgroup: Path) -> list[int]:
    """The programs with which a cgroup has this policy."""
    entries = json.loads(_bpftool("-j", "cgroup", "show", cgroup).strip() or "[]")
    return [entry["id"] for entry in entries if entry.get("name") == wanted]


def require_cgroup(cgroup: Path) -> None:
    """Raise InputError for a directory that is not a cgroup."""
    if not (cgroup / "cgroup.procs").is_file():
        raise InputError(f"--cgroup {cgroup}: not the directory of a cgroup (version 2)")


def _find(name: str) -> Loaded:
    for policy in loaded():
        if policy.name == name:
            return policy
    raise AirtcpError(f"{name} is not loaded")


def _require_kernel() -> None:
    if os.geteuid():
        raise AirtcpError("policy: only root can load and list BPF programs")
    if not _SYSCTL.exists():
        raise AirtcpError(
            "this kernel has no ACK policies: it needs the patches (docs/how-to/kernel.md)"
        )
    if not _BTF.exists():
        raise AirtcpError(f"this kernel has no {_BTF}: it needs CONFIG_DEBUG_INFO_BTF")
    if f"bpf_struct_ops_{_OPS}\0".encode() not in _BTF.read_bytes():
        raise AirtcpError(
            "this kernel has ACK policies, but none in BPF: it needs CONFIG_TCP_ACKPOL_BPF"
        )
    programs.require({"bpftool": "bpftool"})


def _mount_bpffs() -> None:
    if not re.search(rf" {_PINNED} bpf ", Path("/proc/mounts").read_text()):
        programs.run(["mount", "-t", "bpf", "bpf", _PINNED], f"cannot mount bpffs on {_PINNED}")


def _bpftool(*arguments: object) -> str:
    """Its output. Raises AirtcpError with its error message, in one line."""
    failure = f"bpftool {' '.join(map(str, arguments[:2]))}"
    return programs.run(["bpftool", *arguments], failure, signs=("rror",))

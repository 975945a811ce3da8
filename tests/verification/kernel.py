# SPDX-License-Identifier: GPL-2.0-only
"""The kernel that an outcome holds for: a hash of what its compiler and its tests see.

Commit messages, documentation and the help of Kconfig are left out, so that they can be corrected
without repeating hours of tests.
"""

import hashlib
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from airtcp.kernel import image
from airtcp.kernel.source import OVERLAY, SERIES, find_source, identity, read_series

# What only kernels for User Mode Linux contain: its code, hostfs, the simulated radio, the
# generator of its table of losses, and samples of TCP (CONFIG_TCP_WATCH). Their configuration.
_UML = (
    *("arch/um", "arch/x86/um", "arch/x86/Makefile.um", "fs/hostfs"),
    "drivers/net/wireless/virtual/airsim",
    "include/uapi/linux/airsim.h",
    "tools/loss_table.py",
    *("net/ipv4/tcp_watch.c", "include/uapi/linux/tcp_watch.h"),
    *(f"configs/{name}.config" for name in image.FRAGMENTS),
)

_DOCUMENTATION = "Documentation"
_HELP = re.compile(r"[ +-]\t  ")  # in a patch of Kconfig, only help is indented like this


@dataclass(frozen=True)
class KernelId:
    """A hash of kernel/ and the Linux source, and the version of Linux for readers.

    without_uml: a hash that does not change with what only User Mode Linux uses.
    """

    hash: str
    linux: str
    without_uml: str

    def of(self, uml: bool) -> "KernelId":
        """The kernel with or without what only User Mode Linux uses."""
        return self if uml else KernelId(self.without_uml, self.linux, self.without_uml)


def kernel_id(overlay: Path = OVERLAY) -> KernelId:
    """The kernel of the working tree. Raises InputError if there is no Linux source."""
    whole = hashlib.sha256(identity(find_source(None)).encode())
    without_uml = whole.copy()
    for name, content, only_uml in _parts(overlay):
        part = f"\0{name}\0{len(content)}\0".encode() + content
        whole.update(part)
        if not only_uml:
            without_uml.update(part)
    return KernelId(whole.hexdigest()[:16], _version(), without_uml.hexdigest()[:16])


def _parts(overlay: Path) -> Iterator[tuple[str, bytes, bool]]:
    """Names and contents of patches and files; whether only User Mode Linux uses them."""
    for step in read_series(overlay):
        files = sorted(name for name in step.files if not _only_uml({name}))
        name = " ".join([f"{step.topic}/{step.patch.name[:4]}", *files])
        yield name, _code(step.patch.read_text(errors="replace")), _only_uml(step.touched)
    for path in sorted(overlay.rglob("*")):
        parts = path.relative_to(overlay).parts
        described = parts[0] in ("patches", _DOCUMENTATION)
        if path.is_file() and not described and not any(p.startswith((".", "__")) for p in parts):
            name = "/".join(parts)
            yield name, path.read_bytes(), _only_uml({name})


def _code(patch: str) -> bytes:
    """The hunks of a patch: without its message, documentation, help of Kconfig and positions."""
    lines: list[str] = []
    for change in re.split(r"^(?=--- (?:a/|/dev/null))", patch, flags=re.MULTILINE)[1:]:
        [_, path] = change.splitlines()[:2]
        if path.startswith(f"+++ b/{_DOCUMENTATION}/"):
            continue
        for line in change.splitlines():
            if path.endswith("/Kconfig") and _HELP.match(line):
                continue
            if line.startswith(("+", "-", " ")):
                lines.append(line)
            elif line.startswith("@@"):
                lines.append("@@")
    return "\n".join(lines).encode()


def _only_uml(names: set[str]) -> bool:
    return bool(names) and all(
        any(Path(name).is_relative_to(only) for only in _UML) for name in names
    )


def _version() -> str:
    """The version of Linux, from the package: unpacking the source would take a minute."""
    command = ["dpkg-query", "-W", "-f", "${source:Upstream-Version}", f"linux-source-{SERIES}"]
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout or SERIES
    except OSError:
        return SERIES

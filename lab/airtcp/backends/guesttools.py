# SPDX-License-Identifier: GPL-2.0-only
"""The programs for the guest: ours, compiled, and in root/ copies of the host's.

Cached by content, and verified before use.
"""

import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from airtcp import atomicfile, prebuilt, programs
from airtcp.backends import guestroot
from airtcp.cache import cache_dir, locked, make_dir, scratch_in
from airtcp.errors import AirtcpError
from airtcp.paths import REPOSITORY

SOURCES = REPOSITORY / "lab" / "guest"
UAPI = REPOSITORY / "kernel" / "include" / "uapi"

_FLAGS = ["-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror"]
_SCRIPTS = ("modprobe",)
# Programs that a run starts often are linked statically: they start in a third of the time.
_COMPILE = {
    "init": ["-static", "init.c"],
    "node": ["-static", "node.c"],
    "keep": ["-static", "keep.c"],
    "configure": [
        "-static",
        "configure.c",
        "configure_nodes.c",
        "configure_links.c",
        "configure_radios.c",
        "configure_ping.c",
    ],
    "exchange": ["exchange.c"],
    "hostroot": ["-static", "hostroot.c"],
    "command": ["-static", "command.c"],
    "udpecho": ["udpecho.c"],
    "udpflow": [
        "-static",
        "udpflow.c",
        "udpflow_send.c",
        "udpflow_receive.c",
        "udpflow_report.c",
    ],
    "drain": ["drain.c"],
    "airsim": [
        "airsim.c",
        "airsim_keys.c",
        "airsim_show.c",
        "airsim_netlink.c",
        "-I../../kernel/include/uapi",
        "-lmnl",
    ],
    "saturate": ["saturate.c"],
    "set_policy": ["-static", "set_policy.c"],
    "tcpwatch": ["-static", "tcpwatch.c", "-I../../kernel/include/uapi"],
    "iperf3_block.so": ["-shared", "-fPIC", "iperf3_block.c"],
    "ping_sleep.so": ["-shared", "-fPIC", "ping_sleep.c"],
    "many.so": ["-shared", "-fPIC", "many.c"],
}


@dataclass(frozen=True)
class GuestTools:
    """Host paths of the programs; in the guest each is GUEST_DIR/<name>."""

    directory: Path

    @property
    def root(self) -> Path:
        """The root file system of runs."""
        return self.directory / "root"


def build_tools(say: Callable[[str], None], *, use_prebuilt: bool = True) -> GuestTools:
    """Compile the programs and copy those of the host, unless cached or prebuilt.

    Raises AirtcpError with the compiler's first error, or if a program is missing.
    """
    if use_prebuilt and (found := prebuilt.find("tools", recipe())):
        return GuestTools(found)
    if not shutil.which("gcc"):
        needed = programs.install(["gcc", "libc6-dev"])
        raise AirtcpError(f"gcc is missing; install it with: {needed}")
    home = make_dir(cache_dir() / "tools")
    copied = guestroot.sources(home / "root.json")
    facts = f"{programs.version('gcc')}\0{recipe()}\0{copied.sha256}"
    directory = home / hashlib.sha256(facts.encode()).hexdigest()[:16]
    if atomicfile.damage(directory):
        with locked(home / "lock", say):
            if damage := atomicfile.damage(directory):  # unless another process has just built them
                if directory.exists():
                    say(
                        f"the guest programs in {directory} are damaged ({damage}): rebuilding them"
                    )
                _make(directory, copied, say)
    return GuestTools(directory)


def has_prebuilt() -> bool:
    """Whether the programs need not be built here."""
    return prebuilt.locate("tools", recipe()) is not None


def recipe() -> str:
    """A hash of what determines the programs except the compiler and the host's programs."""
    made = repr((_FLAGS, sorted(_COMPILE.items()), _SCRIPTS, guestroot.RECIPE))
    digest = hashlib.sha256(made.encode())
    headers = [UAPI / "linux" / name for name in ("airsim.h", "tcp_watch.h")]
    scripts = [SOURCES / name for name in _SCRIPTS]
    # Not those of editors, whose names begin with a dot.
    sources = sorted([*SOURCES.glob("[!.]*.[ch]"), *scripts])
    for source in [*sources, *headers]:
        digest.update(f"{source.name}\0".encode() + source.read_bytes())
    return digest.hexdigest()[:16]


def _make(directory: Path, copied: guestroot.Sources, say: Callable[[str], None]) -> None:
    say("compiling the guest programs")
    with scratch_in(directory.parent) as scratch:
        new = scratch / "new"
        new.mkdir()
        for script in _SCRIPTS:
            shutil.copy(SOURCES / script, new / script)
        for name, arguments in _COMPILE.items():
            compile_program(new / name, *arguments)
        guestroot.create(copied, new / "root")
        atomicfile.install(new, directory)


def compile_program(target: Path, *arguments: str | Path) -> None:
    """Compile a C program for the guest. Raises AirtcpError with the compiler's first error.

    arguments: sources, relative to lab/guest, and options.
    """
    programs.run(
        ["gcc", *_FLAGS, "-o", target, *arguments],
        f"cannot compile {target.name}",
        cwd=SOURCES,
        environment={**os.environ, "LC_ALL": "C"},
        signs=("No space left on device", "error:"),
    )

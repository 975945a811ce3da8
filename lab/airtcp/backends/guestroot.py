# SPDX-License-Identifier: GPL-2.0-only
"""The root file system of runs: copies of the programs that plans use, and of their libraries.

A run sees no other files of the host, so that they cannot change it.
"""

import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from airtcp import atomicfile, programs
from airtcp.cache import locked

# Programs of every Linux system that plans and the guest's first steps use.
_BASIC = (
    *("cat", "chmod", "cp", "date", "env", "mkdir", "mkfifo", "mount", "sed", "sh", "sleep"),
    *("tail", "timeout"),
)
# The C library opens it, without being linked with it, when a thread ends.
_OPENED_LATE = "libgcc_s.so.1"
_MOUNT_POINTS = ("dev", "proc", "root", "run", "sys", "tmp")
_FILES = {
    "etc/group": "root:x:0:\n",
    "etc/hosts": "127.0.0.1 localhost\n",
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
    # A directory without files could not be packed.
    **{f"{name}/mount-point": "" for name in _MOUNT_POINTS},
}


RECIPE = (_BASIC, tuple(programs.GUEST), _OPENED_LATE, _FILES, "ld.so.cache of all directories")
"""What determines the root file system except the host's files."""


@dataclass(frozen=True)
class Sources:
    """The files of the root file system, and a hash of their content.

    files: paths in it, with those on the host.
    """

    files: dict[str, Path]
    sha256: str


def sources(stamp: Path) -> Sources:
    """Find the files on the host.

    stamp: a file that caches what was found; it is valid while size and modification time of all
    files are the same. Raises AirtcpError if a program is missing.
    """
    found = _programs()
    if known := _known(stamp, found):
        return known
    with locked(stamp.with_suffix(".lock"), lambda _: None):
        return _known(stamp, found) or _find(stamp, found)


def _find(stamp: Path, found: dict[str, Path]) -> Sources:
    files = found | libraries(found)
    digest = hashlib.sha256(json.dumps(_FILES).encode())
    for name, path in sorted(files.items()):
        digest.update(f"{name}\0{atomicfile.sha256(path)}\0".encode())
    facts = {name: [str(path), *_facts(path)] for name, path in files.items()}
    atomicfile.write_json(stamp, {"sha256": digest.hexdigest(), "files": facts})
    return Sources(files, digest.hexdigest())


def create(found: Sources, root: Path) -> None:
    """Copy the files to a new directory."""
    add(found.files, root)
    for name, text in _FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def add(files: Mapping[str, Path], root: Path) -> None:
    """Copy further files to the directory; they replace those that it has."""
    for name, path in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, root / name)
        (root / name).chmod(0o755)
    _write_library_cache(root)


def _write_library_cache(root: Path) -> None:
    """Write etc/ld.so.cache, so that runs are the same on every processor.

    Without it, the dynamic loader first looks for each library in directories for the processor's
    instruction set (glibc-hwcaps/x86-64-v3): system calls that take virtual time.
    """
    (root / "etc").mkdir(exist_ok=True)
    # Such as /usr/local/lib, where the host's ld.so.conf may make it look.
    directories = sorted({f"/{path.parent.relative_to(root)}" for path in root.rglob("*.so*")})
    programs.run(["ldconfig", "-X", "-r", root, *directories], f"ldconfig failed in {root}")


def _programs() -> dict[str, Path]:
    needed = {**dict.fromkeys(_BASIC, "coreutils"), **programs.GUEST}
    programs.require({**needed, "ldconfig": "libc-bin"})
    return {f"bin/{name}": Path(str(programs.find(name))) for name in needed}


def libraries(found: Mapping[str, Path]) -> dict[str, Path]:
    """The dynamic loader and the shared libraries, which keep their paths."""
    linked = subprocess.run(["ldd", *found.values()], capture_output=True, text=True).stdout
    paths = set(re.findall(r"(/\S+) \(0x", linked))
    late = {str(Path(path).with_name(_OPENED_LATE)) for path in paths if "/libc.so" in path}
    return {path.lstrip("/"): Path(path) for path in paths | late if Path(path).exists()}


def _facts(path: Path) -> list[int]:
    facts = path.stat()
    return [facts.st_size, facts.st_mtime_ns]


def _known(stamp: Path, found: dict[str, Path]) -> Sources | None:
    """What the stamp has, if it is still valid for these programs."""
    try:
        document = json.loads(stamp.read_text())
        files = {name: Path(path) for name, [path, *_] in document["files"].items()}
        current = all(_facts(Path(path)) == rest for path, *rest in document["files"].values())
        if current and found.items() <= files.items():
            return Sources(files, str(document["sha256"]))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        pass
    return None

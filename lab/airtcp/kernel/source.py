# SPDX-License-Identifier: GPL-2.0-only
"""The Linux source tree that a kernel is built from, and this repository's changes to it.

A work tree is unpacked once and then updated: the files that kernel/patches/series changes are
rebuilt from saved originals in a staging directory, and a file is written to the tree only if its
content differs. make therefore sees exactly what changed, so a rebuild after an edit takes
seconds.
"""

import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from airtcp import atomicfile, programs
from airtcp.cache import cache_dir, locked, make_dir
from airtcp.errors import AirtcpError, InputError
from airtcp.paths import REPOSITORY

DEBIAN_TARBALL = Path("/usr/src/linux-source-6.12.tar.xz")
SERIES = "6.12"
OVERLAY = REPOSITORY / "kernel"
# Topics (directories of kernel/patches), each with all topics that it applies on top of. "lab" has
# the laboratory's own changes, not for posting; its dependencies also depend on the order of
# patches, see read_changes().
NEEDS: dict[str, tuple[str, ...]] = {
    "lab": (),
    "postable": (),
    "research": ("postable",),
    "wifi": (),
}
TOPICS = tuple(NEEDS)
TOPICS_OF_PLAIN_TCP = ("lab", "wifi")
POSTED = tuple(topic for topic in TOPICS if topic != "lab")

_OVERLAY_PARTS = ("net", "include", "drivers", "arch", "Documentation", "tools/testing")

# Not unpacked: 1 of 1.7 GB that no ARCH=um or x86_64 build and none of our patches reads. Kconfig
# files and Makefiles are kept.
_NOT_UNPACKED = (
    "*/arch/[a-tvw]*/*.[chS]",
    "*/drivers/gpu/*.[chS]",
    "*/drivers/media/*.[chS]",
    "*/drivers/net/ethernet/*.[chS]",
    "*/sound/*.[chS]",
    "*/tools/perf/*",
    "*/tools/testing/[!s]*",  # patches for netdev come with selftests
    "*.dts*",
)

Say = Callable[[str], None]


@dataclass(frozen=True)
class Step:
    """A patch, and the whole files added after it (path in the tree -> file)."""

    patch: Path
    files: dict[str, Path]

    @property
    def topic(self) -> str:
        """The directory of kernel/patches that the patch is in."""
        return self.patch.parent.name

    @property
    def touched(self) -> set[str]:
        """The files, relative to the tree, that the step changes, adds or removes."""
        return _paths(self.patch, r"---|\+\+\+") | self.files.keys()


# Changes to Linux, in order. A patch can change a file that an earlier step adds.
Changes = tuple[Step, ...]


def find_source(given: Path | None) -> Path:
    """Return the given tree or tarball, else Debian's. Raises InputError if there is neither."""
    if given is None:
        if not DEBIAN_TARBALL.is_file():
            raise InputError(
                f"no kernel source: {DEBIAN_TARBALL} is missing; install it with: "
                f"{programs.install([f'linux-source-{SERIES}'])}, or pass a Linux {SERIES}.y tree "
                "or tarball with --kernel-source"
            )
        return DEBIAN_TARBALL
    if given.is_dir():
        version_of_tree(given)
        return given.resolve()
    if given.is_file() and re.search(r"\.tar(\.(xz|gz|bz2|zst))?$", given.name):
        return given.resolve()
    raise InputError(
        f"--kernel-source {given}: not a directory or a .tar, .tar.xz, .tar.gz, .tar.bz2, "
        f".tar.zst file; give a Linux {SERIES}.y source tree or tarball"
    )


def identity(source: Path) -> str:
    """Hash the content of a tarball, or names, sizes and modification times of a directory."""
    if source.is_file():
        return _tarball_sha256(source)
    digest = hashlib.sha256(f"{source}\0".encode())
    for path in sorted(source.rglob("*")):
        if ".git" not in path.parts and path.is_file():
            stat = path.stat()
            digest.update(f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}\0".encode())
    return digest.hexdigest()


def _tarball_sha256(tarball: Path) -> str:
    """Cached by path, size and modification time: hashing 150 MB takes most of a second."""
    stat = tarball.stat()
    key = f"{tarball} {stat.st_size} {stat.st_mtime_ns}"
    cached = cache_dir() / "kernel" / "sources.json"
    if known := _cached_hashes(cached).get(key):
        return known
    with locked(cached.with_name("sources.lock"), lambda _: None):
        known = _cached_hashes(cached).get(key) or atomicfile.sha256(tarball)
        atomicfile.write_json(cached, _cached_hashes(cached) | {key: known})
        return known


def _cached_hashes(path: Path) -> dict[str, str]:
    """Empty if the file is missing or damaged."""
    try:
        stamp = json.loads(path.read_text())
        return {str(key): str(value) for key, value in stamp.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def version_of_tree(tree: Path) -> str:
    """Return for example 6.12.117. Raises InputError if the directory is not Linux 6.12.y."""
    try:
        head = (tree / "Makefile").read_text(errors="replace")[:2000]
    except OSError:
        raise InputError(
            f"{tree}: contains no Makefile; give a Linux {SERIES}.y source tree"
        ) from None
    parts = [
        match[1] if (match := re.search(rf"^{name} *= *(\d+)", head, re.M)) else "?"
        for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL")
    ]
    version = ".".join(parts)
    if not version.startswith(f"{SERIES}."):
        raise InputError(f"{tree}: this is Linux {version}; airtcp needs Linux {SERIES}.y")
    return version


def read_series(overlay: Path = OVERLAY) -> list[Step]:
    """Read kernel/patches/series, one step per line.

    Raises InputError if it names a missing file, if a file is on no line or on two, or if a patch
    comes after a patch of a topic that depends on its topic.
    """
    series = overlay / "patches" / "series"
    steps: list[Step] = []
    line_of: dict[str, int] = {}
    for number, line in enumerate(series.read_text().splitlines(), 1):
        name, *paths = line.split("#")[0].split() or [""]
        if not name:
            continue
        topic, _, rest = name.partition("/")
        if topic not in TOPICS or "/" in rest:
            allowed = ", ".join(f"{topic}/..." for topic in TOPICS)
            raise InputError(f"{series}:{number}: {name}: allowed: {allowed}")
        for step in steps:
            if topic in NEEDS[step.topic]:
                other = f"{step.topic}/{step.patch.name}"
                raise InputError(f"{series}:{number}: {name}: must come before {other}")
        patch = series.parent / name
        if not patch.is_file():
            raise InputError(f"{series}:{number}: {patch} does not exist")
        files: dict[str, Path] = {}
        for path in paths:
            listed = _whole_files(overlay, path)
            if not listed:
                raise InputError(f"{series}:{number}: {overlay / path} does not exist")
            files |= listed
        for file in files:
            if file in line_of:
                raise InputError(f"{series}:{number}: {file} is already on line {line_of[file]}")
            line_of[file] = number
        steps.append(Step(patch, files))
    for part in _OVERLAY_PARTS:
        for file in _whole_files(overlay, part):
            if file not in line_of:
                raise InputError(f"{series}: {file} is on no line")
    return steps


def read_changes(topics: Sequence[str] = TOPICS, overlay: Path = OVERLAY) -> Changes:
    """Return the steps of kernel/patches/series for the given topics and their dependencies.

    A patch of "lab" depends on every topic that has a patch before it in the series, and is left
    out without one of these. Raises InputError like read_series().
    """
    wanted = {needed for topic in topics for needed in (*NEEDS[topic], topic)}
    steps: list[Step] = []
    before: set[str] = set()
    for step in read_series(overlay):
        if step.topic in wanted and (step.topic != "lab" or before <= wanted):
            steps.append(step)
        before.add(step.topic)
    return tuple(steps)


def files_of_linux(changes: Changes) -> set[str]:
    """The files that Linux must have: patches change them, and no earlier step adds them."""
    needed: set[str] = set()
    changed: set[str] = set()
    for step in changes:
        needed |= _paths(step.patch, "---") - changed
        changed |= step.touched
    return needed


def _whole_files(overlay: Path, name: str) -> dict[str, Path]:
    """A file of the overlay, or all files below a directory."""
    path = overlay / name
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return {str(file.relative_to(overlay)): file for file in files if file.is_file()}


def prepare_tree(
    source: Path, changes: Changes, work: Path, say: Say, *, complete: bool = False
) -> Path:
    """Update work/linux to source + changes with as little work as possible, and return it.

    complete: include all drivers and architectures, which the laboratory does not need.
    """
    tree, unpacked = work / "linux", work / "unpacked"
    left_out = () if complete else _NOT_UNPACKED
    how = "\n".join(("without:", *left_out))
    # Only for tarballs: any file of a directory may have changed.
    if source.is_file() and unpacked.is_file() and unpacked.read_text() == how:
        try:
            _apply(changes, work)
            return tree
        except (AirtcpError, OSError) as error:
            say(f"unpacking the kernel again ({error})")
    shutil.rmtree(work, ignore_errors=True)
    make_dir(tree)
    _unpack(source, tree, left_out, say)
    version_of_tree(tree)
    unpacked.write_text(how)
    _apply(changes, work)
    return tree


def _unpack(source: Path, tree: Path, left_out: Sequence[str], say: Say) -> None:
    if source.is_dir():
        say(f"copying {source}")
        command = ["cp", "-a", "--reflink=auto", f"{source}/.", str(tree)]
    else:
        say(f"unpacking {source}")
        command = ["tar", "-C", str(tree), "--strip-components=1", "-xf", str(source)]
        command += [f"--exclude={pattern}" for pattern in left_out]
    # End with this process: another one may take over the tree.
    command = ["setpriv", "--pdeathsig", "KILL", *command]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        shutil.rmtree(tree, ignore_errors=True)
        lines = done.stderr.splitlines() or ["no message"]
        message = next((line for line in lines if "No space left" in line), lines[0])
        raise AirtcpError(f"cannot unpack {source}: {message}")
    # make refuses a separate output directory for a tree that contains a build.
    leftovers = [f"arch/{name}/include/generated" for name in ("um", "x86")]
    for leftover in (".config", "include/config", *leftovers):
        path = tree / leftover
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _apply(changes: Changes, work: Path) -> None:
    tree, originals, staging = work / "linux", work / "originals", work / "staging"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir()
    for name in sorted({name for step in changes for name in step.touched}):
        _keep_original(tree, originals, name)
        if (originals / name).is_file():
            _copy(originals / name, staging / name)
    for step in changes:
        command = ["patch", "-p1", "--batch", "--forward", "--fuzz=0", "--no-backup-if-mismatch"]
        done = subprocess.run(
            [*command, "-d", str(staging), "-i", str(step.patch)], capture_output=True, text=True
        )
        if done.returncode:
            lines = done.stdout.splitlines()
            signs = ("FAILED", "can't find", "malformed")
            reports = (line for line in lines if any(sign in line for sign in signs))
            message = next(reports, " ".join(lines[:1]))
            raise AirtcpError(f"{step.patch} does not apply: {message}")
        for name, path in step.files.items():
            _copy(path, staging / name)

    for path in _files(originals):
        name = str(path.relative_to(originals)).removesuffix(".absent")
        staged = staging / name
        if staged.is_file():
            _write_if_different(staged, tree / name)
        elif path.name.endswith(".absent"):
            (tree / name).unlink(missing_ok=True)
        else:
            _write_if_different(path, tree / name)


def _paths(patch: Path, signs: str) -> set[str]:
    """Paths in a patch's lines that begin with "---" (before) or "+++" (after)."""
    return set(re.findall(rf"^(?:{signs}) [ab]/(\S+)", patch.read_text(errors="replace"), re.M))


def _keep_original(tree: Path, originals: Path, name: str) -> None:
    kept, absent = originals / name, originals / f"{name}.absent"
    if kept.exists() or absent.exists():
        return
    if (tree / name).is_file():
        _copy(tree / name, kept)
    else:
        absent.parent.mkdir(parents=True, exist_ok=True)
        absent.touch()


def _files(directory: Path) -> Iterator[Path]:
    return (path for path in sorted(directory.rglob("*")) if path.is_file())


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _write_if_different(source: Path, target: Path) -> None:
    content = source.read_bytes()
    if not target.is_file() or target.read_bytes() != content:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)

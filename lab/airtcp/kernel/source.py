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
OLDEST = "6.1"
"""The first version that the laboratory's own changes are ported to."""
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

_TARBALL = r"\.tar(\.(xz|gz|bz2|zst))?"

Say = Callable[[str], None]


@dataclass(frozen=True)
class Commit:
    """A commit of a Git repository. name: as it was given; tree: the hash of its content."""

    repository: Path
    name: str
    tree: str

    def __str__(self) -> str:
        return f"{self.repository}@{self.name}"


# A tree, a tarball, or a commit.
Source = Path | Commit


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


def find_source(given: Path | None) -> Source:
    """Return the given tree, tarball or commit (REPOSITORY@REVISION), else Debian's tarball.

    Raises InputError if there is none.
    """
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
    if given.is_file() and re.search(f"{_TARBALL}$", given.name):
        return given.resolve()
    repository, at, revision = str(given).rpartition("@")
    if at and Path(repository).is_dir():
        return _commit(Path(repository), revision)
    problem = "not a directory or a .tar, .tar.xz, .tar.gz, .tar.bz2, .tar.zst file"
    raise InputError(
        f"--kernel-source {given}: {problem if given.exists() else 'does not exist'}; give a Linux "
        "source tree or tarball, or REPOSITORY@REVISION"
    )


def _commit(repository: Path, revision: str) -> Commit:
    command = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{tree}}"]
    done = _git(repository, *command)
    if done.returncode or not revision:
        missing = f"{revision!r} is not a revision of the Git repository in {repository}"
        refused = " ".join(done.stderr.removeprefix("fatal: ").split())
        raise InputError(f"--kernel-source {repository}@{revision}: {refused or missing}")
    return Commit(repository.resolve(), revision, done.stdout.strip())


def _git(repository: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    programs.require({"git": "git"})
    return subprocess.run(
        ["git", "-C", str(repository), *command],
        env=programs.environment_of_git(),
        capture_output=True,
        text=True,
        errors="replace",
    )


def version_of(source: Source) -> str:
    """The version, for example 6.1.192. Raises InputError if it is not Linux or too old."""
    if isinstance(source, Commit):
        return _version(_git(source.repository, "show", f"{source.tree}:Makefile").stdout, source)
    if source.is_dir():
        return version_of_tree(source)
    command = ["tar", "-xOf", str(source), "--occurrence=1", "--wildcards"]
    command += ["--no-wildcards-match-slash", "*/Makefile"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    return _version(done.stdout, source)


def find_series_source(given: Path | None, what: str) -> Path:
    """As find_source(), for what needs a tree or tarball of Linux 6.12.y. Raises InputError."""
    source = find_source(given)
    if isinstance(source, Commit):
        raise InputError(f"--kernel-source {source}: {what} needs a tree or tarball")
    if source != DEBIAN_TARBALL and series_of(version := version_of(source)) != SERIES:
        raise InputError(f"{source}: this is Linux {version}; {what} needs Linux {SERIES}.y")
    return source


def series_of(version: str) -> str:
    """6.12 of 6.12.117."""
    return ".".join(version.split(".")[:2])


def identity(source: Source) -> str:
    """Hash the content of a tarball or commit, or names, sizes and times of a directory."""
    if isinstance(source, Commit):
        return hashlib.sha256(f"tree {source.tree}".encode()).hexdigest()
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
    """Return for example 6.12.117. Raises InputError if the directory is not Linux."""
    try:
        head = (tree / "Makefile").read_text(errors="replace")
    except OSError:
        raise InputError(f"{tree}: contains no Makefile; give a Linux source tree") from None
    return _version(head, tree)


def _version(makefile: str, source: Source) -> str:
    """The version in the Makefile of Linux. Raises InputError if it has none."""
    numbers = [
        re.search(rf"^{name} *= *(\d+)$", makefile[:2000], re.M)
        for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL")
    ]
    if not all(numbers):
        raise InputError(f"{source}: is not Linux: its Makefile has no version")
    version = ".".join(number[1] for number in numbers if number)
    if numbers_of(version) < numbers_of(OLDEST):
        raise InputError(f"{source}: this is Linux {version}; allowed: {OLDEST} and later")
    return version


def numbers_of(version: str) -> tuple[int, ...]:
    """The version as numbers, which compare by age."""
    return tuple(map(int, version.split(".")))


def read_series(overlay: Path = OVERLAY) -> list[Step]:
    """Read kernel/patches/series, one step per line.

    Raises InputError if it names a missing file, if a file is on no line or on two, or if a patch
    comes after a patch of a topic that depends on its topic.
    """
    series = overlay / "patches" / "series"
    steps: list[Step] = []
    line_of: dict[str, int] = {}
    for number, name, paths in series_lines(series):
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
            listed = whole_files(overlay, path)
            if not listed:
                raise InputError(f"{series}:{number}: {overlay / path} does not exist")
            files |= listed
        for file in files:
            if file in line_of:
                raise InputError(f"{series}:{number}: {file} is already on line {line_of[file]}")
            line_of[file] = number
        steps.append(Step(patch, files))
    for part in _OVERLAY_PARTS:
        for file in whole_files(overlay, part):
            if file not in line_of:
                raise InputError(f"{series}: {file} is not listed")
    return steps


def series_lines(series: Path) -> Iterator[tuple[int, str, list[str]]]:
    """The number, the patch, and the whole files of each line of a series, without comments."""
    for number, line in enumerate(series.read_text().splitlines(), 1):
        if words := line.split("#")[0].split():
            yield number, words[0], words[1:]


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


def whole_files(overlay: Path, name: str) -> dict[str, Path]:
    """A file of the overlay, or all files below a directory, without those of editors."""
    path = overlay / name
    below = (file for file in sorted(path.rglob("*")) if not re.match(r"\.|.*~$", file.name))
    files = below if path.is_dir() else [path]
    return {str(file.relative_to(overlay)): file for file in files if file.is_file()}


def prepare_tree(
    source: Source, changes: Changes, work: Path, say: Say, *, complete: bool = False
) -> Path:
    """Update work/linux to source + changes with as little work as possible, and return it.

    complete: include all drivers and architectures, which the laboratory does not need.
    """
    tree, unpacked = work / "linux", work / "unpacked"
    left_out = () if complete else _NOT_UNPACKED
    how = "\n".join(("without:", *left_out))
    # Not for directories: any file may have changed.
    fixed = isinstance(source, Commit) or source.is_file()
    if fixed and unpacked.is_file() and unpacked.read_text() == how:
        try:
            _apply(changes, work)
            return tree
        except (AirtcpError, OSError) as error:
            say(f"unpacking the kernel again ({error})")
    unpacked.unlink(missing_ok=True)  # first: what remains if this process is killed is not a tree
    shutil.rmtree(work, ignore_errors=True)
    make_dir(tree)
    _unpack(source, tree, left_out, say)
    version_of_tree(tree)
    unpacked.write_text(how)
    _apply(changes, work)
    return tree


def _unpack(source: Source, tree: Path, left_out: Sequence[str], say: Say) -> None:
    # End with this process: another one may take over the tree.
    alone = ["setpriv", "--pdeathsig", "KILL"]
    untar = [*alone, "tar", "-C", str(tree), "--strip-components=1", "-x"]
    untar += [f"--exclude={pattern}" for pattern in left_out]
    if isinstance(source, Commit):
        say(f"unpacking {source}")
        archive = ["git", "-C", str(source.repository), "archive", "--prefix=linux/", source.tree]
        with subprocess.Popen(
            [*alone, *archive],
            env=programs.environment_of_git(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        ) as git:
            assert git.stdout and git.stderr
            done = subprocess.run(untar, stdin=git.stdout, capture_output=True, text=True)
            git.stdout.close()  # ends Git if tar has failed; otherwise tar has read everything
            done.stderr = git.stderr.read() + done.stderr
        done.returncode = done.returncode or git.returncode
    elif source.is_dir():
        say(f"copying {source}")
        command = [*alone, "cp", "-a", "--reflink=auto", f"{source}/.", str(tree)]
        done = subprocess.run(command, capture_output=True, text=True)
    else:
        say(f"unpacking {source}")
        done = subprocess.run([*untar, "-f", str(source)], capture_output=True, text=True)
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
        _keep_original(tree, originals, staging, name)
        if (originals / name).is_file():
            _copy(originals / name, staging / name)
    for step in changes:
        command = ["patch", "-p1", "--batch", "--forward", "--fuzz=0", "--no-backup-if-mismatch"]
        programs.run(
            [*command, "-d", staging, "-i", step.patch],
            f"{step.patch} does not apply",
            signs=("FAILED", "can't find", "malformed"),
        )
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


def _keep_original(tree: Path, originals: Path, staging: Path, name: str) -> None:
    """Copy a file of the tree, completely or not at all: later runs rely on it."""
    kept, absent = originals / name, originals / f"{name}.absent"
    if kept.exists() or absent.exists():
        return
    kept.parent.mkdir(parents=True, exist_ok=True)
    if (tree / name).is_file():
        _copy(tree / name, staging / name)
        (staging / name).replace(kept)
    else:
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

# SPDX-License-Identifier: GPL-2.0-only
"""Build a kernel (User Mode Linux or x86-64) and cache it by content.

cache/kernel/<hash>/{linux,config,build.json} is a finished kernel, with lib/modules/ if it has
modules; the hashes of all its files are verified before use. cache/kernel/work-*/ is a work tree,
reused for all kernels from the same source and set of patches (see source.py).
"""

import hashlib
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from airtcp import atomicfile, prebuilt, programs
from airtcp.cache import cache_dir, locked, make_dir, scratch_in
from airtcp.errors import AirtcpError, InputError
from airtcp.kernel import ports
from airtcp.kernel.source import (
    OVERLAY,
    SERIES,
    TOPICS,
    TOPICS_OF_PLAIN_TCP,
    Changes,
    Source,
    find_series_source,
    find_source,
    identity,
    prepare_tree,
    read_changes,
    version_of,
    version_of_tree,
)
from airtcp.paths import PROGRAM
from airtcp.units import counted

Say = Callable[[str], None]

FRAGMENTS_OF_PLAIN_TCP = ("lab",)
FRAGMENTS = (*FRAGMENTS_OF_PLAIN_TCP, "ackpol", "tsq", "kunit")
FRAGMENTS_OF_X86_PLAIN_TCP = ("x86",)
FRAGMENTS_OF_X86 = (*FRAGMENTS_OF_X86_PLAIN_TCP, "x86-ackpol")

Arch = Literal["um", "x86_64"]

_IMAGES: dict[Arch, str] = {"um": "linux", "x86_64": "arch/x86/boot/bzImage"}

_PROGRESS_EVERY_S = 15.0
_MOST_WARNINGS = 5

_PROGRAMS = ["gcc", "make", "flex", "bison", "bc", "ccache", "patch", "ld", "strip", "setpriv"]

# Reproducible builds: the same source gives the same image for every user, machine and date.
_REPRODUCIBLE = {
    "KBUILD_BUILD_TIMESTAMP": "Wed Jan  1 00:00:00 UTC 2025",
    "KBUILD_BUILD_USER": "airtcp",
    "KBUILD_BUILD_HOST": "airtcp",
    "KBUILD_BUILD_VERSION": "1",
}

# Variables that change what make builds, or stop it, without being part of the cache key.
_NOT_INHERITED = re.compile(
    "(GNU)?MAKE(FLAGS|FILES|LEVEL)|MFLAGS|(KBUILD|KCONFIG)_.*|K(C|CPP|A)FLAGS|[AC]FLAGS_(KERNEL|MODULE)"
    "|LDFLAGS_MODULE|HOST(C|LD)FLAGS|HOSTLDLIBS|LLVM(_IAS)?|CROSS_COMPILE|LOCALVERSION|POSIXLY_CORRECT"
)

# The configuration, which is part of the image, would record the versions of these tools.
_NOT_USED = ["RUSTC=false", "BINDGEN=false", "PAHOLE=false"]

# A fragment with this line needs pahole, whose version then is part of the cache key.
_BTF = "CONFIG_DEBUG_INFO_BTF=y"
_USED_FOR_BTF = ["PAHOLE=pahole"]


@dataclass(frozen=True)
class Kernel:
    """A built kernel: path of the image, Linux version, and a hash of 16 digits over its content.

    Modules are next to the image, in lib/modules/.
    """

    path: Path
    version: str
    hash: str


def build_pair(fragment: str, say: Say) -> tuple[Kernel, Kernel]:
    """Build plain Linux and ours for x86-64, each with an extra fragment, for comparison."""
    fragments_of_plain = (*FRAGMENTS_OF_X86_PLAIN_TCP, fragment)
    fragments_of_ours = (*FRAGMENTS_OF_X86, fragment)
    return (
        build(plain=True, fragments=fragments_of_plain, arch="x86_64", say=say),
        build(fragments=fragments_of_ours, arch="x86_64", say=say),
    )


def build(
    source: Path | None = None,
    *,
    plain: bool = False,
    fragments: Sequence[str] | None = None,
    extra: Changes = (),
    arch: Arch = "um",
    use_prebuilt: bool = True,
    say: Say,
) -> Kernel:
    """Build the kernel, or return it from the cache.

    source: a Linux tree, tarball or commit (see find_source()), else Debian's package of 6.12.
    plain: Linux TCP, with only the patches that do not change it, as for versions other than 6.12
    in any case. fragments: names of kernel/configs/<name>.config, merged in this order over
    allnoconfig; None: the default ones of `arch` that the patches allow. extra: further changes,
    applied last. arch: make's ARCH; the fragments must be written for it.
    With the defaults of everything, a prebuilt kernel is used if there is one.
    Raises InputError for a bad source, patch list or fragment, AirtcpError if compilation fails.
    """
    default = (source, plain, fragments, extra, arch) == (None, False, None, (), "um")
    if default and use_prebuilt and (found := prebuilt.find("kernel", default_recipe())):
        return _kernel_in(found)
    _require_programs()
    found_source: Source = find_source(source)
    if arch != "um" or extra:
        what = "this kernel" if arch != "um" else "a kernel with --policy or ack_filter ackhold"
        found_source = find_series_source(source, what)
    version = version_of(found_source) if source else SERIES
    plain = plain or not ports.has_policies(version)
    if port := ports.port_of(version):
        changes, fragments = port.changes, FRAGMENTS_OF_PLAIN_TCP
    else:
        changes = read_changes(TOPICS_OF_PLAIN_TCP if plain else TOPICS) + extra
    names = fragments or _default_fragments(arch, plain=plain)
    fragment_files = [*map(_fragment, names), *(port.fragments if port else ())]
    compiler = _compiler() + _pahole(fragment_files)
    source_id = identity(found_source)

    def key() -> str:
        return cache_key(source_id, changes, fragment_files, compiler, arch)

    home = make_dir(cache_dir() / "kernel")
    target = home / key()
    if atomicfile.damage(target):
        with locked(home / "lock", say) as lock:
            if damage := atomicfile.damage(target):  # unless another process has just built it
                if target.exists():
                    say(f"the kernel in {target} is damaged ({damage}): rebuilding it")
                kind = f"{source_id} {'lab' if plain else 'all'}"
                work = home / f"work-{hashlib.sha256(kind.encode()).hexdigest()[:12]}"
                parts = (found_source, changes, fragment_files, arch)
                try:
                    _build(*parts, work, target, key, lock, say)
                except AirtcpError as error:
                    raise type(error)(f"{error}{ports.remark(version)}") from None
    return _kernel_in(target)


def require_x86_64(what: str) -> None:
    """Raise AirtcpError on another processor: User Mode Linux 6.12 has no port to it."""
    if platform.machine() != "x86_64":
        raise AirtcpError(
            f"{what} can be built only on x86-64; this machine is {platform.machine()}"
        )


def _require_programs() -> None:
    require_x86_64("kernels")
    for program in _PROGRAMS:
        if not shutil.which(program):
            raise AirtcpError(f"{program} is missing: {PROGRAM} doctor shows how to install it")


def _default_fragments(arch: Arch, *, plain: bool) -> Sequence[str]:
    if plain:
        return FRAGMENTS_OF_PLAIN_TCP if arch == "um" else FRAGMENTS_OF_X86_PLAIN_TCP
    return FRAGMENTS if arch == "um" else FRAGMENTS_OF_X86


def _kernel_in(directory: Path) -> Kernel:
    facts = json.loads((directory / "build.json").read_text())
    return Kernel(directory / "linux", facts["version"], directory.name)


def has_prebuilt() -> bool:
    """Whether the default kernel need not be built here."""
    return prebuilt.locate("kernel", default_recipe()) is not None


def default_recipe() -> str:
    """A hash of all that determines the default kernel except the source and the compiler."""
    return hashlib.sha256(b"".join(_ingredients(*_default_parts()))).hexdigest()[:16]


def default_hash() -> str:
    """The hash of the kernel that build() returns without arguments, built or not.

    Raises AirtcpError without the compiler or the source, unless there is a prebuilt kernel.
    """
    if found := prebuilt.locate("kernel", default_recipe()):
        return found.name
    for program in ("gcc", "ld"):
        if not shutil.which(program):
            raise AirtcpError(f"{program} is missing")
    return cache_key(identity(find_source(None)), *_default_parts(), _compiler(), "um")


def _default_parts() -> tuple[Changes, list[Path]]:
    return read_changes(TOPICS), [_fragment(name) for name in FRAGMENTS]


def _compiler() -> str:
    return programs.version("gcc") + programs.version("ld")


def _has_btf(fragments: Sequence[Path]) -> bool:
    return any(_BTF in path.read_text().splitlines() for path in fragments)


def _pahole(fragments: Sequence[Path]) -> str:
    """The version of pahole if the fragments need it, else nothing."""
    if not _has_btf(fragments):
        return ""
    programs.require({"pahole": "dwarves"})
    return programs.version("pahole")


def cache_key(
    source_id: str, changes: Changes, fragments: Sequence[Path], compiler: str, arch: Arch
) -> str:
    """Hash everything that can change the image; return 16 hexadecimal digits."""
    digest = hashlib.sha256()
    digest.update(f"{source_id}\0{compiler}\0{arch}\0".encode())
    for part in _ingredients(changes, fragments):
        digest.update(part)
    return digest.hexdigest()[:16]


def _ingredients(changes: Changes, fragments: Sequence[Path]) -> Iterator[bytes]:
    """What of this repository can change the image."""
    yield f"{sorted(_REPRODUCIBLE.items())}{_NOT_USED}\0".encode()
    files: list[tuple[str, Path]] = []
    for step in changes:
        files += [(step.patch.name, step.patch), *sorted(step.files.items())]
    for name, path in [*files, *((path.name, path) for path in fragments)]:
        content = path.read_bytes()
        yield f"{name}\0{len(content)}\0".encode() + content


def _fragment(name: str) -> Path:
    path = OVERLAY / "configs" / f"{name}.config"
    if not path.is_file():
        known = ", ".join(sorted(x.stem for x in path.parent.glob("*.config")))
        raise InputError(f"no Kconfig fragment named {name} in {path.parent}; available: {known}")
    return path


def _build(
    source: Source,
    changes: Changes,
    fragments: Sequence[Path],
    arch: Arch,
    work: Path,
    target: Path,
    key: Callable[[], str],
    lock: int,
    say: Say,
) -> None:
    began = time.monotonic()
    tree = prepare_tree(source, changes, work, say)
    version = version_of_tree(tree)
    # Inside the tree, so that make uses relative paths and ccache finds what another tree compiled.
    output = tree / "-".join(["build", *(path.stem for path in fragments)])
    if (target / atomicfile.CONTENTS).exists():
        # The object files may be damaged like the kernel.
        shutil.rmtree(output, ignore_errors=True)
    make_dir(output)
    log = work / "build.log"
    log.unlink(missing_ok=True)
    make = partial(
        run_make,
        *(tree, output, arch, log),
        lock=lock,
        variables=_USED_FOR_BTF if _has_btf(fragments) else (),
    )
    cpu_s = _configure(make, output, fragments)
    config = (output / ".config").read_text()
    modules = "CONFIG_MODULES=y" in config.splitlines()
    say(f"building Linux {version} (takes some minutes the first time; log: {log})")
    image = Path(_IMAGES[arch])
    cpu_s += make([image.name, *(["modules"] if modules else [])], say=say)
    warnings = compiler_warnings(log.read_text(errors="replace"))
    for line in warnings[:_MOST_WARNINGS]:
        say(f"compiler warning: {line}")
    if more := len(warnings[_MOST_WARNINGS:]):
        say(f"and {counted(more, 'more compiler warning')} (log: {log})")

    with scratch_in(target.parent) as scratch:
        new = scratch / "new"
        new.mkdir()
        if arch == "um":
            _strip(output / image, new / "linux")
        else:
            shutil.copy(output / image, new / "linux")
        if modules:
            cpu_s += make([f"INSTALL_MOD_PATH={new}", "INSTALL_MOD_STRIP=1", "modules_install"])
        (new / "config").write_text(config)
        facts = {"version": version, "source": source.name, "warnings": warnings}
        (new / "build.json").write_text(json.dumps(facts, indent=1) + "\n")
        if key() != target.name:
            raise AirtcpError(
                "the kernel's patches or files changed during the build: repeat the build"
            )
        atomicfile.install(new, target)
    wall_s = time.monotonic() - began
    say(f"built Linux {version} in {wall_s:.0f} s ({cpu_s:.0f} CPU seconds): {target}")


def _strip(program: Path, target: Path) -> None:
    """Copy a program without its symbols. Raises AirtcpError if that fails, as on a full disk."""
    programs.run(["strip", "-o", target, program], "cannot strip the kernel")


def _configure(
    make: Callable[[Sequence[str]], float], output: Path, fragments: Sequence[Path]
) -> float:
    """Merge the fragments over allnoconfig and check every line. Returns CPU seconds."""
    merged = output / "merged.config"
    merged.write_text("\n".join(path.read_text() for path in fragments))
    cpu_s = make([f"KCONFIG_ALLCONFIG={merged}", "allnoconfig"])
    check_fragments(fragments, (output / ".config").read_text())
    return cpu_s


def check_fragments(fragments: Sequence[Path], config: str) -> None:
    """Raise InputError for the first fragment line not in .config. Later lines override earlier."""
    wanted: dict[str, tuple[str, str]] = {}
    for path in fragments:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if match := re.fullmatch(r"(CONFIG_\w+)=(.+)", line.strip()):
                wanted[match[1]] = (match[2], f"{path}:{number}")
            elif match := re.fullmatch(r"# (CONFIG_\w+) is not set", line.strip()):
                wanted[match[1]] = ("n", f"{path}:{number}")
            elif line.strip() and not line.strip().startswith("#"):
                raise InputError(f"{path}:{number}: {line.strip()}: expected CONFIG_NAME=value")
    actual = dict(re.findall(r"^(CONFIG_\w+)=(.+)$", config, re.M))
    for name, (value, where) in wanted.items():
        if (got := actual.get(name, "n")) != value:
            raise InputError(
                f"{where}: {name}={value} has no effect, the value is {got} (the option does not "
                "exist, a dependency is off, or another option selects it)"
            )


def run_make(
    tree: Path,
    output: Path,
    arch: Arch,
    log: Path,
    targets: Sequence[str],
    say: Say | None = None,
    lock: int | None = None,
    variables: Sequence[str] = (),
) -> float:
    """Run make and append its output to the log. Returns CPU seconds.

    make ends when this process ends, even if it is killed. lock: the descriptor of the tree's lock,
    which make and its children hold until the last of them has ended. Raises AirtcpError if make
    fails.
    """
    command = ["setpriv", "--pdeathsig", "TERM", "make", "-C", str(tree), f"O={output}"]
    command += [f"ARCH={arch}", "CC=ccache gcc", *_NOT_USED, *variables]
    command += [f"-j{len(os.sched_getaffinity(0))}", *targets]
    kept = {k: v for k, v in os.environ.items() if not _NOT_INHERITED.fullmatch(k)}
    environment = {**kept, **_REPRODUCIBLE, "LC_ALL": "C"}
    environment |= {"CCACHE_DIR": str(cache_dir() / "ccache"), "CCACHE_COMPILERCHECK": "content"}
    with log.open("ab") as file:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=environment,
            pass_fds=[] if lock is None else [lock],
            process_group=0,
        )
        try:
            cpu_s = _watch(process, log, say)
        except BaseException:
            # make ends its children, but not theirs, such as dpkg-buildpackage.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise
    if process.returncode:
        error = first_error(log.read_text(errors="replace"))
        raise AirtcpError(f"the kernel does not build: {error} (log: {log})")
    return cpu_s


def _watch(process: "subprocess.Popen[bytes]", log: Path, say: Say | None) -> float:
    shown = time.monotonic()
    while True:
        pid, code, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(code)
            return usage.ru_utime + usage.ru_stime
        if say and time.monotonic() - shown > _PROGRESS_EVERY_S:
            shown = time.monotonic()
            count = len(re.findall(r"^  (?:CC|AS) ", log.read_text(errors="replace"), re.M))
            say(f"building: {count} files compiled")
        time.sleep(0.1)


def compiler_warnings(log: str) -> list[str]:
    """The warnings in a build log, each once. Files that make did not compile again have none."""
    return list(dict.fromkeys(line for line in log.splitlines() if ": warning: " in line))


def first_error(log: str) -> str:
    """Return the line of a build log that shows the cause of the failure."""
    lines = [line.strip() for line in log.splitlines()]
    for sign in (
        "No space left on device",
        "undefined reference",
        "error:",
        "can't open file",
        "No rule to make target",
        "Error ",
        "***",
    ):
        for line in lines:
            if sign in line:
                return line
    return lines[-1] if lines else "the log is empty"

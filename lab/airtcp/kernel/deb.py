# SPDX-License-Identifier: GPL-2.0-only
"""Build Debian packages of Linux for x86-64 with the ACK policies as modules.

The policies are those of the laboratory's kernel; changes that only the laboratory needs are left
out. The kernel has BTF, for BPF programs, but no debug information.
"""

import hashlib
import platform
import re
import shutil
from functools import partial
from pathlib import Path

from airtcp import interrupts, programs
from airtcp.cache import cache_dir, locked, make_dir, require_writable
from airtcp.errors import InputError
from airtcp.kernel import metapackage
from airtcp.kernel.image import Say, check_fragments, require_x86_64, run_make
from airtcp.kernel.source import (
    OVERLAY,
    POSTED,
    find_series_source,
    identity,
    prepare_tree,
    read_changes,
)

# A distribution's configuration names signing keys of its builders, and other debug information.
_LEFT_OUT = re.compile(
    r"^(?:# )?CONFIG_(?:SYSTEM_TRUSTED_KEYS|SYSTEM_REVOCATION_KEYS|DEBUG_INFO\w*)[= ].*\n", re.M
)
# Overrides that of image.py, which has no use for it.
_PAHOLE = "PAHOLE=pahole"
# Even if empty: otherwise the version of a Git tree ends in "+".
_RELEASE = "LOCALVERSION="
# Debug information is needed to make BTF; its package would have a gigabyte.
_PACKAGES = "DPKG_FLAGS=--build-profiles=pkg.linux-upstream.nokerneldbg"


def build(
    out: Path, source: Path | None = None, *, config: Path | None = None, say: Say
) -> list[Path]:
    """Build packages linux-image, linux-headers and airtcp-kernel in `out`; return their paths.

    config: the Linux .config for x86-64 to start from, else the running kernel's in /boot, else the
    kernel's own default. Raises InputError if it cannot be read or does not allow the policies, or
    if `out` cannot be written, AirtcpError if the build fails.
    """
    require_x86_64("packages")
    require_writable(out, "--out")
    source = find_series_source(source, "a Debian package")
    base = _read_config(config, say)
    programs.require({**programs.BUILD, **programs.DEB})
    changes = read_changes(POSTED)
    make_dir(out)
    home = make_dir(cache_dir() / "kernel")
    work = home / f"work-deb-{hashlib.sha256(identity(source).encode()).hexdigest()[:12]}"
    with locked(home / "deb.lock", say) as lock:
        tree = prepare_tree(source, changes, work, say, complete=True)
        # Inside the tree, for the reason given in image.py. Packages are written next to it.
        output = make_dir(tree / "build-deb")
        log = work / "build.log"
        log.unlink(missing_ok=True)
        make = partial(run_make, tree, output, "x86_64", log, lock=lock)
        if base is None:
            make(["x86_64_defconfig"])
            base = (output / ".config").read_text()
        wanted = work / "wanted.config"
        wanted.write_text(policies_as_modules() + (OVERLAY / "configs" / "deb.config").read_text())
        base = _LEFT_OUT.sub("", f"{base}\n")
        (output / ".config").write_text(base + wanted.read_text())
        make(["olddefconfig", _PAHOLE])
        check_fragments([wanted], (output / ".config").read_text())
        say(f"building packages: minutes to hours, depending on the configuration (log: {log})")
        # The default, xz, takes as long as compiling a small kernel.
        _date_changelog(tree / "scripts" / "package" / "mkdebian")
        make(["bindeb-pkg", _PAHOLE, _RELEASE, _PACKAGES, "KDEB_COMPRESS=zstd"], say=say)
        return _collect(output, out)


def policies_as_modules() -> str:
    """Return ackpol.config with the policies as modules."""
    text = (OVERLAY / "configs" / "ackpol.config").read_text()
    return re.sub(r"^(CONFIG_TCP_ACKPOL_\w+)=y$", r"\1=m", text, flags=re.M)


def _read_config(given: Path | None, say: Say) -> str | None:
    path = given or Path("/boot") / f"config-{platform.release()}"
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        if given:
            raise InputError(f"--config {given}: {error.strerror}; give a Linux .config") from None
        say(f"no {path}: starting from the kernel's own x86_64_defconfig")
        return None
    if not re.search(r"^CONFIG_\w+=", text, re.M):
        raise InputError(f"{path}: contains no CONFIG_...= line; give a Linux .config")
    say(f"starting from {path}")
    return text


def _date_changelog(script: Path) -> None:
    """Date packages by KBUILD_BUILD_TIMESTAMP, so that they are reproducible."""
    dated = 'date -R --date="$KBUILD_BUILD_TIMESTAMP"'
    script.write_text(script.read_text().replace("$(date -R)", f"$({dated})"))


def _collect(output: Path, out: Path) -> list[Path]:
    """Copy the packages to install, without linux-libc-dev, which would replace Debian's."""
    names = [line.split()[0] for line in (output / "debian" / "files").read_text().splitlines()]
    kept = [name for name in names if re.match(r"linux-(?:image|headers)-.*\.deb$", name)]
    with interrupts.deferred():
        packages = [Path(shutil.copy(output.parent / name, out)) for name in sorted(kept)]
        packages.append(metapackage.build(packages[-1], output.parent / "airtcp-kernel"))
    for path in output.parent.glob("linux-*_*"):
        path.unlink()
    return packages

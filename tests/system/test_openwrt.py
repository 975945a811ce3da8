# SPDX-License-Identifier: GPL-2.0-only
"""The files of `kernel openwrt`: their patches on plain Linux and in a tree of OpenWrt.

AIRTCP_OPENWRT=DIR is a checkout of OpenWrt, AIRTCP_OPENWRT=DIR@COMMIT a git repository.
AIRTCP_BACKPORTS=DIR is what OpenWrt's package mac80211 unpacks, without patches; otherwise its
patches are applied to mac80211 of Linux 6.12, which is older.
"""

import os
import re
import shutil
import subprocess
from functools import cache
from itertools import groupby
from pathlib import Path

import openwrt_tree
import pytest
import uci_sandbox
from guests import Say

from airtcp.kernel import openwrt, series
from airtcp.kernel.source import find_series_source, prepare_tree, read_changes

GIVEN = os.environ.get("AIRTCP_OPENWRT", "")
BACKPORTS = os.environ.get("AIRTCP_BACKPORTS", "")
with_openwrt = pytest.mark.skipif(not GIVEN, reason="AIRTCP_OPENWRT is not set")

# Of a tree of OpenWrt, what the tests read.
PARTS = ("target/linux", "package/kernel", "package/base-files", "package/system/uci")
# Of these, what reading its packages needs.
BUILD_SYSTEM = ("rules.mk", "include", "scripts", "package/kernel/linux")

# Directories of Linux that the package mac80211 contains, with the headers that it patches.
WIRELESS = ("net/mac80211", "net/wireless", "include/net", "include/linux", "include/uapi/linux")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("openwrt") / "files"
    openwrt.write(directory)
    return directory


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The parts of OpenWrt."""
    path, _, commit = GIVEN.partition("@")
    if not commit:
        return Path(path)
    tree = tmp_path_factory.mktemp("openwrt") / "tree"
    tree.mkdir()
    archive = subprocess.run(
        ["git", "-C", path, "archive", commit, *PARTS, *BUILD_SYSTEM],
        stdout=subprocess.PIPE,
        check=True,
    )
    subprocess.run(["tar", "-x", "-C", tree], input=archive.stdout, check=True)
    return tree


@cache
def source() -> Path:
    return find_series_source(None, "the patches")


def unpack(tree: Path, names: set[str]) -> None:
    """Unpack those files and directories that Linux has."""
    tree.mkdir(parents=True, exist_ok=True)
    listed = tree / "names"
    listed.write_text("".join(f"*/{name}\n" for name in sorted(names)))
    command: list[str | Path] = ["tar", "-C", tree, "--strip-components=1", "-xf", source()]
    command += ["--wildcards", "--no-wildcards-match-slash", "-T", listed]
    done = subprocess.run(command, capture_output=True, text=True)
    listed.unlink()
    others = [line for line in done.stderr.splitlines() if "Not found in archive" not in line]
    assert not [line for line in others if "previous errors" not in line]


def patches_in(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.patch"))


def test_kernel_patches_give_the_files_of_the_topic_on_plain_linux(
    written: Path, tmp_path: Path
) -> None:
    changes = read_changes(["postable"])
    names = {name for step in changes for name in step.touched}
    plain = tmp_path / "linux"
    series.extract(source(), sorted(files_of_linux_in(names)), plain)
    built = prepare_tree(plain, changes, tmp_path / "work", lambda _: None)
    openwrt_tree.apply_exactly(plain, patches_in(written / openwrt.PENDING))
    checked = sorted(name for name in names if name.startswith(("net/", "include/")))
    assert len(checked) > 40
    for name in checked:
        assert (plain / name).read_bytes() == (built / name).read_bytes(), name


def files_of_linux_in(names: set[str]) -> set[str]:
    changes = read_changes(["postable"])
    added = {name for step in changes for name in step.files}
    return (names - added) | {"Makefile"}


@with_openwrt
def test_no_file_or_number_is_taken(router: Path, written: Path) -> None:
    for name in openwrt.files():
        assert not (router / name).exists(), name
    pending = [path.name for path in patches_in(router / openwrt.PENDING)]
    assert len(pending) > 100
    assert not [name for name in pending if name.startswith(f"{openwrt.NUMBER}-")]
    numbers = [path.name[:4] for path in patches_in((router / openwrt.MAC80211).parent)]
    assert Path(openwrt.MAC80211).name[:4] not in numbers
    modules = "".join(path.read_text() for path in (router / "package/kernel").rglob("*.mk"))
    assert "define KernelPackage/tcp-bbr\n" in modules
    assert "KernelPackage/tcp-ackpol" not in modules


@with_openwrt
def test_kernel_patches_apply_between_those_of_openwrt(
    router: Path, written: Path, tmp_path: Path, say: Say
) -> None:
    """OpenWrt's order: backport, pending, hack, those of a target; ours are pending ones."""
    generic = router / openwrt.GENERIC
    stack = [generic / f"{kind}-6.12" for kind in ("backport", "pending", "hack")]
    theirs = [path for directory in stack for path in patches_in(directory)]
    ours = patches_in(written / openwrt.PENDING)
    of_ours = {name for path in ours for name in openwrt_tree.touched(path)}
    tree = tmp_path / "linux"
    unpack(
        tree, of_ours | {"Makefile"} | {n for path in theirs for n in openwrt_tree.touched(path)}
    )
    for files in ("files", "files-6.12"):
        if (generic / files).is_dir():
            shutil.copytree(generic / files, tree, dirs_exist_ok=True, symlinks=True)

    first = ours[0].name
    before = [p for p in theirs if p.parent.name.startswith("backport")]
    before += [p for p in theirs if p.parent.name.startswith("pending") and p.name < first]
    after = theirs[len(before) :]
    assert len(before) > 100 and len(after) > 50
    for patches in (before, after):
        outcome = openwrt_tree.apply(tree, patches)
        version = (generic / "kernel-6.12").read_text().split()[2]
        say(f"OpenWrt's patches for 6.12{version} on {source().name}: {outcome}")
        of_theirs = {name for names in outcome.conflicts.values() for name in names}
        assert not of_theirs & of_ours
        if patches is before:
            openwrt_tree.apply_exactly(tree, ours)

    of_targets = sorted(router.glob("target/linux/*/patches-6.12/*.patch"))
    assert len(of_targets) > 100
    same_files = [path for path in of_targets if openwrt_tree.touched(path) & of_ours]
    say(f"of targets, {len(same_files)} patches change the same files")
    for target, group in groupby(same_files, key=lambda path: path.parts[-3]):
        changed = tmp_path / target
        shutil.copytree(tree, changed, symlinks=True)
        outcome = openwrt_tree.apply(changed, group, tuple(of_ours))
        assert not outcome.conflicts and outcome.applied


@with_openwrt
def test_ack_filter_applies_after_the_patches_of_mac80211(
    router: Path, written: Path, tmp_path: Path, say: Say
) -> None:
    tree = tmp_path / "backports"
    if BACKPORTS:
        shutil.copytree(BACKPORTS, tree, symlinks=True)
    else:
        unpack(tree, set(WIRELESS))
        rename_options(tree)
    patches = (router / openwrt.MAC80211).parent.parent
    theirs = [path for kind in ("build", "subsys") for path in patches_in(patches / kind)]
    wireless = [
        path
        for path in theirs
        if any(name.startswith(WIRELESS) for name in openwrt_tree.touched(path))
    ]
    before = [
        path
        for path in (theirs if BACKPORTS else wireless)
        if path.parent.name == "build" or path.name < Path(openwrt.MAC80211).name
    ]
    outcome = openwrt_tree.apply(tree, before, ("",) if BACKPORTS else WIRELESS)
    say(f"OpenWrt's patches of mac80211 on {BACKPORTS or 'Linux 6.12'}: {outcome}")
    assert len(outcome.applied) > 10
    openwrt_tree.apply_exactly(tree, [written / openwrt.MAC80211])
    if BACKPORTS:
        assert not outcome.conflicts


def rename_options(tree: Path) -> None:
    """As the makers of backports do, in the files of mac80211 and cfg80211."""
    for path in (*tree.glob("net/*/**/*"), *tree.glob("include/net/*802*.h")):
        if path.is_file():
            text = path.read_text(errors="surrogateescape")
            text = re.sub(r"\bCONFIG_(?=(?:MAC80211|CFG80211|NL80211)_)", "CPTCFG_", text)
            path.write_text(text, errors="surrogateescape")


@with_openwrt
def test_package_turns_on_the_options_of_its_module(
    router: Path, written: Path, tmp_path: Path
) -> None:
    """OpenWrt's own programs read the packages and make the configuration of the kernel."""
    for name in BUILD_SYSTEM:
        if (router / name).is_dir():
            shutil.copytree(router / name, tmp_path / name, symlinks=True)
        else:
            shutil.copy(router / name, tmp_path / name)
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    configuration = "CONFIG_LINUX_6_12=y\nCONFIG_PACKAGE_kmod-tcp-ackpol-auto=y\n"
    (tmp_path / ".config").write_text(configuration)

    def dump(package: str) -> str:
        variables = ["DUMP=1", f"TOPDIR={tmp_path}", f"INCLUDE_DIR={tmp_path}/include", "FEED="]
        return output(tmp_path, "make", "-rs", "-C", package, *variables)

    assert "\nDepends: +libc @LINUX_6_12 +kmod-tcp-ackpol-auto\n" in dump(openwrt.PACKAGE_FILES)
    modules = f"Source-Makefile: package/kernel/linux/Makefile\n{dump('package/kernel/linux')}"
    (tmp_path / "packages").write_text(modules)
    override = ("packages", ".config", "6.12")
    metadata = output(tmp_path, "perl", "scripts/package-metadata.pl", "kconfig", *override)
    (tmp_path / "override").write_text(metadata)
    merge = ("m+", "+", openwrt.KERNEL_OPTIONS, "/dev/null", "override")
    merged = output(tmp_path, "perl", "scripts/kconfig.pl", *merge).splitlines()
    options = (tmp_path / openwrt.KERNEL_OPTIONS).read_text()
    for before, after in (("TCP_ACKPOL", "y"), ("TCP_ACKPOL_AUTO", "m")):
        old = f"# CONFIG_{before} is not set\n"
        assert old in options
        options = options.replace(old, f"CONFIG_{before}={after}\n")
    assert [line for line in merged if "ACKPOL" in line] == options.splitlines()


def output(directory: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@with_openwrt
def test_service_works_with_the_functions_of_openwrt(router: Path, tmp_path: Path) -> None:
    """uci is a stub: the file has the form that `uci export` prints."""
    uci = tmp_path / "uci"
    uci.write_text('#!/bin/sh\nfor last; do :; done\ncat "$UCI_CONFIG_DIR/$last"\n')
    uci.chmod(0o755)
    base, uci_package = "package/base-files/files/lib", "package/system/uci/files/lib"
    files = (f"{base}/functions.sh", f"{uci_package}/config/uci.sh")
    functions = "".join((router / name).read_text() for name in files)
    functions = re.sub(r"^\[.*\] && \. .*\n|^\. .*\n", "", functions, flags=re.M)
    # `export -n`, which these functions use, is not known to every shell.
    shell = ("busybox", "ash") if shutil.which("busybox") else ("bash",)
    sandbox = uci_sandbox.create(tmp_path / "root", shell, functions.replace("/sbin/uci", str(uci)))
    config = uci_sandbox.default_config().replace("'default'", "'auto'").replace("'off'", "'on'", 1)
    assert sandbox.run("start", config) == (0, [])
    assert sandbox.settings() == ("auto", "on", "off")
    assert sandbox.run("stop", config) == (0, [])
    assert sandbox.settings() == ("default", "off", "off")

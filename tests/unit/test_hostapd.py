# SPDX-License-Identifier: GPL-2.0-only
"""hostapd with 802.11be: `setup be` builds it, and guests of 802.11be get it."""

import shutil
import subprocess
from pathlib import Path

import pytest
from plans import planned
from test_setup import SETUP, called, write_program

from airtcp import atomicfile
from airtcp.backends import hostapd
from airtcp.backends.guesttools import GuestTools
from airtcp.errors import AirtcpError
from airtcp.experiment.experiment import Setting
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.sweep.request import RunRequest, requests
from airtcp.testbed.default import testbed

KERNEL = Kernel(Path("k"), "6.12.0", "k")
OLD, NEW = b"he_oper_chwidth\0", b"he_oper_chwidth\0eht_oper_chwidth\0"


def make_tools(directory: Path, program: bytes) -> GuestTools:
    """Programs of a guest that has this hostapd."""
    tools = GuestTools(directory)
    (tools.root / "bin").mkdir(parents=True)
    write_program(tools.directory, "init", "")
    (tools.root / "bin" / "hostapd").write_bytes(program)
    (directory / atomicfile.CONTENTS).write_text("{}")
    return tools


def install_newer(cache: Path) -> Path:
    """What `setup be` installs; a real program, which has libraries, for stations."""
    newer = cache / "tools" / "hostapd"
    newer.mkdir(parents=True)
    (newer / "hostapd").write_bytes(NEW)
    shutil.copy(str(shutil.which("cat")), newer / "wpa_supplicant")
    return newer


def test_a_hostapd_with_802_11be_has_its_keys(tmp_path: Path) -> None:
    program = tmp_path / "hostapd"
    assert not hostapd.knows_eht(program)
    program.write_bytes(OLD)
    assert not hostapd.knows_eht(program)
    program.write_bytes(NEW)
    assert hostapd.knows_eht(program)


@pytest.mark.parametrize(
    ("program", "values", "missing"),
    [
        (OLD, {"standard": "802.11ax"}, ""),
        (OLD, {"access": "ethernet"}, ""),
        (OLD, {"standard": "802.11be"}, "access points need hostapd 2.11"),
        (NEW, {"standard": "802.11be"}, ""),
        (OLD, {"standard": "802.11be", "channel": 37}, "access points need hostapd 2.11"),
        (NEW, {"standard": "802.11be", "channel": 37}, "channel 37: stations need wpa_supplicant"),
    ],
)
def test_only_radios_of_802_11be_need_it(
    cache: Path, tmp_path: Path, program: bytes, values: dict[str, Plain], missing: str
) -> None:
    tools = make_tools(tmp_path / "tools", program)
    wanted = testbed(Parameters().replace(values))
    if not missing:
        assert hostapd.tools_for(tools, wanted) == tools
        return
    with pytest.raises(AirtcpError, match=f"{missing}.*: `./airtcp setup be` builds it"):
        hostapd.tools_for(tools, wanted)
    install_newer(cache)
    newer = hostapd.tools_for(tools, wanted)
    assert hostapd.knows_eht(newer.root / "bin" / "hostapd")
    assert (newer.root / "bin" / "wpa_supplicant").exists()


def test_a_newer_hostapd_replaces_that_of_the_guest(cache: Path, tmp_path: Path) -> None:
    tools = make_tools(tmp_path / "tools", OLD)
    installed = install_newer(cache)
    newer = hostapd.with_eht(tools)
    assert newer.directory.parent == cache / "tools"
    assert atomicfile.damage(newer.directory) is None
    assert (newer.directory / "init").exists()
    assert (newer.root / "bin" / "hostapd").read_bytes() == NEW
    assert list(newer.root.rglob("libc.so.*"))
    assert (tools.root / "bin" / "hostapd").read_bytes() == OLD
    # The same again; another one after an update.
    hostapd.with_eht.cache_clear()
    assert hostapd.with_eht(tools) == newer
    assert hostapd.with_eht(newer, 37) == newer
    (installed / "hostapd").write_bytes(NEW + b"again")
    hostapd.with_eht.cache_clear()
    assert hostapd.with_eht(tools) != newer


def test_a_missing_hostapd_is_one_line(cache: Path, tmp_path: Path) -> None:
    tools = make_tools(tmp_path / "tools", OLD)
    with pytest.raises(AirtcpError) as error:
        hostapd.with_eht(tools)
    assert str(error.value) == (
        "standard 802.11be: access points need hostapd 2.11 or newer with CONFIG_IEEE80211BE, "
        "which the installed one is not: `./airtcp setup be` builds it"
    )
    assert not cache.exists()


def runs(tools: GuestTools) -> list[RunRequest]:
    values = ("standard=802.11ax,802.11be", "width=80MHz", "guard_interval=800ns")
    settings = (*values, "ack_policy=default", "preset=generic", "delay=0ms")
    cases = load("thesis-lan").cases([Setting.parse(setting) for setting in settings])
    return requests(KERNEL, tools, cases, [1])


def test_cases_without_802_11be_keep_their_programs(cache: Path, tmp_path: Path) -> None:
    tools = make_tools(tmp_path / "tools", OLD)
    with pytest.raises(AirtcpError, match=r"need hostapd 2\.11"):
        runs(tools)
    install_newer(cache)
    ax, be = runs(tools)
    assert ax.tools == tools
    assert be.tools == hostapd.with_eht(tools)
    assert ax.identity != be.identity


def test_the_plan_starts_hostapd_by_its_name() -> None:
    be = planned(standard="802.11be", width="80MHz", guard_interval="800ns")
    ax = planned(standard="802.11ax", width="80MHz", guard_interval="800ns")
    assert [str(step) for step in be if "hostapd -B" in str(step)] == [
        str(step) for step in ax if "hostapd -B" in str(step)
    ]


# --- setup be --------------------------------------------------------------------------------

NEEDED = (
    *("awk", "basename", "cat", "chmod", "cp", "cut", "dirname", "env", "flock", "grep", "gzip"),
    *("id", "mkdir", "mktemp", "mv", "nproc", "pwd", "readlink", "rm", "sed", "sh", "sync", "tar"),
    *("touch", "tr"),
)
# The first suite does not have the source package.
APT_GET = """\
#!/bin/sh
echo "$*" >>{log}
case "$*" in
indextargets*) . /etc/os-release; echo "http://mirror.example/debian $VERSION_CODENAME" ;;
*update) ;;
*source*)
	grep -q '^deb-src .* {suite} main$' "${{APT_CONFIG%/*}}/sources" || exit 100
	cp {tarball} wpa_2.11.orig.tar.gz
	;;
esac
"""
# "Builds" a program that contains its configuration in lower case, and its source.
MAKE = """\
#!/bin/sh
[ "$3" != clean ] || exit 0
tr A-Z a-z <"$2/.config" | sed 's/config_ieee80211be=y/eht_oper_chwidth/' >"$2/$5"
cat "$2/../src/version.h" >>"$2/$5"
! grep broken "$2/$5"
"""
IS_DEBIAN = "\nID=debian\n" in f"\n{Path('/etc/os-release').read_text()}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A PATH with a fake compiler."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in NEEDED:
        (directory / name).symlink_to(str(shutil.which(name)))
    write_program(directory, "make", MAKE)
    write_program(directory, "strip", '#!/bin/sh\nexec cp "$3" "$2"\n')
    return directory


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A tree of hostap."""
    tree = tmp_path / "hostap-2.11"
    for name in ("src", "hostapd", "wpa_supplicant"):
        (tree / name).mkdir(parents=True)
    (tree / "src" / "version.h").write_text("2.11\n")
    return tree


def setup_be(path: Path, tmp_path: Path, *arguments: object) -> "subprocess.CompletedProcess[str]":
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    words = ("--packages", *map(str, arguments), "be")
    done = called(SETUP, path, *words, AIRTCP_CACHE=tmp_path / "cache", TMPDIR=scratch)
    assert done.stdout == ""
    assert list(scratch.iterdir()) == []
    return done


def test_a_tree_is_built_once(path: Path, tmp_path: Path, source: Path) -> None:
    target = tmp_path / "cache" / "tools" / "hostapd"
    listed = (
        f"airtcp: missing: hostapd with 802.11be and wpa_supplicant, built from {source} in "
        f"{target}\n"
    )
    asked = called(
        *(SETUP, path, "--packages", "be", "--hostap-source", str(source)),
        AIRTCP_CACHE=tmp_path / "cache",
    )
    last = "airtcp: not a terminal, so it cannot ask: 'setup --yes' installs this\n"
    assert asked.returncode == 2
    assert asked.stderr.endswith(listed + last)
    assert not target.exists()
    done = setup_be(path, tmp_path, "--yes", "--hostap-source", source)
    log = f"airtcp: building hostapd and wpa_supplicant (log: {target}.log)\n"
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith(listed + log)
    assert sorted(each.name for each in target.iterdir()) == ["hostapd", "wpa_supplicant"]
    assert hostapd.knows_eht(target / "hostapd")
    assert "config_sae=y" in (target / "wpa_supplicant").read_text()
    assert list(source.rglob(".config")) == []
    again = setup_be(path, tmp_path, "--yes", f"--hostap-source={source}")
    assert (again.returncode, again.stderr) == (0, "airtcp: nothing to install for be\n")


@pytest.mark.skipif(not IS_DEBIAN, reason="reads /etc/os-release of Debian")
@pytest.mark.parametrize(("suite", "works"), [("sid", True), ("none", False)])
def test_debians_source_package_is_from_the_first_suite_that_has_it(
    path: Path, tmp_path: Path, source: Path, suite: str, *, works: bool
) -> None:
    log, tarball = tmp_path / "log", tmp_path / "hostap.tar.gz"
    subprocess.run(["tar", "-czf", tarball, "-C", tmp_path, source.name], check=True)
    write_program(path, "apt-get", APT_GET.format(log=log, suite=suite, tarball=tarball))
    done = setup_be(path, tmp_path, "--yes")
    target = tmp_path / "cache" / "tools" / "hostapd"
    assert done.returncode == (0 if works else 1)
    assert hostapd.knows_eht(target / "hostapd") is works
    calls = [line.split()[0] for line in log.read_text().splitlines()]
    assert calls == ["indextargets", *["-qq"] * 4]
    if not works:
        assert done.stderr.splitlines()[-2:] == [
            "airtcp: the source package of hostapd cannot be downloaded from Debian's suites forky "
            "sid (see above)",
            "airtcp: cannot get the source of hostapd: give --hostap-source a tree or tarball of "
            "hostap 2.11 or newer",
        ]


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("no eht", "this version of hostapd does not know 802.11be: it needs 2.11 or newer"),
        ("broken: error", "cannot build hostapd: broken: error"),
    ],
)
def test_a_source_that_cannot_be_used_is_one_line(
    path: Path, tmp_path: Path, source: Path, version: str, message: str
) -> None:
    (source / "src" / "version.h").write_text(f"{version}\n")
    if version == "no eht":
        write_program(path, "make", MAKE.replace("eht_oper_chwidth", "unknown"))
    done = setup_be(path, tmp_path, "--yes", "--hostap-source", source)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(message)
    assert not (tmp_path / "cache" / "tools" / "hostapd").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("be", "--hostap-source"), "give a tree or tarball of hostap"),
        (("be", "--hostap-source", "/none"), "/none: does not exist"),
        (("test", "--hostap-source", "/tmp"), "only with the set be"),
    ],
)
def test_wrong_sources_are_refused(
    path: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = called(SETUP, path, *arguments, AIRTCP_CACHE=tmp_path / "cache")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("airtcp: setup --hostap-source") and message in done.stderr
    assert not (tmp_path / "cache").exists()


def test_other_files_are_no_source(path: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("text")
    done = setup_be(path, tmp_path, "--yes", "--hostap-source", tmp_path / "text")
    assert done.returncode == 1
    assert done.stderr.endswith(f"airtcp: {tmp_path}/text: not a tree or tarball of hostap\n")

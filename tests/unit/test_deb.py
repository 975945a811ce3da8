# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages without compiling: the configuration, the copied files, and errors."""

import platform
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from airtcp import cli, programs
from airtcp.errors import AirtcpError, InputError
from airtcp.kernel import deb, metapackage

PACKAGES = (
    "linux-headers-6.12.9-airtcp_6.12.9-1_amd64.deb",
    "linux-image-6.12.9-airtcp_6.12.9-1_amd64.deb",
    "linux-libc-dev_6.12.9-1_amd64.deb",
)
DISTRIBUTION = """\
CONFIG_NET=y
CONFIG_SYSTEM_TRUSTED_KEYS="debian/certs/some.pem"
CONFIG_DEBUG_INFO=y
# CONFIG_DEBUG_INFO_NONE is not set
CONFIG_DEBUG_INFO_DWARF5=y
CONFIG_MODULE_SIG_KEY=""
"""

METAPACKAGE = "airtcp-kernel_6.12.9-1_amd64.deb"
MKDEBIAN = Path("scripts", "package", "mkdebian")

Calls = list[tuple[str, str]]


def prepare_tree(_source: object, _changes: object, work: Path, _say: object, **_: bool) -> Path:
    tree = work / "linux"
    (tree / MKDEBIAN.parent).mkdir(parents=True, exist_ok=True)
    (tree / MKDEBIAN).write_text(" -- $maintainer  $(date -R)\n")
    return tree


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Replaces make; lists its targets with the .config at that time."""
    monkeypatch.setenv("AIRTCP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(programs, "find", lambda program: program)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(deb, "find_series_source", lambda given, _what: tmp_path / "linux.tar")
    monkeypatch.setattr(deb, "identity", lambda source: "identity")
    monkeypatch.setattr(deb, "prepare_tree", prepare_tree)
    recorded: Calls = []

    def run_make(
        tree: Path,
        output: Path,
        arch: str,
        log: Path,
        targets: Sequence[str],
        say: object = None,
        lock: int | None = None,
    ) -> float:
        config = output / ".config"
        # The later variable counts; image.run_make() sets one, too.
        assert targets[0] == "x86_64_defconfig" or "PAHOLE=pahole" in targets
        if targets == ["x86_64_defconfig"]:
            config.write_text("CONFIG_OF_LINUX=y\n")
        recorded.append((targets[0], config.read_text()))
        if targets[0] == "bindeb-pkg":
            assert "LOCALVERSION=" in targets  # no "+" after the version of a Git tree
            assert "$(date -R --date=" in (tree / MKDEBIAN).read_text()
            (output / "debian").mkdir(exist_ok=True)
            for name in PACKAGES:
                (tree / name).write_text(name)
            files = "".join(f"{name} kernel optional\n" for name in PACKAGES)
            (output / "debian" / "files").write_text(files)
            (tree / "linux-upstream_6.12.9-1_amd64.changes").touch()
        return 0.0

    monkeypatch.setattr(deb, "run_make", run_make)
    return recorded


def quiet(_: str) -> None:
    pass


def test_policies_are_merged_into_the_given_configuration(calls: Calls, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(DISTRIBUTION)
    deb.build(tmp_path / "out", config=tmp_path / "config", say=quiet)
    assert [target for target, _ in calls] == ["olddefconfig", "bindeb-pkg"]
    config = calls[0][1].splitlines()
    assert config[:2] == ["CONFIG_NET=y", 'CONFIG_MODULE_SIG_KEY=""']
    assert {"CONFIG_TCP_ACKPOL=y", "CONFIG_TCP_ACKPOL_ALL=m"} <= set(config)
    assert {'CONFIG_LOCALVERSION="-airtcp"', "CONFIG_DEBUG_INFO_BTF=y"} <= set(config)
    assert not [line for line in config if re.search("certs|DWARF_|DEBUG_INFO=y", line)]
    assert "# CONFIG_LOCALVERSION_AUTO is not set" in config


def test_only_image_and_headers_are_copied(calls: Calls, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(DISTRIBUTION)
    packages = deb.build(tmp_path / "out", config=tmp_path / "config", say=quiet)
    assert packages == [tmp_path / "out" / name for name in (*PACKAGES[:2], METAPACKAGE)]
    assert sorted((tmp_path / "out").iterdir()) == sorted(packages)
    assert packages[0].read_text() == PACKAGES[0]
    assert list((tmp_path / "cache").rglob("*.changes")) == []


def test_command_line_prints_the_packages(
    calls: Calls, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config").write_text(DISTRIBUTION)
    arguments = ["--config", str(tmp_path / "config"), "--out", str(tmp_path / "out")]
    assert cli.main(["kernel", "deb", *arguments]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed == [str(tmp_path / "out" / name) for name in (*PACKAGES[:2], METAPACKAGE)]


def test_the_metapackage_needs_this_kernel_and_selects_no_policy(
    calls: Calls, tmp_path: Path
) -> None:
    (tmp_path / "config").write_text(DISTRIBUTION)
    built = [
        deb.build(tmp_path / out, config=tmp_path / "config", say=quiet)[-1] for out in ("a", "b")
    ]
    assert built[0].read_bytes() == built[1].read_bytes()
    fields = subprocess.run(
        ["dpkg-deb", "-f", built[0], "Depends", "Suggests"], capture_output=True, text=True
    ).stdout
    assert fields == (
        "Depends: linux-image-6.12.9-airtcp (= 6.12.9-1)\nSuggests: linux-headers-6.12.9-airtcp\n"
    )
    subprocess.run(["dpkg-deb", "-x", built[0], tmp_path / "root"], check=True)
    [settings] = (tmp_path / "root" / "etc" / "sysctl.d").iterdir()
    assert all(line.startswith("#") for line in settings.read_text().splitlines())


def test_error_of_dpkg_deb_is_one_line(tmp_path: Path) -> None:
    image = tmp_path / "missing" / PACKAGES[1]
    with pytest.raises(AirtcpError, match=r"^cannot build .*/airtcp-kernel_6.*_amd64.deb: dpkg.*$"):
        metapackage.build(image, tmp_path / "scratch")


def test_the_default_configuration_is_that_of_linux(
    calls: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "release", lambda: "of-no-kernel")
    lines: list[str] = []
    deb.build(tmp_path / "out", say=lines.append)
    assert [target for target, _ in calls] == ["x86_64_defconfig", "olddefconfig", "bindeb-pkg"]
    assert calls[1][1].startswith("CONFIG_OF_LINUX=y\n")
    assert "/boot/config-of-no-kernel" in lines[0]


def test_options_without_effect_are_reported(
    calls: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text(DISTRIBUTION)
    run_make: Callable[..., float] = vars(deb)["run_make"]  # the fixture's

    def loses_policies(*arguments: object, **_lock: object) -> float:
        done = run_make(*arguments)
        config = arguments[1] / ".config"  # type: ignore[operator]
        config.write_text(config.read_text().replace("CONFIG_TCP_ACKPOL", "CONFIG_ELSE"))
        return done

    monkeypatch.setattr(deb, "run_make", loses_policies)
    with pytest.raises(InputError, match=r"CONFIG_TCP_ACKPOL=y has no effect"):
        deb.build(tmp_path / "out", config=tmp_path / "config", say=quiet)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("content", [None, b"# nothing\n", b"\xff\xfe"])
def test_a_file_that_is_not_a_configuration_is_refused(
    calls: Calls, tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "config").write_bytes(content)
    with pytest.raises(InputError, match=r"config.*give a Linux \.config") as error:
        deb.build(tmp_path / "out", config=tmp_path / "config", say=quiet)
    assert "\n" not in str(error.value)
    assert calls == []


def test_missing_programs_and_headers_are_listed_in_one_line(
    calls: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = ("rsync", "openssl/opensslv.h")
    monkeypatch.setattr(programs, "find", lambda name: None if name in missing else name)
    with pytest.raises(
        AirtcpError,
        match=r"^missing: rsync, openssl/opensslv\.h; install with: apt-get install "
        r"libssl-dev rsync \(",
    ):
        deb.build(tmp_path / "out", say=quiet)

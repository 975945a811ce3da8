# SPDX-License-Identifier: GPL-2.0-only
"""Packages without a compilation: which configuration is built, what is copied, what is refused."""

import platform
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from airtcp import cli, programs
from airtcp.errors import AirtcpError, InputError
from airtcp.kernel import deb

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

Made = list[tuple[str, str]]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """What is asked of make, each time with the .config as it is then."""
    monkeypatch.setenv("AIRTCP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(programs, "find", lambda program: program)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(deb, "find_source", lambda given: tmp_path / "linux.tar")
    monkeypatch.setattr(deb, "identity", lambda source: "identity")
    monkeypatch.setattr(deb, "prepare_tree", lambda _s, _c, work, _say, complete: work / "linux")
    calls: Made = []

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
        if targets == ["x86_64_defconfig"]:
            config.write_text("CONFIG_OF_LINUX=y\n")
        calls.append((targets[0], config.read_text()))
        if targets[0] == "bindeb-pkg":
            (output / "debian").mkdir()
            for name in PACKAGES:
                (tree / name).write_text(name)
            files = "".join(f"{name} kernel optional\n" for name in PACKAGES)
            (output / "debian" / "files").write_text(files)
            (tree / "linux-upstream_6.12.9-1_amd64.changes").touch()
        return 0.0

    monkeypatch.setattr(deb, "run_make", run_make)
    return calls


def quiet(_: str) -> None:
    pass


def test_policies_are_laid_over_the_given_configuration(made: Made, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(DISTRIBUTION)
    deb.build(tmp_path / "out", config=tmp_path / "config", say=quiet)
    assert [target for target, _ in made] == ["olddefconfig", "bindeb-pkg"]
    config = made[0][1].splitlines()
    assert config[:2] == ["CONFIG_NET=y", 'CONFIG_MODULE_SIG_KEY=""']
    assert {"CONFIG_TCP_ACKPOL=y", "CONFIG_TCP_ACKPOL_ALL=m"} <= set(config)
    assert {'CONFIG_LOCALVERSION="-airtcp"', "CONFIG_DEBUG_INFO_NONE=y"} <= set(config)
    assert not [line for line in config if re.search("certs|DWARF|DEBUG_INFO=y", line)]


def test_image_and_headers_are_copied_and_nothing_else(made: Made, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(DISTRIBUTION)
    packages = deb.build(tmp_path / "out", config=tmp_path / "config", say=quiet)
    assert packages == [tmp_path / "out" / name for name in PACKAGES[:2]]
    assert sorted((tmp_path / "out").iterdir()) == packages
    assert packages[0].read_text() == PACKAGES[0]
    assert list((tmp_path / "cache").rglob("*.changes")) == []


def test_command_line_prints_the_packages(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config").write_text(DISTRIBUTION)
    arguments = ["--config", str(tmp_path / "config"), "--out", str(tmp_path / "out")]
    assert cli.main(["kernel", "deb", *arguments]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed == [str(tmp_path / "out" / name) for name in PACKAGES[:2]]


def test_without_any_configuration_linux_own_is_taken(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "release", lambda: "of-no-kernel")
    said: list[str] = []
    deb.build(tmp_path / "out", say=said.append)
    assert [target for target, _ in made] == ["x86_64_defconfig", "olddefconfig", "bindeb-pkg"]
    assert made[1][1].startswith("CONFIG_OF_LINUX=y\n")
    assert "/boot/config-of-no-kernel" in said[0]


def test_configuration_without_tcp_says_what_did_not_take(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
def test_file_that_is_no_configuration_is_refused(
    made: Made, tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "config").write_bytes(content)
    with pytest.raises(InputError, match=r"config.*give a Linux \.config") as caught:
        deb.build(tmp_path / "out", config=tmp_path / "config", say=quiet)
    assert "\n" not in str(caught.value)
    assert made == []


def test_missing_programs_and_headers_are_one_line(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = ("rsync", "openssl/opensslv.h")
    monkeypatch.setattr(programs, "find", lambda name: None if name in lacking else name)
    with pytest.raises(
        AirtcpError,
        match=r"^missing: rsync, openssl/opensslv\.h; install with: apt-get install "
        r"libssl-dev rsync \(",
    ):
        deb.build(tmp_path / "out", say=quiet)

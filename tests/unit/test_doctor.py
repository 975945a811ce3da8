# SPDX-License-Identifier: GPL-2.0-only
"""doctor reports what is missing and how to install it."""

import json
import platform
from pathlib import Path

import pytest

from airtcp import programs
from airtcp.backends import uml
from airtcp.cli import doctor
from airtcp.errors import AirtcpError


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without programs and kernel source, whose cache cannot be used."""
    monkeypatch.setattr(programs, "find", lambda program: None)
    monkeypatch.setattr(doctor, "DEBIAN_TARBALL", tmp_path / "none")
    monkeypatch.setattr(doctor, "_free_mb", lambda directory: 3)
    monkeypatch.setattr(doctor, "can_fix_addresses", lambda: False)
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")


@pytest.mark.usefixtures("bare")
def test_a_missing_program_is_reported_with_its_package() -> None:
    with pytest.raises(
        AirtcpError, match=r"missing: .*hostapd.*apt-get install .*hostapd"
    ) as error:
        doctor.require_programs()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("apt-get", "apt-get install iproute2 iputils-ping"),
        ("dnf", "dnf install iproute-tc iputils"),
        ("pacman", "pacman -S iproute2 iputils"),
        ("none", "apt-get install iproute2 iputils-ping"),
    ],
)
def test_packages_have_the_names_of_the_distribution(
    monkeypatch: pytest.MonkeyPatch, manager: str, command: str
) -> None:
    monkeypatch.setattr(programs, "find", lambda program: program if program == manager else None)
    assert programs.install(["iputils-ping", "iproute2", "iproute2"]) == command
    # Only Debian has it.
    assert programs.install(["debhelper"]).split()[-1] == "debhelper"


@pytest.mark.usefixtures("bare")
def test_every_failed_check_has_a_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.main(as_json=True) == 1
    checks = json.loads(capsys.readouterr().out)["checks"]
    missing = {check["name"]: check["remedy"] for check in checks if not check["ok"]}
    assert {
        "processor",
        "hostapd",
        "gcc",
        "kernel source",
        "cache",
        "repeatable runs",
    } <= missing.keys()
    assert all(missing.values())


@pytest.mark.usefixtures("bare")
def test_text_has_a_line_per_check(capsys: pytest.CaptureFixture[str]) -> None:
    doctor.main(as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["NO", "processor", "aarch64;"]
    assert any(line.startswith("NO  hostapd") and "apt-get install" in line for line in lines)


def test_too_little_space_for_guest_memory_is_an_error() -> None:
    with pytest.raises(AirtcpError, match="TMPDIR"):
        uml.memory_dir(1 << 40)


def test_a_missing_optional_program_is_reported_without_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    optional = doctor.Check("dh_builddeb", False, "missing", "apt-get install it", optional=True)
    monkeypatch.setattr(doctor, "checks", lambda: iter([optional]))
    assert doctor.main(as_json=False) == 0
    assert capsys.readouterr().out == "--  dh_builddeb  missing; apt-get install it\n"

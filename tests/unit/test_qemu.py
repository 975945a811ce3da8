# SPDX-License-Identifier: GPL-2.0-only
"""What QEMU is started with, and how it is told when there is none."""

import os
from pathlib import Path

import pytest

from airtcp.backends import qemu
from airtcp.backends.guesttools import GuestTools
from airtcp.errors import AirtcpError, InputError
from airtcp.kernel.image import Kernel

# Prints its arguments, one on each line, as a guest that ends early would its console.
FAKE_QEMU = '#!/bin/sh\nprintf "%s\\n" "$@"\n'


@pytest.fixture
def parts(tmp_path: Path) -> tuple[Kernel, GuestTools, Path]:
    run_dir = tmp_path / "a,b"
    run_dir.mkdir()
    (run_dir / "plan.sh").write_text("true\n")
    return Kernel(tmp_path / "kernel" / "linux", "6.12.1", "0" * 16), GuestTools(tmp_path), run_dir


@pytest.fixture
def fake_qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bin" / "qemu-system-x86_64"
    fake.parent.mkdir()
    fake.write_text(FAKE_QEMU)
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")


def test_missing_qemu_is_one_line_that_names_the_package(
    parts: tuple[Kernel, GuestTools, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AirtcpError, match=r"^qemu-system-x86_64 is missing; .*qemu-system-x86$"):
        qemu.boot(*parts, timeout_wall_s=1)


def test_missing_plan_is_named(parts: tuple[Kernel, GuestTools, Path]) -> None:
    kernel, tools, run_dir = parts
    (run_dir / "plan.sh").unlink()
    with pytest.raises(InputError, match=r"no plan\.sh"):
        qemu.boot(kernel, tools, run_dir, timeout_wall_s=1)


@pytest.mark.usefixtures("fake_qemu")
def test_guest_gets_its_processors_directories_and_parameters(
    parts: tuple[Kernel, GuestTools, Path], tmp_path: Path
) -> None:
    result = qemu.boot(*parts, cpus=3, parameters=["one=1"], timeout_wall_s=30)
    assert result.status == "failed"
    words = result.console.read_text().splitlines()
    assert words[words.index("-smp") + 1] == "3"
    shares = [words[at + 1] for at, word in enumerate(words) if word == "-virtfs"]
    writable = [share for share in shares if not share.endswith(",readonly=on")]
    assert len(shares) == 4
    assert len(writable) == 1
    assert f"path={tmp_path}/a,,b,mount_tag=run," in writable[0]
    options, _, init = words[words.index("-append") + 1].partition(" -- ")
    assert {"panic_on_warn=1", "one=1"} <= set(options.split())
    assert len(options + init) < 2048


@pytest.mark.usefixtures("fake_qemu")
def test_counted_guest_is_translated_and_counts_instructions(
    parts: tuple[Kernel, GuestTools, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qemu, "has_kvm", lambda: True)
    words = qemu.boot(*parts, instructions=True, timeout_wall_s=30).console.read_text().splitlines()
    assert words[words.index("-accel") + 1] == "tcg"
    assert words[words.index("-icount") + 1] == "shift=0,sleep=off"
    assert "-icount" not in qemu.boot(*parts, timeout_wall_s=30).console.read_text()

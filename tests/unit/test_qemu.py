# SPDX-License-Identifier: GPL-2.0-only
"""The arguments of QEMU, and the error if it is missing."""

import os
from pathlib import Path

import pytest
import qemu

from airtcp.backends.guesttools import GuestTools
from airtcp.errors import AirtcpError, InputError
from airtcp.kernel.image import Kernel

# Prints its arguments, one per line, in place of the console of a guest that ends early.
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


def test_error_of_missing_qemu_names_the_package(
    parts: tuple[Kernel, GuestTools, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AirtcpError, match=r"^qemu-system-x86_64 is missing; .*qemu-system-x86$"):
        qemu.boot(*parts, timeout_wall_s=1)


def test_a_missing_plan_is_an_error(parts: tuple[Kernel, GuestTools, Path]) -> None:
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
    argv = result.console.read_text().splitlines()
    assert argv[argv.index("-smp") + 1] == "3"
    shares = [argv[n + 1] for n, argument in enumerate(argv) if argument == "-virtfs"]
    writable = [share for share in shares if not share.endswith(",readonly=on")]
    assert len(shares) == 4
    assert len(writable) == 1
    assert f"path={tmp_path}/a,,b,mount_tag=run," in writable[0]
    options, _, init = argv[argv.index("-append") + 1].partition(" -- ")
    assert {"panic_on_warn=1", "one=1"} <= set(options.split())
    assert len(options + init) < 2048


@pytest.mark.usefixtures("fake_qemu")
def test_a_guest_that_counts_instructions_does_not_use_kvm(
    parts: tuple[Kernel, GuestTools, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qemu, "has_kvm", lambda: True)
    argv = qemu.boot(*parts, instructions=True, timeout_wall_s=30).console.read_text().splitlines()
    assert argv[argv.index("-accel") + 1] == "tcg"
    assert argv[argv.index("-icount") + 1] == "shift=0,sleep=off"
    assert "-icount" not in qemu.boot(*parts, timeout_wall_s=30).console.read_text()


@pytest.mark.usefixtures("fake_qemu")
def test_guest_gets_an_initramfs(parts: tuple[Kernel, GuestTools, Path], tmp_path: Path) -> None:
    archive = tmp_path / "initramfs.cpio"
    with_it = qemu.boot(*parts, initramfs=archive, timeout_wall_s=30).console.read_text()
    assert with_it.splitlines()[-2:] == ["-initrd", str(archive)]
    assert "-initrd" not in qemu.boot(*parts, timeout_wall_s=30).console.read_text()

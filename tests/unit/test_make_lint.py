# SPDX-License-Identifier: GPL-2.0-only
"""`make lint-kernel` uses checkpatch.pl of Debian's Linux 6.12, and fails without it."""

import os
import subprocess
from pathlib import Path

import pytest

from airtcp.paths import REPOSITORY


def lint(cache: Path, tarball: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["make", "-C", str(REPOSITORY), "lint-kernel", f"LINUX={tarball}"],
        env={**os.environ, "AIRTCP_CACHE": str(cache)},
        capture_output=True,
        text=True,
    )


def pack(directory: Path, script: str) -> Path:
    """A tarball of Linux with this checkpatch.pl."""
    scripts = directory / "linux-source-6.12" / "scripts"
    scripts.mkdir(parents=True, exist_ok=True)
    for name in ("const_structs.checkpatch", "spelling.txt"):
        (scripts / name).write_text("")
    (scripts / "checkpatch.pl").write_text(script)
    tarball = directory / "linux.tar"
    subprocess.run(["tar", "-C", directory, "-cf", tarball, scripts.parents[0].name], check=True)
    return tarball


@pytest.mark.parametrize("name", ["cache", "a b"])
def test_lint_uses_the_checkpatch_of_the_kernel_source(tmp_path: Path, name: str) -> None:
    cache = tmp_path / name
    tarball = pack(tmp_path, "print 'checked'; exit 0;")
    done = lint(cache, tarball)
    assert done.returncode == 0, done.stderr
    assert "checked" in done.stdout
    assert lint(cache, pack(tmp_path, "print 'style'; exit 1;")).returncode != 0


def test_lint_fails_without_checkpatch(tmp_path: Path) -> None:
    assert lint(tmp_path / "cache", tmp_path / "none.tar").returncode != 0
    assert lint(tmp_path / "cache", tmp_path / "none.tar").returncode != 0

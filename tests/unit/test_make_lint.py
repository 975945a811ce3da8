# SPDX-License-Identifier: GPL-2.0-only
"""`make lint-kernel` uses checkpatch.pl of Linux 6.12, whatever else has been built."""

import os
import subprocess
from pathlib import Path

from airtcp.paths import REPOSITORY


def add_work_tree(cache: Path, name: str, patchlevel: int, script: str) -> None:
    tree = cache / "kernel" / name / "linux"
    (tree / "scripts").mkdir(parents=True)
    (tree / "Makefile").write_text(f"VERSION = 6\nPATCHLEVEL = {patchlevel}\n")
    (tree / "scripts" / "checkpatch.pl").write_text(script)


def test_checkpatch_is_that_of_the_laboratorys_kernel(tmp_path: Path) -> None:
    add_work_tree(tmp_path, "work-0", 1, "exit 1;")
    add_work_tree(tmp_path, "work-1", 12, "print 'checked'; exit 0;")
    add_work_tree(tmp_path, "work-2", 18, "exit 1;")
    done = subprocess.run(
        ["make", "-C", str(REPOSITORY), "lint-kernel"],
        env={**os.environ, "AIRTCP_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "checked" in done.stdout

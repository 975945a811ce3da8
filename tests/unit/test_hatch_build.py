# SPDX-License-Identifier: GPL-2.0-only
"""The files of the repository in the wheel, of a small copy of the repository."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from airtcp.paths import REPOSITORY

FILES = ("pyproject.toml", "README.md", "LICENSE", ".gitignore", "lab/hatch_build.py")
IN_LAB = ("environment.sh", "hostapd.sh", "packages.txt", "requirements.txt", "setup.sh")
DIRECTORIES = ("experiments", "kernel", "samples/ackpol")
DIRECTORIES_OF_LAB = ("ackhold", "bpf", "guest", "own_policy", "ports")
# Of `make` in the directory of a module.
BUILT = (
    *("sch_ackhold.ko", "sch_ackhold.mod", "sch_ackhold.mod.c", "sch_ackhold.o"),
    *(".sch_ackhold.ko.cmd", "Module.symvers", "modules.order"),
)


def test_the_wheel_has_no_built_modules(tmp_path: Path) -> None:
    tree, prebuilt = tmp_path / "tree", tmp_path / "prebuilt"
    prebuilt.mkdir()
    (prebuilt / "linux").touch()
    for name in (*FILES, *(f"lab/{name}" for name in IN_LAB), "lab/airtcp/__init__.py"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(REPOSITORY / name, tree / name)
    for name in (*DIRECTORIES, *(f"lab/{name}" for name in DIRECTORIES_OF_LAB)):
        (tree / name).mkdir(parents=True)
        (tree / name / "source.c").touch()
    module = tree / "dkms" / "ackhold"
    module.mkdir(parents=True)
    for name in ("Kbuild", "sch_ackhold.c", *BUILT):
        (module / name).touch()
    (module / "header.h").symlink_to("../../kernel/source.c")
    subprocess.run(
        [sys.executable, "-P", "-m", "hatchling", "build", "-t", "wheel"],
        cwd=tree,
        env={**os.environ, "AIRTCP_PREBUILT": str(prebuilt)},
        check=True,
        capture_output=True,
    )
    [wheel] = (tree / "dist").iterdir()
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert "airtcp/prebuilt/linux" in names
    packed = {name for name in names if name.startswith("airtcp/share/dkms/")}
    assert {Path(name).name for name in packed} == {"Kbuild", "header.h", "sch_ackhold.c"}
    assert {f"airtcp/share/{name}" for name in ("LICENSE", "lab/ports/source.c")} <= names

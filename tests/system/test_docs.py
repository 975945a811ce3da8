# SPDX-License-Identifier: GPL-2.0-only
"""Runs every command in the documentation, page by page, in a copy of the repository."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from airtcp.kernel.image import Kernel

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

# The commands of README.md are part of `make test`, those of other pages of `make test-all`.
QUICK = {"README.md"}
# `make test` contains this test; `make lint` does not test behaviour.
SKIPPED = {"make test", "make lint"}


def _ignored(directory: str, names: list[str]) -> set[str]:
    """Files that a clone does not have; `results` only at the root: it is also a package."""
    ignored = shutil.ignore_patterns(".git", ".*_cache", "__pycache__")(directory, names)
    return ignored | ({"results"} & set(names) if Path(directory) == ROOT else set())


def commands(page: Path) -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.M | re.S)
    lines = "".join(blocks).replace("\\\n", "").splitlines()
    return [line for line in lines if line not in SKIPPED]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("docs") / "airtcp"
    shutil.copytree(ROOT, target, ignore=_ignored)
    return target


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[] if page.name in QUICK else pytest.mark.slow)
        for page in PAGES
        if commands(page)
    ],
)
def test_every_command_works(lab_kernel: Kernel, copy: Path, page: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    for command in commands(page):
        done = subprocess.run(
            command, shell=True, cwd=copy, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert done.stdout.strip(), command

# SPDX-License-Identifier: GPL-2.0-only
"""Write a topic of kernel/patches as a series of patches that can be posted.

Each patch brings the whole files that kernel/patches/series names beside it.
The same input gives the same bytes.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from airtcp.errors import AirtcpError, InputError
from airtcp.linux.source import (
    OVERLAY,
    POSTED,
    find_source,
    patched_files,
    read_changes,
    read_series,
    version_of_tree,
)

_IDENTITY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in {
        "NAME": "airtcp",
        "EMAIL": "airtcp@localhost",
        "DATE": "2025-01-01T00:00:00+0000",
    }.items()
}


def write(
    directory: Path, source: Path | None = None, overlay: Path = OVERLAY, topic: str = "tcp"
) -> list[Path]:
    """Write directory/NNNN-*.patch, as git format-patch does, and return their paths.

    0000 is the cover letter. topic: one of source.POSTED; its patches apply to Linux with the
    topics before it. source: the Linux 6.12.y tree or tarball, else Debian's. InputError for a
    directory that is not empty, and when some whole file belongs to no patch.
    """
    if directory.exists() and not (directory.is_dir() and not any(directory.iterdir())):
        raise InputError(f"{directory} is there already; a new or an empty directory is allowed")
    if not shutil.which("git"):
        raise AirtcpError("git is missing: install it with: apt-get install git")
    changes = read_changes(POSTED[: POSTED.index(topic) + 1], overlay)
    steps = [step for step in read_series(overlay) if step.patch in changes.patches]
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "linux"
        touched = {name for patch in changes.patches for name in patched_files(patch)}
        extract(find_source(source), ["Makefile", *sorted(touched)], tree)
        cover = (overlay / "patches" / topic / "cover-letter.txt").read_text()
        git(tree, "init", "--quiet", "--initial-branch=series")
        git(tree, "config", "branch.series.description", cover)
        git(tree, "add", "--all")
        git(tree, "commit", "--quiet", "--message", f"Linux {version_of_tree(tree)}")
        git(tree, "tag", "base")
        for step in steps:
            git(tree, "am", "--quiet", str(step.patch))
            for name in step.files:
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(overlay / name, tree / name)
            git(tree, "add", "--all")
            date = f"--date={_IDENTITY['GIT_AUTHOR_DATE']}"
            git(tree, "commit", "--quiet", "--amend", "--no-edit", date)
            if step.patch.parent.name != topic:
                git(tree, "tag", "--force", "base")
        patches = Path(scratch) / "patches"
        git(
            tree,
            *("-c", "core.abbrev=12", "format-patch", "--quiet", f"--output-directory={patches}"),
            *("--subject-prefix=PATCH net-next", "--numbered", "--no-signature", "--zero-commit"),
            *("--cover-letter", "--cover-from-description=subject", "base"),
        )
        directory.mkdir(parents=True, exist_ok=True)
        return [Path(shutil.copy(path, directory)) for path in sorted(patches.iterdir())]


def extract(source: Path, names: Iterable[str], tree: Path) -> None:
    """Copy some files of a Linux tree or tarball. AirtcpError when one is not there."""
    tree.mkdir()
    if source.is_dir():
        command = ["cp", "--parents", "-t", str(tree), *names]
    else:
        command = ["tar", "-C", str(tree), "--strip-components=1", "-xf", str(source)]
        command += ["--occurrence=1", "--wildcards", "--no-wildcards-match-slash"]
        command += [f"*/{name}" for name in names]
    done = subprocess.run(
        command, cwd=source if source.is_dir() else None, capture_output=True, text=True
    )
    if done.returncode:
        said = done.stderr.splitlines() or ["no message"]
        raise AirtcpError(f"cannot read {source}: {said[0]}")


def git(tree: Path, *arguments: str) -> str:
    """Run git, untouched by its user's settings, and return what it prints."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment |= _IDENTITY
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    done = subprocess.run(
        ["git", *arguments], cwd=tree, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        lines = (done.stderr + done.stdout).splitlines()
        said = next((line for line in lines if line.startswith("error:")), " ".join(lines[:1]))
        raise AirtcpError(f"git {' '.join(arguments)}: {said}")
    return done.stdout

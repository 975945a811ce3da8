# SPDX-License-Identifier: GPL-2.0-only
"""Write a topic of kernel/patches as a patch series for posting.

Each patch includes the whole files that kernel/patches/series lists on its line. The same input
gives the same bytes.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from airtcp import interrupts, programs
from airtcp.cache import require_writable
from airtcp.errors import AirtcpError, InputError
from airtcp.kernel.source import (
    OVERLAY,
    POSTED,
    TOPICS,
    Say,
    Step,
    files_of_linux,
    find_series_source,
    read_changes,
    version_of_tree,
)

# The sender in kernel/patches, to be replaced.
PLACEHOLDER = "airtcp <airtcp@localhost>"
_AUTHOR = re.compile(r"([^<>\s](?:[^<>\n]*[^<>\s])?) <([^<>@\s]+@[^<>@\s]+)>")
_DATE = "2025-01-01T00:00:00+0000"


def write(
    directory: Path,
    source: Path | None = None,
    overlay: Path = OVERLAY,
    *,
    topic: str = "postable",
    author: str = PLACEHOLDER,
    say: Say = lambda _: None,
) -> list[Path]:
    """Write directory/NNNN-*.patch like git format-patch, and return their paths.

    0000 is the cover letter. topic: one of source.POSTED; its patches apply to Linux with the
    topics that it needs. source: the Linux 6.12.y tree or tarball, else Debian's. author: replaces
    PLACEHOLDER in From, Signed-off-by and MAINTAINERS. Raises InputError if the directory is not
    empty, if the topic is not for posting or has no patch, and for the reasons of
    source.read_series().
    """
    if not _AUTHOR.fullmatch(author):
        raise InputError(f"--author {author!r}: expected 'Name <name@example.org>'")
    if topic not in POSTED:
        reason = "is not for posting" if topic in TOPICS else "does not exist"
        raise InputError(f"--topic {topic} {reason}; allowed: {', '.join(POSTED)}")
    require_empty(directory)
    if not shutil.which("git"):
        raise AirtcpError(f"git is missing; install it with: {programs.install(['git'])}")
    changes = read_changes([topic], overlay)
    if topic not in {step.topic for step in changes}:
        raise InputError(f"{overlay / 'patches' / 'series'}: no patch of the topic {topic}")
    run, linux = partial(git, author=author), find_series_source(source, "a series")
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "linux"
        say(f"reading {linux}")
        extract(linux, ["Makefile", *sorted(files_of_linux(changes))], tree)
        cover = (overlay / "patches" / topic / "cover-letter.txt").read_text()
        run(tree, "init", "--quiet", "--initial-branch=series")
        run(tree, "config", "branch.series.description", cover)
        run(tree, "add", "--all")
        run(tree, "commit", "--quiet", "--message", f"Linux {version_of_tree(tree)}")
        run(tree, "tag", "base")
        for step in changes:
            _commit(step, tree, run, author)
            if step.topic != topic:
                run(tree, "tag", "--force", "base")
        patches = Path(scratch) / "patches"
        run(
            tree,
            *("-c", "core.abbrev=12", "format-patch", "--quiet", f"--output-directory={patches}"),
            *("--subject-prefix=PATCH net-next", "--numbered", "--no-signature", "--zero-commit"),
            *("--cover-letter", "--cover-from-description=subject", "base"),
        )
        with interrupts.deferred():
            directory.mkdir(parents=True, exist_ok=True)
            return [Path(shutil.copy(path, directory)) for path in sorted(patches.iterdir())]


def _commit(step: Step, tree: Path, run: Callable[..., str], author: str) -> None:
    """Commit a patch with its whole files."""
    mail = tree.parent / step.topic / step.patch.name
    mail.parent.mkdir(exist_ok=True)
    mail.write_bytes(step.patch.read_bytes().replace(PLACEHOLDER.encode(), author.encode()))
    run(tree, "am", "--quiet", f"../{step.topic}/{step.patch.name}")
    for name, path in step.files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, tree / name)
    run(tree, "add", "--all")
    run(tree, "commit", "--quiet", "--amend", "--no-edit", f"--date={_DATE}")


def require_empty(directory: Path) -> None:
    """Raise InputError unless the path is that of a new or empty directory that is writable."""
    if directory.exists() and not (directory.is_dir() and not any(directory.iterdir())):
        raise InputError(f"{directory} already exists; give a new or empty directory")
    require_writable(directory)


def extract(source: Path, names: Iterable[str], tree: Path) -> None:
    """Copy files from a Linux tree or tarball. Raises AirtcpError if one is missing."""
    tree.mkdir()
    if source.is_dir():
        command = ["cp", "--parents", "-t", str(tree), *names]
    else:
        command = ["tar", "-C", str(tree), "--strip-components=1", "-xf", str(source)]
        command += ["--occurrence=1", "--wildcards", "--no-wildcards-match-slash"]
        command += [f"*/{name}" for name in names]
    cwd = source if source.is_dir() else None
    programs.run(command, f"cannot read {source}", cwd=cwd, signs=("No space left", "Cannot"))


def git(tree: Path, *arguments: str, author: str = PLACEHOLDER) -> str:
    """Run git without the user's settings and return its output."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    name, _, mail = author.removesuffix(">").partition(" <")
    for role in ("AUTHOR", "COMMITTER"):
        identity = {"NAME": name, "EMAIL": mail, "DATE": _DATE}
        environment |= {f"GIT_{role}_{part}": value for part, value in identity.items()}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    failure = f"git {' '.join(arguments)}"
    return programs.run(
        ["git", *arguments], failure, cwd=tree, environment=environment, signs=("error:",)
    )

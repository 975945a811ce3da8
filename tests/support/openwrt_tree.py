# SPDX-License-Identifier: GPL-2.0-only
"""Applies patches as OpenWrt does, to a base that may have some of them already."""

import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_PATCH = ("patch", "-p1", "--force", "--remove-empty-files", "--no-backup-if-mismatch", "--silent")


@dataclass
class Outcome:
    """Names of patches by what became of them; of conflicts also the files."""

    applied: list[str] = field(default_factory=list)
    in_base: list[str] = field(default_factory=list)
    conflicts: dict[str, list[str]] = field(default_factory=dict)

    def __str__(self) -> str:
        return (
            f"{len(self.applied)} patches apply, {len(self.in_base)} only in part or not, because "
            f"the base has the rest; conflicts: {self.conflicts or 'none'}"
        )


def touched(patch: Path) -> set[str]:
    """Files before and after the patch."""
    text = patch.read_text(errors="replace")
    return set(re.findall(r"^(?:---|\+\+\+) [^/\s]+/(\S+)", text, re.M)) - {"dev/null", "null"}


def apply(tree: Path, patches: Iterable[Path], within: tuple[str, ...] = ("",)) -> Outcome:
    """Apply each patch, or of one that does not apply the files that do.

    A file that it does not apply to is a conflict, unless the base has all of its changes.
    within: beginnings of the paths in the tree; other files of patches are ignored.
    """
    outcome = Outcome()
    for patch in patches:
        content = patch.read_bytes()
        kept = [part for name, part in _files(content) if name.startswith(within)]
        if len(kept) < len(_files(content)):
            content = b"".join(kept)
        if _patch(tree, content, "--dry-run"):
            _patch(tree, content)
            outcome.applied.append(patch.name)
            continue
        outcome.in_base.append(patch.name)
        for name, part in _files(content):
            if _patch(tree, part, "--dry-run"):
                _patch(tree, part)
            elif not _patch(tree, part, "--dry-run", "--reverse"):
                outcome.conflicts.setdefault(patch.name, []).append(name)
    outcome.in_base = [name for name in outcome.in_base if name not in outcome.conflicts]
    return outcome


def apply_exactly(tree: Path, patches: Iterable[Path]) -> None:
    """Apply patches whose context must match in every line, at any line number."""
    for patch in patches:
        done = subprocess.run(
            [*_PATCH, "--fuzz=0", "-d", tree, "-i", patch], capture_output=True, text=True
        )
        assert done.returncode == 0, f"{patch.name}: {done.stdout}"


def _patch(tree: Path, content: bytes, *options: str) -> bool:
    command: Sequence[str | Path] = [*_PATCH, *options, "-d", tree]
    return subprocess.run(command, input=content, capture_output=True).returncode == 0


def _files(content: bytes) -> list[tuple[str, bytes]]:
    """The parts of a patch, by file."""
    parts = re.split(rb"^(?=--- \S+.*\n\+\+\+ \S)", content, flags=re.M)[1:]
    names = (re.findall(rb"^(?:---|\+\+\+) [^/\s]+/(\S+)", part, re.M)[0] for part in parts)
    return [(name.decode(), part) for name, part in zip(names, parts, strict=True)]

# SPDX-License-Identifier: GPL-2.0-only
"""ACK policies of a user's own, out of the tree: a directory as for `make` of a kernel module.

The laboratory's kernel has no modules, so what the directory's Makefile builds as a module is built
into a kernel of its own, as net/ipv4/own_policy/.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from airtcp.errors import AirtcpError, InputError
from airtcp.kernel import image, policies
from airtcp.kernel.image import Kernel, Say
from airtcp.kernel.source import Changes, Step
from airtcp.paths import REPOSITORY

_PARTS = REPOSITORY / "lab" / "own_policy"
_IN_TREE = "net/ipv4/own_policy"
_SOURCES = (".c", ".h")
# With what it ends, TCP_ACKPOL_NAME_MAX has room for it.
_NAME = re.compile("[a-z0-9][a-z0-9_-]{0,14}")
_ALIAS = re.compile(r'MODULE_ALIAS_TCP_ACKPOL\("([^"]*)"\)')


@dataclass(frozen=True)
class OwnPolicy:
    """A directory, the policies that are in it, and its files by their names in the tree."""

    directory: Path
    names: tuple[str, ...]
    files: dict[str, Path]

    @property
    def changes(self) -> Changes:
        """What is done to Linux for it, after everything else."""
        return (Step(_PARTS / "hook.patch", self.files),)


def read(directory: Path) -> OwnPolicy:
    """What is in a directory. Raises InputError when that is no policy, or one that there is."""
    if not directory.is_dir():
        raise InputError(
            f"--policy {directory}: not a directory; as in samples/ackpol it needs a "
            "Makefile and C files"
        )
    # kbuild, too, prefers a Kbuild.
    makefile = next(
        (one for name in ("Kbuild", "Makefile") if (one := directory / name).is_file()), None
    )
    if makefile is None:
        raise InputError(f"--policy {directory}: no Makefile in it, as samples/ackpol has")
    sources = _sources(directory)
    names: dict[str, Path] = {}
    for path in sources.values():
        for name in _ALIAS.findall(path.read_text(errors="replace")):
            _check(name, path, names)
            names[name] = path
    if not names:
        raise InputError(
            f'--policy {directory}: no policy in it: no C file has MODULE_ALIAS_TCP_ACKPOL("NAME")'
        )
    files = {"Kbuild": _PARTS / "Kbuild", "Makefile": makefile, **sources}
    in_tree = {f"{_IN_TREE}/{name}": path for name, path in files.items()}
    return OwnPolicy(directory, tuple(names), in_tree)


def _sources(directory: Path) -> dict[str, Path]:
    """C files and headers; what `make` left there is none of them."""
    return {
        str(path.relative_to(directory)): path
        for path in sorted(directory.rglob("*"))
        if path.suffix in _SOURCES and path.is_file() and not path.name.endswith(".mod.c")
    }


def _check(name: str, path: Path, others: dict[str, Path]) -> None:
    if name in policies.SHIPPED:
        raise InputError(f"{path}: {name!r} is a policy of the laboratory; give yours another name")
    if name in others:
        raise InputError(f"{path}: {name!r} is in {others[name]} already")
    if not _NAME.fullmatch(name):
        raise InputError(f"{path}: {name!r} is not a name; allowed: up to 15 of a-z 0-9 - _")


def build(own: OwnPolicy | None, source: Path | None, *, say: Say) -> Kernel:
    """The laboratory's kernel with these policies, too; errors name the user's own files."""
    if own is None:
        return image.build(source, say=say)
    try:
        return image.build(source, extra=own.changes, say=say)
    except AirtcpError as error:
        text = re.sub(rf"[./]*{_IN_TREE}/", f"{own.directory}/", str(error))
        raise type(error)(text) from None

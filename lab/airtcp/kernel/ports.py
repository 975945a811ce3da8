# SPDX-License-Identifier: GPL-2.0-only
"""Changes for Linux other than 6.12, from lab/ports: plain kernels, with only those of "lab".

A directory of lab/ports is for its version and later ones, up to the next directory or 6.12.
"""

from dataclasses import dataclass
from pathlib import Path

from airtcp.errors import InputError
from airtcp.kernel.source import (
    OVERLAY,
    SERIES,
    Changes,
    Step,
    numbers_of,
    series_lines,
    series_of,
    whole_files,
)
from airtcp.paths import REPOSITORY

PORTS = REPOSITORY / "lab" / "ports"

TESTED = ("6.1.192", "6.12.117", "7.2.13", "7.3.4")
"""The versions that the laboratory has run."""

_COMMON = "all"


@dataclass(frozen=True)
class Port:
    """Changes to Linux, and Kconfig fragments that are merged after those of the laboratory."""

    changes: Changes
    fragments: tuple[Path, ...]


def has_policies(version: str) -> bool:
    """Whether kernel/ has all changes for this version, not only those for plain kernels."""
    return series_of(version) == SERIES


def remark(version: str) -> str:
    """What to add to the message of a failed build of this version."""
    if any(series_of(version) == series_of(tested) for tested in TESTED):
        return ""
    return f"; Linux {version} is not tested; tested: {', '.join(TESTED)}"


def port_of(version: str, ports: Path = PORTS, overlay: Path = OVERLAY) -> Port | None:
    """The port for a version; None if the changes in kernel/ are used.

    Raises InputError if the version is too old, or if a series names a missing file.
    """
    known = [path.name for path in ports.iterdir() if path.is_dir() and path.name != _COMMON]
    name = max((name for name in (*known, SERIES) if _key(name) <= _key(version)), key=_key)
    if name == SERIES:
        return None
    directory = ports / name
    patches = (directory, ports / _COMMON, overlay / "patches")
    files = (directory, ports / _COMMON, overlay)
    steps = []
    series = directory / "series"
    for number, patch, paths in series_lines(series):
        found = _first(patches, patch, f"{series}:{number}")
        listed: dict[str, Path] = {}
        for path in paths:
            _first(files, path, f"{series}:{number}")
            for root in reversed(files):
                listed |= whole_files(root, path)
        steps.append(Step(found, listed))
    return Port(tuple(steps), (directory / "lab.config",))


def _first(roots: tuple[Path, ...], name: str, where: str) -> Path:
    """The first of roots / name that exists. Raises InputError if none does."""
    for root in roots:
        if (root / name).exists():
            return root / name
    raise InputError(f"{where}: {name} does not exist in {', '.join(map(str, roots))}")


def _key(version: str) -> tuple[int, ...]:
    return numbers_of(series_of(version))

# SPDX-License-Identifier: GPL-2.0-only
"""Copies of the user's files that determine a sweep: they may change, the results stay."""

from collections.abc import Mapping
from pathlib import Path

from airtcp import atomicfile
from airtcp.errors import of_file
from airtcp.kernel.own_policy import OwnPolicy

INPUTS = "inputs"
"""Their directory, in that of the sweep."""


def read(experiment: Path | None, policy: OwnPolicy | None) -> dict[str, bytes]:
    """A YAML file, and the sources of a directory of policies in `policy`, by names of copies.

    Raises AirtcpError if a file cannot be read.
    """
    copies = {experiment.name: experiment} if experiment else {}
    if policy:
        own = [path for path in policy.files.values() if path.is_relative_to(policy.directory)]
        copies |= {f"policy/{path.relative_to(policy.directory)}": path for path in own}
    contents = {}
    for name, path in copies.items():
        try:
            contents[name] = path.read_bytes()
        except OSError as error:
            raise of_file(error, path) from None
    return contents


def keep(out_dir: Path, contents: Mapping[str, bytes]) -> None:
    """Write copies, which replace those of an earlier command. Raises AirtcpError or StopError."""
    directory = out_dir / INPUTS
    try:
        for name, content in contents.items():
            target = directory / name
            target.parent.mkdir(parents=True, exist_ok=True)
            atomicfile.write(target, content)
        for path in sorted(directory.rglob("*"), reverse=True):  # files before their directory
            if not path.is_dir() and str(path.relative_to(directory)) not in contents:
                path.unlink()
            elif path.is_dir() and not any(path.iterdir()):
                path.rmdir()
        if not contents and directory.is_dir():
            directory.rmdir()
    except OSError as error:
        raise of_file(error, directory) from None

# SPDX-License-Identifier: GPL-2.0-only
"""Files and directories that are whole or not there, whatever ends the program or the machine."""

import io
import json
import os
import shutil
import tarfile
from pathlib import Path


def write(path: Path, content: bytes) -> None:
    """Write all or nothing: a reader never sees half a file, not even after a power failure."""
    scratch = path.with_name(f".{path.name}.new")
    try:
        with scratch.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
        _flush(path.parent)
    finally:
        scratch.unlink(missing_ok=True)


def write_json(path: Path, document: object) -> None:
    """The same, of a document."""
    write(path, (json.dumps(document, indent=1) + "\n").encode())


def flush(directory: Path) -> None:
    """Return when the files of a directory are on the disk."""
    for path in directory.iterdir():
        _flush(path)
    _flush(directory)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(directory: Path, mark: str) -> None:
    """Remove a directory, first of all the file that says that it is whole."""
    if not directory.exists():
        return
    (directory / mark).unlink(missing_ok=True)
    _flush(directory)
    shutil.rmtree(directory)


def pack(directory: Path) -> bytes:
    """The files of a directory, for unpack()."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path in sorted(directory.iterdir()):
            archive.add(path, path.name)
    return packed.getvalue()


def unpack(packed: bytes, directory: Path) -> None:
    """Make a directory of what pack() gave; it must not be there, and is filled before it is.

    For one process at a time.
    """
    scratch = directory.with_name(f".{directory.name}.new")
    if scratch.exists():
        shutil.rmtree(scratch)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(scratch, filter="data")
    flush(scratch)
    scratch.rename(directory)
    _flush(directory.parent)

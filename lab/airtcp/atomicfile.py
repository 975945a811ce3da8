# SPDX-License-Identifier: GPL-2.0-only
"""Atomic, fsynced writes of files and directories, and their verification."""

import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from airtcp.errors import NO_SPACE, AirtcpError, reason

CONTENTS = "contents.json"
"""The file of an installed directory that has the hashes of the others."""


def write(path: Path, content: bytes) -> None:
    """Write a file atomically: readers never see part of it, even after a power failure."""
    # Two commands may write the same file at once, such as the report of a directory.
    scratch = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with scratch.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
        _flush(path.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        with suppress(OSError):  # unlink() fails on a read-only file system even without the file
            scratch.unlink(missing_ok=True)


def write_json(path: Path, document: object) -> None:
    """Write a document as JSON, atomically."""
    write(path, (json.dumps(document, indent=1) + "\n").encode())


def flush(directory: Path) -> None:
    """Write a directory and everything in it to the disk (fsync)."""
    for path in (*directory.rglob("*"), directory):
        if not path.is_symlink():
            _flush(path)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(directory: Path, mark: str) -> None:
    """Remove a directory, starting with the file that marks it as complete.

    Raises AirtcpError if it is a file or a symbolic link.
    """
    if directory.is_symlink() or directory.is_file():
        kind = "a symbolic link" if directory.is_symlink() else "a file"
        raise AirtcpError(f"{directory}: is {kind}, not the directory of a run: remove it")
    if not directory.exists():
        return
    (directory / mark).unlink(missing_ok=True)
    _flush(directory)
    shutil.rmtree(directory)


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def install(new: Path, target: Path) -> None:
    """Rename a directory to its final name, after writing it to the disk with hashes of its files.

    Replaces an existing directory on the same file system. For one process at a time.
    """
    files = (path for path in sorted(new.rglob("*")) if path.is_file())
    write_json(new / CONTENTS, {str(path.relative_to(new)): _facts(path) for path in files})
    place(new, target)


def damage(directory: Path) -> str | None:
    """What is wrong with an installed directory, in a few words; None if nothing is."""
    try:
        listed: dict[str, dict[str, Any]] = json.loads((directory / CONTENTS).read_text())
        for name, facts in listed.items():
            path = directory / name
            if not path.is_file():
                return f"{name} is missing"
            if facts != _facts(path):
                return f"{name} has changed"
    except FileNotFoundError:
        return f"{CONTENTS} is missing"
    except (OSError, ValueError, AttributeError):
        return f"{CONTENTS} cannot be read"
    return None


def _facts(path: Path) -> dict[str, Any]:
    return {"sha256": sha256(path), "executable": os.access(path, os.X_OK)}


def place(new: Path, target: Path) -> None:
    """Write a directory to the disk, and give it its name. For one process at a time."""
    flush(new)
    old = target.with_name(f".{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    new.rename(target)
    _flush(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def pack(directory: Path) -> bytes:
    """The files of a directory, for unpack()."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path in sorted(directory.iterdir()):
            archive.add(path, path.name)
    return packed.getvalue()


def unpack(packed: bytes, directory: Path) -> None:
    """Create or replace a directory with the files from pack(), atomically.

    For one process at a time.
    """
    scratch = directory.with_name(f".{directory.name}.new")
    if scratch.exists():
        shutil.rmtree(scratch)
    try:
        extract(packed, scratch)
        place(scratch, directory)
    except OSError:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def extract(packed: bytes, directory: Path) -> None:
    """Extract a tar archive."""
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        # Python 3.11.2, as in Debian 12, has no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(directory)


def no_room(directory: Path) -> str:
    """The system's message if there is no room for a megabyte in a directory; otherwise empty."""
    try:
        with tempfile.TemporaryFile(dir=directory, buffering=0) as probe:
            probe.write(bytes(1 << 20))
            probe.write(b"0")  # a write that does not fit is cut, without an error
    except OSError as error:
        return reason(error) if error.errno in NO_SPACE else ""
    return ""

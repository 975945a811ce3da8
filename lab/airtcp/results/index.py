# SPDX-License-Identifier: GPL-2.0-only
"""An index of verified runs: a directory of 100,000 runs opens without reading all their files.

For each run whose hashes have been verified, a line has its identity, a stamp and its directory.
The stamp is a hash of the identity and of name, type, size, mtime and ctime of all files in the
directory. As long as it is the same, the files are not read again. A damaged line has a stamp that
does not match, so that the run is verified from its files. The line `tables` is for results.json
and results.parquet. The index can be deleted at any time.
"""

import hashlib
import multiprocessing
import os
import signal
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from airtcp import atomicfile
from airtcp.results.record import RUNS

FILE = ".index"

_HEAD = "airtcp index 1"
_TABLES = "tables"
_TABLE_FILES = ("results.json", "results.parquet")

_CHUNK = 500
_WORTH_PROCESSES = 4_000  # number of directories


def stamp(identity: str, directory: Path | str, names: Collection[str] = ()) -> str:
    """Hash of the identity, and of names, sizes and times of these files, or of all.

    Empty if one cannot be found.
    """
    try:
        # Relative to the open directory: twice as fast as with whole paths.
        opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            facts = [_facts(name, opened) for name in sorted(names or os.listdir(opened))]  # noqa: PTH208
        finally:
            os.close(opened)
    except OSError:
        return ""
    return hashlib.sha256(f"{identity} {facts}".encode()).hexdigest()


def _facts(name: str, directory: int) -> tuple[object, ...]:
    stat = os.stat(name, dir_fd=directory, follow_symlinks=False)
    return name, stat.st_mode, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


class Index:
    """The index of a directory of runs. If it cannot be read or written, only time is lost."""

    def __init__(self, out_dir: Path) -> None:
        self._out_dir = out_dir
        self._entries: dict[str, tuple[str, str]] = {}  # identity: stamp, directory
        self._identities: dict[str, str] = {}  # by directory
        self._file: IO[str] | None = None
        self._lines: list[str] = []
        with suppress(OSError):
            self._lines = (out_dir / FILE).read_text(errors="replace").splitlines()
        if self._lines and self._lines[0] == _HEAD:
            for line in self._lines[1:]:
                fields = line.split("\t")
                if len(fields) == 3:
                    self._put(*fields)

    def _put(self, identity: str, recorded: str, directory: str) -> None:
        # The latest run in a directory has replaced the files of earlier ones.
        self._entries.pop(self._identities.get(directory, ""), None)
        self._identities[directory] = identity
        self._entries[identity] = recorded, directory

    @property
    def identities(self) -> Collection[str]:
        """Of the latest run in each directory, whether its files have changed or not."""
        return self._entries.keys()

    def unchanged(self, identities: Iterable[str]) -> set[str]:
        """Those of the runs whose files have been verified and have not changed since."""
        runs = [
            (identity, recorded, f"{self._out_dir}/{RUNS}/{directory}")
            for identity in identities
            for recorded, directory in [self._entries.get(identity, ("", ""))]
            if recorded
        ]
        chunks = [runs[start : start + _CHUNK] for start in range(0, len(runs), _CHUNK)]
        if len(runs) < _WORTH_PROCESSES:
            return {identity for chunk in chunks for identity in _same(chunk)}
        with multiprocessing.get_context("fork").Pool(initializer=_only_sigterm) as pool:
            return {identity for same in pool.imap_unordered(_same, chunks) for identity in same}

    def has_tables(self) -> bool:
        """Whether results.json and results.parquet have not changed since they were written."""
        recorded, _ = self._entries.get(_TABLES, ("", ""))
        return recorded != "" and recorded == stamp(_TABLES, self._out_dir, _TABLE_FILES)

    def add(self, identity: str, directory: Path, recorded: str = "") -> None:
        """Add a run whose files are as its result.json says.

        recorded: its stamp() from before they were verified; default: the present one.
        """
        recorded = recorded or stamp(identity, directory)
        self._append(identity, recorded, str(directory.relative_to(self._out_dir / RUNS)))

    def add_tables(self) -> None:
        """Add results.json and results.parquet, which have just been written."""
        self._append(_TABLES, stamp(_TABLES, self._out_dir, _TABLE_FILES), ".")

    def _append(self, identity: str, recorded: str, directory: str) -> None:
        self._put(identity, recorded, directory)
        with suppress(OSError):
            self._file = self._file or self._opened()
            self._file.write(f"{identity}\t{recorded}\t{directory}\n")
            self._file.flush()

    def _opened(self) -> IO[str]:
        """The file for further lines. It is written again if most of its lines are outdated."""
        path = self._out_dir / FILE
        if self._lines[:1] != [_HEAD] or len(self._lines) > 2 * len(self._entries) + 100:
            lines = [f"{identity}\t{a}\t{b}" for identity, (a, b) in self._entries.items()]
            atomicfile.write(path, "\n".join([_HEAD, *lines, ""]).encode())
        file = path.open("a")
        file.write("\n")  # the last line may be truncated
        return file

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):
            if self._file:
                self._file.close()
        self._file = None


def _same(runs: Sequence[tuple[str, str, str]]) -> list[str]:
    """The identities of the runs whose directories have the recorded stamps."""
    return [
        identity for identity, recorded, directory in runs if stamp(identity, directory) == recorded
    ]


def _only_sigterm() -> None:
    """In a process of a pool: its parent handles Ctrl-C, and ends it by SIGTERM."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

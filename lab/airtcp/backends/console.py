# SPDX-License-Identifier: GPL-2.0-only
"""The file of a guest's console: bounded, and the same wherever the guest's memory is."""

import os
from pathlib import Path

# What is kept: all of one that long, else its end. A run leaves some hundred bytes.
LIMIT_MB = 16
_TAIL_KB = 256


def too_long(console: Path) -> bool:
    """Whether the guest has written more than it may."""
    return console.stat().st_size > LIMIT_MB << 20


def cut(console: Path) -> None:
    """Keep the end alone."""
    with console.open("r+b") as file:
        size = file.seek(-_TAIL_KB << 10, os.SEEK_END)
        tail = file.read()
        file.seek(0)
        file.write(f"airtcp: {size} bytes were here\n".encode() + tail)
        file.truncate()


def beginning(console: Path) -> bytes:
    """What is there before Linux says anything."""
    with console.open("rb") as file:
        return file.read(4096)


def remove_warning(console: Path, directory: Path) -> None:
    """Of User Mode Linux, that its memory is in a directory that is not on a tmpfs."""
    warning = f"Warning: tempdir {directory} is not on tmpfs\n".encode()
    if warning in beginning(console):
        console.write_bytes(console.read_bytes().replace(warning, b"", 1))


def read(console: Path) -> tuple[str, str]:
    """The first line with a panic, empty without; the last line, `nothing` without."""
    panic, last = "", "nothing"
    with console.open(errors="replace") as lines:
        for line in map(str.strip, lines):
            if not panic and "Kernel panic" in line:
                panic = line
            if line and "reboot: Power down" not in line:
                last = line
    return panic, last

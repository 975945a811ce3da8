# SPDX-License-Identifier: GPL-2.0-only
"""A guest's console file: limited in size, and independent of the guest's memory directory."""

import os
import re
from pathlib import Path

FILE = "console.log"
"""The file's name, in the directory of a run."""

# Up to LIMIT_MB are kept, of a longer console only the end. A run writes some hundred bytes.
LIMIT_MB = 16
_TAIL_KB = 256
_LINE_LETTERS = 200

# With the code segment: RIP: 0033:tcp_fixed_ack_delay_us+0x12/0x40
_RIP = re.compile(r"\bRIP: [0-9a-f]+:([\w.]+\+\S+)")


def too_long(console: Path) -> bool:
    """Whether the guest has written more than LIMIT_MB."""
    return console.stat().st_size > LIMIT_MB << 20


def cut(console: Path) -> None:
    """Keep only the end, without an incomplete last line."""
    with console.open("r+b") as file:
        size = file.seek(-_TAIL_KB << 10, os.SEEK_END)
        tail = file.read()
        tail = tail[: tail.rfind(b"\n") + 1] or tail
        file.seek(0)
        file.write(f"airtcp: {size} bytes omitted\n".encode() + tail)
        file.truncate()


def beginning(console: Path) -> bytes:
    """The beginning, which host programs write to before Linux does."""
    with console.open("rb") as file:
        return file.read(4096)


def remove_warning(console: Path, directory: Path) -> None:
    """Remove the warning of User Mode Linux that its memory directory is not on tmpfs."""
    warning = f"Warning: tempdir {directory} is not on tmpfs\n".encode()
    if warning in beginning(console):
        console.write_bytes(console.read_bytes().replace(warning, b"", 1))


def read(console: Path) -> tuple[str, str]:
    """Return the first line with a panic (or empty) and the last line (or `nothing`).

    The panic is followed by the function in which the kernel faulted, if it did.
    """
    panic, function, last = "", "", "nothing"
    with console.open(errors="replace") as lines:
        for line in map(str.strip, lines):
            if not (panic or function) and (found := _RIP.search(line)):
                function = f" in {found[1]}"
            if not panic and "Kernel panic" in line:
                panic = line + function
            if line and "reboot: Power down" not in line:
                last = line
    return _shown(panic), _shown(last)


def warning(console: Path) -> str:
    """The first line of a warning of the kernel (WARN_ON and the like); empty if there is none."""
    with console.open(errors="replace") as lines:
        return _shown(next((line.strip() for line in lines if "WARNING: CPU:" in line), ""))


def _shown(line: str) -> str:
    """A line for a message: shortened, without control characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in line[:_LINE_LETTERS])

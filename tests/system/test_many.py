# SPDX-License-Identifier: GPL-2.0-only
"""many.so runs a program for each line on its standard input."""

import subprocess
from pathlib import Path

import mounts

from airtcp.backends.guesttools import GuestTools

SCRIPT = """\
mount -t tmpfs none /run
mkdir /run/netns
touch /run/netns/node
mount --bind /proc/self/ns/net /run/netns/node
LD_PRELOAD="$1" "$2"
"""


def test_every_line_is_a_run(tools: GuestTools, tmp_path: Path) -> None:
    mounts.require()
    numbers = range(1100)
    lines = "".join(f"node {tmp_path}/{number} run {number}\n" for number in numbers)
    done = subprocess.run(
        ["unshare", "-nm", "sh", "-ec", SCRIPT, "sh", tools.directory / "many.so", "/bin/echo"],
        input=lines,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [(tmp_path / str(number)).read_text() for number in numbers] == [
        f"run {number}\n" for number in numbers
    ]

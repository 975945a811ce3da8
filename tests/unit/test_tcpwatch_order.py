# SPDX-License-Identifier: GPL-2.0-only
"""tcpwatch with messages of sock_diag in an order that is rare on real machines."""

import csv
import subprocess
from pathlib import Path

from airtcp.backends.guesttools import UAPI, compile_program
from airtcp.paths import REPOSITORY

KERNEL = REPOSITORY / "tests" / "guest" / "tcpwatch_netlink.c"


def test_a_connection_that_is_closed_during_a_dump_that_has_it_remains_closed(
    tmp_path: Path,
) -> None:
    program = tmp_path / "tcpwatch"
    compile_program(program, "tcpwatch.c", KERNEL, f"-I{UAPI}")
    done = subprocess.run(
        [program, "10000", tmp_path / "watch.csv"], capture_output=True, text=True, timeout=20
    )
    assert (done.returncode, done.stderr) == (0, "")
    with (tmp_path / "watch.csv").open() as file:
        assert [row["event"] for row in csv.DictReader(file)] == ["sample", "close"]

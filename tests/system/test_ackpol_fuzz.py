# SPDX-License-Identifier: GPL-2.0-only
"""Random sysctls, socket options and segments on a debugging kernel.

AIRTCP_TEST_FUZZ is the number of inputs, by default 100,000; `make fuzz` uses a million. Each guest
has its own seed and gets at most IN_ONE_GUEST inputs.
"""

import os
import re
from pathlib import Path

import pytest
from guests import GUEST, RecordCount, Say, assert_silent, copy_helpers

from airtcp.backends.guesttools import GuestTools, compile_program
from airtcp.backends.uml import boot
from airtcp.kernel import image, policies
from airtcp.paths import REPOSITORY

pytestmark = pytest.mark.slow

PAGES = sorted((REPOSITORY / "kernel/Documentation/networking").glob("tcp_ackpol*.rst"))
SOURCE = GUEST / "ackpol_fuzz.c"
INPUTS = int(os.environ.get("AIRTCP_TEST_FUZZ", "100000"))
IN_ONE_GUEST = 200_000


def documented_bounds() -> dict[str, tuple[int, int]]:
    """Minimum and maximum of each sysctl, from the tables of the documentation."""
    text = "".join(page.read_text() for page in PAGES)
    rows = re.findall(r"^``(tcp_\w+)`` +\S+ +(\d+) to (\d+)\b", text, re.M)
    return {name: (int(low), int(high)) for name, low, high in rows}


def write_bounds(path: Path) -> None:
    """Write the fuzzer's bounds: each documented sysctl with its minimum and maximum."""
    bounds = documented_bounds()
    assert len(bounds) >= 14
    lines = [f"{name} {low} {high}\n" for name, (low, high) in bounds.items()]
    path.write_text("".join(lines))


def guests() -> list[tuple[int, int]]:
    """The seed and the number of inputs of each guest."""
    starts = range(0, INPUTS, IN_ONE_GUEST)
    return [(seed, min(IN_ONE_GUEST, INPUTS - start)) for seed, start in enumerate(starts, 1)]


@pytest.mark.parametrize(("seed", "inputs"), guests(), ids=[f"seed-{seed}" for seed, _ in guests()])
def test_random_inputs_cause_no_kernel_warning(
    tools: GuestTools,
    say: Say,
    tmp_path: Path,
    record_property: RecordCount,
    seed: int,
    inputs: int,
) -> None:
    debug_kernel = image.build(fragments=(*image.FRAGMENTS, "debug"), say=say)
    write_bounds(tmp_path / "bounds")
    copy_helpers(tmp_path)
    compile_program(tmp_path / "fuzz", SOURCE)
    (tmp_path / "plan.sh").write_text(
        "set -e\n. ./helpers.sh\nip link set lo up\n"
        f"timeout 100000 ./fuzz {seed} {inputs} bounds {' '.join(policies.names())} >counts\n"
        ". ./leaks.sh\n"
        "cat /proc/net/netstat >netstat\n"
    )
    limit_s = 120 + inputs / 300
    result = boot(debug_kernel, tools, tmp_path, seed=seed, memory_mb=1024, timeout_wall_s=limit_s)
    console = result.console.read_text(errors="replace")
    assert_silent(result.console)
    assert result.status == "ok", (result.reason, console[-2000:])
    assert (tmp_path / "leaks").read_text() == ""

    counts = dict(line.split() for line in (tmp_path / "counts").read_text().splitlines())
    for key, part in {"sysctls": 16, "options": 16, "segments": 2, "replies": 16}.items():
        assert int(counts[key]) > inputs / part, (key, counts)
    for key in ("sysctls_refused", "options_refused", "connections"):
        assert int(counts[key]) > 0, key
    record_property("inputs", inputs)
    record_property("segments", counts["segments"])
    record_property("connections", counts["connections"])

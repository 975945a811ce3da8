# SPDX-License-Identifier: GPL-2.0-only
"""Shared by tests that boot a guest: cases, scripts, and kernel warnings on a console."""

import csv
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import qemu
from small_experiment import write

from airtcp.backends import shell, uml
from airtcp.backends.guesttools import GuestTools
from airtcp.backends.uml import boot
from airtcp.experiment.experiment import Case, Setting
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.kernel.names import Names
from airtcp.parameters.kernelnames import context
from airtcp.results.record import RunRecord
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one

GUEST = Path(__file__).parents[1] / "guest"

HELPERS = f"""\
{shell.HELPERS}
# wait_until SECONDS WHAT COMMAND...: tries the command every half second.
wait_until() {{
	tries=$(($1 * 2)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || fail "gave up waiting until $what"
		sleep 0.5
	done
}}
"""
"""The helpers of plans, and one of tests."""

# The debug kernel is slow, and slower yet on a busy machine.
TIME_LIMIT_S = 900 if os.environ.get("AIRTCP_TEST_DEBUG") else 120

# KASAN and BUG(), lockdep and RCU, WARN(), UBSAN, debug objects, allocation failures.
SPLAT = re.compile(
    r"BUG:|WARNING:|INFO:|KASAN|UBSAN|ODEBUG|suspicious RCU|unreferenced object|Call Trace"
    r"|kmemleak: .*(?:disabled|new suspected)|turning off the locking|refcount_t|list_(?:add|del)"
)

UDP_METRICS = ("udp_lost_share", "udp_reordered_share", "udp_jitter_ms")
# Prefixes of the metrics of ACK filters, slow processors and captures of the air.
PATH_METRICS = ("acks_filtered", "router_", "host_", "mac_acks", "station_")

Say = Callable[[str], None]
Measure = Callable[..., RunRecord]
RecordCount = Callable[[str, object], None]
"""pytest's record_property: a count, which `make verify` adds up and shows."""


def run_text(text: str, kernel: Kernel, tools: GuestTools, out_dir: Path) -> RunRecord:
    """A successful run of an experiment file with one case."""
    [case] = load(write(out_dir, text)).cases()
    result = run_one(RunRequest.of(kernel, tools, case, 1), out_dir)
    assert result.error is None
    return result


def goodputs_mbps(run_dir: Path) -> list[float]:
    """Goodput in each second of a run with one flow."""
    with (run_dir / "series.csv").open() as file:
        return [float(row["goodput_mbps"]) for row in csv.DictReader(file)]


def thesis_case(*settings: str, own: Names | None = None) -> Case:
    """A case of thesis-lan, for 2 s without captures, with these settings ("name=value")."""
    texts = ("duration=2s", "capture=off", "ack_policy=default", *settings)
    by_name = {text.partition("=")[0]: text for text in texts}
    experiment = load("thesis-lan", context(own))
    [case] = experiment.cases([Setting.parse(text) for text in by_name.values()])
    return case


def copy_helpers(run_dir: Path) -> None:
    """Copy what scripts of tests/guest source: helpers.sh and leaks.sh."""
    (run_dir / "helpers.sh").write_text(HELPERS)
    shutil.copy(GUEST / "leaks.sh", run_dir)


def guest_output(
    script: Path, kernel: Kernel, tools: GuestTools, run_dir: Path, *arguments: str
) -> dict[str, Any]:
    """Run a Python script of tests/guest in a guest; returns the JSON object that it prints."""
    for path in (script, GUEST / "netns.py"):
        shutil.copy(path, run_dir)
    command = " ".join(("python3 -B", script.name, *arguments))
    (run_dir / "plan.sh").write_text(f"ip link set lo up\n{command} >output.json\n")
    result = boot(kernel, tools, run_dir, seed=1, timeout_wall_s=TIME_LIMIT_S)
    assert result.status == "ok", (result.reason, result.console.read_text()[-2000:])
    output: dict[str, Any] = json.loads((run_dir / "output.json").read_text())
    return output


def checked_output(
    program: str,
    kernel: Kernel,
    tools: GuestTools,
    directory: Path,
    *,
    instructions: bool = False,
    timeout_wall_s: float,
) -> dict[str, Any]:
    """Run a Python program of the directory on x86-64 with lockdep and two processors.

    Returns the JSON object that it prints. instructions: as in qemu.boot(). A warning, an oops or a
    stack overflow is a panic.
    """
    (directory / "plan.sh").write_text(
        "ip link set lo up\n"
        f"python3 -B {program} >output.json || exit 1\n"
        "grep debug_locks /proc/lockdep_stats >lockdep\n"
    )
    result = qemu.boot(
        *(kernel, tools, directory),
        cpus=2,
        instructions=instructions,
        timeout_wall_s=timeout_wall_s,
    )
    console = result.console.read_text(errors="replace")
    assert_silent(result.console)
    assert result.status == "ok", (result.reason, console[-3000:])
    # lockdep turns itself off after its first report.
    assert (directory / "lockdep").read_text().split() == ["debug_locks:", "1"]
    output: dict[str, Any] = json.loads((directory / "output.json").read_text())
    return output


def with_kernel_options(*options: str) -> Callable[..., list[str]]:
    """A replacement of uml._command() that adds options to the guest kernel's command line."""
    command = uml._command

    def extended(*arguments: Any) -> list[str]:
        *argv, init, end, option, script = command(*arguments)
        return [*argv, *options, init, end, option, script]

    return extended


def assert_silent(console: Path) -> None:
    """Fail if a debugging kernel reports a problem on the console, and show the report."""
    text = console.read_text(errors="replace")
    if found := SPLAT.search(text):
        raise AssertionError(f"{console}: {text[max(0, found.start() - 1000) :][:20_000]}")


def splats(console: Path) -> list[str]:
    """The lines of a console on which a debugging kernel reports a problem."""
    return [line for line in console.read_text(errors="replace").splitlines() if SPLAT.search(line)]

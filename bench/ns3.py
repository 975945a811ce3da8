# SPDX-License-Identifier: GPL-2.0-only
"""CPU and wall time of thesis-lan's download in the laboratory and in ns-3, on one core.

The two run in turns. Whole processes are measured, including set-up and output: `./airtcp run`, and
ns3-scenario.cc, compiled with Debian's ns-3. SACK is on in both. CPU seconds
include child processes; on a busy machine, wall seconds are less meaningful.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from ns3scenario import COMPILE, arguments, compile_scenario, say, values, version

from airtcp.backends.guesttools import build_tools
from airtcp.errors import AirtcpError
from airtcp.kernel.image import Kernel, build
from airtcp.paths import REPOSITORY

TURNS = 3

_LIKE_NS3 = ("ack_policy=default", "delay=0ms", "sack=on", "capture=off")
# ping and tcpwatch almost off: ns3-scenario has no counterpart to them.
_BARE = ("ping_interval=0ms", "tcp_sample=1s")


@dataclass(frozen=True)
class Row:
    """A comparison: transport, virtual seconds of transfer, more settings of airtcp.

    ns-3 has little set-up, which counts for less in a long transfer. UDP is short because iperf3
    makes a dozen system calls per datagram.
    """

    protocol: str
    seconds: int
    settings: tuple[str, ...] = ()


ROWS = (Row("tcp", 30), Row("tcp", 30, _BARE), Row("tcp", 120, _BARE), Row("udp", 5))


@dataclass(frozen=True)
class Cost:
    """Of a process and its children: goodput in Mbit/s, seconds of the host."""

    goodput_mbps: float
    cpu_s: float
    wall_s: float


def airtcp_goodput_mbps(output: str) -> float:
    """Goodput that `airtcp run` printed for its run. AirtcpError if there is none."""
    found = re.search(r"^\[1/1\] .*: ([0-9.]+) Mbit/s, ", output, re.M)
    if not found:
        raise AirtcpError(f"airtcp printed no goodput: {output.strip() or 'nothing'}")
    return float(found[1])


def timed(command: Sequence[str]) -> tuple[str, float, float]:
    """Output, CPU seconds and wall seconds of a command. AirtcpError if it fails."""
    with tempfile.TemporaryFile("w+") as output:
        began = time.monotonic()
        process = subprocess.Popen(
            command, cwd=REPOSITORY, stdout=output, stderr=subprocess.STDOUT, text=True
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode:
        raise AirtcpError(f"{shlex.join(command)} failed:\n{text}")
    return text, usage.ru_utime + usage.ru_stime, wall_s


def airtcp_command(row: Row, out: Path) -> list[str]:
    argv = ["./airtcp", "run", "thesis-lan", "--out", str(out)]
    settings = (*_LIKE_NS3, f"protocol={row.protocol}", f"duration={row.seconds}s", *row.settings)
    for setting in settings:
        argv += ["--set", setting]
    return argv


def compare(row: Row, core: int, scenario: Path, directory: Path) -> None:
    """Run both in turns and print their costs. AirtcpError if one fails."""
    pin = ["taskset", "-c", str(core)]
    options = {"protocol": row.protocol, "seconds": row.seconds}
    ns3 = [*pin, str(scenario), *arguments(options)]
    print(f"\nns-3:   {shlex.join(ns3)}")
    out = directory / "results"
    airtcp = [*pin, *airtcp_command(row, out)]
    print(f"airtcp: {shlex.join(airtcp)}")
    print(f"{'':16}{'Mbit/s':>8}{'CPU s':>8}{'wall s':>8}{'virtual s per CPU s':>21}{'wall s':>8}")
    costs: dict[str, list[Cost]] = {"ns-3": [], "airtcp": []}
    for turn in range(1, TURNS + 1):
        text, cpu_s, wall_s = timed(ns3)
        costs["ns-3"].append(Cost(values(text)["goodput_mbps"], cpu_s, wall_s))
        # Finished runs would be reused.
        shutil.rmtree(out, ignore_errors=True)
        text, cpu_s, wall_s = timed(airtcp)
        costs["airtcp"].append(Cost(airtcp_goodput_mbps(text), cpu_s, wall_s))
        for name, turns in costs.items():
            print_cost(f"turn {turn} {name}", turns[-1], row.seconds)
    medians = {name: median_cost(turns) for name, turns in costs.items()}
    for name, cost in medians.items():
        print_cost(f"median {name}", cost, row.seconds)
    cpu = medians["ns-3"].cpu_s / medians["airtcp"].cpu_s
    wall = medians["ns-3"].wall_s / medians["airtcp"].wall_s
    print(f"airtcp is {cpu:.2f} times as fast as ns-3 per CPU second, {wall:.2f} per wall second")


def median_cost(costs: Sequence[Cost]) -> Cost:
    """The median of each value."""
    return Cost(
        median(cost.goodput_mbps for cost in costs),
        median(cost.cpu_s for cost in costs),
        median(cost.wall_s for cost in costs),
    )


def print_cost(name: str, cost: Cost, seconds: int) -> None:
    print(
        f"{name:16}{cost.goodput_mbps:8.1f}{cost.cpu_s:8.2f}{cost.wall_s:8.2f}"
        f"{seconds / cost.cpu_s:21.2f}{seconds / cost.wall_s:8.2f}",
        flush=True,
    )


def print_versions(kernel: Kernel) -> None:
    print(f"ns-3:   Debian's libns3-dev {version()}, {' '.join(COMPILE)}")
    print(f"airtcp: Linux {kernel.version}, kernel {kernel.hash}")


def main() -> int:
    try:
        kernel = build(say=say)
        build_tools(say)
        core = min(os.sched_getaffinity(0))
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            scenario = compile_scenario(directory)
            print_versions(kernel)
            for row in ROWS:
                compare(row, core, scenario, directory)
    except AirtcpError as error:
        say(f"bench: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

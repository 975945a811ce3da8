# SPDX-License-Identifier: GPL-2.0-only
"""CPU and wall time of thesis-lan's download in the laboratory and in ns-3, on one core.

The two run in turns. Whole processes are measured, including set-up and output: `./airtcp run`, and
ns3-download.cc, compiled with Debian's ns-3, which this installs. SACK is on in both. CPU seconds
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

from airtcp.backends.guesttools import build_tools
from airtcp.errors import AirtcpError
from airtcp.kernel.image import Kernel, build
from airtcp.paths import REPOSITORY

SOURCE = Path(__file__).with_name("ns3-download.cc")
TURNS = 3

PACKAGES = {
    "g++": "compiles the scenario",
    "libns3-dev": "ns-3: its headers and libraries",
}
_LIBRARIES = ("applications", "core", "internet", "mobility", "network", "point-to-point", "wifi")
_COMPILE = ("g++", "-std=c++17", "-O3", "-Wall", "-Wextra", "-Werror")

_LIKE_NS3 = ("ack_policy=default", "delay=0ms", "sack=on", "capture=off")
# ping and tcpwatch almost off: ns3-download has no counterpart to them.
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


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def versions() -> dict[str, str]:
    """Versions of those PACKAGES that are installed."""
    wanted = ("dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version}\n", *PACKAGES)
    output = subprocess.run(wanted, capture_output=True, text=True).stdout
    # dpkg still lists some removed packages, without a version.
    return dict(re.findall(r"^installed (\S+) (\S+)$", output, re.M))


def install() -> None:
    """Install missing packages, as lab/setup.sh does. AirtcpError if apt fails."""
    missing = [name for name in PACKAGES if name not in versions()]
    if not missing:
        return
    say("bench: these Debian packages are needed and will be installed:")
    for name in missing:
        say(f"  {name:<12}{PACKAGES[name]}")
    root = [] if os.geteuid() == 0 else ["sudo"]
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y"]
    command = [*apt, "--no-install-recommends", "install", *missing]
    # The package lists may be older than the mirror: update them and try again.
    for before in ([], [*apt, "update"]):
        if before:
            subprocess.run(before, stdout=sys.stderr)
        if subprocess.run(command, stdout=sys.stderr).returncode == 0:
            return
    raise AirtcpError(f"apt-get cannot install {' '.join(missing)}: see above")


def compile_scenario(directory: Path) -> Path:
    """Compile ns3-download. AirtcpError with the compiler's messages if that fails."""
    program = directory / SOURCE.stem
    libraries = [f"-lns3-{name}" for name in _LIBRARIES]
    command = [*_COMPILE, "-o", str(program), str(SOURCE), *libraries]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise AirtcpError(f"{SOURCE.name} does not compile:\n{done.stderr}")
    return program


def goodput_mbps(output: str) -> float:
    """Goodput that ns3-download printed. AirtcpError if there is none."""
    found = re.search(r"^goodput_mbps ([0-9.]+(?:e[+-]?\d+)?)$", output, re.M)
    if not found:
        raise AirtcpError(f"ns3-download printed no goodput: {output.strip() or 'nothing'}")
    return float(found[1])


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
    ns3 = [*pin, str(scenario), row.protocol, str(row.seconds)]
    print(f"\nns-3:   {shlex.join(ns3)}")
    out = directory / "results"
    airtcp = [*pin, *airtcp_command(row, out)]
    print(f"airtcp: {shlex.join(airtcp)}")
    print(f"{'':16}{'Mbit/s':>8}{'CPU s':>8}{'wall s':>8}{'virtual s per CPU s':>21}{'wall s':>8}")
    costs: dict[str, list[Cost]] = {"ns-3": [], "airtcp": []}
    for turn in range(1, TURNS + 1):
        text, cpu_s, wall_s = timed(ns3)
        costs["ns-3"].append(Cost(goodput_mbps(text), cpu_s, wall_s))
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
    print(f"ns-3:   Debian's libns3-dev {versions()['libns3-dev']}, {' '.join(_COMPILE)}")
    print(f"airtcp: Linux {kernel.version}, kernel {kernel.hash}")


def main() -> int:
    try:
        install()
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

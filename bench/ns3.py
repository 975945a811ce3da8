# SPDX-License-Identifier: GPL-2.0-only
"""CPU and wall time of the same transfers in the laboratory and in ns-3, on one core.

The two run in turns. Whole processes are measured, including set-up and output: `./airtcp run`, and
ns3-scenario.cc, compiled with Debian's ns-3. SACK is on in both. CPU seconds include child
processes; on a busy machine, wall seconds are less meaningful. Writes docs/reference/bench.md and
docs/images/bench.svg, unless --only selects scenarios.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from statistics import median

from matplotlib.figure import Figure
from ns3scenario import COMPILE, arguments, compile_scenario, values, version

from airtcp.backends.guesttools import build_tools
from airtcp.cli.messages import say
from airtcp.errors import AirtcpError
from airtcp.kernel.image import Kernel, build
from airtcp.paths import REPOSITORY
from airtcp.provenance import cpu_model
from airtcp.report.mpl import save_in_docs, style
from airtcp.report.palette import print_colour

PAGE = REPOSITORY / "docs" / "reference" / "bench.md"
IMAGE = REPOSITORY / "docs" / "images" / "bench.svg"

TURNS = 3

# The radio of ns3-scenario, not the one that is calibrated on hardware.
_RADIO = (
    *("preset=generic", "ampdu_mpdus=64", "ampdu_bytes=65535B", "ampdu_duration=5484us"),
    "txq_limit=8192",
)
_LIKE_NS3 = ("ack_policy=default", "delay=0ms", "sack=on", "capture=off", *_RADIO)
# ping and tcpwatch almost off: ns3-scenario has no counterpart to them.
_BARE = ("ping_interval=0ms", "tcp_sample=1s")
_AC = ("standard=802.11ac", "width=80MHz", "mcs=9", "ampdu_bytes=1048575B")


@dataclass(frozen=True)
class Row:
    """A scenario: name, virtual seconds of transfer, options of ns3-scenario, airtcp's settings.

    at_least: the aim for the ratio of CPU seconds, ns-3's over airtcp's; None: no aim.
    """

    name: str
    seconds: int
    options: Mapping[str, object] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    at_least: float | None = None


def _stations(number: int, seconds: int, at_least: float | None) -> Row:
    options = {"stations": number}
    return Row(f"TCP, {number} stations", seconds, options, (f"stations={number}",), at_least)


ROWS = (
    Row("TCP", 30, at_least=8),
    Row("TCP, no instruments", 120, settings=_BARE, at_least=12),
    _stations(4, 10, None),
    _stations(16, 10, 8),
    _stations(16, 30, 8),
    # After 10 s ns-3.37 aborts: a station associates again ("No BSSID set for the link").
    _stations(64, 5, 8),
    Row("UDP down", 30, {"protocol": "udp"}, ("protocol=udp",), 3),
    Row(
        "UDP up",
        30,
        {"protocol": "udp", "direction": "upload"},
        ("protocol=udp", "direction=upload"),
        3,
    ),
    Row("BBR", 10, {"tcp": "ns3::TcpBbr"}, ("congestion_control=bbr",)),
    # The wire of ns-3 delays both directions.
    Row("50 ms", 30, {"delay_ms": 25}, ("delay=50ms",)),
    Row(
        "802.11ac, 80 MHz",
        10,
        {"standard": "802.11ac", "mode": "VhtMcs9", "width_mhz": 80, "ampdu_octets": 1048575},
        _AC,
        10,
    ),
)


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


def _environment() -> dict[str, str]:
    """Without a setting that makes Python compile airtcp's modules at each start."""
    kept = os.environ.items()
    return {name: value for name, value in kept if name != "PYTHONDONTWRITEBYTECODE"}


def timed(command: Sequence[str]) -> tuple[str, float, float]:
    """Output, CPU seconds and wall seconds of a command. AirtcpError if it fails."""
    with tempfile.TemporaryFile("w+") as output:
        began = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env=_environment(),
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
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
    settings = (*_LIKE_NS3, f"duration={row.seconds}s", *row.settings)
    # The last value of a setting applies.
    for setting in {text.partition("=")[0]: text for text in settings}.values():
        argv += ["--set", setting]
    return argv


@dataclass(frozen=True)
class Outcome:
    """The median costs of a scenario in both."""

    row: Row
    ns3: Cost
    airtcp: Cost

    @property
    def ratio(self) -> float:
        """How many times as fast airtcp is, per CPU second."""
        return self.ns3.cpu_s / self.airtcp.cpu_s


def compare(row: Row, core: int, scenario: Path, directory: Path) -> Outcome:
    """Run both in turns and print their costs. AirtcpError if one fails."""
    pin = ["taskset", "-c", str(core)]
    ns3 = [*pin, str(scenario), *arguments({"seconds": row.seconds, **row.options})]
    print(f"\n{row.name}\nns-3:   {shlex.join(ns3)}")
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
    outcome = Outcome(row, median_cost(costs["ns-3"]), median_cost(costs["airtcp"]))
    print(f"airtcp is {outcome.ratio:.2f} times as fast as ns-3 per CPU second", flush=True)
    return outcome


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


def table(outcomes: Sequence[Outcome]) -> str:
    """A Markdown table with a row for each scenario."""
    lines = [
        "| Scenario | s | Mbit/s: ns-3 | airtcp | CPU s: ns-3 | airtcp | Ratio | Aim |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for outcome in outcomes:
        row, ns3, airtcp = outcome.row, outcome.ns3, outcome.airtcp
        aim = "" if row.at_least is None else f"{row.at_least:g}"
        ratio = f"{outcome.ratio:.1f}"
        missed = row.at_least is not None and outcome.ratio < row.at_least
        lines.append(
            f"| {row.name} | {row.seconds} | {ns3.goodput_mbps:.1f} | {airtcp.goodput_mbps:.1f} "
            f"| {ns3.cpu_s:.1f} | {airtcp.cpu_s:.1f} | {f'**{ratio}**' if missed else ratio} "
            f"| {aim} |"
        )
    return "\n".join([*lines, ""])


def page(outcomes: Sequence[Outcome], kernel: Kernel) -> str:
    """docs/reference/bench.md."""
    load, processor = os.getloadavg()[2], cpu_model() or "unknown processor"
    return f"""\
# Speed compared with ns-3

`make bench` measures this on one processor and writes this page: whole processes, including setup
and output, of both simulators alternately; values are medians of {TURNS}. The ratio is that of CPU
seconds, ns-3's over airtcp's; it is bold if it misses the project's aim (last column).
[Speed](../explanation/speed.md) explains where the time goes.

{date.today().isoformat()}, {processor}; load average of the last 15 minutes: {load:.1f}. ns-3
{version()} (Debian, `{" ".join(COMPILE)}`); Linux {kernel.version}, kernel {kernel.hash}.

![CPU seconds of ns-3 over those of airtcp, by scenario](../images/bench.svg)

{table(outcomes)}"""


def plot(outcomes: Sequence[Outcome], path: Path) -> None:
    """Bars of the ratios, with a mark at each aim."""
    with style():
        figure = Figure(figsize=(6.4, 0.35 * len(outcomes) + 0.8), layout="constrained")
        axes = figure.subplots()
        names = [f"{x.row.name}, {x.row.seconds} s" for x in outcomes]
        axes.barh(names, [outcome.ratio for outcome in outcomes], color=print_colour("policy0"))
        for at, outcome in enumerate(outcomes):
            if outcome.row.at_least is not None:
                axes.plot(
                    [outcome.row.at_least] * 2, [at - 0.4, at + 0.4], color=print_colour("ink")
                )
        axes.axvline(1, color=print_colour("faint"), linewidth=0.8)
        axes.invert_yaxis()
        axes.set_xlabel("CPU seconds of ns-3 / airtcp; black: aim")
        save_in_docs(figure, path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", metavar="TEXT", default="", help="scenarios with this in the name"
    )
    only = parser.parse_args().only
    rows = [row for row in ROWS if only in row.name]
    try:
        kernel = build(say=say)
        build_tools(say)
        core = min(os.sched_getaffinity(0))
        with tempfile.TemporaryDirectory() as name:
            scenario = compile_scenario(Path(name))
            outcomes = [compare(row, core, scenario, Path(name)) for row in rows]
    except AirtcpError as error:
        say(f"bench: {error}")
        return 1
    print(f"\n{table(outcomes)}")
    if not only:
        plot(outcomes, IMAGE)
        PAGE.write_text(page(outcomes, kernel))
    return 0


if __name__ == "__main__":
    sys.exit(main())

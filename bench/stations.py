# SPDX-License-Identifier: GPL-2.0-only
"""Wall time per frame on the air, by number of stations and by rate.

802.11n; each station saturates the uplink. The wall time is that between two files that the guest
creates ten virtual seconds apart during the traffic, without boot and set-up. A power law is fitted
to the wall time per frame over the number of stations: its exponent is 0 if wall time is
proportional to frames on the air. Rates are measured with one station: at lower rates it sends
fewer frames per virtual second, and fewer in an A-MPDU.
"""

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy
from radio import Cell, difference, flow, run

from airtcp.backends.guesttools import GuestTools, build_tools
from airtcp.cli.messages import say
from airtcp.kernel.image import Kernel, build
from airtcp.parameters import Parameters

STATIONS = (1, 2, 4, 8, 16, 32, 64)
SECONDS = 10
HEADER = f"  {'wall s':>6}  {'PPDUs':>8}  {'MPDUs':>8}  {'us per MPDU':>11}"
RADIO: dict[str, str | int] = {
    "standard": "802.11n",
    "width": "40MHz",
    "guard_interval": "400ns",
    "mcs": 5,
    "streams": 2,
}
# MCS 0, 7 and 15 of 802.11n: the MCS of one stream, and the number of streams.
RATES = {"MCS 0": (0, 1), "MCS 7": (7, 1), "MCS 15": (7, 2)}


def cost(
    kernel: Kernel, tools: GuestTools, stations: int, radio: Mapping[str, str | int]
) -> tuple[float, int, int]:
    """Wall seconds, PPDUs and MPDUs in SECONDS of traffic."""
    names = [f"sta{number}" for number in range(stations)]
    cells = [Cell("ap", names, Parameters().replace(radio))]
    script = "".join(flow(cells, name, "ap", SECONDS + 3, 0, 200_000) for name in names)
    script += f"sleep 1\nsample before\n: >began\nsleep {SECONDS}\n: >ended\nsample after\n"
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        run(kernel, tools, directory, cells, script, memory_mb=1024, timeout_wall_s=900)
        began, ended = ((directory / mark).stat().st_mtime for mark in ("began", "ended"))
        nodes = difference(directory / "before", directory / "after").nodes
    ppdus = sum(counters["ppdus"] for counters in nodes.values())
    return ended - began, ppdus, nodes["ap"]["received"]


def row(
    kernel: Kernel, tools: GuestTools, name: str, stations: int, radio: Mapping[str, str | int]
) -> float:
    """Print the cost of a setting, and return its wall seconds per frame."""
    spent_s, ppdus, mpdus = cost(kernel, tools, stations, radio)
    print(
        f"{name:>10}  {spent_s:6.2f}  {ppdus:8}  {mpdus:8}  {1e6 * spent_s / mpdus:11.1f}",
        flush=True,
    )
    return spent_s / (mpdus + ppdus)


def main() -> int:
    kernel, tools = build(say=say), build_tools(say)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(f"{'stations':>10}{HEADER}")
    costs = [row(kernel, tools, str(stations), stations, RADIO) for stations in STATIONS]
    slope, _ = numpy.polyfit(numpy.log(STATIONS), numpy.log(costs), 1)
    print(f"wall time per frame (MPDUs and PPDUs) grows as stations to the power of {slope:.2f}")
    print(f"\n{'rate':>10}{HEADER}")
    for name, (mcs, streams) in RATES.items():
        row(kernel, tools, name, 1, {**RADIO, "mcs": mcs, "streams": streams})
    return 0


if __name__ == "__main__":
    sys.exit(main())

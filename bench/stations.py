# SPDX-License-Identifier: GPL-2.0-only
"""What stations cost: wall time per frame on the air, with a saturating flow for each station.

802.11n, the flows go up. Every number of stations runs for two durations; the difference is the
traffic without boot and set-up. The fit is that of the wall time per frame over the number of
stations: its power is 0 if wall time grows as frames on the air do, and no faster.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy

from airtcp.guesttools import GuestTools, build_tools
from airtcp.kernel import Kernel, build
from airtcp.parameters import Parameters

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests"))
from radio import Cell, flow, read_sample, run  # noqa: E402

STATIONS = (1, 2, 4, 8, 16, 32, 64)
SHORT_S, LONG_S = 1, 31
RADIO = {"standard": "802.11n", "width": "40MHz", "guard_interval": "400ns", "mcs": 5, "streams": 2}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def cost(kernel: Kernel, tools: GuestTools, stations: int, seconds: int) -> tuple[float, int, int]:
    """Wall seconds, PPDUs and MPDUs of a run."""
    names = [f"sta{number}" for number in range(stations)]
    cells = [Cell("ap", names, Parameters().replace(RADIO))]
    script = "".join(flow(cells, name, "ap", seconds, 0, 200_000) for name in names)
    script += f"sleep {seconds + 1}\nsample end\n"
    with tempfile.TemporaryDirectory() as directory:
        began = time.monotonic()
        run(kernel, tools, Path(directory), cells, script, memory_mb=1024, timeout_wall_s=900)
        wall_s = time.monotonic() - began
        nodes = read_sample(Path(directory) / "end").nodes
    ppdus = sum(counters["ppdus"] for counters in nodes.values())
    return wall_s, ppdus, nodes["ap"]["received"]


def main() -> int:
    kernel, tools = build(say=say), build_tools(say)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(f"{'stations':>8}  {'wall s':>6}  {'PPDUs':>8}  {'MPDUs':>8}  {'us per MPDU':>11}")
    rows = []
    for stations in STATIONS:
        short, long = (cost(kernel, tools, stations, seconds) for seconds in (SHORT_S, LONG_S))
        wall_s, ppdus, mpdus = (after - before for before, after in zip(short, long, strict=True))
        rows.append((wall_s, mpdus + ppdus))
        print(
            f"{stations:8}  {wall_s:6.2f}  {ppdus:8}  {mpdus:8}  {1e6 * wall_s / mpdus:11.1f}",
            flush=True,
        )
    costs = numpy.array([wall_s / frames for wall_s, frames in rows])
    slope, _ = numpy.polyfit(numpy.log(STATIONS), numpy.log(costs), 1)
    print(f"wall time per frame (MPDUs and PPDUs) grows as stations to the power of {slope:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: GPL-2.0-only
"""Speed of the laboratory: virtual seconds of transfer per wall second, on one core.

The scenario is thesis-lan's download without delay and without captures. The whole run counts,
including boot and set-up of the network. The rows are measured one after another.
"""

import os
import sys
import tempfile
from pathlib import Path

from airtcp.backends.guesttools import build_tools
from airtcp.cli.messages import say
from airtcp.experiment.experiment import Setting
from airtcp.experiment.reader import load
from airtcp.kernel.image import build
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one

DURATION_S = 30
ROWS = (
    ("ack_policy=default",),
    ("ack_policy=aad",),
    ("ack_policy=default", "iperf3_block=off"),
    ("ack_policy=default", "capture=server,station,air", "capture_duration=unlimited"),
)


def main() -> int:
    kernel, tools = build(say=say), build_tools(say)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    experiment = load("thesis-lan")
    print(f"{'virtual s per wall s':>20}  {'per CPU s':>9}  settings")
    for row in ROWS:
        common = (f"duration={DURATION_S}s", "capture=off")
        settings = {text.partition("=")[0]: text for text in (*common, *row)}
        [case] = experiment.cases([Setting.parse(text) for text in settings.values()])
        with tempfile.TemporaryDirectory() as out:
            result = run_one(RunRequest.of(kernel, tools, case, 1), Path(out))
        if result.error:
            say(f"bench: {result.error}")
            return 1
        wall_s, cpu_s = result.cost.wall_s, result.cost.cpu_s
        print(
            f"{DURATION_S / wall_s:20.1f}  {DURATION_S / cpu_s:9.1f}  {' '.join(row)}", flush=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: GPL-2.0-only
"""MU EDCA timers of access categories other than best effort."""

import re
from pathlib import Path

from radio import CAPTURE, CAPTURE_END, Cell, address, flow, run

from airtcp.backends.guesttools import GuestTools
from airtcp.files import airtrace
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters

BACKGROUND = 0x20
TIMER_S = 255 * 8 * 1.024e-3

CELLS = [
    Cell(
        "ap",
        ["sta"],
        Parameters().replace({"standard": "802.11ax", "ul_ofdma": "on", "mu_edca": "never"}),
    )
]
UPLOAD = flow(CELLS, "sta", "ap", 0.5, BACKGROUND)


def times_ms(ping: Path) -> list[float]:
    return [float(time) for time in re.findall(r" time=([0-9.]+) ms", ping.read_text())]


def test_stations_that_must_not_contend_are_polled(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """They have sent nothing for a second, but their timer for background data runs."""
    ping = f"ping -n -Q {BACKGROUND} -i 0.1 -c 8 {address(0, 0)}"
    script = f"{UPLOAD}sleep 1.6\nnode sta {ping} >ping.txt\n"
    run(lab_kernel, tools, tmp_path, CELLS, script)
    times = times_ms(tmp_path / "ping.txt")
    print(times)
    assert len(times) == 8 and max(times) < 20


def test_a_frame_that_waits_for_the_timer_is_sent_when_it_expires(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """Not in the past, when the medium was idle, too. Without Trigger frames, it has to wait."""
    ping = f"ping -n -Q {BACKGROUND} -c 1 {address(0, 0)}"
    script = f"{CAPTURE}{UPLOAD}sleep 1\nmust airsim radio set 0 ul_ofdma off\n"
    run(lab_kernel, tools, tmp_path, CELLS, f"{script}node sta {ping} >ping.txt\n{CAPTURE_END}")
    [time_ms] = times_ms(tmp_path / "ping.txt")
    *_, request, reply = (
        sent for sent in airtrace.read(tmp_path / "air.pcap") if sent.kind == "data"
    )
    later_ms = (reply.start_ns - request.end_ns) / 1e6
    print(f"ping {time_ms} ms, reply {later_ms} ms after the request")
    assert (request.sender, reply.sender) == (1, 0)
    assert 1000 < time_ms < 1000 * TIMER_S
    assert 0 < later_ms < 5

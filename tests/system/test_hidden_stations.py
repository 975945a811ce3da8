# SPDX-License-Identifier: GPL-2.0-only
"""Positions in the plane determine which stations hear each other."""

from pathlib import Path

from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.experiment import Setting
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one


def test_acks_of_stations_that_do_not_hear_each_other_collide(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """Neighbours in the square are 39.6 m apart, where a signal has -82.6 dBm."""
    collisions = {}
    for threshold in ("-82.5dBm", "-82.7dBm"):
        settings = ("ack_policy=default", "duration=3s", f"cca_threshold={threshold}")
        [case] = load("hidden-stations").cases([Setting.parse(text) for text in settings])
        result = run_one(RunRequest.of(lab_kernel, tools, case, 1), tmp_path / threshold)
        assert result.error is None
        collisions[threshold] = result.values["collisions"]
    print(collisions)
    assert collisions["-82.5dBm"] > 1.5 * collisions["-82.7dBm"] > 0

# SPDX-License-Identifier: GPL-2.0-only
"""What the experiments in samples/ show."""

from pathlib import Path

import pytest

from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.experiment import Setting
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.results.record import RunRecord
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one

SAMPLES = Path(__file__).parents[2] / "samples"


class Sample:
    """Runs a case of an experiment in samples/, for 2 s if it is bulk data."""

    def __init__(self, kernel: Kernel, tools: GuestTools, out_dir: Path) -> None:
        self._kernel = kernel
        self._tools = tools
        self._out_dir = out_dir

    def run(self, name: str, *settings: str) -> RunRecord:
        parsed = [Setting.parse(text) for text in ("duration=2s", *settings)]
        [case] = load(SAMPLES / f"{name}.yaml").cases(parsed)
        return run_one(RunRequest.of(self._kernel, self._tools, case, 1), self._out_dir)


@pytest.fixture
def sample(lab_kernel: Kernel, tools: GuestTools, tmp_path: Path) -> Sample:
    return Sample(lab_kernel, tools, tmp_path)


def test_a_station_with_aad_shares_what_it_saves_with_one_without(sample: Sample) -> None:
    plain, aad = (
        sample.run("aad-fairness", f"ack_policy={policy}", "gro=off", "gso=off", "tso=off")
        for policy in ("default", "aad")
    )
    assert aad.values["goodput_mbps"] > 1.03 * plain.values["goodput_mbps"]
    assert aad.values["goodput_jain"] > 0.99


def test_a_message_in_two_parts_waits_for_a_delayed_ack(sample: Sample) -> None:
    """Each of 50 messages takes 40 ms."""
    delayed, at_once = (
        sample.run("nagle", f"ack_policy={policy}").values["command_time_ms_mean"]
        for policy in ("default", "every")
    )
    assert 0.9 * 50 * 40 < delayed < 1.1 * 50 * 40
    assert at_once < 0.1 * delayed

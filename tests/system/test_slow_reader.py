# SPDX-License-Identifier: GPL-2.0-only
"""A receiving program that reads more slowly than data arrive: TCP's receive window limits."""

import subprocess
from pathlib import Path

import pytest

from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.experiment import Case
from airtcp.files.tcpwatch import read_flows
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one
from airtcp.testbed.default import testbed

CABLE: dict[str, Plain] = {"access": "ethernet", "ethernet_rate": "100Mbit", "duration": "10s"}


@pytest.mark.parametrize("values", [{}, {"direction": "upload", "stations": 2}, {"flows": 2}])
def test_window_closes_and_goodput_is_the_rate_of_the_reader(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, values: dict[str, Plain]
) -> None:
    parameters = Parameters().replace({**CABLE, **values, "read_rate": "20Mbit"})
    result = run_one(RunRequest.of(lab_kernel, tools, Case(values, parameters), 1), tmp_path)
    assert result.error is None
    # Each iperf3 reads at this rate. In the goodput is also what is on its way through the FIFO.
    expected_mbps = 20 * parameters.stations
    assert expected_mbps < result.values["goodput_mbps"] < 1.03 * expected_mbps
    run_dir = (tmp_path / result.artifacts["tcp-server.csv"].path).parent
    built = testbed(parameters)
    for trace in read_flows(run_dir, built.bulk).sent:
        assert trace.final["rwnd_limited_us"] > 8e6
        assert trace.final["retrans"] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "usage: drain BITS_PER_SECOND FIFO"),
        ("0 fifo", "drain: 0: not an integer from 1 to 9223372036854775807"),
        ("many fifo", "drain: many: not an integer"),
    ],
)
def test_invalid_arguments_are_reported(tools: GuestTools, words: str, message: str) -> None:
    done = subprocess.run(
        [tools.directory / "drain", *words.split()], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert message in done.stderr

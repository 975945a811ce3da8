# SPDX-License-Identifier: GPL-2.0-only
"""What the benchmark beside ns-3 reads and counts; ns-3 itself is not needed."""

import sys

import ns3
import pytest

from airtcp.errors import AirtcpError
from airtcp.experiment.experiment import Setting
from airtcp.experiment.reader import load
from airtcp.paths import REPOSITORY


def test_goodput_of_ns3() -> None:
    assert ns3.goodput_mbps("a warning\ngoodput_mbps 179.72\n") == 179.72
    assert ns3.goodput_mbps("goodput_mbps 1.5e-05\n") == 1.5e-05
    with pytest.raises(AirtcpError, match="no goodput: nothing"):
        ns3.goodput_mbps("")


def test_goodput_of_airtcp() -> None:
    line = "[1/1] ack_policy=default delay=0ms seed=1: 175.10 Mbit/s, 13.0 s\n"
    assert ns3.airtcp_goodput_mbps(line) == 175.1
    with pytest.raises(AirtcpError, match=r"no goodput: .*failed"):
        ns3.airtcp_goodput_mbps("[1/1] ack_policy=default delay=0ms seed=1: failed: panic\n")


def test_cost_counts_the_processor_of_children() -> None:
    spin = "import time\nwhile time.process_time() < 0.2: pass"
    output, cpu_s, wall_s = ns3.timed(["sh", "-c", f"echo out; '{sys.executable}' -c '{spin}'"])
    assert output == "out\n"
    assert cpu_s >= 0.2
    assert wall_s > 0


def test_a_command_that_fails_says_what_it_said() -> None:
    with pytest.raises(AirtcpError, match=r"failed:\nno such thing"):
        ns3.timed(["sh", "-c", "echo no such thing >&2; exit 3"])


def test_medians() -> None:
    costs = [ns3.Cost(1.0, 30.0, 5.0), ns3.Cost(3.0, 10.0, 9.0), ns3.Cost(2.0, 20.0, 1.0)]
    assert ns3.middle_cost(costs) == ns3.Cost(2.0, 20.0, 5.0)


@pytest.mark.parametrize("row", ns3.ROWS)
def test_settings_give_one_run_of_the_scenario(row: ns3.Row) -> None:
    words = ns3.ours(row, REPOSITORY)
    settings = [words[n + 1] for n, word in enumerate(words) if word == "--set"]
    [case] = load("thesis-lan").cases([Setting.parse(text) for text in settings])
    parameters = case.parameters
    assert (parameters.protocol, parameters.duration_s) == (row.protocol, row.seconds)
    assert parameters.sack


def test_the_rate_is_that_of_the_experiment() -> None:
    """240 Mbit/s: what ns3-download sends UDP with, and its radios data."""
    [case, *_] = load("thesis-lan").cases([])
    assert case.parameters.radio_rate.bps == 240e6
    assert '"240Mbps"' in ns3.SOURCE.read_text()

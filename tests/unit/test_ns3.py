# SPDX-License-Identifier: GPL-2.0-only
"""The comparison with ns-3: parsed output and measured costs. It does not need ns-3."""

import sys
from pathlib import Path

import ns3
import ns3scenario
import pytest

from airtcp.errors import AirtcpError
from airtcp.experiment.experiment import Setting
from airtcp.experiment.reader import load
from airtcp.paths import REPOSITORY


def test_values_of_ns3() -> None:
    printed = "a warning\ngoodput_mbps 179.72\nppdus 12\nmpdus 1.5e+06\n"
    assert ns3scenario.values(printed) == {"goodput_mbps": 179.72, "ppdus": 12, "mpdus": 1.5e6}
    assert ns3scenario.values("goodput_mbps 1.5e-05\n")["goodput_mbps"] == 1.5e-05
    with pytest.raises(AirtcpError, match="no goodput: nothing"):
        ns3scenario.values("")


def test_arguments_of_ns3() -> None:
    options = {"protocol": "udp", "seconds": 5}
    assert ns3scenario.arguments(options) == ["--protocol=udp", "--seconds=5"]


def test_goodput_of_airtcp() -> None:
    line = "[1/1] ack_policy=default delay=0ms seed=1: 175.10 Mbit/s, 13.0 s\n"
    assert ns3.airtcp_goodput_mbps(line) == 175.1
    with pytest.raises(AirtcpError, match=r"no goodput: .*failed"):
        ns3.airtcp_goodput_mbps("[1/1] ack_policy=default delay=0ms seed=1: failed: panic\n")


def test_cost_includes_children() -> None:
    spin = "import time\nwhile time.process_time() < 0.2: pass"
    output, cpu_s, wall_s = ns3.timed(["sh", "-c", f"echo out; '{sys.executable}' -c '{spin}'"])
    assert output == "out\n"
    assert cpu_s >= 0.2
    assert wall_s > 0


def test_error_of_a_failed_command_has_its_output() -> None:
    with pytest.raises(AirtcpError, match=r"failed:\nno such thing"):
        ns3.timed(["sh", "-c", "echo no such thing >&2; exit 3"])


def test_cost_is_the_median_of_each_value() -> None:
    costs = [ns3.Cost(1.0, 30.0, 5.0), ns3.Cost(3.0, 10.0, 9.0), ns3.Cost(2.0, 20.0, 1.0)]
    assert ns3.median_cost(costs) == ns3.Cost(2.0, 20.0, 5.0)


@pytest.mark.parametrize("row", ns3.ROWS, ids=lambda row: row.name)
def test_settings_give_one_run_of_the_scenario(row: ns3.Row) -> None:
    argv = ns3.airtcp_command(row, REPOSITORY)
    settings = [argv[n + 1] for n, word in enumerate(argv) if word == "--set"]
    [case] = load("thesis-lan").cases([Setting.parse(text) for text in settings])
    parameters = case.parameters
    options = {"protocol": "tcp", "direction": "download", "stations": 1, **row.options}
    assert parameters.duration_s == row.seconds
    assert (parameters.protocol, parameters.direction, parameters.stations) == (
        options["protocol"],
        options["direction"],
        options["stations"],
    )
    # Only airtcp's wire delays a single direction.
    assert 1000 * parameters.delay_s == 2 * float(str(options.get("delay_ms", 0)))
    assert parameters.standard == options.get("standard", "802.11n")
    assert parameters.sack


def outcome(row: ns3.Row, ns3_cpu_s: float, airtcp_cpu_s: float) -> ns3.Outcome:
    return ns3.Outcome(row, ns3.Cost(200, ns3_cpu_s, 1), ns3.Cost(190, airtcp_cpu_s, 1))


def test_a_missed_aim_is_bold(tmp_path: Path) -> None:
    first, second, *_ = ns3.ROWS
    assert (first.at_least, second.at_least) == (8, 12)
    outcomes = [outcome(first, 30, 2), outcome(second, 100, 10)]
    assert ns3.table(outcomes).splitlines()[2:] == [
        "| TCP | 30 | 200.0 | 190.0 | 30.0 | 2.0 | 15.0 | 8 |",
        "| TCP, no instruments | 120 | 200.0 | 190.0 | 100.0 | 10.0 | **10.0** | 12 |",
    ]
    ns3.plot(outcomes, tmp_path / "bench.svg")
    assert "<svg" in (tmp_path / "bench.svg").read_text()


def test_ns3_has_the_experiments_rate() -> None:
    """240 Mbit/s: by default the UDP rate of ns3-scenario, and the data rate of its radios."""
    [case, *_] = load("thesis-lan").cases([])
    assert case.parameters.radio_rate.bps == 240e6
    source = ns3scenario.SOURCE.read_text()
    assert "double udp_mbps = 240;" in source
    assert 'mode = "HtMcs13"' in source

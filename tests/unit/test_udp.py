# SPDX-License-Identifier: GPL-2.0-only
"""Goodput, loss and jitter of UDP, from udpflow's documents."""

import json
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
from fake_run import START_NS, UDP_START_S, write_run, write_udp

from airtcp.errors import AirtcpError
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.results import metrics as run_metrics
from airtcp.results import timeseries
from airtcp.steps.workloads.bulk import jain
from airtcp.testbed.default import testbed
from airtcp.testbed.model import Testbed

UDP = {"udp_lost_share", "udp_reordered_share", "udp_jitter_ms"}


def test_udp_loss_is_computed_over_all_flows(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    write_udp(run, name="-download", packets=100, lost=10)
    write_udp(run, name="-upload", packets=300, lost=10)
    both = Parameters().replace({"protocol": "udp", "direction": "both"})
    metrics = run_metrics.compute(run, testbed(both))
    assert metrics["udp_lost_share"] == 0.05


def test_jitter_of_udp_is_the_mean_of_the_streams(tmp_path: Path) -> None:
    """With five flows, best effort has two and each other class has one."""
    run = write_run(tmp_path / "run")
    for service, jitter_ms in {"BE": 4.0, "BK": 1.0, "CS5": 2.0, "EF": 14.0}.items():
        write_udp(run, name=f"-{service}", packets=100, jitter_ms=jitter_ms)
    marked = Parameters().replace({"protocol": "udp", "dscp": "rrul", "flows": 5})
    assert run_metrics.compute(run, testbed(marked))["udp_jitter_ms"] == 5.0


def test_loss_of_udp_is_null_if_nothing_arrived(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    write_udp(run, packets=0)
    metrics = run_metrics.compute(run, testbed(Parameters(protocol="udp")))
    assert {name for name in UDP if metrics[name] is None} == UDP


def test_udp_flows_that_barely_overlap_are_an_error(tmp_path: Path) -> None:
    """The second could connect only when the first had nearly ended: they did not compete."""
    run = write_run(tmp_path / "run")
    write_udp(run, packets=100)
    two = testbed(Parameters().replace({"protocol": "udp", "stations": 2}))
    write_udp(run, packets=100, name="2", start_s=7.25)
    with pytest.raises(AirtcpError, match=r"the 2 flows overlap for only 2\.8 s of 10 s"):
        run_metrics.compute(run, two)


@pytest.mark.parametrize(
    ("start_s", "first_mbps", "shares_mbps"),
    [
        (4.5, [5] * 4 + [3] * 6, (3, 2)),
        (4.5, [5] * 4 + [6.5] + [1] * 5, (1.5, 2)),
        (0.2, [3] * 10, (3, 2)),
        (0.05, [3] * 10, (1, 1)),
    ],
)
def test_udp_goodput_covers_the_time_when_all_flows_are_active(
    tmp_path: Path, start_s: float, first_mbps: list[float], shares_mbps: tuple[float, float]
) -> None:
    """The senders' documents have 1 Mbit/s for each, which counts if their times hardly differ."""
    run = write_run(tmp_path / "run")
    write_udp(run, packets=100, rates_mbps=first_mbps)
    write_udp(run, packets=100, rates_mbps=[2] * 10, name="2", start_s=start_s)
    two = testbed(Parameters().replace({"protocol": "udp", "stations": 2}))
    metrics = run_metrics.compute(run, two)
    assert metrics["goodput_mbps"] == pytest.approx(sum(shares_mbps))
    assert metrics["goodput_jain"] == pytest.approx(jain(numpy.array(shares_mbps)))


def mixed(run: Path, start_s: float) -> Testbed:
    """A run in which a TCP download of 4 s, 70 Mbit/s at first and then 110, meets a UDP one.

    The UDP download begins start_s after it, and has 1, 2, 3 and 4 Mbit/s in its seconds.
    """
    write_run(run)
    begin_s = START_NS / 1e9 + start_s - UDP_START_S
    write_udp(run, packets=100, rates_mbps=[1, 2, 3, 4], name="2", start_s=begin_s, length_s=4)
    two = testbed(Parameters().replace({"stations": 2, "duration": "4s"}))
    first, second = two.flows
    return replace(two, flows=(first, replace(second, protocol="udp")))


def test_goodput_of_tcp_and_udp_covers_the_time_when_both_are_active(tmp_path: Path) -> None:
    run = tmp_path / "run"
    metrics = run_metrics.compute(run, mixed(run, start_s=1.0))
    shares_mbps = (110, 2)
    assert metrics["goodput_mbps"] == pytest.approx(sum(shares_mbps), rel=0.02)
    assert metrics["goodput_jain"] == pytest.approx(jain(numpy.array(shares_mbps)), rel=0.02)
    assert metrics["flow_jain"] is None


def test_tcp_and_udp_flows_that_barely_overlap_are_an_error(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with pytest.raises(AirtcpError, match=r"the 2 flows overlap for only 0\.\d s of 4 s"):
        run_metrics.compute(run, mixed(run, start_s=3.5))


@pytest.mark.parametrize(
    ("start_s", "receiving_s", "length_s"),
    [(-2.0, 10, 12), (0.0, 10, 12), (5.0, 10, 15), (5.0, 14, 19)],
)
def test_goodput_of_shorter_flows_covers_the_run(
    tmp_path: Path, start_s: float, receiving_s: float, length_s: float
) -> None:
    """A run lasts for its duration, 12 s here, or from the first start to the last end."""
    run = write_run(tmp_path / "run")
    write_udp(run, packets=100)
    write_udp(run, packets=300, name="2", start_s=start_s, length_s=receiving_s)
    two = testbed(Parameters().replace({"protocol": "udp", "stations": 2, "duration": "12s"}))
    first, second = two.flows
    part = replace(two, flows=(first, replace(second, duration_s=10)))
    assert not part.simultaneous
    goodput_mbps = run_metrics.compute(run, part)["goodput_mbps"]
    assert goodput_mbps == pytest.approx(400 * 1250 * 8 / length_s / 1e6)


def test_udp_goodput_is_measured_at_the_receiver(tmp_path: Path) -> None:
    streams = [
        [{"socket": 5, "end": end, "bytes": 125_000 * mbps} for end, mbps in ((1, 8), (2.0, 4))],
        [{"socket": 7, "end": end, "bytes": 125_000 * mbps} for end, mbps in ((1, 1), (2.0, 2))],
    ]
    intervals = [{"streams": list(both)} for both in zip(*streams, strict=True)]
    (tmp_path / "udpflow-server.json").write_text(json.dumps({"intervals": intervals}))
    parameters = Parameters().replace({"protocol": "udp", "flows": 2, "duration": "2s"})
    first, second = timeseries.read(tmp_path, testbed(parameters), 1.0).flows
    assert [*first.goodput_mbps, *second.goodput_mbps] == pytest.approx([8, 4, 1, 2])
    assert (first.number, second.number) == (1, 2)
    assert first.retransmits is None and first.cwnd_segments is None


def test_udp_goodput_uses_the_clock_of_the_guest(tmp_path: Path) -> None:
    """The first datagram arrives after the delay, 2 s here."""
    run = write_run(tmp_path / "run")
    write_udp(run, packets=100, rates_mbps=[8, 4], start_s=START_NS / 1e9 + 2 - UDP_START_S)
    parameters = Parameters().replace({"protocol": "udp", "duration": "3s"})
    over_time = timeseries.read(run, testbed(parameters), 1.0)
    assert list(over_time.flows[0].goodput_mbps) == pytest.approx([0, 0, 8, 4])


def test_goodput_of_udp_begins_when_the_flow_starts(tmp_path: Path) -> None:
    for suffix, seconds in (("", 3), ("2", 2)):
        intervals = [
            {"streams": [{"socket": 5, "end": second, "bytes": 125_000 * second}]}
            for second in range(1, seconds + 1)
        ]
        (tmp_path / f"udpflow-server{suffix}.json").write_text(json.dumps({"intervals": intervals}))
    values: dict[str, Plain] = {"protocol": "udp", "stations": 2, "duration": "3s"}
    parameters = Parameters().replace(values | {"start_interval": "1s"})
    first, second = timeseries.read(tmp_path, testbed(parameters), 1.0).flows
    assert list(first.goodput_mbps) == pytest.approx([1, 2, 3])
    assert list(second.goodput_mbps) == pytest.approx([0, 1, 2])

# SPDX-License-Identifier: GPL-2.0-only
"""Workloads of messages and files: metrics, times compared with packets, determinism."""

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from edits import with_word
from guests import PATH_METRICS, UDP_METRICS, Measure, thesis_case

from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.metrics import METRICS
from airtcp.files import capture
from airtcp.kernel.image import Kernel
from airtcp.kernel.policies import names
from airtcp.results.record import RunRecord
from airtcp.steps.plan import plan
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one

CAPTURES = ("server.pcapng", "station.pcapng", "air.pcapng")
MESSAGES = ("workload=request_response", "exchanges=50", "message=100B")
FILES = ("workload=transfer", "transfers=3", "transfer_size=100000B")
CAPTURED = ("capture=server,station,air", "capture_duration=unlimited")

# The guest's time between a program's reading of the clock and the packet on the wire.
_SYSTEM_CALLS_NS = 20_000


def directory(result: RunRecord, out_dir: Path) -> Path:
    return (out_dir / result.artifacts["exchanges.csv"].path).parent


def times_ns(run_dir: Path) -> list[tuple[int, int]]:
    rows = (run_dir / "exchanges.csv").read_text().splitlines()[1:]
    return [(int(row.split(",")[1]), int(row.split(",")[2])) for row in rows]


@pytest.mark.parametrize("direction", ["download", "upload"])
@pytest.mark.parametrize(
    ("settings", "prefix", "others"),
    [
        (MESSAGES, "request_response_ms", {"completion_time_ms"}),
        (FILES, "completion_time_ms", {"request_response_ms", "tcp_rtt_ms", "cwnd_segments"}),
    ],
)
def test_run_has_every_metric_of_its_workload(
    measure: Measure, settings: tuple[str, ...], prefix: str, others: set[str], direction: str
) -> None:
    result = measure(*settings, f"direction={direction}", "delay=10ms")
    assert result.error is None
    metrics = result.values
    other_metrics = (
        "goodput",
        "flow_jain",
        "airtime_jain",
        "ping_",
        "udp_ping_",
        "page_time_ms",
        "command_",
        *others,
    )
    other_metrics += UDP_METRICS + PATH_METRICS
    missing = METRICS.keys() - metrics
    assert missing == {name for name in METRICS if name.startswith(other_metrics)}
    # The delay of the wire and some of the radio; for a new connection at least twice that.
    min_ms = 10 if prefix == "request_response_ms" else 20
    assert min_ms < metrics[f"{prefix}_p50"] <= metrics[f"{prefix}_p95"]
    assert metrics["retransmits"] == 0


@pytest.mark.parametrize("policy", names())
def test_every_policy_runs_every_workload(measure: Measure, policy: str) -> None:
    """With divack, thousands of ACKs are still queued at the station when the transfer ends."""
    for settings in (MESSAGES, FILES, ("duration=2s", "sack=on")):
        result = measure(*settings, f"ack_policy={policy}")
        assert result.error is None
        assert result.values["acks_per_segment"] > 0


def test_time_of_an_exchange_is_from_request_to_reply(measure: Measure, tmp_path: Path) -> None:
    result = measure(*MESSAGES, *CAPTURED)
    run_dir = directory(result, tmp_path)
    data = [seg for seg in capture.read_tcp(run_dir / "station.pcapng") if seg.payload_bytes]
    assert [segment.payload_bytes for segment in data] == [100] * 100
    exchanges = times_ns(run_dir)
    assert len(exchanges) == 50
    for (start_ns, end_ns), request, reply in zip(exchanges, data[::2], data[1::2], strict=True):
        assert (request.destination, reply.source) == ("10.0.0.1", "10.0.0.1")
        assert 0 <= request.time_ns - start_ns < _SYSTEM_CALLS_NS
        assert 0 <= end_ns - reply.time_ns < _SYSTEM_CALLS_NS
    assert all(before[1] <= after[0] for before, after in pairwise(exchanges))


def test_time_of_a_file_is_from_the_syn_to_its_last_byte(measure: Measure, tmp_path: Path) -> None:
    result = measure(*FILES, *CAPTURED, "nagle=on")
    run_dir = directory(result, tmp_path)
    segments = list(capture.read_tcp(run_dir / "station.pcapng"))
    syns = [x for x in segments if x.flags & capture.TCP_SYN and x.source == "10.0.0.2"]
    exchanges = times_ns(run_dir)
    assert len(exchanges) == len(syns) == 3
    assert len({syn.source_port for syn in syns}) == 3
    for (start_ns, end_ns), syn in zip(exchanges, syns, strict=True):
        data = [
            segment
            for segment in segments
            if segment.source == "10.0.0.1"
            and segment.destination_port == syn.source_port
            and segment.payload_bytes
        ]
        assert sum(segment.payload_bytes for segment in data) == 100_000
        assert 0 <= syn.time_ns - start_ns < _SYSTEM_CALLS_NS
        assert 0 <= end_ns - data[-1].time_ns < _SYSTEM_CALLS_NS


def test_a_file_may_be_larger_than_the_memory_of_the_guest(measure: Measure) -> None:
    result = measure("workload=transfer", "transfers=1", "transfer_size=600MB")
    assert result.error is None
    assert result.values["completion_time_ms_mean"] > 600e6 * 8 / 300e6 * 1e3  # 300 Mbit/s


@pytest.mark.parametrize("settings", [MESSAGES, FILES])
def test_the_same_seed_gives_the_same_bytes(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, settings: tuple[str, ...]
) -> None:
    def measured(name: str, seed: int) -> RunRecord:
        case = thesis_case(*settings, *CAPTURED, "ack_policy=aad")
        result = run_one(RunRequest.of(lab_kernel, tools, case, seed), tmp_path / name)
        assert result.error is None
        return result

    def hashes(result: RunRecord) -> list[str]:
        return [result.artifacts[name].sha256 for name in (*CAPTURES, "exchanges.csv")]

    first, again = measured("a", 1), measured("another-directory", 1)
    assert hashes(first) == hashes(again)
    assert first.metrics == again.metrics
    assert not set(hashes(first)) & set(hashes(measured("a", 2)))


def test_missing_server_is_reported(measure: Measure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "airtcp.sweep.request.plan", lambda *of: with_word(plan(*of), "serve", "swerve")
    )
    error = measure(*MESSAGES).error
    assert error and error.startswith("node station exchange -C cubic -N ask 10.0.0.1 100 100 50")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "usage: "),
        ("serve 64 64", "usage: "),
        ("tell 10.0.0.1 64 64 1", "usage: "),
        ("-x serve 64 64 1", "invalid option"),
        ("serve 0 64 1", "exchange: 0: not an integer from 1 to 1073741824"),
        ("ask 10.0.0 64 64 1", "exchange: 10.0.0: not an IPv4 address"),
        ("fetch 10.0.0.1 64 64 many", "exchange: many: not an integer from 1 to 1000000"),
    ],
)
def test_invalid_arguments_are_reported(tools: GuestTools, words: str, message: str) -> None:
    done = subprocess.run(
        [tools.directory / "exchange", *words.split()], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert message in done.stderr

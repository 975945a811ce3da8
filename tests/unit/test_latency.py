# SPDX-License-Identifier: GPL-2.0-only
"""Latency probes, read from the files of ping and udpecho."""

from pathlib import Path

import numpy
import pytest
from fake_run import write_run

from airtcp.errors import AirtcpError
from airtcp.files.latency import Latency, during_transfer, read_ping, read_udp_ping
from airtcp.parameters import Parameters
from airtcp.results import metrics
from airtcp.testbed.default import testbed


def test_pings_have_the_times_when_they_were_sent(tmp_path: Path) -> None:
    ping = read_ping(write_run(tmp_path / "run"))
    # Replies arrive every 100 ms; each round trip takes 1 ms longer than the previous one.
    assert list(ping.sent_s) == pytest.approx([0, 0.099, 0.198, 0.297, 0.396], abs=1e-6)
    assert list(ping.rtt_ms) == [1, 2, 3, 4, 5]


def write_replies(run_dir: Path, *replies: tuple[int, float, int]) -> Path:
    """Replies of ping: a number, when it was sent, in s, and its round-trip time in ms."""
    run_dir.mkdir()
    lines = [
        f"[{1_700_000_000 + sent_s + ms / 1000:.6f}] 64 bytes: icmp_seq={number} time={ms} ms\n"
        for number, sent_s, ms in replies
    ]
    (run_dir / "ping.txt").write_text("".join(lines))
    return run_dir


def test_lost_pings_are_between_their_neighbours(tmp_path: Path) -> None:
    # The first, the third and the fourth were lost, and the sixth was answered twice.
    run = write_replies(tmp_path / "run", (2, 0.2, 7), (5, 0.8, 8), (6, 1.0, 9), (6, 1.0, 10))
    ping = read_ping(run)
    assert list(ping.sent_s) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0], abs=1e-5)
    assert list(ping.answered.rtt_ms) == [7, 8, 9]
    assert list(numpy.isnan(ping.rtt_ms)) == [True, False, True, True, False, False]


def test_times_of_lost_pings_need_two_replies(tmp_path: Path) -> None:
    two = read_ping(write_replies(tmp_path / "two", (2, 0.2, 7), (4, 0.6, 8)))
    assert list(two.sent_s) == pytest.approx([0, 0.2, 0.4, 0.6], abs=1e-5)
    # The third was sent after 0.3 s, the fifth after 0.7 s: the first two at intervals of 0.2 s.
    late = read_ping(write_replies(tmp_path / "late", (3, 0.3, 7), (5, 0.7, 8)))
    assert list(late.sent_s) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8], abs=1e-5)
    one = read_ping(write_replies(tmp_path / "one", (3, 0.4, 7)))
    assert list(one.sent_s) == [0, 0, 0]


def test_damaged_replies_of_ping_are_left_out(tmp_path: Path) -> None:
    run = write_replies(tmp_path / "run", (1, 0, 7), (2, 1, 8), (3, 2, 9))
    path = run / "ping.txt"
    text = path.read_text().replace("time=8 ms", "time=8.0.1 ms")
    path.write_text(text.replace("02.009000]", "02.00.9000]"))
    assert list(read_ping(run).rtt_ms) == [7]
    path.write_text("[1735689605.6811.4] 64 bytes: icmp_seq=1 time=7 ms\n")
    with pytest.raises(AirtcpError, match="no ping was answered"):
        read_ping(run)


def test_numbers_of_pings_start_again(tmp_path: Path) -> None:
    run = tmp_path / "run"
    write_replies(run, *((number % 65536, number / 1000, 1) for number in range(1, 65601)))
    ping = read_ping(run)
    assert (ping.rtt_ms.size, ping.answered.rtt_ms.size) == (65600, 65600)
    assert ping.sent_s[-1] == pytest.approx(65.599)


def test_pings_before_and_after_the_transfer_are_left_out(tmp_path: Path) -> None:
    ping = read_ping(write_run(tmp_path / "run"))
    without = Parameters().replace({"duration": "1s"})
    assert list(during_transfer(ping, without).rtt_ms) == [1, 2, 3, 4, 5]
    after = without.replace({"baseline": "1s"})
    late = Latency(ping.sent_s * 10, ping.rtt_ms)  # 0 to 4 s
    assert list(during_transfer(late, after).rtt_ms) == [3]


def test_latency_before_and_after_the_transfer_is_null_if_no_ping_was_answered(
    tmp_path: Path,
) -> None:
    """The first ten were lost, and the last ones."""
    run = write_run(tmp_path / "run")
    pings = write_replies(tmp_path / "pings", (11, 2.0, 20), (12, 2.2, 30), (20, 3.8, 40))
    (pings / "ping.txt").replace(run / "ping.txt")
    parameters = Parameters().replace({"duration": "4s", "baseline": "2s"})
    values = metrics.compute(run, testbed(parameters))
    assert (values["ping_idle_ms_p50"], values["ping_rtt_ms_p50"]) == (None, 30)


def test_requests_without_an_answer_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "udp-ping-EF.csv"
    path.write_text("sent_ns,rtt_ns\n1000000000,2500000\n1200000000,\n1400000000,3500000\n")
    probe = read_udp_ping(path)
    assert list(probe.sent_s) == pytest.approx([0, 0.2, 0.4])
    assert numpy.isnan(probe.rtt_ms[1])
    assert list(probe.answered.rtt_ms) == [2.5, 3.5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "No such file"),
        ("", "no header of udpecho"),
        ("sent_ns,rtt_ns\n", "no request"),
        ("sent_ns,rtt_ns\n1,2\n3", ":3: not a row of udpecho, or truncated"),
        ("sent_ns,rtt_ns\n1,2\n3,x\n", ":3: not a row of udpecho"),
        ("sent_ns,rtt_ns\n1,2\n,\n", ":3: not a row of udpecho"),
    ],
)
def test_errors_of_missing_and_truncated_files(
    tmp_path: Path, text: str | None, message: str
) -> None:
    path = tmp_path / "udp-ping-BE.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(AirtcpError, match=message):
        read_udp_ping(path)


def test_within_includes_the_start_but_not_the_end() -> None:
    probe = Latency(numpy.array([0.0, 1.0, 2.0, 3.0]), numpy.array([1.0, numpy.nan, 3.0, 4.0]))
    selected = probe.within(1.0, 3.0)
    assert list(selected.sent_s) == [1, 2]
    assert list(selected.answered.rtt_ms) == [3]
    assert probe.within(-numpy.inf, 1.0).sent_s.size == 1
    assert probe.within(3.0, numpy.inf).sent_s.size == 1

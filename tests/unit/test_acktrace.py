# SPDX-License-Identifier: GPL-2.0-only
"""ACK timers, read from the kernel's trace."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from airtcp.errors import AirtcpError
from airtcp.files.acktrace import Wait, read_waits

EVERYTHING = (0, 10**12)


def decision(at_us: int, reason: str, ato_us: int = 0, segs: int = 1, cookie: str = "1") -> str:
    return (
        f"          <idle>-0       [000] .ns..     {at_us / 1e6:.6f}: "
        "tcp_ackpol_decision: family=2 "
        f"sport=5201 dport=58084 reason={reason} iat_us=-1 ato_us={ato_us} segs={segs} "
        f"rcv_nxt=3829078245 sock_cookie={cookie}"
    )


def ack(at_us: int, segs: int, cookie: str = "1") -> str:
    return (
        f"          iperf3-113     [000] .....     {at_us / 1e6:.6f}: tcp_ackpol_ack: family=2 "
        f"sport=5201 dport=58084 segs={segs} waited_us=0 rcv_nxt=3829078245 sock_cookie={cookie}"
    )


def waits(
    tmp_path: Path, lines: Sequence[str], window_ns: tuple[int, int] = EVERYTHING
) -> list[Wait]:
    path = tmp_path / "ack-trace.txt"
    path.write_text("\n".join(["# tracer: nop", *lines, ""]))
    return list(read_waits(path, *window_ns))


def test_a_timer_runs_from_the_first_delay_until_it_fires(tmp_path: Path) -> None:
    lines = [
        decision(1000, "delayed", 400),
        decision(1100, "delayed", 300, 2),
        decision(1400, "timer", 0, 2),
        ack(1400, 2),
    ]
    assert waits(tmp_path, lines) == [Wait(1_000_000, 1_400_000, 300, 2, True)]
    damaged = [*lines, ack(2000, 1).replace("0.002000", "0.00.2000")]
    assert waits(tmp_path, damaged) == waits(tmp_path, lines)


def test_an_ack_for_another_reason_cancels_the_timer(tmp_path: Path) -> None:
    lines = [
        decision(1000, "delayed", 400),
        decision(1200, "policy", 0, 2),
        ack(1200, 2),
        ack(1300, 0),
        decision(1500, "delayed", 400),
        decision(1900, "timer"),
        ack(1900, 1),
        decision(2000, "delayed", 400),
        ack(2100, 2),
    ]
    assert [(wait.ended_ns, wait.fired) for wait in waits(tmp_path, lines)] == [
        (1_200_000, False),
        (1_900_000, True),
        (2_100_000, False),
    ]


def test_a_wait_that_begins_at_the_end_of_the_window_is_not_in_it(tmp_path: Path) -> None:
    """Although another one, which began earlier, ends later."""
    lines = [
        decision(900, "delayed", 800, cookie="2f"),
        decision(1000, "delayed", 400),
        ack(1300, 1),
        ack(1500, 1, "2f"),
    ]
    assert [wait.armed_ns for wait in waits(tmp_path, lines, (0, 1_000_000))] == [900_000]
    assert len(waits(tmp_path, lines, (1_300_000, 1_400_000))) == 2


def test_a_wait_that_ends_after_the_window_is_in_it(tmp_path: Path) -> None:
    """Although the timer of another socket starts before its end."""
    lines = [
        decision(1000, "delayed", 400),
        decision(1200, "delayed", 400, cookie="2f"),
        ack(1250, 1, "2f"),
        ack(1300, 1),
        decision(1400, "delayed", 400),
    ]
    [wait] = waits(tmp_path, lines, (0, 1_100_000))
    assert (wait.armed_ns, wait.ended_ns) == (1_000_000, 1_300_000)


def test_a_timer_before_the_window_says_nothing_about_later_acks(tmp_path: Path) -> None:
    start_us = 1_000_000
    lines = [
        decision(999, "delayed", 400),  # more than a second before the window
        decision(1400, "timer"),
        ack(1400, 1),
        decision(start_us + 1000, "delayed", 400),
        ack(start_us + 1100, 2),
    ]
    [wait] = waits(tmp_path, lines, (1000 * (start_us + 1000), 10**12))
    assert not wait.fired


def test_each_socket_has_its_own_timer(tmp_path: Path) -> None:
    lines = [
        decision(1000, "delayed", 400),
        decision(1100, "delayed", 400, cookie="2f"),
        ack(1200, 1, "2f"),
        ack(1300, 1),
    ]
    found = waits(tmp_path, lines)
    assert [(wait.armed_ns, wait.ended_ns) for wait in found] == [
        (1_100_000, 1_200_000),
        (1_000_000, 1_300_000),
    ]


def test_timers_outside_the_window_are_left_out(tmp_path: Path) -> None:
    lines = [
        line
        for start in (1000, 2000, 3000)
        for line in (decision(start, "delayed", 400), ack(start + 500, 1))
    ]
    found = waits(tmp_path, lines, (1_600_000, 2_400_000))
    assert [wait.armed_ns for wait in found] == [2_000_000]


def test_error_names_a_missing_trace(tmp_path: Path) -> None:
    with pytest.raises(AirtcpError, match=r"ack-trace\.txt: No such file"):
        list(read_waits(tmp_path / "ack-trace.txt", *EVERYTHING))

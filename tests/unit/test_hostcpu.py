# SPDX-License-Identifier: GPL-2.0-only
"""Guests get a processor each while there are enough."""

import os
import subprocess
import sys

import pytest

from airtcp.backends import hostcpu
from airtcp.backends.hostcpu import reserved

# Not the numbers of real processors, which running guests may have reserved.
ONE = 100_000 + 2 * os.getpid()
TWO = ONE + 1

HOLDER = f"""
import os
os.sched_getaffinity = lambda _pid: {{{ONE}}}
from airtcp.backends.hostcpu import reserved
with reserved() as cpu:
    print(cpu, flush=True)
    input()
"""


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {ONE, TWO})


def test_two_guests_get_different_processors() -> None:
    with reserved() as first, reserved() as second:
        assert {first, second} == {ONE, TWO}


def test_more_guests_than_processors_share_them_evenly() -> None:
    with reserved(), reserved(), reserved() as third, reserved() as fourth:
        assert {third, fourth} == {ONE, TWO}


def test_a_processor_is_released_after_its_guest() -> None:
    with reserved() as kept:
        with reserved() as first:
            pass
        with reserved() as second:
            assert second == first != kept


def test_a_processor_is_released_if_its_guest_fails() -> None:
    with pytest.raises(ZeroDivisionError), reserved() as first:
        raise ZeroDivisionError
    with reserved() as second:
        assert second == first


def test_only_processors_of_this_process_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {TWO})
    with reserved() as first, reserved() as second:
        assert (first, second) == (TWO, TWO)


def test_the_current_processor_is_preferred(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for here in (ONE, TWO):
        monkeypatch.setattr(hostcpu, "_here", lambda here=here: here)
        with reserved() as cpu:
            assert cpu == here


def test_reservations_hold_across_processes_until_these_are_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == f"{ONE}\n".encode()
        with reserved() as first, reserved() as second:
            assert (first, second) == (TWO, ONE)
        process.kill()
        process.wait()
        with reserved() as first, reserved() as second:
            assert {first, second} == {ONE, TWO}

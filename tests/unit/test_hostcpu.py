# SPDX-License-Identifier: GPL-2.0-only
"""Guests have processors of the host to themselves while there are enough."""

import os
import subprocess
import sys

import pytest

from airtcp.backends import hostcpu
from airtcp.backends.hostcpu import reserved

# Numbers that no processor has: guests may be running.
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


def test_two_guests_have_a_processor_each() -> None:
    with reserved() as one, reserved() as another:
        assert {one, another} == {ONE, TWO}


def test_more_guests_than_processors_share_them_evenly() -> None:
    with reserved(), reserved(), reserved() as third, reserved() as fourth:
        assert {third, fourth} == {ONE, TWO}


def test_a_processor_is_free_again_after_its_guest() -> None:
    with reserved() as kept:
        with reserved() as first:
            pass
        with reserved() as second:
            assert second == first != kept


def test_a_processor_is_free_again_when_its_guest_fails() -> None:
    with pytest.raises(ZeroDivisionError), reserved() as first:
        raise ZeroDivisionError
    with reserved() as second:
        assert second == first


def test_only_processors_of_this_process_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {TWO})
    with reserved() as one, reserved() as another:
        assert (one, another) == (TWO, TWO)


def test_the_processor_that_this_process_is_on_comes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for here in (ONE, TWO):
        monkeypatch.setattr(hostcpu, "_here", lambda here=here: here)
        with reserved() as cpu:
            assert cpu == here


def test_other_processes_know_and_one_that_is_killed_lets_go() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == f"{ONE}\n".encode()
        with reserved() as one, reserved() as another:
            assert (one, another) == (TWO, ONE)
        process.kill()
        process.wait()
        with reserved() as one, reserved() as another:
            assert {one, another} == {ONE, TWO}

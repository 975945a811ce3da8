# SPDX-License-Identifier: GPL-2.0-only
"""Ctrl-C again and again: one KeyboardInterrupt, and none where it would lose something."""

import os
import signal
from collections.abc import Iterator

import pytest

from airtcp import interrupts


@pytest.fixture(autouse=True)
def signals_put_back() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # Not as under nohup.
    before = [signal.signal(number, signal.SIG_DFL) for number in numbers]
    interrupts.install()
    yield
    interrupts.install()
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def interrupt(number: signal.Signals = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_only_the_first_is_an_exception(number: signal.Signals) -> None:
    cleaned = False
    with pytest.raises(KeyboardInterrupt):
        try:
            interrupt(number)
        finally:
            for _ in range(4):
                interrupt()
            cleaned = True
    assert cleaned


def test_what_is_held_is_done_to_its_end() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts.held():
        interrupt()
        with interrupts.held():
            interrupt()
        done.append("written")
    assert done == ["written"]


def test_what_is_held_after_an_interrupt_is_no_second_one() -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt()
    with interrupts.held():
        interrupt()


def test_one_that_was_lost_is_found() -> None:
    class Lost:
        def __del__(self) -> None:
            try:
                interrupt()
            except KeyboardInterrupt:
                pass

    interrupts.check()
    Lost()
    with pytest.raises(KeyboardInterrupt):
        interrupts.check()


def test_what_was_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interrupts.install()
    interrupt(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN

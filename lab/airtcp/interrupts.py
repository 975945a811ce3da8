# SPDX-License-Identifier: GPL-2.0-only
"""Ctrl-C, SIGTERM and SIGHUP: one KeyboardInterrupt, however many of them arrive.

A second one must not cut short the clean-up and the writing of results that the first has begun.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

CODE = 130
"""The exit code of an interrupted command."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_wanted = False
_held = 0


def at_start() -> None:
    """Until install(): end at once. An exception in the middle of an import may be anything."""
    _handle(_end_at_start)
    # ./airtcp blocks it while Python starts.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def install() -> None:
    """From here on the first signal raises KeyboardInterrupt, and others do nothing."""
    global _wanted
    _wanted = False
    _handle(_interrupt)


def install_in_child() -> None:
    """In a process that this one has forked, perhaps in held(): of the signals SIGTERM alone.

    Raises KeyboardInterrupt if there has been one since.
    """
    global _held
    _held = 0
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _interrupt)
    check()


def at_end_of_child() -> None:
    """A child that install_in_child() began has answered: a signal changes nothing any more."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def at_end() -> None:
    """Everything has been written: a signal ends the rest at once."""
    _handle(lambda _number, _frame: os._exit(CODE))


def came() -> bool:
    """Whether there has been a signal: libraries in C may turn its exception into one of theirs."""
    return _wanted


def check() -> None:
    """Raise KeyboardInterrupt if a signal came whose exception was lost, as in a destructor."""
    if _wanted:
        raise KeyboardInterrupt


@contextmanager
def held() -> Iterator[None]:
    """Do this to its end; a signal raises KeyboardInterrupt after it."""
    global _held
    before = _wanted
    _held += 1
    try:
        yield
    finally:
        _held -= 1
    if not before and not _held:
        check()


def _handle(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in _SIGNALS:
        # What was started with a signal ignored, as by nohup, goes on ignoring it.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    global _wanted
    first, _wanted = not _wanted, True
    if first and not _held:
        raise KeyboardInterrupt


def _end_at_start(_number: int, _frame: FrameType | None) -> None:
    try:
        os.write(2, b"airtcp: interrupted\n")
    except OSError:
        pass
    os._exit(CODE)

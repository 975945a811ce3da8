# SPDX-License-Identifier: GPL-2.0-only
"""Ctrl-C, SIGTERM and SIGHUP: only the first of them raises KeyboardInterrupt.

A second signal must not abort the clean-up and the writing of results that the first has started.
"""

import atexit
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

CODE = 130
"""The exit code of an interrupted command."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_wanted = False
_deferred = 0


def at_start() -> None:
    """Until install(), exit at once: an import may turn KeyboardInterrupt into any other error."""
    _handle(_end_at_once)
    sys.unraisablehook = _unraisable
    atexit.register(_at_exit)  # before all others, so that it is called after them
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    # Python tests whether it can write to that directory, with a file that must not be left there.
    with suppress(OSError):
        tempfile.gettempdir()
    # ./airtcp blocks SIGINT while Python starts.
    signal.pthread_sigmask(signal.SIG_SETMASK, mask - {signal.SIGINT})


def record(received: list[int]) -> None:
    """From now on the first SIGINT or SIGTERM is appended to the list; a second exits at once."""

    def handle(number: int, frame: FrameType | None) -> None:
        if received:
            _end_at_once(number, frame)
        received.append(number)

    _handle(handle, (signal.SIGINT, signal.SIGTERM))


def install() -> None:
    """From now on the first signal raises KeyboardInterrupt, and later ones are ignored."""
    global _wanted
    _wanted = False
    _handle(_interrupt)


def install_in_child() -> None:
    """Handle only SIGTERM in a forked process, even if it was forked inside deferred().

    Raises KeyboardInterrupt if a signal has arrived since the fork.
    """
    global _deferred
    _deferred = 0
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _interrupt)
    check()


def at_end_of_child() -> None:
    """Ignore SIGTERM in a child process that has delivered its answer."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


@contextmanager
def exits_silently() -> Iterator[None]:
    """End the block silently if a signal interrupts it.

    Libraries such as Pydantic replace KeyboardInterrupt by their own exceptions.
    """
    try:
        yield
    except KeyboardInterrupt:
        pass
    except Exception:
        if not _wanted:
            raise


def at_end() -> None:
    """All results are written: from now on a signal exits at once."""
    _handle(_end_at_once)


def arrived() -> bool:
    """Whether a signal has arrived, even if a library has replaced its KeyboardInterrupt."""
    return _wanted


def check() -> None:
    """Raise KeyboardInterrupt if a signal has arrived; a destructor may have lost its exception."""
    if _wanted:
        raise KeyboardInterrupt


@contextmanager
def deferred() -> Iterator[None]:
    """Complete the block before a signal raises KeyboardInterrupt."""
    global _deferred
    before = _wanted
    _deferred += 1
    try:
        yield
    finally:
        _deferred -= 1
    if not before and not _deferred:
        check()


def _at_exit() -> None:
    """Ignore signals while Python exits: it then restores default actions, without handlers."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    # Otherwise Python may end by SIGINT instead of with the exit code.
    if _wanted:
        os._exit(CODE)


def _handle(
    handler: Callable[[int, FrameType | None], None],
    signals: Sequence[signal.Signals] = _SIGNALS,
) -> None:
    for number in signals:
        # A signal that was ignored at start, for example by nohup, stays ignored.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    global _wanted
    first, _wanted = not _wanted, True
    if first and not _deferred:
        raise KeyboardInterrupt


def _unraisable(lost: "sys.UnraisableHookArgs") -> None:
    """Show what a destructor or callback raised; not KeyboardInterrupt, which check() raises."""
    if not isinstance(lost.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(lost)


def _end_at_once(_number: int, _frame: FrameType | None) -> None:
    try:
        if not _wanted:  # otherwise it has been reported
            os.write(2, b"airtcp: interrupted\n")
    except OSError:
        pass
    os._exit(CODE)

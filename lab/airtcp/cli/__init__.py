# SPDX-License-Identifier: GPL-2.0-only
"""The command line. Exit codes: 0 success, 1 a run or build failed, 2 bad input, 130 Ctrl-C."""

import functools
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from airtcp import interrupts, provenance, streams
from airtcp.cli import parser
from airtcp.cli.messages import say
from airtcp.errors import AirtcpError, InputError, RenamedWarning, of_file


def main(arguments: Sequence[str]) -> int:
    """Execute a command line; return the exit code.

    Each failure and each warning is one line on standard error.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("default", RenamedWarning)
        warnings.showwarning = functools.partial(_show_warning, warnings.showwarning)
        return _main(arguments)


def _show_warning(others: Callable[..., None], message: Warning | str, *where: Any) -> None:
    if isinstance(message, RenamedWarning):
        say(f"warning: {message}")
    else:
        others(message, *where)


def _require_text(arguments: Sequence[str]) -> None:
    """Raise InputError unless all arguments could be decoded; results and reports are UTF-8."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            encoding = sys.getfilesystemencoding().upper()
            raise InputError(
                f"argument {argument!r} is not {encoding}; only {encoding} is allowed, "
                "including in file names"
            ) from None


def _main(arguments: Sequence[str]) -> int:
    try:
        _require_text(arguments)
        try:
            options = parser.build(arguments).parse_args(arguments)
        except SystemExit:  # also raised by --help
            sys.stdout.flush()
            raise
        options.command = provenance.command_line(arguments)
        code: int = options.do(options)
        sys.stdout.flush()
        if not code:  # a command that failed or was interrupted has said so
            interrupts.check()
        return code
    except KeyboardInterrupt:
        return interrupted()
    except OSError as error:
        if error.filename == streams.OUTPUT:
            streams.give_up_output()
            if isinstance(error, BrokenPipeError):  # the reader has closed the pipe
                return 1
        say(f"airtcp: {of_file(error)}")
        return 1
    except MemoryError:
        say("airtcp: not enough memory")
        return 1
    except Exception as error:
        # Libraries such as Pydantic turn the KeyboardInterrupt of Ctrl-C into their own exceptions.
        if interrupts.arrived():
            return interrupted()
        if str(error) == "can't start new thread":  # a RuntimeError of Python
            say(f"airtcp: {error}: too little memory, or too many processes (ulimit -u)")
            return 1
        if not isinstance(error, AirtcpError):
            raise
        say(f"airtcp: {error}")
        return error.exit_code


def interrupted() -> int:
    """Say that the command was interrupted; return its exit code."""
    say("airtcp: interrupted")
    return interrupts.CODE

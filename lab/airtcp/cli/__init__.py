# SPDX-License-Identifier: GPL-2.0-only
"""The command line. Exit codes: 0 success, 1 a run or build failed, 2 bad input, 130 Ctrl-C."""

import shlex
import sys
from collections.abc import Sequence

from airtcp import interrupts, streams
from airtcp.cli import parser
from airtcp.cli.common import say
from airtcp.errors import AirtcpError, reason


def main(arguments: Sequence[str]) -> int:
    """Execute a command line; return the exit code. Each failure is one line on standard error."""
    try:
        try:
            options = parser.build(arguments).parse_args(arguments)
        except SystemExit:  # also raised by --help
            sys.stdout.flush()
            raise
        options.command = "./airtcp " + shlex.join(arguments)
        code: int = options.do(options)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _interrupted()
    except OSError as error:
        if error.filename == streams.OUTPUT:
            streams.give_up_output()
            if isinstance(error, BrokenPipeError):  # the reader has closed the pipe
                return 1
        where = f"{error.filename}: " if error.filename else ""
        say(f"airtcp: {where}{reason(error)}")
        return 1
    except Exception as error:
        # Libraries such as Pydantic turn the KeyboardInterrupt of Ctrl-C into their own exceptions.
        if interrupts.came():
            return _interrupted()
        if not isinstance(error, AirtcpError):
            raise
        say(f"airtcp: {error}")
        return error.exit_code


def _interrupted() -> int:
    say("airtcp: interrupted")
    return interrupts.CODE

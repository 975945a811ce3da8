# SPDX-License-Identifier: GPL-2.0-only
"""How airtcp fails; the command line turns each into one line and an exit code."""


class AirtcpError(Exception):
    """A run, a build or a tool failed. The message is one line: what, where, what to do."""

    exit_code = 1


class InputError(AirtcpError):
    """What the user gave is wrong. The message is one line: what, where, what is allowed."""

    exit_code = 2

# SPDX-License-Identifier: GPL-2.0-only
"""`--` in command lines: the first one ends the options, all others are arguments."""

import shlex

import pytest

from airtcp.cli import parser


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("-- grep -- -x", ["grep", "--", "-x"]),
        ("-- sh -c 'echo $1' -- a --", ["sh", "-c", "echo $1", "--", "a", "--"]),
        ("-- --", ["--"]),
        ("echo -- -n --", ["echo", "-n", "--"]),
        ("true", ["true"]),
    ],
)
def test_exec_passes_later_dashes_to_the_command(command: str, argv: list[str]) -> None:
    arguments = ["exec", "thesis-lan", "--seed", "3", "server", *shlex.split(command)]
    options = parser.build(arguments).parse_args(arguments)
    assert (options.node, options.seed, options.argv) == ("server", 3, argv)

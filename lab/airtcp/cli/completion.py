# SPDX-License-Identifier: GPL-2.0-only
"""Completion of the command line by bash, zsh and fish, with argcomplete."""

import argparse
import os

import argcomplete
from argcomplete.shell_integration import shellcode

from airtcp.cli import parser
from airtcp.cli.options import Subcommands

SHELLS = ("bash", "zsh", "fish")


def add(subcommands: Subcommands) -> None:
    """Add `completion`."""
    subcommand = subcommands.add_parser(
        "completion",
        help="print a completion script for bash, zsh or fish",
        description='bash and zsh: eval "$(airtcp completion bash)" in ~/.bashrc or ~/.zshrc; '
        "fish: airtcp completion fish >~/.config/fish/completions/airtcp.fish",
    )
    subcommand.add_argument("shell", choices=SHELLS)
    subcommand.set_defaults(do=_print)


def _print(options: argparse.Namespace) -> int:
    print(shellcode(["airtcp"], shell=options.shell))
    return 0


def complete() -> None:
    """Answer the shell, and exit."""
    words = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT", "0"))].split()
    argcomplete.autocomplete(parser.build(words[1:]), always_complete_options="long")

# SPDX-License-Identifier: GPL-2.0-only
"""The command-line parser; each group of subcommands adds its own subparsers."""

import argparse
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from airtcp import suggest
from airtcp.cli.version import ShowVersion
from airtcp.errors import InputError
from airtcp.paths import PROGRAM

# The commands that each module adds. Only the module of the given one is imported: importing all of
# them takes longer than `list`.
GROUPS: Mapping[str, Sequence[str]] = {
    "run": ("run",),
    "demo": ("demo",),
    "tournament": ("tournament",),
    "listing": ("list",),
    "experiments": ("show", "new", "schema"),
    "results": ("report", "results"),
    "ui": ("ui",),
    "cluster": ("scheduler", "worker"),
    "kernel": ("kernel",),
    "policy": ("policy",),
    "prompt": ("shell", "exec"),
    "doctor": ("doctor",),
    "setup": ("setup",),
    "completion": ("completion",),
}

_EPILOG = f"""\
examples:
  {PROGRAM} run thesis-lan --set delay=0ms,50ms --set ack_policy=default,aad --seeds 3
  {PROGRAM} run thesis-lan --duration 10s --jobs 2 --json > thesis-lan.json
  {PROGRAM} report results/thesis-lan
environment:
  AIRTCP_CACHE         directory for kernels and libraries, instead of ~/.cache/airtcp
  AIRTCP_CERTIFICATES  directory for --certificates of scheduler, worker and run
exit codes: 0 success, 1 a run or a build failed, 2 bad input, 130 interrupted
"""


# Stands for each `--` after the first one, which Python before 3.13 removes, too, although it is an
# argument, as in `exec ... -- grep -- -x`. Arguments do not contain NUL.
_LATER_DASHES = "\0--"

# Subcommands of `results`, which users try as commands.
_BELOW_RESULTS = ("query", "compare", "export")

_BEFORE_COMMANDS = "; write -- before the command"


def _restored(word: str) -> str:
    return word.removeprefix("\0")


class _Help(argparse._HelpAction):
    """--help, unless it follows the command of `exec`, whose option it is then."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, *rest: Any
    ) -> None:
        if getattr(namespace, "argv", None):
            parser.error(f"unrecognized arguments: {rest[-1]}{_BEFORE_COMMANDS}")
        super().__call__(parser, namespace, *rest)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, like all others; subparsers are of the same class."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # An abbreviation may be taken for another option: --seed 3 for seed 3.
        super().__init__(*args, **kwargs | {"allow_abbrev": False, "add_help": False})
        self.add_argument("-h", "--help", action=_Help, help="show this help message and exit")
        # `-5s` is a wrong value, not an unknown option; argparse knows that only of `-5`.
        self._negative_number_matcher = re.compile(r"-\d")

    def error(self, message: str) -> NoReturn:
        subcommand = self.prog.removeprefix("airtcp").strip()
        text = message.removeprefix("argument ")
        raise InputError(f"{subcommand and f'{subcommand}: '}{text} (see {self.prog} --help)")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Unknown words are an error of the parser that knows the options of the subcommand."""
        words = list(args)
        start = words.index("--") + 1 if "--" in words else len(words)
        words[start:] = [_LATER_DASHES if word == "--" else word for word in words[start:]]
        parsed, unknown = super().parse_known_args(words, namespace)
        if unknown:
            known = self._option_string_actions
            options = [word.partition("=")[0] for word in unknown if word.startswith("-")]
            meant = suggest.hint(options[0], known) if options else ""
            if "--" not in words and any(action.dest == "argv" for action in self._actions):
                meant = _BEFORE_COMMANDS
            self.error(f"unrecognized arguments: {' '.join(map(_restored, unknown))}{meant}")
        return parsed, unknown

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        # argparse removes `--` also from `--seeds=--`, and would return an empty list.
        if action.option_strings and "--" in arg_strings:
            raise argparse.ArgumentError(action, "expected one argument")
        return super()._get_values(action, arg_strings)

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        return super()._get_value(action, _restored(arg_string))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            if value in _BELOW_RESULTS and "results" in action.choices:
                text = f"{value!r} is not allowed; did you mean 'results {value}'?"
            else:
                text = suggest.not_allowed(str(value), map(str, action.choices))
            raise argparse.ArgumentError(action, text)


def load(arguments: Sequence[str]) -> list[ModuleType]:
    """Import the module of the subcommand that the arguments begin with, or else all modules."""
    if arguments and arguments[0] == "--version":
        return []
    given = [group for group, known in GROUPS.items() if arguments and arguments[0] in known]
    return [import_module(f"airtcp.cli.{group}") for group in given or GROUPS]


def build(arguments: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser with the subcommand that the arguments begin with, else with all.

    Each subcommand sets `do` to the function that executes it.
    """
    parser = _Parser(
        prog="airtcp",
        description="Measure TCP over Wi-Fi: the Linux kernel over a simulated radio.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=ShowVersion)
    subcommands = parser.add_subparsers(metavar="COMMAND", required=True)
    for module in load(arguments):
        module.add(subcommands)
    _describe(parser)
    return parser


def _describe(parser: argparse.ArgumentParser) -> None:
    """Commands without a description have that of the list of commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for listed in action._choices_actions:
                command, text = action.choices[listed.dest], str(listed.help)
                command.description = command.description or f"{text[0].upper()}{text[1:]}."
                _describe(command)

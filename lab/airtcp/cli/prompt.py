# SPDX-License-Identifier: GPL-2.0-only
"""The subcommands `shell` and `exec`."""

import argparse
import sys

from airtcp.backends import hostapd, prompt
from airtcp.backends.guesttools import GuestTools, build_tools
from airtcp.cli import doctor
from airtcp.cli.common import experiment_of, own_policy_of, settings_of
from airtcp.cli.kernels import build_one
from airtcp.cli.messages import say
from airtcp.cli.options import (
    Subcommands,
    add_experiment,
    add_kernels,
    add_policy,
    add_settings,
    positive,
)
from airtcp.experiment.experiment import Case
from airtcp.kernel.image import Kernel
from airtcp.kernel.own_policy import OwnPolicy
from airtcp.testbed.build import testbed_of


def add(subcommands: Subcommands) -> None:
    """Add `shell` and `exec`."""
    shell = subcommands.add_parser(
        "shell",
        help="boot the network of an experiment and open a prompt in it",
        description=(
            "Boot the network of the first case in real time and open a prompt; the name of a node "
            "(server, ap, station) enters that node. If standard input is not a terminal, it is a "
            "script, which runs in virtual time; the exit code is that of the script."
        ),
    )
    _add_network(shell)
    shell.set_defaults(do=_shell)

    execute = subcommands.add_parser(
        "exec",
        help="run a command in a node of the network of an experiment",
        description=(
            "Boot the network of the first case and run a command in a node, in virtual time. "
            "Standard input, unless it is a terminal, output and exit code are those of the "
            "command. It runs as root in the guest, and sees the files of this machine read-only, "
            "except those in /tmp: the guest has its own."
        ),
    )
    _add_network(execute)
    execute.add_argument(
        "--seed", type=positive, default=1, help="seed of the random numbers (default: 1)"
    )
    execute.add_argument("node", metavar="NODE", help="server, ap, station or a node of a topology")
    execute.add_argument("argv", metavar="COMMAND", nargs="+", help="with its arguments, after --")
    execute.set_defaults(do=_exec)


def _add_network(subcommand: argparse.ArgumentParser) -> None:
    add_experiment(subcommand)
    add_settings(subcommand)
    add_policy(subcommand)
    add_kernels(subcommand)


def _case(options: argparse.Namespace, policy: OwnPolicy | None) -> Case:
    return experiment_of(options, policy).cases(settings_of(options))[0]


def _machine(
    options: argparse.Namespace, policy: OwnPolicy | None, case: Case
) -> tuple[Kernel, GuestTools]:
    doctor.require_programs()
    tools = hostapd.tools_for(build_tools(say), testbed_of(case))
    return build_one(options, policy, case), tools


def _shell(options: argparse.Namespace) -> int:
    policy = own_policy_of(options)
    case = _case(options, policy)
    if sys.stdin.isatty():
        return prompt.interact(*_machine(options, policy, case), case)
    script = prompt.command_plan(case, None, ["sh"])
    return prompt.execute(*_machine(options, policy, case), case, script)


def _exec(options: argparse.Namespace) -> int:
    policy = own_policy_of(options)
    case = _case(options, policy)
    script = prompt.command_plan(case, options.node, options.argv)
    return prompt.execute(*_machine(options, policy, case), case, script, options.seed)

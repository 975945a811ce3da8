# SPDX-License-Identifier: GPL-2.0-only
"""The verb `shell`."""

import argparse

from airtcp.backends import prompt
from airtcp.backends.guesttools import build_tools
from airtcp.cli import doctor
from airtcp.cli.common import experiment_of, own_policy_of, settings_of
from airtcp.cli.messages import say
from airtcp.cli.options import Verbs, add_experiment, add_kernel_source, add_policy, add_settings
from airtcp.kernel import own_policy


def add(verbs: Verbs) -> None:
    """Add `shell`."""
    shell = verbs.add_parser(
        "shell",
        help="boot the network of an experiment and give a prompt in it",
        description=(
            "Boot the network of the first case in real time and give a prompt; the name of a node "
            "(server, ap, station) enters that node."
        ),
    )
    add_experiment(shell)
    add_settings(shell)
    add_policy(shell)
    add_kernel_source(shell)
    shell.set_defaults(do=_shell)


def _shell(options: argparse.Namespace) -> int:
    policy = own_policy_of(options)
    experiment = experiment_of(options, policy)
    case = experiment.cases(settings_of(options))[0]
    doctor.require_programs()
    built = own_policy.build(policy, options.kernel_source, say=say)
    return prompt.interact(built, build_tools(say), case)

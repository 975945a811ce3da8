# SPDX-License-Identifier: GPL-2.0-only
"""The kernels of --kernel-source and --plain: checks before anything runs, and building."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from airtcp.cli.messages import say
from airtcp.errors import InputError
from airtcp.experiment.experiment import KERNEL_FACTOR, Case
from airtcp.kernel import ackhold, own_policy, ports
from airtcp.kernel.image import Kernel
from airtcp.kernel.own_policy import OwnPolicy
from airtcp.kernel.source import SERIES, Changes, Commit, find_source, version_of
from airtcp.parameters.ack_filter import ACKHOLD
from airtcp.testbed import plainkernel
from airtcp.testbed.build import testbed_of


@dataclass(frozen=True)
class Choice:
    """A kernel to build. label: the value of the factor; plain: without the patches."""

    source: Path | None
    version: str
    label: str
    plain: bool

    def check(self, cases: Sequence[Case]) -> None:
        """Raise InputError if the kernel cannot do a case."""
        if self.plain:
            for case in cases:
                plainkernel.check(case, self.version)

    def build(self, policy: OwnPolicy | None, cases: Sequence[Case]) -> Kernel:
        """Build the kernel for the cases, or take it from the cache."""
        if self.plain and policy and policy.names["ack_policy"]:
            raise InputError(
                f"--policy {policy.directory}: plain kernels have no ACK policies; it needs Linux "
                f"{SERIES}.y without --plain"
            )
        other = changes_for(cases)
        return own_policy.build(policy, self.source, plain=self.plain, other=other, say=say)


def choices_of(options: argparse.Namespace) -> list[Choice]:
    """The kernels of the options. Raises InputError for one that is not Linux, or given twice."""
    given = options.kernel_source
    sources = given if isinstance(given, list) else [given]
    found = [_choice(source, plain=options.plain) for source in sources]
    labels = [choice.label for choice in found]
    if len(set(labels)) == len(labels):
        return found
    named = [replace(choice, label=f"{choice.version} {choice.source}") for choice in found]
    if twice := {choice.label for choice in named if named.count(choice) > 1}:
        raise InputError(f"--kernel-source: {', '.join(twice)} is given twice")
    return named


def _choice(given: Path | None, *, plain: bool) -> Choice:
    if given is None:
        return Choice(None, SERIES, SERIES, plain)
    source = find_source(given)
    version = version_of(source)
    label = source.name if isinstance(source, Commit) else version
    return Choice(given, version, label, plain or not ports.has_policies(version))


def with_kernels(cases: Sequence[Case], choices: Sequence[Choice]) -> list[Case]:
    """The cases of all kernels, which are a factor if there are several. Raises InputError."""
    for choice in choices:
        choice.check(cases)
    if len(choices) == 1:
        return list(cases)
    labels: dict[str, str] = {}  # by directory
    of_all = []
    for choice in choices:
        for case in cases:
            own = replace(case, factors={KERNEL_FACTOR: choice.label, **case.factors})
            if (other := labels.setdefault(own.slug, choice.label)) != choice.label:
                raise InputError(
                    f"--kernel-source: {other} and {choice.label} would have the same "
                    "directories of runs; rename one"
                )
            of_all.append(own)
    return of_all


def changes_for(cases: Sequence[Case]) -> Changes:
    """Changes to Linux that only some cases need: the qdisc ackhold."""
    stages = {each.stage for case in cases for each in testbed_of(case).filters}
    return ackhold.changes() if ACKHOLD in stages else ()


def build_all(
    choices: Sequence[Choice], policy: OwnPolicy | None, cases: Sequence[Case]
) -> Mapping[str, Kernel]:
    """The kernels for the cases, built if needed, by their labels."""
    return {choice.label: choice.build(policy, cases) for choice in choices}


def build_one(options: argparse.Namespace, policy: OwnPolicy | None, *cases: Case) -> Kernel:
    """The kernel of a subcommand that uses one, for these cases."""
    [choice] = choices_of(options)
    choice.check(cases)
    return choice.build(policy, cases)

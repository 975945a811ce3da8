# SPDX-License-Identifier: GPL-2.0-only
"""Functions of several verbs: warnings, and objects built from options."""

import argparse
import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING

from airtcp.cli.messages import say
from airtcp.errors import AirtcpError, InputError
from airtcp.experiment import reader
from airtcp.experiment.experiment import Case, Experiment, Setting
from airtcp.experiment.topology_checks import warnings
from airtcp.paths import INSTALL_CLUSTER

if TYPE_CHECKING:
    from airtcp.kernel.own_policy import OwnPolicy


def warn(cases: Sequence[Case]) -> None:
    networks = [(case.network, case.parameters) for case in cases if case.network]
    for line in dict.fromkeys(line for network in networks for line in warnings(*network)):
        say(f"warning: {line}")


def require_cluster_libraries() -> None:
    """Raise AirtcpError if airtcp was installed without the extra `cluster`."""
    if not all(map(importlib.util.find_spec, ("distributed", "dask_jobqueue"))):
        raise AirtcpError(
            f"sweeps on other machines need Dask and dask-jobqueue: {INSTALL_CLUSTER}"
        )


def own_policy_of(options: argparse.Namespace) -> "OwnPolicy | None":
    """Read the policies of --policy; None without --policy."""
    if options.policy is None:
        return None
    from airtcp.kernel import own_policy

    return own_policy.read(options.policy)


def experiment_of(options: argparse.Namespace, policy: "OwnPolicy | None") -> Experiment:
    """Load the named experiment, which may use the policies of --policy."""
    return reader.load(options.experiment, policy.names if policy else ())


def settings_of(options: argparse.Namespace) -> list[Setting]:
    settings = [Setting.parse(text) for text in options.set]
    if options.duration is not None:
        if any(setting.name == "duration" for setting in settings):
            raise InputError("--duration and --set duration are both given: give only one")
        settings.append(Setting("duration", tuple(options.duration.split(",")), "--duration"))
    return settings

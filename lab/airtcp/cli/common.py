# SPDX-License-Identifier: GPL-2.0-only
"""Functions of several subcommands: objects built from options."""

import argparse
import importlib.util
from typing import TYPE_CHECKING

from airtcp.errors import AirtcpError, InputError
from airtcp.experiment import reader
from airtcp.experiment.experiment import Experiment, Setting
from airtcp.parameters.kernelnames import ANY, context
from airtcp.paths import INSTALL_CLUSTER

if TYPE_CHECKING:
    from airtcp.kernel.own_policy import OwnPolicy


def require_cluster_libraries() -> None:
    """Raise AirtcpError if airtcp was installed without the extra `cluster`."""
    if not all(map(importlib.util.find_spec, ("distributed", "dask_jobqueue"))):
        raise AirtcpError(
            f"sweeps on other machines need Dask and dask-jobqueue: {INSTALL_CLUSTER}"
        )


def own_policy_of(options: argparse.Namespace) -> "OwnPolicy | None":
    """Read the directory of --policy; None without --policy."""
    if options.policy is None:
        return None
    from airtcp.kernel import own_policy

    return own_policy.read(options.policy)


def experiment_of(
    options: argparse.Namespace, policy: "OwnPolicy | None", *, any_name: bool = False
) -> Experiment:
    """Load the named experiment, which may use the names of --policy.

    any_name: also those of other kernels than the laboratory's, for real hosts.
    """
    own = policy.names if policy else None
    return reader.load(options.experiment, ANY if any_name else context(own))


def settings_of(options: argparse.Namespace) -> list[Setting]:
    settings = [Setting.parse(text) for text in options.set]
    if options.duration is not None:
        if any(setting.name == "duration" for setting in settings):
            raise InputError("--duration and --set duration are both given: give only one")
        settings.append(Setting("duration", tuple(options.duration.split(",")), "--duration"))
    return settings

# SPDX-License-Identifier: GPL-2.0-only
"""The verb `run`."""

import argparse
import errno
import os
from pathlib import Path

from airtcp import interrupts
from airtcp.backends.guesttools import build_tools
from airtcp.cli import doctor
from airtcp.cli.certificates import add_certificates, certificates_of
from airtcp.cli.common import (
    experiment_of,
    own_policy_of,
    require_cluster_libraries,
    settings_of,
    warn,
)
from airtcp.cli.messages import say
from airtcp.cli.options import (
    Verbs,
    add_experiment,
    add_jobs,
    add_json,
    add_kernel_source,
    add_policy,
    add_settings,
    path,
    positive,
)
from airtcp.errors import NO_SPACE, InputError
from airtcp.experiment import catalogue
from airtcp.experiment.experiment import Case, Experiment
from airtcp.kernel import own_policy
from airtcp.kernel.own_policy import OwnPolicy
from airtcp.results import documents, reproduction, table
from airtcp.sweep import certificates
from airtcp.sweep.session import SweepOptions, SweepResult, measure


def add(verbs: Verbs) -> None:
    """Add `run`."""
    run = verbs.add_parser(
        "run",
        help="run an experiment",
        description=(
            "Run every case of an experiment with every seed. Runs that OUT already has with the "
            "same kernel, plan and seed are not repeated. EXPERIMENT can be `all`, with --quick "
            "or --full: run every experiment, then write a page that compares published values "
            "with ours."
        ),
    )
    add_experiment(run)
    add_settings(run)
    add_policy(run)
    run.add_argument(
        "--seeds",
        metavar="N",
        type=positive,
        default=1,
        help="run each case with seeds 1 to N (default: 1)",
    )
    add_jobs(run)
    run.add_argument(
        "--cluster",
        metavar="tls://HOST:PORT|FILE",
        help="run on the workers of a Dask scheduler (see `scheduler` and `worker`), or in batch "
        "jobs, such as Slurm's, described by a dask-jobqueue configuration",
    )
    add_certificates(run)
    run.add_argument(
        "--out",
        metavar="DIR",
        type=path,
        help="directory for runs and results (default: results/NAME)",
    )
    extent = run.add_mutually_exclusive_group()
    extent.add_argument(
        "--quick",
        action="store_true",
        help="only cases with published values, for at most 10 s each",
    )
    extent.add_argument(
        "--full", action="store_true", help="all cases (the default, except for `all`)"
    )
    add_kernel_source(run)
    add_json(run, "print one JSON document instead of a table")
    run.set_defaults(do=_run)


def _run(options: argparse.Namespace) -> int:
    policy = own_policy_of(options)
    if options.experiment == catalogue.ALL:
        return _run_all(options, policy)
    experiment = experiment_of(options, policy)
    cases = _cases(options, experiment)
    warn(cases)
    out_dir = _out_dir(options, experiment.name)
    measured = measure(_sweep_options(options, policy), experiment, cases, out_dir)
    if measured.document:
        if options.json:
            print(measured.document.text(), end="")
        else:
            written = out_dir / documents.FILE
            print(f"{table.table(measured.document)}\n\n{written}; next: ./airtcp report {out_dir}")
    return _code(measured)


def _code(measured: SweepResult) -> int:
    if measured.interrupted:
        return interrupts.CODE
    return 1 if measured.failed else 0


def _run_all(options: argparse.Namespace, policy: OwnPolicy | None) -> int:
    """Run every experiment, then write the reproduction page. A failed run does not stop it."""
    if not (options.quick or options.full) or options.set or options.duration or options.json:
        raise InputError(
            "run all: requires --quick or --full, and allows none of --set --duration --json"
        )
    out_dir = _out_dir(options, catalogue.ALL)
    documents, code = [], 0
    experiments = catalogue.experiments()
    sweep_options = _sweep_options(options, policy)
    for number, experiment in enumerate(experiments, start=1):
        say(f"{experiment.name} ({number} of {len(experiments)})")
        cases = _cases(options, experiment)
        measured = measure(sweep_options, experiment, cases, out_dir / experiment.name)
        code = code or _code(measured)
        if measured.document:
            documents.append((experiment, measured.document))
        if measured.interrupted:
            break
    if documents:
        print(reproduction.write(out_dir, documents))
    return code


def _out_dir(options: argparse.Namespace, name: str) -> Path:
    """Create the directory of --out now, so that an error appears before a kernel is built."""
    out_dir: Path = options.out or Path("results") / name
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        if not os.access(out_dir, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        if error.errno in (*NO_SPACE, errno.EIO):
            raise
        why = "is a file" if isinstance(error, FileExistsError) else error.strerror
        raise InputError(
            f"--out {out_dir}: {why}; an existing or new directory is allowed"
        ) from None
    return out_dir


def _sweep_options(options: argparse.Namespace, policy: OwnPolicy | None) -> SweepOptions:
    cluster_certificates = certificates_of(options)
    if options.cluster:
        require_cluster_libraries()
    if options.cluster and "://" in options.cluster:
        certificates.address(options.cluster, cluster_certificates)
    doctor.require_programs()
    return SweepOptions(
        kernel=own_policy.build(policy, options.kernel_source, say=say),
        tools=build_tools(say),
        seeds=options.seeds,
        jobs=options.jobs,
        cluster=options.cluster,
        certificates=cluster_certificates,
        command=options.command,
        say=say,
    )


def _cases(options: argparse.Namespace, experiment: Experiment) -> list[Case]:
    return catalogue.quick(experiment) if options.quick else experiment.cases(settings_of(options))

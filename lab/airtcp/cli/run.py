# SPDX-License-Identifier: GPL-2.0-only
"""The subcommand `run`."""

import argparse
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from airtcp.cli.common import experiment_of, own_policy_of, settings_of
from airtcp.cli.kernels import Choice, build_all, changes_for, choices_of, with_kernels
from airtcp.cli.messages import say
from airtcp.cli.options import (
    Subcommands,
    add_experiment,
    add_json,
    add_kernels,
    add_metrics,
    add_policy,
    add_settings,
    add_title,
    path,
    seeds,
)
from airtcp.cli.sweeping import add_where, make_out_dir, out_dir_of, sweep_options_of
from airtcp.errors import AirtcpError, InputError
from airtcp.experiment import catalogue, reader
from airtcp.experiment.experiment import Case, Experiment
from airtcp.kernel.own_policy import OwnPolicy
from airtcp.paths import PROGRAM
from airtcp.results import documents, reproduction, table
from airtcp.sweep import inputs
from airtcp.sweep.session import Options, Planned, measure, measure_all


def add(subcommands: Subcommands) -> None:
    """Add `run`."""
    run = subcommands.add_parser(
        "run",
        help="run an experiment",
        description=(
            "Run every case of an experiment with every seed. Runs that the directory of --out "
            "already contains, with the same kernel, plan and seed, are not repeated. EXPERIMENT "
            "can be `all`, with --quick or --full: run every experiment, then write a page that "
            "compares published values with measured ones."
        ),
    )
    add_experiment(run)
    add_settings(run)
    add_policy(run)
    run.add_argument(
        "--seeds",
        metavar="N",
        type=seeds,
        default=1,
        help="run each case with seeds 1 to N (default: 1)",
    )
    add_where(run)
    run.add_argument(
        "--hosts",
        metavar="FILE",
        type=path,
        help="measure on real machines over OpenSSH, one run after the other: a server, a station "
        "and optionally an access point, described in FILE (hosts.yaml); see "
        "docs/how-to/hosts.md",
    )
    add_title(run, "results", "the experiment")
    add_metrics(run, "print")
    extent = run.add_mutually_exclusive_group()
    extent.add_argument(
        "--quick",
        action="store_true",
        help="only cases with published values (published_tables do not count), or else one case, "
        "for at most 10 s each",
    )
    extent.add_argument(
        "--full", action="store_true", help="all cases (the default, except for `all`)"
    )
    add_kernels(run, several=True)
    add_json(run, "print one JSON document instead of a table")
    run.set_defaults(do=_run)


def _run(options: argparse.Namespace) -> int:
    if options.metric and options.json:
        raise InputError("--metric: not allowed with --json, which prints all metrics")
    policy = own_policy_of(options)
    if options.experiment == catalogue.ALL:
        return _run_all(options, policy)
    experiment = experiment_of(options, policy, any_name=bool(options.hosts))
    if options.title:
        experiment = experiment.model_copy(update={"title": options.title})
    kernels = _kernels(options)
    cases = with_kernels(_cases(options, experiment), kernels)
    out_dir = out_dir_of(options, experiment.name)
    own_files = inputs.read(reader.own_file(options.experiment), policy)
    sweep_options = _options(options, out_dir, policy, kernels, cases)
    measured = measure(sweep_options, experiment, cases, out_dir)
    if measured.document:
        if options.json:
            print(measured.document.text(), end="")
        else:
            following = f"next: {PROGRAM} report {shlex.quote(str(out_dir))}"
            if not any(run.ok for run in measured.document.runs):
                following = "no run has finished"
            text = table.table(measured.document, options.metric)
            print(f"{text}\n\n{out_dir / documents.FILE}; {following}")
        inputs.keep(out_dir, own_files)
    return measured.exit_code


def _options(
    options: argparse.Namespace,
    out_dir: Path,
    policy: OwnPolicy | None,
    kernels: Sequence[Choice],
    cases: Sequence[Case],
) -> Options:
    if not options.hosts:
        return sweep_options_of(options, out_dir, lambda: build_all(kernels, policy, cases), cases)
    for name in ("jobs", "cluster", "certificates", "policy", "kernel_source", "plain"):
        if getattr(options, name):
            raise InputError(f"--hosts: not allowed with --{name.replace('_', '-')}")
    from airtcp.hosts import inventory
    from airtcp.sweep.hostsweep import HostOptions

    hosts = inventory.read(options.hosts)
    host_options = HostOptions(hosts, options.seeds, options.command, say, options.verify)
    host_options.not_applied(cases)  # before a directory is created
    make_out_dir(out_dir)
    return host_options


def _kernels(options: argparse.Namespace) -> list[Choice]:
    choices = choices_of(options)
    if options.cluster and len(choices) > 1:
        raise InputError("--cluster: allowed with one --kernel-source only")
    return choices


def _run_all(options: argparse.Namespace, policy: OwnPolicy | None) -> int:
    """Run every experiment, then write the reproduction page. A failed run does not stop it."""
    single = [getattr(options, name) for name in ("set", "duration", "title", "metric")]
    single += [options.json, options.hosts]
    if not (options.quick or options.full) or any(single):
        raise InputError(
            "run all: requires --quick or --full, and allows none of --set --duration --title "
            "--metric --json --hosts"
        )
    kernels = _kernels(options)
    experiments = [
        (experiment, with_kernels(_cases(options, experiment), kernels))
        for experiment in catalogue.experiments()
    ]
    out_dir = out_dir_of(options, catalogue.ALL)
    own_files = inputs.read(None, policy)
    sweep_options = sweep_options_of(options, out_dir, lambda: build_all(kernels, policy, ()))
    # By whether their cases need further changes to Linux.
    built = {False: sweep_options.kernels}
    not_built = []

    def planned() -> Iterator[Planned]:
        for number, (experiment, cases) in enumerate(experiments, start=1):
            say(f"{experiment.name} ({number} of {len(experiments)})")
            changed = bool(changes_for(cases))
            try:
                if changed not in built:
                    built[changed] = build_all(kernels, policy, cases)
            except AirtcpError as error:
                say(f"{experiment.name}: {error}")
                not_built.append(experiment)
                continue
            first = next(iter(built[changed].values()))
            with_kernel = replace(sweep_options, kernel=first, kernels=built[changed])
            yield Planned(with_kernel, experiment, cases, out_dir / experiment.name)

    measured = measure_all(sweep_options, planned())
    documents = [(each.experiment, end.document) for each, end in measured if end.document]
    if documents:
        print(reproduction.write(out_dir, documents))
        inputs.keep(out_dir, own_files)
    return max([int(bool(not_built)), *(end.exit_code for _, end in measured)])


def _cases(options: argparse.Namespace, experiment: Experiment) -> list[Case]:
    if not options.quick:
        return experiment.cases(settings_of(options))
    if options.set or options.duration is not None:
        raise InputError(
            "--quick: selects cases and their duration; not allowed with --set or --duration"
        )
    return catalogue.quick(experiment)

# SPDX-License-Identifier: GPL-2.0-only
"""The command line. Exit codes: 0 done, 1 a run or build failed, 2 bad input, 130 Ctrl-C."""

import argparse
import errno
import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from airtcp import doctor, interrupts, streams
from airtcp.backends import prompt
from airtcp.backends.guesttools import build_tools
from airtcp.errors import NO_SPACE, AirtcpError, InputError, reason
from airtcp.experiment import (
    catalogue,
    figures,
    reader,
    schema,
    template,
    topology_text,
)
from airtcp.experiment.experiment import Cell, Experiment, Setting
from airtcp.experiment.topology_checks import warnings
from airtcp.kernel import deb, image, own_policy, series
from airtcp.kernel.image import Kernel
from airtcp.kernel.own_policy import OwnPolicy
from airtcp.parameters import OBSERVATION, Parameters, policies
from airtcp.results import artifacts, documents, reproduction
from airtcp.sweep import certificates
from airtcp.sweep.certificates import Certificates
from airtcp.sweep.session import Measured, Order, measure


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments say; every failure is one line on standard error."""
    try:
        try:
            options = _parser().parse_args(arguments)
        except SystemExit:  # after --help, too
            sys.stdout.flush()
            raise
        options.command = "./airtcp " + shlex.join(arguments)
        code: int = options.do(options)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _interrupted()
    except OSError as error:
        if error.filename == streams.OUTPUT:
            streams.give_up_output()
            if isinstance(error, BrokenPipeError):  # whoever reads it has enough
                return 1
        where = f"{error.filename}: " if error.filename else ""
        _say(f"airtcp: {where}{reason(error)}")
        return 1
    except Exception as error:
        # Pydantic for one turns the exception of Ctrl-C into one of its own.
        if interrupts.came():
            return _interrupted()
        if not isinstance(error, AirtcpError):
            raise
        _say(f"airtcp: {error}")
        return error.exit_code


def _interrupted() -> int:
    _say("airtcp: interrupted")
    return interrupts.CODE


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _warn(cells: Sequence[Cell]) -> None:
    networks = [(cell.network, cell.parameters) for cell in cells if cell.network]
    for line in dict.fromkeys(line for one in networks for line in warnings(*one)):
        _say(f"warning: {line}")


def _run(options: argparse.Namespace) -> int:
    own = _own_policy(options)
    if options.experiment == catalogue.ALL:
        return _run_all(options, own)
    chosen = reader.load(options.experiment)
    cells = _cells(options, chosen)
    _warn(cells)
    out_dir = _out_dir(options, chosen.name)
    measured = measure(_order(options, own), chosen, cells, out_dir)
    if measured.document:
        if options.json:
            print(json.dumps(measured.document, indent=1))
        else:
            written = out_dir / documents.FILE
            table = documents.table(measured.document)
            print(f"{table}\n\n{written}; next: ./airtcp report {out_dir}")
    return _code(measured)


def _code(measured: Measured) -> int:
    if measured.interrupted:
        return interrupts.CODE
    return 1 if measured.failed else 0


def _run_all(options: argparse.Namespace, own: OwnPolicy | None) -> int:
    """Every experiment, then the page over them. A failed run does not end it."""
    if not (options.quick or options.full) or options.set or options.duration or options.json:
        raise InputError("run all: give --quick or --full, and none of --set --duration --json")
    out_dir = _out_dir(options, catalogue.ALL)
    documents, code = [], 0
    found = catalogue.experiments()
    order = _order(options, own)
    for number, chosen in enumerate(found, start=1):
        _say(f"{chosen.name} ({number} of {len(found)})")
        measured = measure(order, chosen, _cells(options, chosen), out_dir / chosen.name)
        code = code or _code(measured)
        if measured.document:
            documents.append((chosen, measured.document))
        if measured.interrupted:
            break
    if documents:
        written = out_dir / "reproduction.md"
        written.write_text(reproduction.page(documents, options.command), encoding="utf-8")
        print(written)
    return code


def _out_dir(options: argparse.Namespace, name: str) -> Path:
    """That of --out, made now: later would be after minutes of building a kernel."""
    out_dir: Path = options.out or Path("results") / name
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        if not os.access(out_dir, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        if error.errno in (*NO_SPACE, errno.EIO):
            raise
        why = "is a file" if isinstance(error, FileExistsError) else error.strerror
        raise InputError(f"--out {out_dir}: {why}; a directory is allowed, or a new one") from None
    return out_dir


def _order(options: argparse.Namespace, own: OwnPolicy | None) -> Order:
    known = _certificates(options)
    if options.cluster and "://" in options.cluster:
        certificates.address(options.cluster, known)
    doctor.require_programs()
    return Order(
        kernel=own_policy.build(own, options.kernel_source, say=_say),
        tools=build_tools(_say),
        seeds=options.seeds,
        jobs=options.jobs,
        cluster=options.cluster,
        certificates=known,
        command=options.command,
        say=_say,
    )


def _cells(options: argparse.Namespace, chosen: Experiment) -> list[Cell]:
    return catalogue.quick(chosen) if options.quick else chosen.cells(_settings(options))


def _scheduler(options: argparse.Namespace) -> int:
    from airtcp.sweep import clusterservers

    if options.create_certificates:
        print(certificates.create(options.create_certificates).directory)
        return 0
    clusterservers.scheduler(options.host, options.port, _certificates(options))


def _worker(options: argparse.Namespace) -> int:
    from airtcp.sweep import clusterservers

    doctor.require_programs()
    jobs = options.jobs or os.cpu_count() or 1
    clusterservers.worker(options.scheduler, jobs, _certificates(options))


def _certificates(options: argparse.Namespace) -> Certificates | None:
    return certificates.read(options.certificates) if options.certificates else None


def _results_query(options: argparse.Namespace) -> int:
    from airtcp.results import analysis

    print(analysis.query(options.sql, options.directories).text(options.form), end="")
    return 0


def _results_compare(options: argparse.Namespace) -> int:
    from airtcp.results import analysis

    pairs = analysis.pair(options.first, options.second)
    if not pairs.cells:
        differing = ", ".join(pairs.differing) or "combinations of parameters and seeds"
        raise InputError(
            f"no run of {options.first} has the parameters and seed of one of {options.second}; "
            f"they differ in {differing}"
        )
    answer = analysis.compare(pairs, options.metric)
    print(answer.text(options.form), end="")
    if options.form == "table" and (few := documents.note(answer.column("n"))):
        print(few)
    for directory, alone in zip((options.first, options.second), pairs.alone, strict=True):
        if alone:
            _say(f"{alone} runs of {directory} have no partner of equal parameters and seed")
    return 0


def _results_export(options: argparse.Namespace) -> int:
    from airtcp.results import analysis

    print(analysis.export(options.directory).text("csv"), end="")
    return 0


def _own_policy(options: argparse.Namespace) -> OwnPolicy | None:
    """That of --policy, whose names are allowed from here on."""
    if options.policy is None:
        return None
    own = own_policy.read(options.policy)
    policies.allow(own.names)
    return own


def _settings(options: argparse.Namespace) -> list[Setting]:
    settings = [Setting.parse(text) for text in options.set]
    if options.duration:
        if any(setting.name == "duration" for setting in settings):
            raise InputError("--duration and --set duration: give one of them")
        settings.append(Setting.parse(f"duration={options.duration}"))
    return settings


def _list(options: argparse.Namespace) -> int:
    found = catalogue.experiments()
    print(json.dumps(catalogue.listed(found), indent=1) if options.json else catalogue.table(found))
    return 0


def _show(options: argparse.Namespace) -> int:
    _own_policy(options)
    chosen = reader.load(options.experiment)
    cells = chosen.cells(_settings(options))
    _warn(cells)
    if options.json:
        print(json.dumps(_described(chosen, cells), indent=1))
        return 0
    print(f"{chosen.name}: {chosen.title}\nSource: {chosen.source}\n\n{chosen.description}\n")
    for title, text in (("Expected", chosen.expects), ("Why values differ", chosen.reason)):
        if text:
            print(f"{title}: {text}\n")
    print("Parameters (* differs from the laboratory's default; each may be set with --set):")
    usual = Parameters().plain()
    for field in Parameters.model_fields.values():
        name = str(field.alias)
        value = chosen.parameters.plain()[name]
        mark = " " if value == usual[name] else "*"
        print(f"  {mark} {name:<20} {value!s:<20} {field.description}")
    if chosen.network:
        print("\nNetwork:")
        for line in topology_text.lines(chosen.network):
            print(f"    {line}")
    print(f"\nCells ({len(cells)}), and what has been published for them:")
    for cell in cells:
        factors = " ".join(f"{name}={value}" for name, value in cell.factors.items())
        published = [
            f"{one.metric} {one.value} ({one.source})"
            for one in chosen.published_for(cell.parameters).values()
        ]
        print(f"    {factors}  {'; '.join(published)}".rstrip())
    if chosen.figures:
        print("\nFigures of the report, beside those that every report has:")
        for line in figures.show(chosen.figures):
            print(f"    {line}")
    return 0


def _described(chosen: Experiment, cells: Sequence[Cell]) -> dict[str, object]:
    return {
        "experiment": chosen.name,
        "title": chosen.title,
        "source": chosen.source,
        "description": chosen.description,
        "expects": chosen.expects,
        "reason": chosen.reason,
        "parameters": chosen.parameters.plain(),
        "network": chosen.network.plain() if chosen.network else None,
        "cells": [dict(cell.factors) for cell in cells],
        "published": [one.model_dump(mode="json") for one in chosen.published],
        "figures": [figures.documented(one) for one in chosen.figures],
    }


def _new(options: argparse.Namespace) -> int:
    experiment_file, *others = template.write(options.experiment)
    for path in (experiment_file, *others):
        print(path)
    _say(f"next: ./airtcp run {experiment_file}")
    return 0


def _schema(options: argparse.Namespace) -> int:
    _own_policy(options)
    print(schema.text(), end="")
    return 0


def _report(options: argparse.Namespace) -> int:
    if options.index:
        if options.run or options.timeline is not None:
            raise InputError("--index: shows no run; allowed with it: DIR alone")
        # Only here and below, for Matplotlib takes as long to load as some runs.
        from airtcp.report.index import write_index

        print(write_index(options.directory))
        return 0
    document = documents.read(options.directory)
    from airtcp.report import write_report

    page = write_report(options.directory, options.timeline, options.run)
    for line in artifacts.changed_runs(document["runs"], options.directory):
        _say(f"airtcp: {line} since the run; the same `run` does it again")
    print(page)
    return 0


def _kernel(options: argparse.Namespace) -> Kernel:
    if options.arch == "um":
        return own_policy.build(_own_policy(options), options.kernel_source, say=_say)
    if options.policy:
        raise InputError(
            f"--policy {options.policy}: is for the laboratory's kernel; for {options.arch} build "
            "it as a module (docs/kernel.md)"
        )
    return image.build(options.kernel_source, arch=options.arch, say=_say)


def _kernel_build(options: argparse.Namespace) -> int:
    built = _kernel(options)
    print(f"{built.path} (Linux {built.version}, {built.hash})")
    return 0


def _kernel_path(options: argparse.Namespace) -> int:
    print(_kernel(options).path)
    return 0


def _kernel_series(options: argparse.Namespace) -> int:
    for patch in series.write(
        options.directory, options.kernel_source, topic=options.topic, author=options.author
    ):
        print(patch)
    if options.author == series.PLACEHOLDER:
        _say(
            f"airtcp: {options.author} is a placeholder: the patches cannot be sent as they are; "
            "--author 'Name <name@example.org>' sets From and Signed-off-by"
        )
    return 0


def _kernel_deb(options: argparse.Namespace) -> int:
    for package in deb.build(options.out, options.kernel_source, config=options.config, say=_say):
        print(package)
    return 0


def _shell(options: argparse.Namespace) -> int:
    own = _own_policy(options)
    chosen = reader.load(options.experiment)
    cell = chosen.cells(_settings(options))[0]
    doctor.require_programs()
    built = own_policy.build(own, options.kernel_source, say=_say)
    return prompt.interact(built, build_tools(_say), cell)


def _doctor(options: argparse.Namespace) -> int:
    return doctor.main(as_json=options.json)


def _path(text: str) -> Path:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"directory {text!r} is not UTF-8; rename it") from None
    return Path(text)


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _not_negative(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; allowed: 1 to 65535")
    return int(text)


_EPILOG = """\
examples:
  ./airtcp run thesis-lan --set delay=0ms,50ms --set ack_policy=default,aad --seeds 3
  ./airtcp run thesis-lan --duration 10s --jobs 2 --json > thesis-lan.json
  ./airtcp report results/thesis-lan
exit codes: 0 done, 1 a run or a build failed, 2 bad input, 130 interrupted
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="airtcp",
        description="TCP over Wi-Fi, measured: the Linux kernel over a simulated radio.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(metavar="VERB", required=True)

    run = verbs.add_parser(
        "run",
        help="run an experiment",
        description=(
            "Run every cell of an experiment with every seed. Runs that OUT has already, "
            "with the same kernel, plan and seed, are not repeated. EXPERIMENT may be `all`, "
            "with --quick or --full: every experiment, then a page of what reproduces."
        ),
    )
    _add_experiment(run)
    _add_settings(run)
    _add_policy(run)
    run.add_argument(
        "--seeds",
        metavar="N",
        type=_positive,
        default=1,
        help="runs of each cell, with seeds 1 to N (default: 1)",
    )
    _add_jobs(run)
    run.add_argument(
        "--cluster",
        metavar="tls://HOST:PORT|FILE",
        help="run on the workers of a Dask scheduler (see `scheduler` and `worker`), or in batch "
        "jobs, such as Slurm's, that a configuration of dask-jobqueue describes",
    )
    _add_certificates(run)
    run.add_argument(
        "--out", metavar="DIR", type=_path, help="where runs and results go (default: results/NAME)"
    )
    extent = run.add_mutually_exclusive_group()
    extent.add_argument(
        "--quick",
        action="store_true",
        help="only what published figures are about, for 10 s at most",
    )
    extent.add_argument("--full", action="store_true", help="the whole design (the default)")
    _add_kernel_source(run)
    _add_json(run, "print one JSON document, and no table")
    run.set_defaults(do=_run)

    listing = verbs.add_parser("list", help="list the experiments")
    _add_json(listing, "print JSON")
    listing.set_defaults(do=_list)

    show = verbs.add_parser("show", help="show an experiment: parameters, cells, published figures")
    _add_experiment(show)
    _add_settings(show)
    _add_policy(show)
    _add_json(show, "print JSON")
    show.set_defaults(do=_show)

    new = verbs.add_parser("new", help="write an experiment of your own to begin with")
    new.add_argument(
        "experiment", metavar="NAME|PATH", help="NAME.yaml is written here, or the file named"
    )
    new.set_defaults(do=_new)

    described = verbs.add_parser(
        "schema", help="print the JSON Schema of an experiment's file, for editors"
    )
    _add_policy(described)
    described.set_defaults(do=_schema)

    report = verbs.add_parser("report", help="write report.html and figures for finished runs")
    report.add_argument("directory", metavar="DIR", type=_path, help="OUT of a `run`")
    report.add_argument(
        "--timeline",
        metavar="START_MS",
        type=_not_negative,
        help="the 50 ms on the air to show, in virtual ms since the capture began "
        "(default: those in its middle)",
    )
    report.add_argument(
        "--run",
        metavar="CELL/seed-N",
        help="the run whose time on the air to show, a directory of DIR/runs "
        "(default: the first of each policy)",
    )
    report.add_argument(
        "--index",
        action="store_true",
        help="write DIR/index.html instead, over the reports in the directories of DIR",
    )
    report.set_defaults(do=_report)

    _add_results(verbs.add_parser("results", help="ask finished sweeps: SQL, comparison, CSV"))

    scheduler = verbs.add_parser("scheduler", help="hand the runs of `run --cluster` to workers")
    scheduler.add_argument(
        "--port", metavar="PORT", type=_port, default=8786, help="where (default: 8786)"
    )
    scheduler.add_argument(
        "--host",
        metavar="ADDRESS",
        default="127.0.0.1",
        help="the address of this machine to listen on, 0.0.0.0 for all of them (default: "
        "127.0.0.1, for this machine alone); others take --certificates",
    )
    _add_certificates(scheduler)
    scheduler.add_argument(
        "--create-certificates",
        metavar="DIR",
        type=_path,
        help="make the certificates of a cluster in a new directory, and end",
    )
    scheduler.set_defaults(do=_scheduler)

    worker = verbs.add_parser("worker", help="do runs for a scheduler, until it ends")
    worker.add_argument(
        "scheduler",
        metavar="tls://HOST:PORT",
        help="where `scheduler` runs; without certificates tcp://127.0.0.1:PORT",
    )
    _add_certificates(worker)
    _add_jobs(worker)
    worker.set_defaults(do=_worker)

    kernels = verbs.add_parser(
        "kernel", help="build a kernel, say where it is, write patches or packages"
    )
    kernel_verbs = kernels.add_subparsers(metavar="VERB", required=True)
    for name, do, text in (
        ("build", _kernel_build, "build the kernel unless it is built"),
        ("path", _kernel_path, "print the path of the kernel; builds it if need be"),
    ):
        verb = kernel_verbs.add_parser(name, help=text)
        verb.add_argument(
            "--arch",
            choices=get_args(image.Arch),
            default="um",
            help="um: the laboratory's (default); x86_64: for QEMU, policies as modules",
        )
        _add_policy(verb)
        _add_kernel_source(verb)
        verb.set_defaults(do=do)
    patches = kernel_verbs.add_parser(
        "series",
        help="write the kernel's parts as patches that can be posted",
        description=(
            "Write a part of the kernel's changes as a series for Linux 6.12, with a cover letter: "
            "git am --empty=drop DIR/*.patch applies it."
        ),
    )
    patches.add_argument("directory", metavar="DIR", type=Path, help="a new or an empty directory")
    patches.add_argument(
        "--topic",
        metavar="TOPIC",
        default="postable",
        help=(
            "postable: the ACK policy engine and policies, for netdev (default); research: further "
            "policies, small queues and BBR's variants, which apply on top of postable; wifi: an "
            "ACK filter for mac80211, the one of sch_cake, independent of the others"
        ),
    )
    patches.add_argument(
        "--author",
        metavar="'NAME <MAIL>'",
        default=series.PLACEHOLDER,
        help=(
            "who sends the patches, in From, Signed-off-by and MAINTAINERS (default: a "
            "placeholder, with which they cannot be sent)"
        ),
    )
    _add_kernel_source(patches)
    patches.set_defaults(do=_kernel_series)
    packages = kernel_verbs.add_parser(
        "deb",
        help="build Debian packages of Linux for x86-64 with the ACK policies as modules",
    )
    packages.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        help="a .config of Linux to build upon (default: the running kernel's, else Linux' own)",
    )
    packages.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        default=Path("results") / "deb",
        help="where the packages go (default: results/deb)",
    )
    _add_kernel_source(packages)
    packages.set_defaults(do=_kernel_deb)

    prompt = verbs.add_parser(
        "shell",
        help="the network of an experiment up, and a prompt in it",
        description=(
            "Boot the first cell's network in real time and give "
            "a prompt; the name of a node (server, ap, station) enters it."
        ),
    )
    _add_experiment(prompt)
    _add_settings(prompt)
    _add_policy(prompt)
    _add_kernel_source(prompt)
    prompt.set_defaults(do=_shell)

    check = verbs.add_parser("doctor", help="what is missing on this machine, and how to get it")
    _add_json(check, "print JSON")
    check.set_defaults(do=_doctor)
    return parser


def _add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs", metavar="J", type=_positive, help="runs at once (default: one a core)"
    )


def _add_certificates(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--certificates",
        metavar="DIR",
        type=_path,
        default=os.environ.get(certificates.ENVIRONMENT) or None,
        help="those of the cluster, by which its machines know each other (default: "
        f"${certificates.ENVIRONMENT})",
    )


def _add_results(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    query = verbs.add_parser(
        "query",
        help="ask SQL of the runs of sweeps",
        description=(
            "Run SQL (DuckDB's) over the view `runs`: a row for each run, a column for each "
            "parameter and metric, and `sweep`, which is the directory."
        ),
    )
    query.add_argument("sql", metavar="SQL", help="such as 'SELECT seed, goodput_mbps FROM runs'")
    query.add_argument(
        "directories", metavar="DIR", type=_path, nargs="+", help="OUT of a `run`, or several"
    )
    _add_form(query)
    query.set_defaults(do=_results_query)

    compare = verbs.add_parser(
        "compare",
        help="one sweep against another, run by run",
        description=(
            "Pair the runs of two sweeps that have equal parameters and seed, of another kernel or "
            "version; for each cell the means, the mean of DIR2 / DIR1 and its 95% interval."
        ),
    )
    compare.add_argument("first", metavar="DIR1", type=_path, help="OUT of a `run`")
    compare.add_argument("second", metavar="DIR2", type=_path, help="OUT of another")
    compare.add_argument(
        "--metric",
        metavar="NAME",
        action="append",
        default=[],
        help="what to compare; may be given again (default: what the workload is about)",
    )
    _add_form(compare)
    compare.set_defaults(do=_results_compare)

    export = verbs.add_parser("export", help="print the table of all runs as CSV")
    export.add_argument("directory", metavar="DIR", type=_path, help="OUT of a `run`")
    export.set_defaults(do=_results_export)


def _add_form(parser: argparse.ArgumentParser) -> None:
    form = parser.add_mutually_exclusive_group()
    for name, text in (("csv", "print CSV"), ("json", "print JSON")):
        form.add_argument(
            f"--{name}", dest="form", action="store_const", const=name, default="table", help=text
        )


def _add_experiment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "experiment", metavar="EXPERIMENT", help="a name that `list` gives, or a .yaml file"
    )


def _add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        metavar="NAME=V1,V2",
        action="append",
        default=[],
        help="give a factor these values; the cells are then the product of all "
        "factors set and the policies. One value of "
        + ", ".join(sorted(OBSERVATION))
        + " only changes how runs are observed",
    )
    parser.add_argument("--duration", metavar="D", help="the same as --set duration=D")


def _add_policy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--policy",
        metavar="DIR",
        type=Path,
        help="ACK policies of your own, as in samples/ackpol: they are built into the kernel, and "
        "ack_policy allows their names; its Makefile is executed, so take only what you trust",
    )


def _add_kernel_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kernel-source",
        metavar="DIR|TARBALL",
        type=Path,
        help="Linux 6.12.y (default: Debian's linux-source-6.12)",
    )


def _add_json(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--json", action="store_true", help=text)

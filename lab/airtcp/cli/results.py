# SPDX-License-Identifier: GPL-2.0-only
"""The subcommands `report` and `results`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from airtcp.cli.messages import counter, say
from airtcp.cli.options import (
    Subcommands,
    add_form,
    add_metrics,
    add_title,
    add_verify,
    not_negative,
    path,
    word,
)
from airtcp.errors import AirtcpError, InputError
from airtcp.experiment import catalogue
from airtcp.experiment.experiment import Experiment
from airtcp.results import artifacts, assembly, comparison, documents, reproduction, table
from airtcp.results.documents import SweepDocument
from airtcp.results.record import RUNS
from airtcp.units import counted


def add(subcommands: Subcommands) -> None:
    """Add `report` and `results`."""
    report = subcommands.add_parser(
        "report",
        help="write report.html from finished runs",
        description=(
            "Write DIR/report.html. If DIR has several experiments in its subdirectories, as after "
            "`run all`, write the report of each, and an index of them, DIR/index.html."
        ),
    )
    report.add_argument("directory", metavar="DIR", type=path, help="directory of a `run`")
    report.add_argument(
        "--timeline",
        metavar="START_MS",
        type=not_negative,
        help="start of the 50 ms timeline of the air, in virtual ms since the start of the capture "
        "(default: the same time for all policies, in the last second of the captures, where the "
        "number of MPDUs per PPDU is closest to the means of the runs)",
    )
    report.add_argument(
        "--run",
        metavar="CASE/seed-N",
        type=word,
        help="the run whose timeline to show, a directory in DIR/runs (default: the first run of "
        "each policy)",
    )
    report.add_argument(
        "--figures",
        action="store_true",
        help="also write each figure for print, as PDF, PNG and SVG in DIR/figures; this takes "
        "about half a second per figure",
    )
    add_title(report, "page", "the run")
    report.add_argument(
        "--single-file",
        action="store_true",
        help="put everything that the page needs into report.html, for example to mail it; adds "
        "5 MB, and leaves out links to the files of the runs",
    )
    other = report.add_mutually_exclusive_group()
    other.add_argument(
        "--index",
        action="store_true",
        help="write DIR/index.html instead, an index of the reports in the subdirectories of DIR",
    )
    other.add_argument(
        "--published",
        action="store_true",
        help="write DIR/reproduction.md instead, as `run all` does: published and measured values, "
        "for the experiments in the subdirectories of DIR",
    )
    report.set_defaults(do=_report)

    _add_results(
        subcommands.add_parser("results", help="query finished sweeps: SQL, comparison, CSV")
    )


def _add_results(parser: argparse.ArgumentParser) -> None:
    subcommands = parser.add_subparsers(metavar="COMMAND", required=True)
    query = subcommands.add_parser(
        "query",
        help="query the runs of sweeps with SQL",
        description=(
            "Run DuckDB SQL over the view `runs`: one row per run, one column per parameter and "
            "metric, and the column `sweep` with the directory. In custom topologies, the view "
            "`flows` has a row per flow, with `sweep` and `identity` of its run."
        ),
    )
    query.add_argument(
        "sql", metavar="SQL", help="for example 'SELECT seed, goodput_mbps FROM runs'"
    )
    query.add_argument(
        "directories", metavar="DIR", type=path, nargs="+", help="directories of `run` commands"
    )
    add_form(query)
    add_verify(query)
    query.set_defaults(do=_results_query)

    compare = subcommands.add_parser(
        "compare",
        help="compare two sweeps run by run",
        description=(
            "Pair the runs of two sweeps, for example of two kernels or versions, by parameters "
            "and seed; print for each case the means, the mean of DIR2 / DIR1 and its 95% interval."
        ),
    )
    compare.add_argument("first", metavar="DIR1", type=path, help="directory of a `run`")
    compare.add_argument("second", metavar="DIR2", type=path, help="directory of another `run`")
    add_metrics(compare, "compare")
    add_form(compare)
    add_verify(compare)
    compare.set_defaults(do=_results_compare)

    export = subcommands.add_parser("export", help="print the table of all runs as CSV")
    export.add_argument("directory", metavar="DIR", type=path, help="directory of a `run`")
    add_verify(export)
    export.set_defaults(do=_results_export)


def _report(options: argparse.Namespace) -> int:
    if options.index or options.published:
        option = "--index" if options.index else "--published"
        given = [options.run, options.timeline, options.title]
        if options.figures or options.single_file or given != [None] * len(given):
            raise InputError(f"{option}: no other option is allowed with it, only DIR")
    if options.single_file and options.figures:
        raise InputError("--figures: writes other files, which --single-file does not allow")
    if options.published:
        return _report_published(options.directory)
    if options.index:
        # Imported here and below because other subcommands of this module do not need them.
        from airtcp.report.index import write_index

        print(write_index(options.directory))
        return 0
    if not (options.directory / documents.FILE).exists():
        several = sorted(found.parent for found in options.directory.glob(f"*/{documents.FILE}"))
        if several:
            return _report_several(options, several)
    return _report_one(options, options.directory)


def _report_one(options: argparse.Namespace, directory: Path) -> int:
    from airtcp.report import Choice, write_report

    left_out: list[str] = []
    choice = Choice(
        options.timeline, options.run, options.figures, options.title, options.single_file
    )
    with counter(f"{directory.name}: condition") as count:
        written = write_report(directory, choice, left_out.append, count)
    print(written)
    return _warned(left_out, [directory])


def _report_several(options: argparse.Namespace, directories: Sequence[Path]) -> int:
    """Write the report of each directory, and the index. An error does not stop the others."""
    from airtcp.report.index import write_index

    if options.run or options.timeline is not None or options.title:
        raise InputError(
            f"{options.directory} has {len(directories)} experiments: --run, --timeline and "
            "--title are allowed only with the directory of one of them"
        )
    code = 0
    failed = []
    for number, directory in enumerate(directories, start=1):
        say(f"{directory.name} ({number} of {len(directories)})")
        try:
            code = max(code, _report_one(options, directory))
        except AirtcpError as error:
            say(f"airtcp: {error}")
            code = 1
            failed.append(directory)
    # A tournament has its own page of this name.
    if len(failed) < len(directories) and not (options.directory / "tournament.md").exists():
        print(write_index(options.directory, failed))
    return code


def _report_published(directory: Path) -> int:
    documents_read: list[tuple[Experiment, SweepDocument]] = []
    left_out: list[str] = []
    for experiment in catalogue.experiments():
        out_dir = directory / experiment.name
        if (out_dir / documents.FILE).exists():
            document = documents.read(out_dir)
            damaged = artifacts.damaged(document.runs, out_dir)
            left_out += map(str, damaged)
            runs = assembly.without(document, [damage.run for damage in damaged]).runs
            if not runs:
                continue
            # The experiment may have changed since.
            rows = comparison.compare(
                experiment.parameters,
                experiment.published,
                assembly.of_kernel(runs, document.kernel.hash),
                experiment.published_duration_s,
            )
            update = {"runs": runs, "published": tuple(rows)}
            documents_read.append((experiment, document.model_copy(update=update)))
    exit_code = _warned(left_out, [])
    if not documents_read:
        if left_out:
            raise InputError(f"{directory}: all runs in it are damaged")
        raise InputError(f"{directory}: no directory in it has the results.json of an experiment")
    print(reproduction.write(directory, documents_read))
    return exit_code


def _warned(left_out: Sequence[str], directories: Sequence[Path]) -> int:
    """Report runs that were left out and directories not checked; exit code 1 if any run was."""
    for directory in dict.fromkeys(directories):
        if not (directory / RUNS).is_dir():
            say(f"airtcp: {directory / RUNS} is missing: the files of runs are not checked")
    for line in dict.fromkeys(left_out):
        say(f"airtcp: {line}: this run is left out; the same `run` repeats it")
    return 1 if left_out else 0


def _results_query(options: argparse.Namespace) -> int:
    from airtcp.results import analysis

    left_out: list[str] = []
    answer = analysis.query(
        options.sql, options.directories, left_out.append, verify=options.verify
    )
    print(answer.text(options.form), end="")
    return _warned(left_out, options.directories)


def _results_compare(options: argparse.Namespace) -> int:
    from airtcp.results import analysis

    left_out: list[str] = []
    pairs = analysis.pair(options.first, options.second, left_out.append, verify=options.verify)
    if not pairs.cases:
        _warned(left_out, ())
        for directory, alone in zip((options.first, options.second), pairs.alone, strict=True):
            if not alone:
                raise InputError(f"{directory}: no undamaged run to compare")
        raise InputError(
            f"no run of {options.first} has the same parameters and seed as a run of "
            f"{options.second}; they differ in {', '.join(pairs.differing)}"
        )
    answer = analysis.compare(pairs, options.metric)
    print(answer.text(options.form), end="")
    if options.form == "table" and (few := table.note(answer.column("n"))):
        print(few)
    if pairs.topology:
        say(f"the topologies differ in {', '.join(pairs.topology)}")
    for directory, alone in zip((options.first, options.second), pairs.alone, strict=True):
        if alone:
            runs = counted(alone, "run")
            say(f"no counterpart with the same parameters and seed: {runs} of {directory}")
    return _warned(left_out, (options.first, options.second))


def _results_export(options: argparse.Namespace) -> int:
    from airtcp.results import analysis

    left_out: list[str] = []
    answer = analysis.export(options.directory, left_out.append, verify=options.verify)
    print(answer.text("csv"), end="")
    return _warned(left_out, [options.directory])

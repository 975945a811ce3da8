# SPDX-License-Identifier: GPL-2.0-only
"""The subcommand `tournament`."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from airtcp.cli.common import own_policy_of
from airtcp.cli.kernels import changes_for
from airtcp.cli.messages import say
from airtcp.cli.options import (
    Subcommands,
    add_json,
    add_kernel_source,
    add_policy,
    complete_list,
    seeds,
)
from airtcp.cli.sweeping import add_where, out_dir_of, sweep_options_of
from airtcp.errors import InputError
from airtcp.experiment import tournament as field
from airtcp.experiment.experiment import Case, Experiment
from airtcp.experiment.tournament import Condition, Tournament
from airtcp.kernel import own_policy
from airtcp.kernel.policies import BASELINE
from airtcp.kernel.source import find_series_source
from airtcp.results import tournament as judge
from airtcp.suggest import not_allowed
from airtcp.sweep import inputs
from airtcp.sweep.session import Planned, SweepResult, measure_all

_NAME = "tournament"


def add(subcommands: Subcommands) -> None:
    """Add `tournament`."""
    parser = subcommands.add_parser(
        _NAME,
        help="compare all ACK policies under many conditions",
        description=(
            "Measure every ACK policy except every and divack, and ACK filters, under many "
            "conditions; print the standings and write OUT/index.html. Ratios are relative to the "
            f"policy {BASELINE}, paired by seed. OUT, the directory of --out, has a directory for "
            "each condition, like those of `run`, from which `report` makes a report. The same "
            "command resumes an interrupted tournament."
        ),
    )
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument(
        "--quick",
        action="store_true",
        help="some of the conditions, short runs: about 15 minutes on two cores (the default)",
    )
    extent.add_argument(
        "--full", action="store_true", help="all conditions, long runs: about 2 hours on two cores"
    )
    entrants = parser.add_argument(
        "--entrants",
        metavar="E1,E2",
        type=lambda text: text.split(","),
        help=f"only these and {BASELINE} (default: all, except ackhold, which needs another "
        "kernel)",
    )
    complete_list(entrants, lambda: [each.name for each in field.load().entrants])
    conditions = parser.add_argument(
        "--conditions",
        metavar="C1,C2",
        type=lambda text: text.split(","),
        help="only these conditions, by the names of their directories in OUT (default: those of "
        "--quick or --full)",
    )
    complete_list(conditions, lambda: [each.name for each in field.load().conditions])
    parser.add_argument(
        "--seeds",
        metavar="N",
        type=seeds,
        help="seeds per case, at least 2 (default: that of --quick or --full)",
    )
    add_policy(parser)
    add_where(parser, _NAME)
    add_kernel_source(parser)
    add_json(parser, "print one JSON document instead of a table")
    parser.set_defaults(do=_run)


def _run(options: argparse.Namespace) -> int:
    from airtcp.report import tournament as page

    policy = own_policy_of(options)
    own = policy.names if policy else None
    if own and not own["ack_policy"]:
        raise InputError(f"--policy {options.policy}: no ACK policy found; a tournament needs one")
    tournament = field.load().with_policies(own["ack_policy"] if own else ())
    if options.entrants:
        _check("--entrants", options.entrants, [each.name for each in tournament.entrants])
    tournament = tournament.only(options.entrants)
    conditions = _conditions(options, tournament)
    extent = tournament.full if options.full else tournament.quick
    options.seeds = options.seeds or extent.seeds
    if options.seeds < 2:
        raise InputError("--seeds 1: intervals need two seeds or more")
    out_dir = out_dir_of(options, _NAME)
    find_series_source(options.kernel_source, "a tournament of ACK policies")
    own_files = inputs.read(None, policy)
    planned = [
        (condition, *field.contest(tournament, condition, extent.duration, own))
        for condition in conditions
    ]
    all_cases = [each for _, _, cases in planned for each in chain.from_iterable(cases.values())]
    sweep_options = sweep_options_of(
        options,
        out_dir,
        lambda: {
            "": own_policy.build(
                policy, options.kernel_source, other=changes_for(all_cases), say=say
            )
        },
    )

    def sweeps() -> Iterator[Planned]:
        for number, (condition, experiment, cases) in enumerate(planned, start=1):
            say(f"{condition.full_title} ({number} of {len(conditions)})")
            directory = out_dir / condition.name
            given = replace(sweep_options, seeds=_seeds(condition, options.seeds))
            yield Planned(given, experiment, list(chain.from_iterable(cases.values())), directory)

    measured = {each.out_dir.name: end for each, end in measure_all(sweep_options, sweeps())}
    code = max((end.exit_code for end in measured.values()), default=0)
    done = sum(not end.interrupted for end in measured.values())
    if done < len(planned):
        say(f"interrupted after {done} of {len(planned)} conditions; the same command continues")
        return code
    contests = list(_judged(planned, measured, options.seeds))
    if not contests:
        return code
    titles = {entrant.name: entrant.title for entrant in tournament.entrants}
    standings = judge.standings(contests, titles)
    written = page.write(out_dir, standings, contests, options.command)
    if options.json:
        print(json.dumps(judge.document(standings, contests), indent=1))
    else:
        print(f"{judge.table(standings)}\n\n{written}")
    inputs.keep(out_dir, own_files)
    return code


def _conditions(options: argparse.Namespace, tournament: Tournament) -> Sequence[Condition]:
    """Those of the options."""
    if not options.conditions:
        return tournament.conditions_of(not options.full)
    _check("--conditions", options.conditions, [each.name for each in tournament.conditions])
    return [each for each in tournament.conditions if each.name in options.conditions]


def _seeds(condition: Condition, seeds: int) -> int:
    """The runs of a case: on a cable, delays take the place of seeds."""
    return 1 if condition.delays else seeds


def _judged(
    planned: Sequence[tuple[Condition, Experiment, Mapping[str, Sequence[Case]]]],
    measured: Mapping[str, SweepResult],
    seeds: int,
) -> Iterator[judge.Contest]:
    """The conditions with runs of the baseline. measured: by the condition's name."""
    for condition, _, cases in planned:
        end = measured.get(condition.name)
        if not end or not end.document:
            continue
        expected = _seeds(condition, seeds)
        if judged := judge.contest(condition, cases, end.document, expected):
            yield judged
        else:
            say(
                f"note: {condition.name}: not counted, because no run of {BASELINE} succeeded or "
                "one measured 0"
            )


def _check(option: str, given: list[str], known: list[str]) -> None:
    for name in given:
        if name not in known:
            raise InputError(f"{option}: {not_allowed(name, known)}")

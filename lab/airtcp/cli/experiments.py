# SPDX-License-Identifier: GPL-2.0-only
"""The subcommands `show`, `new` and `schema`."""

import argparse
import json
import shlex
from collections.abc import Sequence

from airtcp.cli.common import experiment_of, own_policy_of, settings_of
from airtcp.cli.messages import say
from airtcp.cli.options import Subcommands, add_experiment, add_json, add_policy, add_settings
from airtcp.experiment import figures, topology_text
from airtcp.experiment.experiment import Case, Experiment
from airtcp.experiment.papers import SIGNS
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Quantity
from airtcp.parameters.section import facts
from airtcp.paths import PROGRAM


def add(subcommands: Subcommands) -> None:
    """Add `show`, `new` and `schema`."""
    show = subcommands.add_parser(
        "show", help="show an experiment: parameters, cases, published values"
    )
    add_experiment(show)
    add_settings(show)
    add_policy(show)
    add_json(show, "print JSON")
    show.set_defaults(do=_show)

    new = subcommands.add_parser("new", help="write a new experiment file to start from")
    new.add_argument(
        "experiment",
        metavar="NAME|PATH",
        help="write NAME.yaml in this directory, or the given file",
    )
    new.set_defaults(do=_new)

    described = subcommands.add_parser(
        "schema", help="print the JSON Schema of experiment files, for editors"
    )
    add_policy(described)
    described.set_defaults(do=_schema)


def _show(options: argparse.Namespace) -> int:
    experiment = experiment_of(options, own_policy_of(options))
    cases = experiment.cases(settings_of(options))
    if options.json:
        print(json.dumps(_described(experiment, cases), indent=1))
        return 0
    source = f"\nSource: {experiment.source}" if experiment.source else ""
    print(f"{experiment.name}: {experiment.title}{source}\n")
    for title, text in (
        ("", experiment.description),
        ("Expected: ", experiment.expects),
        ("Why values differ: ", experiment.reason),
    ):
        if text:
            print(f"{title}{text}\n")
    print("Parameters (* differs from the default; --set changes any of them) [range]:")
    ranges = {name: f" [{each.allowed()}]" for name, each in facts(Parameters, Quantity)}
    fields = Parameters.model_fields.items()
    for (key, value), (name, field) in zip(
        experiment.parameters.plain().items(), fields, strict=True
    ):
        mark = " " if value == Parameters.defaults()[key] else "*"
        print(f"  {mark} {key:<20} {value!s:<20} {field.description}{ranges.get(name, '')}")
    if experiment.network:
        print("\nNetwork:")
        for line in topology_text.lines(experiment.network):
            print(f"    {line}")
    print(f"\nCases ({len(cases)}) and their published values:")
    for case, published in zip(cases, experiment.published_for(cases), strict=True):
        factors = " ".join(f"{name}={value}" for name, value in case.factors.items())
        values = [
            f"{value.metric} {SIGNS[value.precision]}{float(value.value):.6g} ({value.source})"
            for value in published.values()
        ]
        print(f"    {factors}  {'; '.join(values)}".rstrip())
    if experiment.figures:
        print("\nFigures in the report, in addition to those in every report:")
        for line in figures.show(experiment.figures):
            print(f"    {line}")
    return 0


def _described(experiment: Experiment, cases: Sequence[Case]) -> dict[str, object]:
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "description": experiment.description,
        "expects": experiment.expects,
        "reason": experiment.reason,
        "published_duration_s": experiment.published_duration_s,
        "parameters": experiment.parameters.plain(),
        "network": experiment.network.plain() if experiment.network else None,
        "cases": [dict(case.factors) for case in cases],
        "published": [value.model_dump(mode="json") for value in experiment.published],
        "figures": [figures.documented(figure) for figure in experiment.figures],
    }


def _new(options: argparse.Namespace) -> int:
    from airtcp.experiment import template

    experiment_file, *others = template.write(options.experiment)
    for path in (experiment_file, *others):
        print(path)
    say(f"next: {PROGRAM} run {shlex.quote(str(experiment_file))}")
    return 0


def _schema(options: argparse.Namespace) -> int:
    from airtcp.experiment import schema

    policy = own_policy_of(options)
    print(schema.text(policy.names if policy else None), end="")
    return 0

# SPDX-License-Identifier: GPL-2.0-only
"""The verbs `list`, `show`, `new` and `schema`."""

import argparse
import json
from collections.abc import Sequence

from airtcp.cli.common import own_policy_of, say, settings_of, warn
from airtcp.cli.options import Verbs, add_experiment, add_json, add_policy, add_settings
from airtcp.experiment import catalogue, figures, reader, schema, template, topology_text
from airtcp.experiment.experiment import Case, Experiment
from airtcp.parameters import Parameters


def add(verbs: Verbs) -> None:
    """Add `list`, `show`, `new` and `schema`."""
    listing = verbs.add_parser("list", help="list the experiments")
    add_json(listing, "print JSON")
    listing.set_defaults(do=_list)

    show = verbs.add_parser("show", help="show an experiment: parameters, cases, published figures")
    add_experiment(show)
    add_settings(show)
    add_policy(show)
    add_json(show, "print JSON")
    show.set_defaults(do=_show)

    new = verbs.add_parser("new", help="write an experiment of your own to begin with")
    new.add_argument(
        "experiment", metavar="NAME|PATH", help="NAME.yaml is written here, or the file named"
    )
    new.set_defaults(do=_new)

    described = verbs.add_parser(
        "schema", help="print the JSON Schema of an experiment's file, for editors"
    )
    add_policy(described)
    described.set_defaults(do=_schema)


def _list(options: argparse.Namespace) -> int:
    found = catalogue.experiments()
    print(json.dumps(catalogue.listed(found), indent=1) if options.json else catalogue.table(found))
    return 0


def _show(options: argparse.Namespace) -> int:
    own_policy_of(options)
    chosen = reader.load(options.experiment)
    cases = chosen.cases(settings_of(options))
    warn(cases)
    if options.json:
        print(json.dumps(_described(chosen, cases), indent=1))
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
    print(f"\nCells ({len(cases)}), and what has been published for them:")
    for case in cases:
        factors = " ".join(f"{name}={value}" for name, value in case.factors.items())
        published = [
            f"{one.metric} {one.value} ({one.source})"
            for one in chosen.published_for(case.parameters).values()
        ]
        print(f"    {factors}  {'; '.join(published)}".rstrip())
    if chosen.figures:
        print("\nFigures of the report, beside those that every report has:")
        for line in figures.show(chosen.figures):
            print(f"    {line}")
    return 0


def _described(chosen: Experiment, cases: Sequence[Case]) -> dict[str, object]:
    return {
        "experiment": chosen.name,
        "title": chosen.title,
        "source": chosen.source,
        "description": chosen.description,
        "expects": chosen.expects,
        "reason": chosen.reason,
        "parameters": chosen.parameters.plain(),
        "network": chosen.network.plain() if chosen.network else None,
        "cases": [dict(case.factors) for case in cases],
        "published": [one.model_dump(mode="json") for one in chosen.published],
        "figures": [figures.documented(one) for one in chosen.figures],
    }


def _new(options: argparse.Namespace) -> int:
    experiment_file, *others = template.write(options.experiment)
    for path in (experiment_file, *others):
        print(path)
    say(f"next: ./airtcp run {experiment_file}")
    return 0


def _schema(options: argparse.Namespace) -> int:
    own_policy_of(options)
    print(schema.text(), end="")
    return 0

# SPDX-License-Identifier: GPL-2.0-only
"""The subcommand `list`."""

import argparse
import json

from airtcp.cli.options import Subcommands, add_json
from airtcp.experiment import summaries


def add(subcommands: Subcommands) -> None:
    """Add `list`."""
    listing = subcommands.add_parser("list", help="list the experiments")
    add_json(listing, "print JSON")
    listing.set_defaults(do=_list)


def _list(options: argparse.Namespace) -> int:
    if not options.json:
        print(summaries.table(summaries.read()))
        return 0
    # Loading the experiments takes several times longer than reading their titles.
    from airtcp.experiment import catalogue

    print(json.dumps(catalogue.listed(catalogue.experiments(checked=False)), indent=1))
    return 0

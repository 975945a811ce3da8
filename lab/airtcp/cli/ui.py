# SPDX-License-Identifier: GPL-2.0-only
"""The subcommand `ui`."""

import argparse
from pathlib import Path

from airtcp.cli.messages import say
from airtcp.cli.options import Subcommands, path, port


def add(subcommands: Subcommands) -> None:
    """Add `ui`."""
    ui = subcommands.add_parser(
        "ui",
        help="browse finished sweeps in a web browser",
        description=(
            "Serve read-only pages on the sweeps in DIR on 127.0.0.1, until Ctrl-C: tables of runs "
            "with filters, single runs with timelines, comparisons of two sweeps. Only those "
            "who know the URL that it prints can read them."
        ),
    )
    ui.add_argument(
        "directory",
        metavar="DIR",
        type=path,
        nargs="?",
        default=Path("results"),
        help="a directory that contains those of `run` commands (default: results)",
    )
    ui.add_argument(
        "--port",
        metavar="PORT",
        type=port,
        default=0,
        help="port to listen on (default: any free one)",
    )
    ui.set_defaults(do=_ui)


def _ui(options: argparse.Namespace) -> int:
    # Imported here because other subcommands do not need it.
    from airtcp.ui.server import Server

    with Server(options.directory, options.port) as server:
        print(server.url, flush=True)
        say("press Ctrl-C to stop")
        server.serve_forever()
    return 0

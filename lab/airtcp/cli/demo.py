# SPDX-License-Identifier: GPL-2.0-only
"""The subcommand `demo`: a small experiment and its report."""

import argparse
from pathlib import Path

from airtcp.cli.options import Subcommands, path

_RUN = (
    *("run", "thesis-lan", "--set", "ack_policy=default,aad,auto", "--set", "delay=0ms,10ms"),
    *("--duration", "10s", "--seeds", "3"),
)


def add(subcommands: Subcommands) -> None:
    """Add `demo`."""
    demo = subcommands.add_parser(
        "demo",
        help="measure default, aad and auto over Wi-Fi, print the table, write the report",
        description=f"The same as: airtcp {' '.join(_RUN)}; then airtcp report.",
    )
    demo.add_argument(
        "--out",
        metavar="DIR",
        type=path,
        default=Path("results") / "demo",
        help="directory of the results (default: results/demo)",
    )
    demo.set_defaults(do=_demo)


def _demo(options: argparse.Namespace) -> int:
    from airtcp.cli import main

    out = str(options.out)
    return main([*_RUN, "--out", out]) or main(["report", out])

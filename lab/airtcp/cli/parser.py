# SPDX-License-Identifier: GPL-2.0-only
"""The command-line parser; each group of verbs adds its own subparsers."""

import argparse

from airtcp import __version__
from airtcp.cli import cluster, doctor, experiments, kernel, prompt, results, run

_EPILOG = """\
examples:
  ./airtcp run thesis-lan --set delay=0ms,50ms --set ack_policy=default,aad --seeds 3
  ./airtcp run thesis-lan --duration 10s --jobs 2 --json > thesis-lan.json
  ./airtcp report results/thesis-lan
exit codes: 0 success, 1 a run or a build failed, 2 bad input, 130 interrupted
"""


def build() -> argparse.ArgumentParser:
    """Return the parser with all verbs; each sets `do` to the function that executes it."""
    parser = argparse.ArgumentParser(
        prog="airtcp",
        description="Measure TCP over Wi-Fi: the Linux kernel over a simulated radio.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"airtcp {__version__}")
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    for group in (run, experiments, results, cluster, kernel, prompt, doctor):
        group.add(verbs)
    return parser

# SPDX-License-Identifier: GPL-2.0-only
"""Install what airtcp needs from the distribution, with lab/setup.sh.

./airtcp runs that script itself, because it also makes the Python environment.
"""

import argparse
import os

from airtcp.cli.options import Subcommands
from airtcp.paths import REPOSITORY

SETS = ("run", "build", "be", "test", "verify", "bench")


def add(subcommands: Subcommands) -> None:
    """Add `setup`."""
    setup = subcommands.add_parser(
        "setup",
        help="list what is missing, ask, and install it; no other command installs anything",
    )
    setup.add_argument(
        "set",
        nargs="?",
        choices=SETS,
        default="build",
        help="run: what runs need if the kernel has been built; build: also what building the "
        "kernel needs (default); be: also hostapd with 802.11be; test, verify, bench: what make "
        "test, make verify and make bench need",
    )
    setup.add_argument("--yes", "-y", action="store_true", help="install without asking")
    setup.add_argument(
        "--packages",
        action="store_true",
        help="only packages, no Python environment",
    )
    setup.add_argument(
        "--hostap-source",
        metavar="PATH",
        help="be: build hostapd from this tree or tarball of hostap 2.11 or newer, instead of "
        "Debian's source package",
    )
    setup.set_defaults(do=_setup)


def _setup(options: argparse.Namespace) -> int:
    script = str(REPOSITORY / "lab" / "setup.sh")
    given = ["--yes"] if options.yes else []
    given += ["--hostap-source", options.hostap_source] if options.hostap_source else []
    os.execv(script, [script, "--packages", *given, options.set])

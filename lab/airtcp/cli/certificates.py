# SPDX-License-Identifier: GPL-2.0-only
"""The option --certificates of the subcommands for clusters."""

import argparse
import os

from airtcp.cli.options import path
from airtcp.sweep import certificates
from airtcp.sweep.certificates import Certificates


def add_certificates(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--certificates",
        metavar="DIR",
        type=path,
        default=os.environ.get(certificates.ENVIRONMENT) or None,
        help="certificates with which the machines of the cluster authenticate each other "
        f"(default: ${certificates.ENVIRONMENT})",
    )


def certificates_of(options: argparse.Namespace) -> Certificates | None:
    return certificates.read(options.certificates) if options.certificates else None

# SPDX-License-Identifier: GPL-2.0-only
"""The option --certificates of the subcommands for clusters."""

import argparse
import os
from pathlib import Path

from airtcp.cli.options import path
from airtcp.sweep import certificates
from airtcp.sweep.certificates import Certificates


def add_certificates(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--certificates",
        metavar="DIR",
        type=path,
        help="certificates with which the machines of the cluster authenticate each other "
        f"(default: ${certificates.ENVIRONMENT})",
    )


def certificates_of(options: argparse.Namespace) -> Certificates | None:
    directory = options.certificates or os.environ.get(certificates.ENVIRONMENT)
    return certificates.read(Path(directory)) if directory else None

# SPDX-License-Identifier: GPL-2.0-only
"""Options that several verbs have, and the types of their values."""

import argparse
import os
from pathlib import Path
from typing import TypeAlias

from airtcp.errors import InputError
from airtcp.parameters import OBSERVATION
from airtcp.sweep import certificates

Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def path(text: str) -> Path:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"directory {text!r} is not UTF-8; rename it") from None
    return Path(text)


def positive(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def not_negative(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def port(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; allowed: 1 to 65535")
    return int(text)


def add_experiment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "experiment", metavar="EXPERIMENT", help="a name that `list` gives, or a .yaml file"
    )


def add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        metavar="NAME=V1,V2",
        action="append",
        default=[],
        help="give a factor these values; the cases are then the product of all "
        "factors set and the policies. One value of "
        + ", ".join(sorted(OBSERVATION))
        + " only changes how runs are observed",
    )
    parser.add_argument("--duration", metavar="D", help="the same as --set duration=D")


def add_policy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--policy",
        metavar="DIR",
        type=Path,
        help="ACK policies of your own, as in samples/ackpol: they are built into the kernel, and "
        "ack_policy allows their names; its Makefile is executed, so take only what you trust",
    )


def add_kernel_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kernel-source",
        metavar="DIR|TARBALL",
        type=Path,
        help="Linux 6.12.y (default: Debian's linux-source-6.12)",
    )


def add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs", metavar="J", type=positive, help="runs at once (default: one a core)"
    )


def add_certificates(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--certificates",
        metavar="DIR",
        type=path,
        default=os.environ.get(certificates.ENVIRONMENT) or None,
        help="those of the cluster, by which its machines know each other (default: "
        f"${certificates.ENVIRONMENT})",
    )


def add_form(parser: argparse.ArgumentParser) -> None:
    form = parser.add_mutually_exclusive_group()
    for name, text in (("csv", "print CSV"), ("json", "print JSON")):
        form.add_argument(
            f"--{name}", dest="form", action="store_const", const=name, default="table", help=text
        )


def add_json(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--json", action="store_true", help=text)

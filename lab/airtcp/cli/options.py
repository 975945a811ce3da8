# SPDX-License-Identifier: GPL-2.0-only
"""Options shared by several subcommands, and the types of their values."""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias, get_args

from airtcp.experiment.metrics import METRICS, unknown_metric
from airtcp.units import parse_digits

Subcommands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

MAX_SEEDS = 1_000_000


class Once(argparse.Action):
    """An option that must not be given twice: the last one would replace the others."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, "given twice")
        setattr(namespace, self.dest, values)


def path(text: str) -> Path:
    if not text:  # Path("") is the current directory
        raise argparse.ArgumentTypeError("'' is not a path")
    return Path(text)


def word(text: str) -> str:
    """An argument that must not be empty, as "$UNSET" is."""
    if not text:
        raise argparse.ArgumentTypeError("'' is not allowed; give a value")
    return text


def positive(text: str) -> int:
    if not (number := not_negative(text, "positive")):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return number


def not_negative(text: str, kind: str = "non-negative") -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a {kind} integer")
    return parse_digits(text)


def seeds(text: str) -> int:
    """A number of seeds. Requests for their runs would fill the memory if there were many more."""
    number = positive(text)
    if number > MAX_SEEDS:
        raise argparse.ArgumentTypeError(f"{text!r} is out of range; allowed: 1 to {MAX_SEEDS}")
    return number


def port(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= parse_digits(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; allowed: 1 to 65535")
    return int(text)


def add_experiment(parser: argparse.ArgumentParser) -> None:
    experiment = parser.add_argument(
        "experiment", metavar="EXPERIMENT", help="an experiment from `list`, or a .yaml file"
    )
    complete_with(experiment, _experiments)


def complete_with(action: argparse.Action, values: Callable[[str], Iterable[str]]) -> None:
    """What a shell offers for an argument, given its beginning (completion.py)."""

    def completer(prefix: str, **_: object) -> Iterable[str]:
        return values(prefix)

    action.completer = completer  # type: ignore[attr-defined]


def complete_list(action: argparse.Action, names: Callable[[], Iterable[str]]) -> None:
    """Offer names for a list whose items are separated by commas."""

    def values(prefix: str) -> list[str]:
        before, comma, _ = prefix.rpartition(",")
        given = before.split(",")
        return [f"{before}{comma}{name}" for name in names() if name not in given]

    complete_with(action, values)


def _experiments(prefix: str) -> list[str]:
    from airtcp.experiment import summaries

    here = Path(prefix).parent.glob("*.yaml")
    return [*summaries.names(), *(str(path) for path in here)]


def _parameters(prefix: str) -> list[str]:
    """NAME= of every parameter; NAME=VALUE if its values are words."""
    from airtcp.kernel import names
    from airtcp.parameters import PARAMETER_NAMES, Parameters

    name, equals, _ = prefix.partition("=")
    if not equals:
        return [f"{name}=" for name in PARAMETER_NAMES]
    if known := names.known().get(name):
        return [f"{name}={word}" for word in known]
    fields = (field for field in Parameters.model_fields.values() if field.alias == name)
    types = [field.annotation for field in fields]
    words = ("on", "off") if types == [bool] else get_args(*types) if types else ()
    return [f"{name}={word}" for word in words if isinstance(word, str)]


def add_settings(parser: argparse.ArgumentParser) -> None:
    # `list` does not need the parameters, which take longer to import than it takes otherwise.
    from airtcp.parameters import OBSERVATION

    setting = parser.add_argument(
        "--set",
        metavar="NAME=V1,V2",
        action="append",
        default=[],
        help="set a parameter; several values make it a factor. The design of the experiment is "
        "replaced: the cases are all combinations of the values given, each with all ACK policies "
        "of the experiment unless ack_policy is set. A single value of a parameter that only "
        "affects how runs are observed keeps the design, but may change measured values slightly: "
        + ", ".join(sorted(OBSERVATION)),
    )
    complete_with(setting, _parameters)
    parser.add_argument("--duration", metavar="D", help="short for --set duration=D")


def metric(text: str) -> str:
    if text not in METRICS:
        raise argparse.ArgumentTypeError(unknown_metric(text))
    return text


def add_metrics(parser: argparse.ArgumentParser, purpose: str) -> None:
    """--metric NAME. purpose: what is done with the metric, as in "metric to print"."""
    names = parser.add_argument(
        "--metric",
        metavar="NAME",
        type=metric,
        action="append",
        default=[],
        help=f"metric to {purpose}; can be repeated (default: the headline metric of the workload)",
    )
    complete_with(names, lambda _: METRICS)


def add_policy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--policy",
        metavar="DIR",
        type=path,
        action=Once,
        help="directory with your own ACK policies or congestion controls, like samples/ackpol and "
        "samples/congestion-control: they are built into the kernel, and ack_policy and "
        "congestion_control accept their names; use only code that you trust, because the Makefile "
        "is executed",
    )


def add_kernel_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kernel-source",
        metavar="DIR|TARBALL",
        type=path,
        help="Linux 6.12.y source (default: Debian's linux-source-6.12)",
    )


def add_kernels(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Options for a kernel of any version, as cli/kernels.py reads them."""
    parser.add_argument(
        "--kernel-source",
        metavar="DIR|TARBALL|REPOSITORY@REVISION",
        type=path,
        action="append" if several else "store",
        default=None,
        help="Linux source (default: Debian's linux-source-6.12); versions other than 6.12, from "
        "6.1 on, are plain kernels: without ACK policies and other patches"
        + ("; given several times, it makes the kernel a factor" if several else ""),
    )
    parser.add_argument(
        "--plain",
        action="store_true",
        help="build a plain kernel, only with the patches that the laboratory itself needs",
    )


def add_title(parser: argparse.ArgumentParser, what: str, default: str) -> None:
    """--title TEXT, of `what`, by default the title of `default`."""
    parser.add_argument(
        "--title",
        metavar="TEXT",
        type=word,
        help=f"title of the {what} (default: that of {default})",
    )


def add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs", metavar="J", type=positive, help="number of parallel runs (default: one per core)"
    )


def add_verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--verify",
        action="store_true",
        help="read all files of finished runs and compare their hashes (default: only those whose "
        "size or times have changed since they were verified)",
    )


def add_form(parser: argparse.ArgumentParser) -> None:
    form = parser.add_mutually_exclusive_group()
    for name, text in (("csv", "print CSV"), ("json", "print JSON")):
        form.add_argument(
            f"--{name}", dest="form", action="store_const", const=name, default="table", help=text
        )


def add_json(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--json", action="store_true", help=text)

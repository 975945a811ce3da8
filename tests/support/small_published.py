# SPDX-License-Identifier: GPL-2.0-only
"""A small experiment with published values."""

from pathlib import Path

from small_experiment import write

from airtcp.experiment.experiment import Experiment
from airtcp.experiment.reader import load

HEAD = """\
name: small
title: A small one
paper: statkus-2017
source: nobody
description: For tests.
expects: Much.
reason: The moon.
design:
  - ack_policy: [default, aad]
    delay: [0ms, 10ms]
published:
"""


def published(
    when: str,
    value: object,
    *,
    relative_to: str = "",
    metric: str = "goodput_mbps",
    precision: str = "exact",
) -> str:
    relative = f"    relative_to: {{{relative_to}}}\n" if relative_to else ""
    return (
        f"  - when: {{{when}}}\n{relative}    metric: {metric}\n    value: {value}\n"
        f"    precision: {precision}\n    source: a table\n"
    )


def experiment(directory: Path, *values: str) -> Experiment:
    return load(write(directory, HEAD + "".join(values)))

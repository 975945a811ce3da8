# SPDX-License-Identifier: GPL-2.0-only
"""A small experiment file, for mistakes to be inserted, and settings for its cases."""

from pathlib import Path

from airtcp.experiment.experiment import Setting

GOOD = """\
name: small
title: A small one
source: nobody
description: For tests.
parameters:
  delay: 10ms
  sack: off
design:
  - ack_policy: [default, aad]
    rate: [10Mbit]
  - ack_policy: [default]
published:
  - when: {ack_policy: aad, rate: 10Mbit}
    metric: goodput_mbps
    value: 9.5
    precision: exact
    source: a table
"""


def write(directory: Path, text: str, *changes: tuple[str, str]) -> Path:
    """Write the text; each change replaces what is in it."""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = directory / "small.yaml"
    path.write_text(text)
    return path


def settings(*texts: str) -> list[Setting]:
    return [Setting.parse(text) for text in texts]

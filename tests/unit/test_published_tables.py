# SPDX-License-Identifier: GPL-2.0-only
"""Tables of published values in an experiment file."""

from pathlib import Path

import pytest

from airtcp.errors import InputError
from airtcp.experiment.reader import load

GOOD = """\
name: small
title: A small one
source: nobody
description: For tests.
design:
  - ack_policy: [default, aad]
    rate: [10Mbit]
published:
  - when: {ack_policy: aad, rate: 10Mbit}
    metric: goodput_mbps
    value: 9.5
    precision: exact
    source: a table
"""
TABLE = """\
published_tables:
  - when: {rate: 10Mbit}
    columns: [ack_policy, goodput_mbps, tcp_rtt_ms_mean]
    approximate: [tcp_rtt_ms_mean]
    rows:
      - [default, 9.25, -]
      - [aad, 9.5, 20]
    source: a table
"""


def write(directory: Path, text: str) -> Path:
    path = directory / "small.yaml"
    path.write_text(text)
    return path


def test_a_table_of_published_values_has_a_value_per_cell(tmp_path: Path) -> None:
    published = load(write(tmp_path, GOOD + TABLE)).published[1:]
    assert [(value.when, value.metric, value.value, value.precision) for value in published] == [
        ({"rate": "10Mbit", "ack_policy": "default"}, "goodput_mbps", 9.25, "exact"),
        ({"rate": "10Mbit", "ack_policy": "aad"}, "goodput_mbps", 9.5, "exact"),
        ({"rate": "10Mbit", "ack_policy": "aad"}, "tcp_rtt_ms_mean", 20, "approximate"),
    ]


def test_a_cell_may_be_a_bound(tmp_path: Path) -> None:
    text = GOOD + TABLE.replace("9.25, -", "'>= 9', '<=30'")
    published = load(write(tmp_path, text)).published[1:]
    assert [(value.metric, value.value, value.precision) for value in published] == [
        ("goodput_mbps", 9, "at least"),
        ("tcp_rtt_ms_mean", 30, "at most"),
        ("goodput_mbps", 9.5, "exact"),
        ("tcp_rtt_ms_mean", 20, "approximate"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[aad, 9.5, 20]", "[aad, 9.5]", "15: published_tables[0]: rows: row 2 has 2 values for 3"),
        ("9.5, 20", "9.5, fast", "15: published_tables[0]: rows: row 2: tcp_rtt_ms_mean: 'fast'"),
        ("9.5, 20", "'< 9', 20", "row 2: goodput_mbps: '< 9' is not a number of at least"),
        ("9.5, 20", "9.5, nan", "row 2: tcp_rtt_ms_mean: 'nan' is not a number of at least 0, a"),
        ("9.5, 20", "'<= inf', 20", "row 2: goodput_mbps: '<= inf' is not a number of at least 0"),
        ("9.5, 20", "-9.5, 20", "row 2: goodput_mbps: '-9.5' is not a number of at least 0"),
        ("y, goodput_mbps", "y, speed", "published_tables[0]: columns: 'speed' is neither a"),
        ("[tcp_rtt_ms_mean]", "[retransmits]", "approximate: 'retransmits' is not a column"),
        ("    source: a table", "", "15: published_tables[0].source: missing"),
        ("[aad, 9.5, 20]", "[count, 9.5, 20]", "20: published_tables[0].rows[1]: no case of the"),
        ("rate: 10Mbit", "rat: 10Mbit", "15: published_tables[0]: when: 'rat' is not a parameter"),
    ],
)
def test_an_error_in_a_table_has_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        load(write(tmp_path, GOOD + TABLE.replace(old, new)))
    assert message in str(error.value)

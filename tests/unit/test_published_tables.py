# SPDX-License-Identifier: GPL-2.0-only
"""Published values in an experiment file: single ones, and tables."""

from pathlib import Path

import pytest
from small_experiment import write

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


def test_a_ratio_may_be_a_word(tmp_path: Path) -> None:
    text = GOOD.replace("value: 9.5", "value: less\n    relative_to: {ack_policy: default}")
    [value] = load(write(tmp_path, text)).published
    assert (value.value, value.relative_to) == ("less", {"ack_policy": "default"})


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ("value: fast", "11: published[0].value: 'fast' is not a number of at least 0; with rel"),
        ("value: -1", "11: published[0].value: '-1' is not a number of at least 0; with relative_"),
        ("value: more", "9: published[0]: value more: needs relative_to, the case to compare"),
        (
            "value: 0\n    relative_to: {ack_policy: default}",
            "9: published[0]: value 0: a ratio must be above 0",
        ),
        (
            "value: 2\n    precision: at least\n    relative_to: {ack_policy: default}",
            "9: published[0]: precision at least: is for values, not for ratios",
        ),
    ],
)
def test_a_value_that_cannot_be_compared_is_refused(tmp_path: Path, new: str, message: str) -> None:
    text = GOOD.replace("value: 9.5", new)
    if "precision" in new:
        text = text.replace("    precision: exact\n", "")
    with pytest.raises(InputError) as error:
        load(write(tmp_path, text))
    assert message in str(error.value)


def test_a_table_of_published_values_has_a_value_per_cell(tmp_path: Path) -> None:
    published = load(write(tmp_path, GOOD + TABLE)).published[1:]
    assert [(value.when, value.metric, value.value, value.precision) for value in published] == [
        ({"rate": "10Mbit", "ack_policy": "default"}, "goodput_mbps", 9.25, "exact"),
        ({"rate": "10Mbit", "ack_policy": "aad"}, "goodput_mbps", 9.5, "exact"),
        ({"rate": "10Mbit", "ack_policy": "aad"}, "tcp_rtt_ms_mean", 20, "approximate"),
    ]


def test_values_of_a_table_may_be_0_and_have_its_reason(tmp_path: Path) -> None:
    text = GOOD + TABLE.replace("9.25", "0") + "    reason: Rain.\n"
    first, *others = load(write(tmp_path, text)).published[1:]
    assert (first.value, first.reason, others[-1].reason) == (0, "Rain.", "Rain.")


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
        (
            *("goodput_mbps, tcp_rtt_ms_mean]", "goodput_mbps, goodput_mbps]"),
            "15: published_tables[0]: columns: 'goodput_mbps' is given twice",
        ),
        (
            *("goodput_mbps, tcp_rtt_ms_mean]", "gro, delay]"),
            "15: published_tables[0]: columns: none of them is a metric; give at least one",
        ),
        ("[ack_policy, g", "[rate, g", "published_tables[0]: columns: 'rate' is also in when"),
        ("y, goodput_mbps", "y, speed", "published_tables[0]: columns: 'speed' is neither a"),
        ("y, goodput_mbps", "y, goodput_mbs", "metric; did you mean 'goodput_mbps'?"),
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

# SPDX-License-Identifier: GPL-2.0-only
"""Columns and notes of printed tables."""

from airtcp.results.table import aligned, case_name, note


def test_columns_are_aligned() -> None:
    rows = [
        ["case", "n", "text", "x"],
        [case_name({}), "10", "t", ""],
        [case_name({"a": 1}), *"123"],
    ]
    assert aligned(rows, (0, 2)).splitlines() == [
        "case         n  text  x",
        "(one case)  10  t",
        "a=1          1  2     3",
    ]


def test_the_note_is_on_the_case_with_the_fewest_runs() -> None:
    assert "with one run" in str(note([3, 1]))
    assert "with two runs" in str(note([2, 5]))
    assert note([3, 4]) is note([]) is None

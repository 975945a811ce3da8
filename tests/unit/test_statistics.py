# SPDX-License-Identifier: GPL-2.0-only
"""Summaries, against values computed by hand (t = 4.303 for 2 degrees of freedom)."""

import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from airtcp.statistics import Summary, geometric_ci95, paired_difference, paired_ratio, summarize


def test_mean_and_student_interval() -> None:
    summary = summarize([1.0, 2.0, 3.0])  # s = 1, standard error = 1 / sqrt(3) = 0.57735
    assert summary.mean == 2.0
    assert summary.ci95 == pytest.approx(4.302653 * 0.577350, rel=1e-6)
    assert summary.n == 3


def test_one_value_has_no_interval() -> None:
    assert summarize([5.0]) == Summary(5.0, None, 1)


def test_equal_values_have_an_interval_of_zero() -> None:
    assert summarize([5.0, 5.0]) == Summary(5.0, 0.0, 2)


def test_no_values_cannot_be_summarized() -> None:
    with pytest.raises(ValueError, match="no values"):
        summarize([])


def test_pairs_are_matched_by_seed() -> None:
    baseline = {1: 10.0, 2: 20.0, 3: 30.0, 9: 1.0}
    other = {3: 33.0, 2: 22.0, 1: 11.0, 7: 1.0}
    ratio = paired_ratio(baseline, other)
    assert ratio is not None
    assert (ratio.mean, ratio.ci95) == pytest.approx((1.1, 0))
    assert ratio.n == 3
    difference = paired_difference(baseline, other)  # 1, 2, 3
    assert difference is not None
    assert difference.mean == pytest.approx(2.0)
    assert difference.ci95 == pytest.approx(4.302653 * 0.577350, rel=1e-6)


def test_pairs_without_a_common_seed_or_with_a_zero_baseline() -> None:
    assert paired_difference({1: 1.0}, {2: 1.0}) is None
    assert paired_ratio({1: 0.0}, {1: 1.0}) is None
    # The only pair with a ratio is 0.5, although the sum is 4.5 times as large.
    assert paired_ratio({1: 0.0, 2: 0.0, 3: 40.0}, {1: 90.0, 2: 70.0, 3: 20.0}) is None
    assert paired_ratio({1: 0.0, 2: 40.0}, {2: 20.0}) == Summary(0.5, None, 1)


def test_the_interval_of_a_geometric_mean() -> None:
    """Of equal means and intervals it is that of one mean, with more degrees of freedom."""
    one = Summary(2.0, 0.3, 3)
    t_2, t_8 = 4.302653, 2.306004
    half = geometric_ci95([one] * 4)
    assert half == pytest.approx(0.3 / t_2 * t_8 / 2, rel=1e-5)
    # Relative to their means, these are as wide.
    wide = [Summary(0.5, 0.075, 3), Summary(8.0, 1.2, 3)]
    assert geometric_ci95(wide) == pytest.approx(0.3 / t_2 * 2.776445 / 2**0.5, rel=1e-5)
    assert geometric_ci95([Summary(1.0, 0.0, 3)]) == 0
    for unknown in ([], [one, Summary(1.0, None, 1)], [one, Summary(0.0, 0.1, 3)]):
        assert geometric_ci95(unknown) is None


def test_the_documented_program_leaves_out_failed_runs(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs/how-to/sweeps.md"
    [program] = re.findall(r"^```python\n(import duckdb\n.*?)^```", page.read_text(), re.M | re.S)
    table = tmp_path / "results/sweep/results.parquet"
    table.parent.mkdir(parents=True)
    goodputs = {"default": (10, 10, 10, 10), "aad": (11, 12, 13, None)}
    rows = [
        ("0ms", policy, seed, goodput)
        for policy, values in goodputs.items()
        for seed, goodput in enumerate(values, start=1)
    ]
    with duckdb.connect() as database:
        database.execute("CREATE TABLE t (delay TEXT, ack_policy TEXT, seed INT, goodput_mbps INT)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        database.table("t").write_parquet(str(table))
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    # 1.1, 1.2, 1.3: s = 0.1, 4.303 * 0.1 / sqrt(3) = 0.248
    assert done.stdout == "0ms & aad & 1.200 $\\pm$ 0.248 \\\\\n"

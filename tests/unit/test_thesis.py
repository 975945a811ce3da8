# SPDX-License-Identifier: GPL-2.0-only
"""What a series of runs of thesis-lan can show (bench/thesis.py)."""

from collections.abc import Mapping, Sequence

import fake_run
import numpy
import pytest
import thesis
from doctables import with_table

from airtcp.results.documents import SweepDocument


def document(values: Mapping[thesis.Case, Sequence[float]]) -> SweepDocument:
    return fake_run.document(
        "thesis-lan",
        {
            (f"delay={delay}", f"ack_policy={policy}"): [{"goodput_mbps": x} for x in goodputs]
            for (delay, policy), goodputs in values.items()
        },
    )


def everything(values: Sequence[float]) -> dict[thesis.Case, Sequence[float]]:
    return {(delay, policy): values for delay in thesis.DELAYS for policy in thesis.POLICIES}


def test_goodput_and_published_values_are_found_by_case() -> None:
    found = document({("0ms", "default"): (150, 151), ("50ms", "aad"): (20, 30)})
    assert thesis.goodput(found) == {("0ms", "default"): [150, 151], ("50ms", "aad"): [20, 30]}
    theirs = thesis.published(found)
    assert theirs[("0ms", "default")] == 157.4
    assert theirs[("50ms", "aad")] == 51.62
    assert set(theirs) >= set(everything(()))


def test_runs_that_do_not_vary_have_one_mean() -> None:
    values = everything([100.0] * 10) | {("50ms", "aad"): [210.0] * 10}
    lines = thesis.table(values, thesis.published(document({}))).splitlines()
    assert "| 0 ms | `default` | 100.0 ± 0.0 | 100 to 100 | 157.4 |  |  |  |" in lines
    # 51.62 / 25 is +106.5%: all series with +110% are as large.
    assert lines[9].endswith("| 51.62 | +110.0% to +110.0% | +106.5% | 100.0% |")


def test_means_of_series_have_the_standard_error_of_the_mean() -> None:
    values = [10.0, 20.0, 30.0, 40.0]
    means = thesis.series_means(values, numpy.random.default_rng(1))
    assert means.std() == pytest.approx(numpy.std(values) / thesis.RUNS**0.5, rel=0.02)
    assert means.mean() == pytest.approx(25, rel=0.01)


def test_the_page_has_a_place_for_the_table() -> None:
    page = thesis.PAGE.read_text(encoding="utf-8")
    assert "new\n<!-- end -->\n" in with_table(page, "thesis-lan", "new\n")

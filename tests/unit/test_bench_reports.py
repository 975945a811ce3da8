# SPDX-License-Identifier: GPL-2.0-only
"""The sweeps of bench/reports.py, without running them."""

import pytest
import reports

from airtcp.experiment import catalogue
from airtcp.experiment.experiment import Setting
from airtcp.experiment.reader import load


@pytest.mark.parametrize("most_s", [2, 10])
def test_limited_transfers_keep_all_cases(most_s: int) -> None:
    """Also of experiments with events that come later."""
    for experiment in catalogue.experiments():
        cases = reports.limited(experiment, most_s).cases()
        assert len(cases) == len(experiment.cases())
        assert all(case.parameters.duration_s <= 10 for case in cases)
    [short] = {
        case.parameters.duration_s for case in reports.limited(load("thesis-lan"), most_s).cases()
    }
    assert short == most_s


@pytest.mark.parametrize(("settings", "count"), [(reports.TWELVE, 6), (reports.FIFTY_FOUR, 54)])
def test_sweeps_have_the_number_of_cases_of_their_name(
    settings: tuple[str, ...], count: int
) -> None:
    assert len(load("thesis-lan").cases([Setting.parse(text) for text in settings])) == count

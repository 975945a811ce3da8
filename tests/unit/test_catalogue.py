# SPDX-License-Identifier: GPL-2.0-only
"""The experiments of the repository: what `list` says about them, and their quick cases."""

from airtcp.experiment import catalogue, summaries
from airtcp.experiment.reader import load


def test_the_catalogue_has_sources_and_expectations() -> None:
    found = catalogue.listed(catalogue.experiments())
    assert sum(bool(row["published"]) for row in found) >= 25
    for row in found:
        assert row["source"], row["name"]
        assert row["expects"], row["name"]
        assert row["factors"], row["name"]
        assert bool(row["published"]) <= (row["paper"] != "own"), row["name"]
    table = summaries.table(summaries.read())
    assert table.index("TCP-AAD") < table.index("thesis-lan") < table.index("airtcp's own")


def test_summaries_match_the_experiments() -> None:
    loaded = [(each.name, each.title, each.paper) for each in catalogue.experiments(checked=False)]
    assert sorted(loaded) == list(map(tuple, summaries.read()))


def test_quick_runs_cases_with_published_values() -> None:
    cases = catalogue.quick(load("acklimit-receiver-bound"))
    assert [case.factors["ack_policy"] for case in cases] == ["limit", "default"]
    assert {case.parameters.duration_s for case in cases} == {5}  # its quick_duration
    short = [case.parameters for case in catalogue.quick(load("tsq-size"))]
    assert {(parameters.duration_s, parameters.baseline_s) for parameters in short} == {(10, 1)}
    assert len(catalogue.quick(load("ack-latency"))) == 1


def test_quick_is_bounded() -> None:
    """Some 220 runs of at most 10 s."""
    cases = [case for each in catalogue.experiments() for case in catalogue.quick(each)]
    assert len(cases) < 240
    assert all(case.parameters.duration_s <= 10 for case in cases)

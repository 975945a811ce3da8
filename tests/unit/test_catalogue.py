# SPDX-License-Identifier: GPL-2.0-only
"""The experiments of the repository: what `list` says about them, and their quick cases."""

from pathlib import Path

import pytest
from small_experiment import write

from airtcp.errors import InputError
from airtcp.experiment import catalogue, summaries
from airtcp.experiment.reader import load


def test_the_catalogue_has_sources_and_expectations() -> None:
    assert all(each.description for each in catalogue.experiments(checked=False))
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


def test_files_of_editors_are_no_experiments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summaries, "EXPERIMENTS_DIR", tmp_path)
    (tmp_path / "auto.yaml").touch()
    (tmp_path / ".#auto.yaml").symlink_to("user@host")
    assert summaries.names() == ["auto"]


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


LATE_FLOW = """\
topology: {servers: {s: {}}, access_points: {a: {}}, stations: {x: {access_point: a}}}
flows: [{from: s, to: x, start: 20s}]
"""
LATE = r"flows\[0\]\.start: the run has a duration of 10s"
PUBLISHED = """\
published: [{metric: goodput_mbps, value: 1, precision: exact, when: {mcs: 7}, source: x}]
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "parameters: {duration: 60s, udp_ping_interval: 20s}",
            "udp_ping_interval: 20s: longer than duration",
        ),
        (
            "parameters: {duration: 60s}\ndesign: [{udp_ping_interval: [1s, 20s]}]",
            "udp_ping_interval: 20s: longer than duration",
        ),
        (
            "parameters: {duration: 60s}\n" + PUBLISHED.replace("mcs: 7", "udp_ping_interval: 20s"),
            "udp_ping_interval: 20s: longer than duration",
        ),
        (
            "parameters: {duration: 60s, stations: 4, start_interval: 5s}",
            "start_interval: the last of 4 stations would start after half of duration 10s",
        ),
        (f"parameters: {{duration: 60s}}\n{LATE_FLOW}", LATE),
        (f"parameters: {{duration: 60s}}\n{LATE_FLOW}{PUBLISHED}", LATE),
    ],
)
def test_an_experiment_that_cannot_be_shortened_is_one_line(
    tmp_path: Path, text: str, message: str
) -> None:
    given = load(write(tmp_path, f"name: a\ntitle: A\nsource: b\ndescription: c\n{text}\n"))
    with pytest.raises(InputError, match=f"^--quick: {message}"):
        catalogue.quick(given)

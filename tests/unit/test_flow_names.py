# SPDX-License-Identifier: GPL-2.0-only
"""The names of flows, and their look in figures over time."""

from pathlib import Path

import numpy

from airtcp.experiment.topology import Network
from airtcp.parameters import Parameters
from airtcp.report import series
from airtcp.report.figure import Line, Style
from airtcp.report.inside import over_time
from airtcp.report.policies import Policies
from airtcp.report.series import OverTime
from airtcp.results.timeseries import CSV_COLUMNS
from airtcp.testbed.build import build

TIMES_S = numpy.array([1.0, 2.0])
FLOW = {"time_s": TIMES_S, "cwnd": TIMES_S, "ssthresh": TIMES_S, "srtt_ms": TIMES_S}
NETWORK = {
    "topology": {
        "servers": {"near": {}},
        "access_points": {"ap1": {}},
        "stations": {"laptop": {"access_point": "ap1"}},
    },
    "flows": [{"from": "near", "to": "laptop"}, {"from": "laptop", "to": "near"}],
}


def names(**settings: str) -> list[str]:
    testbed = build(Parameters().replace(settings))
    return series.flow_names(testbed, testbed.bulk)


def test_flows_have_direction_and_station() -> None:
    assert names() == ["download"]
    assert names(direction="both", flows="2") == ["download", "download", "upload", "upload"]
    assert names(stations="2") == ["download, station", "download, station2"]


def test_flows_of_a_custom_topology_have_their_names() -> None:
    flows = [*NETWORK["flows"], {"from": "near", "to": "laptop", "name": "backup"}]
    testbed = build(Parameters(), Network.model_validate(NETWORK | {"flows": flows}))
    assert series.flow_names(testbed, testbed.bulk) == ["near-laptop", "laptop-near", "backup"]


def shown(*policies: str, flows: tuple[str, ...]) -> tuple[list[str], list[Style], list[list[str]]]:
    """Entries of the legend, the looks of windows, and their entries."""
    line = OverTime([FLOW] * len(flows), flows, TIMES_S, dict.fromkeys(flows, TIMES_S))
    figure = over_time(dict.fromkeys(policies, line), Policies(policies))
    window = figure.panels[0].marks
    styles = [mark.style for mark in window if isinstance(mark, Line)]
    names = [entry.name for entry in figure.legend.entries]
    return names, styles, [list(mark.entries) for mark in window]


def test_a_single_flow_has_the_name_of_its_policy() -> None:
    entries, styles, of_lines = shown("default", "aad", flows=("download",))
    assert entries == ["default", "aad"]
    assert {style.dash for style in styles} == {"solid"}
    assert of_lines == [["default"], ["aad"]]


def test_flows_of_a_single_policy_differ_in_colour() -> None:
    entries, styles, of_lines = shown("default", flows=("download", "upload"))
    assert entries == ["download", "upload"]
    assert len({style.colour for style in styles}) == 2
    assert of_lines == [["download"], ["upload"]]


def test_flows_of_several_policies_differ_in_dash() -> None:
    entries, styles, of_lines = shown("default", "aad", flows=("download", "upload"))
    assert entries == ["default", "aad", "download", "upload"]
    assert len({(style.colour, style.dash) for style in styles}) == 4
    assert styles[0].colour == styles[1].colour != styles[2].colour
    assert of_lines[1] == ["default", "upload"]


def test_the_baseline_is_not_part_of_goodput_over_time(tmp_path: Path) -> None:
    first = CSV_COLUMNS.index("goodput_mbps")
    rows = [
        ",".join([str(second)] * first + [goodput] + ["0"] * (len(CSV_COLUMNS) - first - 1))
        for second, goodput in enumerate(("0", "0", "3", "4", "0", "0"), start=1)
    ]
    (tmp_path / "series.csv").write_text("\n".join([",".join(CSV_COLUMNS), *rows, ""]))
    testbed = build(Parameters().replace({"duration": "2s", "baseline": "2s"}))
    [(ends_s, values)] = series.by_second(tmp_path, testbed, "goodput")
    assert (list(ends_s), list(values)) == ([1, 2], [3, 4])

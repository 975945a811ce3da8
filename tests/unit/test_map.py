# SPDX-License-Identifier: GPL-2.0-only
"""The map of the radios of a custom topology."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from airtcp.experiment.topology import Network
from airtcp.parameters import Parameters
from airtcp.report import positions
from airtcp.report.figure import Figure, Labels, Line
from airtcp.report.model import Results
from airtcp.report.plot import Plot
from airtcp.report.plotly import document
from airtcp.testbed.build import build

SNR = {"error_model": "snr"}
AT_HOME = {"access_point": "ap", "snr": "30dB"}


def plot(
    stations: dict[str, Any], *cases: dict[str, Any], access_point: dict[str, str] | None = None
) -> Plot | None:
    network = Network.model_validate(
        {
            "topology": {
                "servers": {"server": {}},
                "access_points": {"ap": access_point or {}},
                "stations": stations,
            },
            "flows": [{"from": "server", "to": next(iter(stations))}],
        }
    )
    runs = []
    for case in cases or ({},):
        settings = Parameters().replace(SNR | case)
        testbed = build(settings, network)
        runs.append(
            SimpleNamespace(network=network, parameters=case, settings=settings, testbed=testbed)
        )
    return positions.plot(cast(Results, SimpleNamespace(runs=runs)))


def drawn(figure: Figure) -> dict[str, list[tuple[float, float]]]:
    """The points of each line, by its name."""
    [panel] = figure.panels
    return {
        mark.name: list(zip(mark.x, mark.y, strict=True))
        for mark in panel.marks
        if isinstance(mark, Line)
    }


def test_the_map_has_radios_and_walks() -> None:
    stations = {
        "phone": {"access_point": "ap", "walk": "0s=1m,5s=1m/20m,9s=-4m"},
        "laptop": AT_HOME,
        "desk": {"access_point": "ap", "access": "ethernet"},
    }
    shown = plot(stations, access_point={"position": "3m/4m"})
    assert shown is not None
    assert drawn(shown.figure) == {
        "walks, phone": [(1, 0), (1, 20), (-4, 0)],
        "access points, ap": [(3, 4)],
        "stations, phone": [(1, 0)],
        "stations, laptop": [(3, 4)],
    }
    assert "phone: 1m to 1m/20m to -4m; " in shown.description + "; "
    assert [entry.name for entry in shown.figure.legend.entries] == [
        *("access points", "stations", "walks")
    ]
    [texts] = [mark.texts for mark in shown.figure.panels[0].marks if isinstance(mark, Labels)]
    assert [text.text for text in texts] == ["ap", "phone", "laptop"]


@pytest.mark.parametrize("there", ["0m/80m", "80m", "30m/-50m", "0m"])
def test_the_map_is_to_scale(there: str) -> None:
    shown = plot({"phone": {"access_point": "ap", "position": there}})
    assert shown is not None
    figure = shown.figure
    [panel] = figure.panels
    widths = [axis.limits[1] - axis.limits[0] for axis in (panel.x, panel.y)]
    inches = figure.width_in - positions._BESIDE_IN, figure.height_in - positions._BELOW_IN
    assert widths[0] / inches[0] == pytest.approx(widths[1] / inches[1])
    for points in drawn(figure).values():
        for x_m, y_m in points:
            assert panel.x.limits[0] < x_m < panel.x.limits[1]
            assert panel.y.limits[0] < y_m < panel.y.limits[1]
    assert document(figure)["layout"]["yaxis"]["scaleanchor"] == "x"


def test_the_caption_says_how_far_radios_hear_each_other() -> None:
    """A signal has -46.677 dBm + 20 dBm - 30 dB at 10 m, with a path loss exponent of 3."""
    phone = {"phone": {"access_point": "ap", "position": "1m"}}
    shown = plot(phone, {"cca_threshold": "-56.677dBm"}, {"cca_threshold": "-86.677dBm"})
    assert shown is not None
    assert "Radios up to 10 or 100 m apart" in shown.caption


def test_long_ranges_have_no_exponent() -> None:
    shown = plot(
        {"phone": {"access_point": "ap", "position": "1m/1m"}}, {"path_loss_exponent": "2"}
    )
    assert shown and "Radios up to 1466 m apart" in shown.caption


def test_the_caption_has_the_range_of_each_transmit_power() -> None:
    phone = {"phone": {"access_point": "ap", "position": "1m", "tx_power": "-10dBm"}}
    shown = plot(phone, {"cca_threshold": "-86.677dBm"})
    assert shown is not None
    assert "Radios up to 10 or 100 m apart" in shown.caption


def test_there_is_no_map_without_common_positions() -> None:
    assert plot({"phone": AT_HOME}) is None
    anywhere = {"phone": {"access_point": "ap"}}
    assert plot(anywhere, {"distance": "5m"}) is not None
    assert plot(anywhere, {"distance": "5m"}, {"distance": "6m"}) is None

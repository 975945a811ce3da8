# SPDX-License-Identifier: GPL-2.0-only
"""A map of the radios of a custom topology."""

from collections.abc import Sequence

from airtcp.parameters.mobility import Position
from airtcp.report.figure import (
    COLUMN_IN,
    Axis,
    Entry,
    Figure,
    Labels,
    Legend,
    Line,
    Mark,
    Panel,
    Style,
    Text,
    floats,
)
from airtcp.report.model import Results
from airtcp.report.plot import Plot
from airtcp.testbed.model import Testbed
from airtcp.units import rounded

_STYLES = {
    "access points": Style("ink", marker="square", size=4.6),
    "stations": Style("policy0", marker="circle", size=4),
    "walks": Style("policy0", dash="dot"),
}

# What surrounds the panel: axes with their titles, and the legend.
_BESIDE_IN, _BELOW_IN = 0.7, 0.75
_LEAST_IN, _MOST_IN = 1.0, 4.0  # height of the panel
_MARGIN = 0.12  # around the radios, as a share of the longer side
_LEAST_M = 1.0


def plot(results: Results) -> Plot | None:
    """The map; None if radios have no positions, or if these differ between runs."""
    runs = results.runs
    moving = {(run.parameters.get("distance"), run.parameters.get("walk")) for run in runs}
    if runs[0].network is None or len(moving) > 1:
        return None
    testbed = runs[0].testbed
    paths = _paths(testbed)
    if not paths:
        return None
    ranges = {
        run.testbed.by_name[radio.node].parameters.range_m
        for run in runs
        for radio in run.testbed.radios
    }
    reach = " or ".join(rounded(each, 3) for each in sorted(ranges))
    return Plot(
        "map",
        "Positions",
        f"Radios up to {reach} m apart hear each other, unless one of them has a fixed snr or the "
        "topology lists the two under hidden.",
        "; ".join(
            f"{name}: {' to '.join(str(position) for position in path)}"
            for name, path in paths.items()
        ),
        figure(testbed, paths),
    )


def figure(testbed: Testbed, paths: dict[str, Sequence[Position]]) -> Figure:
    """The map to scale, as far as its longer side allows."""
    height_in, x_m, y_m = _frame([each for path in paths.values() for each in path])
    kinds = {node.name: node.kind for node in testbed.nodes}
    marks: list[Mark] = []
    for name, path in paths.items():
        if len(path) > 1:
            marks.append(_line(name, path, "walks"))
    for name, path in paths.items():
        kind = "access points" if kinds[name] == "access_point" else "stations"
        marks.append(_line(name, path[:1], kind))
    marks.append(
        Labels(texts=[Text(text=name, x=p[0].x_m, y=p[0].y_m) for name, p in paths.items()])
    )
    shown = dict.fromkeys(mark.entries[0] for mark in marks if mark.entries)
    order = [entry for entry in _STYLES if entry in shown]
    return Figure(
        [Panel(Axis("x", "m", x_m), Axis("y", "m", y_m), marks, to_scale=True)],
        height_in,
        legend=Legend([Entry(name, _STYLES[name]) for name in order], columns=len(order)),
    )


def _line(name: str, path: Sequence[Position], entry: str) -> Line:
    return Line(
        x=floats(position.x_m for position in path),
        y=floats(position.y_m for position in path),
        style=_STYLES[entry],
        entries=(entry,),
        detail=name,
    )


def _paths(testbed: Testbed) -> dict[str, Sequence[Position]]:
    """The positions of radios, by node, from the start of the run on; empty if they have none."""
    paths: dict[str, Sequence[Position]] = {}
    for radio in testbed.radios:
        if radio.position is None:
            return {}
        walk = testbed.by_name[radio.node].parameters.walk
        is_station = testbed.by_name[radio.node].kind == "station"
        paths[radio.node] = (
            [point.position for point in walk] if walk and is_station else [radio.position]
        )
    return paths


def _frame(
    positions: Sequence[Position],
) -> tuple[float, tuple[float, float], tuple[float, float]]:
    """The height in inches, and the limits of x and y in metres, of the same scale."""
    x_m, y_m = zip(*positions, strict=True)
    longer_m = max(max(x_m) - min(x_m), max(y_m) - min(y_m), _LEAST_M)
    margin_m = _MARGIN * longer_m
    spans_m = [max(values) - min(values) + 2 * margin_m for values in (x_m, y_m)]
    panel_in = COLUMN_IN - _BESIDE_IN
    height_in = min(max(panel_in * spans_m[1] / spans_m[0], _LEAST_IN), _MOST_IN)
    m_per_in = max(spans_m[0] / panel_in, spans_m[1] / height_in)
    middles = [(max(values) + min(values)) / 2 for values in (x_m, y_m)]
    limits = [
        (middle - m_per_in * side_in / 2, middle + m_per_in * side_in / 2)
        for middle, side_in in zip(middles, (panel_in, height_in), strict=True)
    ]
    return height_in + _BELOW_IN, limits[0], limits[1]

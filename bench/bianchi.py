# SPDX-License-Identifier: GPL-2.0-only
"""Saturated stations of 802.11a at 54 Mbit/s, compared with Bianchi's model and a simulation.

Prints what was measured and its ratios to the model and to a Monte Carlo simulation of the same
radio, and draws docs/images/bianchi.svg.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from bianchi_model import BEST_EFFORT, Prediction, solve
from edca_simulation import simulate
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter
from radio import MPDU_OCTETS, saturated_uplink
from wifi_timing import ACK, legacy, ppdu_us

from airtcp.backends.guesttools import build_tools
from airtcp.cli.messages import say
from airtcp.kernel.image import build
from airtcp.paths import REPOSITORY
from airtcp.report.mpl import save_in_docs, style
from airtcp.report.palette import PALETTE

# Virtual seconds by number of stations: two rarely collide, so counting collisions takes longest.
SECONDS = {1: 5, 2: 250, 5: 50, 10: 30, 20: 20, 50: 15}
SEEDS = (1, 2, 3, 4)
# CWmin of best effort, and of W = 128, m = 3 in figure 6 of Bianchi's paper.
WINDOWS = (15, 127)
IMAGE = REPOSITORY / "docs" / "images" / "bianchi.svg"
TIMES_US = ppdu_us(legacy(54_000), MPDU_OCTETS), ppdu_us(legacy(24_000), ACK)
QUANTITIES = {
    "throughput_mbps": "throughput (Mbit/s)",
    "collision_probability": "collision probability",
}

Point = Mapping[str, float]


def model(n: int, cw_min: int) -> Prediction:
    return solve(n, *TIMES_US, edca=replace(BEST_EFFORT, cw_min=cw_min))


@cache
def simulation(n: int, cw_min: int) -> Prediction:
    return simulate(n, *TIMES_US, edca=replace(BEST_EFFORT, cw_min=cw_min))


def ratio(measured: float, predicted: float) -> str:
    return f"{measured / predicted:.4f}" if predicted else "-"


def table(points: Sequence[Point], cw_min: int) -> str:
    """A line per point: measured values, and their ratios to the model and the simulation."""
    lines = [
        f"{'':>3}  {'throughput':^27}  {'collision probability':^27}",
        f"{'n':>3}" + 2 * f"  {'measured':>9}{'/model':>9}{'/sim.':>9}",
    ]
    for point in points:
        n = int(point["n"])
        predicted, simulated = model(n, cw_min), simulation(n, cw_min)
        line = f"{n:>3}"
        for name in QUANTITIES:
            measured = point[name]
            to_model = ratio(measured, getattr(predicted, name))
            to_simulation = ratio(measured, getattr(simulated, name))
            line += f"  {measured:9.4f}{to_model:>9}{to_simulation:>9}"
        lines.append(line)
    return "\n".join(lines)


def plot(measured: Mapping[int, Sequence[Point]]) -> None:
    """Plot the model as lines, the simulation as crosses and measured points, by CWmin."""
    with style():
        figure = Figure(figsize=(7, 2.8), layout="constrained")
        panels = figure.subplots(1, 2)
        for (cw_min, points), role in zip(measured.items(), ("policy0", "policy1"), strict=True):
            measured_n = [int(point["n"]) for point in points]
            stations = range(1, max(measured_n) + 1)
            colour, faint = PALETTE[role][0], PALETTE["faint"][0]
            for axes, name in zip(panels, QUANTITIES, strict=True):
                values = [getattr(model(n, cw_min), name) for n in stations]
                axes.plot(stations, values, color=colour, label=f"Bianchi's model, CWmin {cw_min}")
                values = [getattr(simulation(n, cw_min), name) for n in measured_n]
                axes.plot(measured_n, values, "x", color=faint, markersize=7, label="simulation")
                values = [point[name] for point in points]
                axes.plot(measured_n, values, "o", color=colour, markersize=3, label="airsim")
        for axes, label in zip(panels, QUANTITIES.values(), strict=True):
            axes.set_xscale("log")
            axes.set_xticks(list(SECONDS))
            axes.xaxis.set_major_formatter(ScalarFormatter())
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.set_ylim(bottom=0)
            axes.set_xlabel("saturated stations")
            axes.set_ylabel(label)
        panels[1].legend(loc="upper left", fontsize="x-small")
        save_in_docs(figure, IMAGE)


def measure(cw_min: int) -> list[Point]:
    kernel, tools = build(say=say), build_tools(say)
    points: list[Point] = []
    for n, seconds in SECONDS.items():
        with tempfile.TemporaryDirectory() as directory:
            mbps, p = saturated_uplink(
                kernel, tools, Path(directory), n, seconds, cw_min, SEEDS if n == 2 else (1,)
            )
        say(f"CWmin {cw_min}, {n} stations: {mbps:.3f} Mbit/s, p {p:.4f}")
        points.append({"n": n, "throughput_mbps": mbps, "collision_probability": p})
    return points


def main() -> int:
    measured = {cw_min: measure(cw_min) for cw_min in WINDOWS}
    for cw_min, points in measured.items():
        print(f"CWmin {cw_min}\n{table(points, cw_min)}")
    plot(measured)
    return 0


if __name__ == "__main__":
    sys.exit(main())

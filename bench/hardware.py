# SPDX-License-Identifier: GPL-2.0-only
"""Compare the experiments hardware-* with the measurements on real hardware that they declare.

Runs them, writes the errors into docs/explanation/hardware.md and draws docs/images/hardware.svg.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from doctables import with_table
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter

from airtcp.errors import AirtcpError
from airtcp.paths import REPOSITORY
from airtcp.report.mpl import save_in_docs, style
from airtcp.report.palette import PALETTE
from airtcp.results import documents

# Rates by experiment, and whether their values were used for calibration.
CALIBRATED = {"ht20-mcs6": True, "ht40-mcs13": True, "ht20-mcs13": False, "ht40-mcs6": False}
METRICS = {"goodput_mbps": "goodput (Mbit/s)", "tcp_rtt_ms_mean": "RTT (ms)"}
TICKS = {"goodput_mbps": (20, 50, 100, 150), "tcp_rtt_ms_mean": (10, 30, 100, 300, 1000)}
# The kernel that was measured, by policy.
KERNELS = {"default": "default", "aad": "tcpaad", "aad-listing": "tcpaad"}
SEEDS = 3
"""As many runs as on the hardware."""
PAGE = REPOSITORY / "docs" / "explanation" / "hardware.md"
IMAGE = REPOSITORY / "docs" / "images" / "hardware.svg"


@dataclass(frozen=True)
class Pair:
    """A metric under the same conditions on hardware and here."""

    rate: str
    policy: str
    metric: str
    hardware: float
    ours: float

    @property
    def error(self) -> float:
        return abs(self.ours / self.hardware - 1)


def out_dir(rate: str) -> Path:
    return REPOSITORY / "results" / f"hardware-{rate}"


def pairs(rate: str) -> Iterator[Pair]:
    """All pairs of an experiment. AirtcpError if a value was not measured."""
    document = documents.read(out_dir(rate))
    for row in document.published:
        if row.metric in METRICS and not row.relative_to:
            if row.measured is None:
                raise AirtcpError(f"hardware-{rate}: {row.metric} was not measured: {row.factors}")
            policy = row.factors["ack_policy"]
            yield Pair(rate, policy, row.metric, float(row.published), row.measured)


def table(found: Sequence[Pair]) -> str:
    """Mean absolute errors by group of rates and policy, in Markdown."""
    groups: dict[str, tuple[str, ...]] = {rate: (rate,) for rate in CALIBRATED}
    groups["calibrated"] = tuple(rate for rate, used in CALIBRATED.items() if used)
    groups["predicted"] = tuple(rate for rate, used in CALIBRATED.items() if not used)
    lines = [
        "| Rates | Kernel | Policy here | Conditions | Goodput | RTT |",
        "|---|---|---|---|---|---|",
    ]
    for name, rates in groups.items():
        for policy, kernel in KERNELS.items():
            errors: Mapping[str, list[float]] = {
                metric: [
                    pair.error
                    for pair in found
                    if pair.rate in rates and pair.policy == policy and pair.metric == metric
                ]
                for metric in METRICS
            }
            shown = " | ".join(f"{100 * mean(values):.1f}%" for values in errors.values())
            count = len(errors["goodput_mbps"])
            lines.append(f"| {name} | `{kernel}` | `{policy}` | {count} | {shown} |")
    return "\n".join(lines) + "\n"


def plot(found: Sequence[Pair]) -> None:
    """Plot ours over the hardware's values, for the default kernel."""
    with style():
        figure = Figure(figsize=(7, 3.4), layout="constrained")
        for axes, (metric, label) in zip(figure.subplots(1, 2), METRICS.items(), strict=True):
            shown = [pair for pair in found if pair.policy == "default" and pair.metric == metric]
            ends = [min(pair.hardware for pair in shown), max(pair.hardware for pair in shown)]
            axes.plot(ends, ends, color=PALETTE["faint"][0], linewidth=1)
            for used, role in ((True, "policy0"), (False, "policy1")):
                group = [pair for pair in shown if CALIBRATED[pair.rate] == used]
                axes.plot(
                    [pair.hardware for pair in group],
                    [pair.ours for pair in group],
                    "o",
                    color=PALETTE[role][0],
                    markersize=4,
                    label="calibrated" if used else "predicted",
                )
            axes.set_xscale("log")
            axes.set_yscale("log")
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_ticks(TICKS[metric])
                axis.set_major_formatter(ScalarFormatter())
                axis.set_minor_formatter(NullFormatter())
            axes.set_xlabel(f"hardware: {label}")
            axes.set_ylabel(f"airtcp: {label}")
        figure.axes[0].legend(loc="upper left", fontsize="small")
        save_in_docs(figure, IMAGE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", action="store_true", help="use results/hardware-* as they are")
    if not parser.parse_args().results:
        for rate in CALIBRATED:
            command = [str(REPOSITORY / "airtcp"), "run", f"hardware-{rate}"]
            options = ["--seeds", str(SEEDS), "--out", str(out_dir(rate))]
            subprocess.run([*command, *options], check=True)
    found = [pair for rate in CALIBRATED for pair in pairs(rate)]
    text = table(found)
    print(text)
    page = with_table(PAGE.read_text(encoding="utf-8"), "errors", text)
    PAGE.write_text(page, encoding="utf-8")
    plot(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: GPL-2.0-only
"""The figures that every report has, drawn once for print and for the page.

An artist's label names the entry of the legend that it belongs to; see interactive.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from airtcp.kernel.policies import BASELINE
from airtcp.report.interactive import entries
from airtcp.report.model import Condition, Gain, Measured, Results
from airtcp.report.series import Arrivals, OverTime

WIDTH_IN = 3.5  # one column of a two-column paper, and about the width of a phone
WIDE_IN = 7.16  # both columns
_BAR_POINTS = 190  # width of all bars side by side: nearly that of the axes

# Colours by role: (in print and on a light page, on a dark page). The policies' are Okabe and
# Ito's, the kinds of airtime Paul Tol's; both sets stay distinct under colour blindness. Kinds of
# frames differ in height as well.
PALETTE: Mapping[str, tuple[str, str]] = {
    "ink": ("#1b1f24", "#e6e8eb"),
    "faint": ("#667079", "#9aa4af"),
    "grid": ("#dfe3e8", "#343b44"),
    "policy0": ("#0072b2", "#4aa8e0"),
    "policy1": ("#d55e00", "#f28e3c"),
    "policy2": ("#009e73", "#2fc79a"),
    "policy3": ("#cc79a7", "#e2a0c4"),
    "policy4": ("#e69f00", "#f5bc42"),
    "policy5": ("#56b4e9", "#86cdf5"),
    "policy6": ("#a89b00", "#e8dc3c"),
    "policy7": ("#50565d", "#b4bbc3"),
    "tint0": ("#8fc1de", "#2f5f80"),
    "tint1": ("#efb58c", "#84502a"),
    "tint2": ("#8ad1bd", "#28705a"),
    "tint3": ("#e8c3d7", "#7c5169"),
    "tint4": ("#f3d08a", "#866827"),
    "tint5": ("#b3dcf4", "#4a7186"),
    "tint6": ("#d6cf80", "#807a24"),
    "tint7": ("#aeb3b9", "#636b73"),
    "air-data": ("#332288", "#8577d6"),
    "air-ack": ("#ddcc77", "#d3bf5e"),
    "air-other": ("#88ccee", "#6bb4d8"),
    "air-collision": ("#cc6677", "#d97080"),
    "air-idle": ("#e4e6ea", "#2b323a"),
    "frame-multicast": ("#aa4499", "#cf79c2"),
    "frame-management": ("#66aacc", "#6bb4d9"),
    "frame-beacon": ("#1f6f8b", "#3e93b0"),
    "frame-protection": ("#999933", "#b8b84e"),
    "frame-bar": ("#c98a1b", "#dba544"),
    "frame-ack": ("#117733", "#3fa862"),
    "frame-blockack": ("#44aa99", "#5cc7b5"),
    "frame-lost": ("#dd3322", "#ff6b57"),
    "paper": ("#ffffff", "#1a2027"),
}
_INK, _FAINT, _GRID = (PALETTE[role][0] for role in ("ink", "faint", "grid"))
POLICY_COLOURS = 8

# What fits beside the bars, and above them.
_LABEL_LETTERS = 30
_LEGEND_COLUMNS = 5

_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # matplotlib brings it, so the output is the same everywhere
    "font.size": 7,
    "axes.labelsize": 7,
    "axes.linewidth": 0.6,
    "axes.edgecolor": _FAINT,
    "axes.labelcolor": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": _GRID,
    "grid.linewidth": 0.5,
    "text.color": _INK,
    "xtick.color": _FAINT,
    "ytick.color": _FAINT,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 6.5,
    "legend.handlelength": 1.4,
    "lines.linewidth": 0.9,
    "hatch.linewidth": 0.5,
    "path.simplify_threshold": 0.5,
    "pdf.fonttype": 42,  # embedded as TrueType, which journals ask for
    "svg.fonttype": "none",
    "svg.hashsalt": "airtcp",
}

AIRTIME_KINDS = ("data", "ack", "collision", "other", "idle")
_AIRTIME_LABELS = {
    "data": "data",
    "ack": "TCP ACKs",
    "collision": "collisions",
    "other": "management",
    "idle": "idle",
}


@contextmanager
def style() -> Iterator[None]:
    """Every figure must be drawn and saved inside this."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # whatever the user's own matplotlibrc says
        matplotlib.rcParams.update(_STYLE)
        yield


@dataclass(frozen=True)
class _Row:
    """Where a policy under a condition stands in the figures that compare all of them."""

    y: float
    condition: Condition
    measured: Measured


class Drawing:
    """Draws the figures of one experiment; a policy has the same colour in all of them."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._rows = _rows(results.conditions)
        self._colours = {
            policy: PALETTE[policy_role(number)][0]
            for number, policy in enumerate(results.policies)
        }
        self._tints = {
            policy: PALETTE[policy_role(number, "tint")][0]
            for number, policy in enumerate(results.policies)
        }

    def bars(self, metric: str, label: str) -> Figure:
        """Bars of a metric's means with their intervals, and the published means."""
        rows = [row for row in self._rows if metric in row.measured.summaries]
        figure, axes = self._by_condition()
        largest = 0.0
        for row in rows:
            summary = row.measured.summaries[metric]
            published = row.measured.published.get(metric)
            policy = row.measured.policy
            values = [summary.mean + (summary.ci95 or 0.0)]
            colour = self._colours[policy]
            axes.barh(row.y, summary.mean, 0.8, color=colour, linewidth=0, label=policy)
            if summary.ci95 is not None:
                axes.errorbar(summary.mean, row.y, xerr=summary.ci95, color=_INK, **_WHISKERS)
            if published is not None:
                of_others = entries(_PUBLISHED, told=policy)
                axes.plot(published.value, row.y, label=of_others, **_PUBLISHED_MARKER)
                values.append(published.value)
            _annotate(axes, f"{summary.mean:.3g}", max(values), row.y, label=policy)
            largest = max(largest, *values)
        axes.set_xlim(0, largest * 1.14)
        axes.set_xlabel(label)
        self._legend(figure, published=any(metric in row.measured.published for row in rows))
        return figure

    def gains(self, gains: Sequence[Gain], what: str) -> Figure:
        """A metric of each policy over the baseline's: measured, and published."""
        figure, axes = self._by_condition()
        for gain in gains:
            y = self._y_of_gain(gain)
            if gain.measured is not None:
                axes.errorbar(
                    gain.measured.mean,
                    y,
                    xerr=gain.measured.ci95,
                    fmt="o",
                    markersize=3,
                    color=self._colours[gain.policy],
                    label=gain.policy,
                    **_WHISKERS,
                )
            if gain.published is not None:
                label = entries(_PUBLISHED, told=gain.policy)
                axes.plot(gain.published, y, label=label, **_PUBLISHED_MARKER)
        axes.axvline(1, color=_FAINT, linewidth=0.8, zorder=1)
        # Two runs may have intervals so wide that nothing else could be seen.
        largest = max(
            [gain.measured.mean for gain in gains if gain.measured]
            + [gain.published for gain in gains if gain.published]
            + [1.0]
        )
        left, right = axes.get_xlim()
        axes.set_xlim(max(0, left), min(right, 1.6 * largest))
        axes.set_xlabel(f"{what} relative to the policy {BASELINE}")
        policies = list(dict.fromkeys(gain.policy for gain in gains))
        published = any(gain.published is not None for gain in gains)
        self._legend(figure, policies, published=published)
        return figure

    def _y_of_gain(self, gain: Gain) -> float:
        """The policy's row; where it is the only one compared, the middle of the condition's."""
        rows = [row for row in self._rows if row.condition is gain.condition]
        own = [row for row in rows if row.measured.policy == gain.policy or len(rows) == 2]
        return float(numpy.mean([row.y for row in own]))

    def airtime(self) -> Figure:
        """How the time of the transfer was spent on the air."""
        figure, axes = self._by_condition()
        for row in self._rows:
            left = 0.0
            for kind, share in airtime_shares(row.measured).items():
                colour = PALETTE[f"air-{kind}"][0]
                label = entries(_AIRTIME_LABELS[kind], told=row.measured.policy)
                axes.barh(*(row.y, share * 100, 0.8, left), color=colour, linewidth=0, label=label)
                left += share * 100
            if len(self._results.policies) > 1:
                _annotate(axes, row.measured.policy, 100, row.y)
        axes.set_xlim(0, 100)
        axes.set_xlabel("share of the transfer's time (%)")
        axes.grid(visible=False)
        handles = [
            Patch(color=PALETTE[f"air-{kind}"][0], label=_AIRTIME_LABELS[kind])
            for kind in AIRTIME_KINDS
        ]
        figure.legend(handles=handles, loc="outside upper center", ncols=5, columnspacing=1)
        return figure

    def over_time(self, series: Mapping[str, OverTime]) -> Figure:
        """Congestion window, smoothed RTT and goodput over time, one line a flow."""
        figure = Figure(figsize=(WIDTH_IN, 3.6), layout="constrained")
        window, rtt, goodput = figure.subplots(3, 1, sharex=True)
        for policy, one in series.items():
            colour = self._colours[policy]
            for flow in one.flows:
                window.plot(flow["time_s"], flow["cwnd"], color=colour, label=policy)
                rtt.plot(flow["time_s"], flow["srtt_ms"], color=colour, label=policy)
            edges = [0.0, *one.goodput_end_s]
            goodput.stairs(
                one.goodput_mbps, edges, color=colour, linewidth=1.0, baseline=None, label=policy
            )
        goodput.use_sticky_edges = False  # room above the steps
        for axes, label in (
            (window, "cwnd (segments)"),
            (rtt, "smoothed RTT (ms)"),
            (goodput, "goodput (Mbit/s)"),
        ):
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0)
            axes.margins(x=0.01)
        figure.align_ylabels()
        goodput.set_xlabel("virtual time (s)")
        self._legend(figure, list(series), line=True)
        return figure

    def aggregates(self, sizes: Mapping[str, Mapping[int, int]]) -> Figure:
        """Histogram of MPDUs in a data PPDU."""
        figure, axes = _figure(1.9)
        largest = max(max(counts) for counts in sizes.values())
        edges = numpy.arange(largest + 1) + 0.5
        for policy, counts in sizes.items():
            total = sum(counts.values())
            shares = [100 * counts.get(size, 0) / total for size in range(1, largest + 1)]
            colour = self._colours[policy]
            axes.stairs(
                shares,
                edges,
                fill=True,
                facecolor=(colour, 0.22),
                edgecolor=colour,
                linewidth=1.0,
                label=policy,
            )
        axes.set_xlim(0.5, largest + 0.5)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("MPDUs in a data PPDU")
        axes.set_ylabel("share of data PPDUs (%)")
        axes.grid(axis="x", visible=False)
        self._legend(figure, list(sizes))
        return figure

    def latency(self, times_ms: Mapping[str, Sequence[float]], what: str, of: str) -> Figure:
        """Distribution of times."""
        figure, axes = _figure(1.9)
        for policy, values in times_ms.items():
            axes.ecdf(values, color=self._colours[policy], linewidth=1.1, label=policy)
        axes.set_xlim(left=0)
        axes.set_ylim(0, 1)
        axes.set_xlabel(f"{what} (ms)")
        axes.set_ylabel(f"share of {of} within")
        self._legend(figure, list(times_ms), line=True)
        return figure

    def arrivals(self, series: Mapping[str, Arrivals]) -> Figure:
        """Time between data segments at the receiver, ACKs marked, after Fig. 3.1 of the thesis."""
        figure = Figure(figsize=(WIDTH_IN, 0.7 + 1.35 * len(series)), layout="constrained")
        grid = figure.subplots(len(series), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        lowest = min(float(one.gaps_ms[one.gaps_ms > 0].min()) for one in series.values())
        highest = max(float(one.gaps_ms.max()) for one in series.values())
        bottom, top = lowest / 1.6, highest * 2.6
        for axes, (policy, one) in zip(grid, series.items(), strict=True):
            aggregates = numpy.array(one.aggregates)
            numbers = numpy.arange(1, len(one.gaps_ms) + 1)
            for parity, colour in enumerate((self._colours[policy], self._tints[policy])):
                chosen = aggregates % 2 == parity
                axes.vlines(
                    numbers[chosen],
                    bottom,
                    numpy.maximum(one.gaps_ms[chosen], lowest),
                    color=colour,
                    linewidth=_BAR_POINTS / len(numbers),
                    label=policy,
                )
            axes.plot(
                numpy.array(one.acks_after) + 0.5,
                [highest * 1.7] * len(one.acks_after),
                label=entries(policy, _ACK_SENT),
                **_ACK_MARKER,
            )
            axes.set_yscale("log")
            axes.set_ylim(bottom, top)
            axes.set_xlim(0, len(one.gaps_ms) + 1)
            axes.set_ylabel("inter-arrival (ms)")
            axes.yaxis.set_major_formatter("{x:g}")
            axes.grid(axis="x", visible=False)
        grid[-1].set_xlabel("data segment at the receiver")
        marker = Line2D([], [], label=_ACK_SENT, **_ACK_MARKER)
        self._legend(figure, list(series), extra=[marker])
        return figure

    def _by_condition(self) -> tuple[Figure, Axes]:
        """Axes with a row for each policy, labelled by condition at the middle of its rows."""
        ys = [row.y for row in self._rows]
        height_in = 0.75 + 0.2 * (max(ys) - min(ys) + 1)
        figure, axes = _figure(height_in)
        axes.set_yticks(
            [
                float(numpy.mean([row.y for row in self._rows if row.condition is condition]))
                for condition in self._results.conditions
            ],
            [textwrap.fill(one.label, _LABEL_LETTERS) for one in self._results.conditions],
        )
        axes.set_ylim(min(ys) - 0.7, max(ys) + 0.7)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        return figure, axes

    def _legend(
        self,
        figure: Figure,
        policies: Sequence[str] | None = None,
        *,
        published: bool = False,
        line: bool = False,
        extra: Sequence[Artist] = (),
    ) -> None:
        handles: list[Artist] = []
        for policy in policies or self._results.policies:
            colour = self._colours[policy]
            if line:
                handles.append(Line2D([], [], color=colour, label=policy))
            else:
                handles.append(Patch(color=colour, label=policy))
        if published:
            handles.append(Line2D([], [], label=_PUBLISHED, **_PUBLISHED_MARKER))
        handles += extra
        figure.legend(
            handles=handles, loc="outside upper center", ncols=min(len(handles), _LEGEND_COLUMNS)
        )


_ACK_SENT, _PUBLISHED = "ACK sent", "published"
_ACK_MARKER: Mapping[str, Any] = {
    "linestyle": "none",
    "marker": "|",
    "markersize": 4,
    "markeredgewidth": 0.6,
    "color": _INK,
}
_WHISKERS: Mapping[str, Any] = {"capsize": 1.8, "elinewidth": 0.8, "capthick": 0.8}
_PUBLISHED_MARKER: Mapping[str, Any] = {
    "linestyle": "none",
    "marker": "D",
    "markersize": 4.2,
    "zorder": 4,
    "markerfacecolor": "none",
    "markeredgecolor": _INK,
    "markeredgewidth": 0.9,
}


def policy_role(number: int, kind: str = "policy") -> str:
    """The role in PALETTE of the policy with this number; kind "tint" is its lighter shade."""
    return f"{kind}{number % POLICY_COLOURS}"


def airtime_shares(measured: Measured) -> dict[str, float]:
    """Mean share of each kind of AIRTIME_KINDS; what the metrics leave over is management."""
    shares = {
        kind: measured.summaries[f"airtime_{kind}_share"].mean
        for kind in AIRTIME_KINDS
        if kind != "other"
    }
    shares["other"] = max(0.0, 1 - sum(shares.values()))
    return {kind: shares[kind] for kind in AIRTIME_KINDS}


def _annotate(axes: Axes, text: str, x: float, y: float, label: str = "") -> None:
    """Text to the right of a bar."""
    axes.annotate(
        text,
        (x, y),
        xytext=(4, 0),
        textcoords="offset points",
        verticalalignment="center",
        fontsize=6.5,
        label=label,
    )


def _figure(height_in: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
    return figure, figure.subplots()


def _rows(conditions: Sequence[Condition]) -> list[_Row]:
    """Rows from the top down: the policies of a condition together, a gap between conditions."""
    rows: list[_Row] = []
    y = 0.0
    for condition in conditions:
        for measured in condition.policies:
            rows.append(_Row(y, condition, measured))
            y -= 0.9
        y -= 0.6
    return rows

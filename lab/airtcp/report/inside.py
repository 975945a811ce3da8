# SPDX-License-Identifier: GPL-2.0-only
"""Figures of the runs of one condition, with a line or a panel for each policy."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy

from airtcp.errors import AirtcpError
from airtcp.files import latency
from airtcp.files.airsim import ampdu_sizes, read_airsim
from airtcp.files.exchanges import read_exchanges
from airtcp.report import model, series
from airtcp.report.declared import panels
from airtcp.report.figure import (
    COLUMN_IN,
    Axis,
    Entry,
    Figure,
    Legend,
    Line,
    Mark,
    Panel,
    Steps,
    Strokes,
    Style,
    floats,
    with_margin,
)
from airtcp.report.model import Condition, Measured
from airtcp.report.plot import Plot
from airtcp.report.policies import Policies
from airtcp.statistics import Floats

_BAR_POINTS = 190  # total width of the strokes of arrivals: nearly that of a panel
_ACK_SENT = "ACK sent"
_ACK_STYLE = Style("ink", marker="tick", size=4, edge=0.6)

_T = TypeVar("_T")


@dataclass(frozen=True)
class Inside:
    """The figures of one condition, and notes on those left out."""

    condition: Condition
    plots: Sequence[Plot]
    notes: Sequence[str]


def inside(condition: Condition, policies: Policies) -> Inside:
    """Describe the figures of a condition."""
    notes: list[str] = []
    plots = [
        *_tcp_plots(condition, policies, notes),
        *_medium_plots(condition, policies, notes),
        *_latency_plots(condition, policies, notes),
    ]
    return Inside(condition, plots, list(dict.fromkeys(notes)))


def _plot(condition: Condition, kind: str, title: str, caption: str, figure: Figure) -> Plot:
    slug = f"{condition.slug}-{kind}"
    return Plot(slug, title, caption, f"{condition.label}. {caption}", figure)


def _tcp_plots(condition: Condition, policies: Policies, notes: list[str]) -> Iterator[Plot]:
    """Figures of the first seed, for bulk transfers over TCP."""
    first = [measured.runs[0] for measured in condition.policies]
    if not all(run.parameters["protocol"] == "tcp" and model.is_bulk(run) for run in first):
        return
    seeds = " and ".join(f"seed {seed}" for seed in sorted({run.seed for run in first}))
    lines = _readable(condition, _over_time, notes)
    if lines:
        parallel = any(len(set(line.names)) < len(line.names) for line in lines.values())
        yield _plot(
            condition,
            "time",
            "Congestion window, RTT and goodput over time",
            f"The sender's window and smoothed RTT as sampled, one line per flow; the receivers' "
            f"goodput by second{', added up over flows of the same name' if parallel else ''}; "
            f"{seeds}.",
            over_time(lines, policies, "time" if condition.on_hosts else "virtual time"),
        )
    arrived = _readable(condition, _arrivals, notes)
    captured = {policy: arrivals for policy, arrivals in arrived.items() if arrivals is not None}
    if captured:
        from_air = all(arrivals.aggregates_from_air for arrivals in captured.values())
        source = "the A-MPDUs seen on the air" if from_air else "gaps longer than twice the median"
        yield _plot(
            condition,
            "arrivals",
            "Inter-arrival times",
            f"Data segments at the receiver, shades alternating by aggregate ({source}); "
            f"ticks above: pure ACKs sent; {seeds}.",
            arrivals(captured, policies),
        )
    if None in arrived.values():
        notes.append(
            "Inter-arrival times need a capture at the receiver: run again with "
            "--set capture=server,station,air"
        )


def _medium_plots(condition: Condition, policies: Policies, notes: list[str]) -> Iterator[Plot]:
    if condition.on_hosts:
        return
    sizes = _readable(condition, _aggregates, notes)
    if any(sizes.values()):
        yield _plot(
            condition,
            "ampdu",
            "MPDUs in an A-MPDU",
            "Share of PPDUs that carry data, all seeds together.",
            aggregates({policy: counts for policy, counts in sizes.items() if counts}, policies),
        )


def _latency_plots(condition: Condition, policies: Policies, notes: list[str]) -> Iterator[Plot]:
    """Figures of latency over all seeds."""
    rtts_ms = {
        policy: values for policy, values in _readable(condition, _ping_ms, notes).items() if values
    }
    if rtts_ms:
        yield _plot(
            condition,
            "ping",
            "Latency during the transfer",
            "Cumulative distribution of ping's round-trip times, all seeds together.",
            distribution(rtts_ms, policies, "round-trip time of ping", "replies"),
        )
    times_ms = _readable(condition, _exchange_ms, notes)
    workloads = dict.fromkeys(workload for values in times_ms.values() for workload in values)
    several = len(workloads) > 1
    for workload in workloads:
        of_workload = {
            policy: values[workload] for policy, values in times_ms.items() if workload in values
        }
        yield _plot(
            condition,
            f"exchanges-{workload}" if several else "exchanges",
            f"Time of an exchange, {workload}" if several else "Time of an exchange",
            "Cumulative distribution, all seeds together.",
            distribution(of_workload, policies, "time", "exchanges"),
        )


@dataclass(frozen=True)
class _Flows:
    """The look of flows: a colour for each policy, a dash for each name of flows.

    With a single policy, names have colours.
    """

    policies: Policies
    shown: Sequence[str]
    names: Sequence[str]

    def entries(self, policy: str, name: str) -> list[str]:
        """The entries of the legend that a line belongs to."""
        several = [name] if len(self.names) > 1 else []
        return [policy, *several] if len(self.shown) > 1 or not several else several

    def style(self, policy: str, name: str, width: float = 0.9) -> Style:
        number = self.names.index(name)
        if len(self.shown) == 1 and len(self.names) > 1:
            return panels.line_style(number, width)
        dash = panels.DASHES[number % len(panels.DASHES)]
        return replace(self.policies.line(policy, width), dash=dash)

    def legend(self) -> tuple[Legend, float]:
        """The legend, and the height in inches that it needs beyond one row."""
        of_policies = self.policies.legend(self.shown, lines=True)
        if len(self.names) == 1:
            return of_policies, 0.0
        styles = {name: self.style(self.shown[0], name) for name in self.names}
        if len(self.shown) == 1:
            entries = [Entry(name, style) for name, style in styles.items()]
        else:
            dashes = [Entry(name, replace(look, colour="ink")) for name, look in styles.items()]
            entries = [*of_policies.entries, *dashes]
        return panels.legend_above(entries, COLUMN_IN)


def over_time(
    lines: Mapping[str, series.OverTime], policies: Policies, clock: str = "virtual time"
) -> Figure:
    """Congestion window and smoothed RTT of each flow over time, and goodput by name of flows."""
    window: list[Mark] = []
    rtt: list[Mark] = []
    goodput: list[Mark] = []
    names = dict.fromkeys(name for line in lines.values() for name in line.goodput_mbps)
    flows = _Flows(policies, list(lines), list(names))
    for policy, line in lines.items():
        for name, flow in zip(line.names, line.flows, strict=True):
            entries, style = flows.entries(policy, name), flows.style(policy, name)
            for marks, column in ((window, "cwnd"), (rtt, "srtt_ms")):
                marks.append(Line(entries=entries, x=flow["time_s"], y=flow[column], style=style))
        edges = numpy.array([0.0, *line.goodput_end_s])
        for name, heights in line.goodput_mbps.items():
            entries, style = flows.entries(policy, name), flows.style(policy, name, 1.0)
            goodput.append(Steps(entries=entries, heights=heights, edges=edges, style=style))
    times = [end for line in lines.values() for end in _extent([0.0, *line.goodput_end_s])]
    for line in lines.values():
        times += [end for flow in line.flows for end in _extent(flow["time_s"])]
    limits = with_margin(times, 0.01)
    shown = []
    for row, (marks, name, unit) in enumerate(
        (
            (window, "cwnd", "segments"),
            (rtt, "smoothed RTT", "ms"),
            (goodput, "goodput", "Mbit/s"),
        )
    ):
        y = Axis(name, unit, with_margin(_heights(marks), low=0.0))
        shown.append(Panel(Axis(clock, "s", limits), y, marks, row=row))
    legend, more_in = flows.legend()
    return Figure(shown, 3.6 + more_in, legend=legend, shared="x")


def _extent(values: Sequence[float] | Floats) -> tuple[float, float]:
    return float(numpy.min(values)), float(numpy.max(values))


def _heights(marks: Sequence[Mark]) -> list[float]:
    """The smallest and largest value of each mark."""
    ends: list[float] = []
    for mark in marks:
        assert isinstance(mark, Line | Steps)
        values = mark.y if isinstance(mark, Line) else mark.heights
        known = values[~numpy.isnan(values)]
        ends += _extent(known) if len(known) else []
    return ends


def aggregates(sizes: Mapping[str, Mapping[int, int]], policies: Policies) -> Figure:
    """Histograms of MPDUs per data PPDU, one below the other: they are often almost equal."""
    largest = max(max(counts) for counts in sizes.values())
    edges = floats(numpy.arange(largest + 1) + 0.5)
    marks: list[Mark] = []
    for policy, counts in sizes.items():
        total = sum(counts.values())
        shares = floats([100 * counts.get(size, 0) / total for size in range(1, largest + 1)])
        style = policies.line(policy, 1.0)
        marks.append(Steps(entries=[policy], heights=shares, edges=edges, style=style, filled=True))
    x = Axis("MPDUs in a data PPDU", limits=(0.5, largest + 0.5), grid=False)
    y = Axis("share", "%", with_margin(_heights(marks), low=0.0))
    shown = [Panel(x, y, [mark], row=row) for row, mark in enumerate(marks)]
    return Figure(shown, 0.9 + 0.65 * len(marks), legend=policies.legend(sizes), shared="xy")


def distribution(
    times_ms: Mapping[str, Sequence[float]], policies: Policies, name: str, what: str
) -> Figure:
    """The cumulative distribution of times."""
    marks: list[Mark] = []
    for policy, values in times_ms.items():
        ordered = numpy.sort(values)
        shares = numpy.arange(len(ordered) + 1) / len(ordered)
        x = numpy.concatenate([ordered[:1], ordered])
        style = policies.line(policy, 1.1)
        marks.append(Line(entries=[policy], x=x, y=shares, style=style, steps=True))
    _, high = with_margin([end for values in times_ms.values() for end in _extent(values)])
    x_axis = Axis(name, "ms", (0, high))
    y_axis = Axis(f"share of {what} within", limits=(0, 1))
    return Figure([Panel(x_axis, y_axis, marks)], 1.9, legend=policies.legend(times_ms, lines=True))


def arrivals(captured: Mapping[str, series.Arrivals], policies: Policies) -> Figure:
    """Time between data segments at the receiver, ACKs marked, after Fig. 3.1 of the thesis."""
    lowest = min(float(gaps.gaps_ms[gaps.gaps_ms > 0].min()) for gaps in captured.values())
    highest = max(float(gaps.gaps_ms.max()) for gaps in captured.values())
    longest = max(len(gaps.gaps_ms) for gaps in captured.values())
    y = Axis("inter-arrival", "ms", (lowest / 1.6, highest * 2.6), scale="log")
    x = Axis("data segment at the receiver", limits=(0, longest + 1), grid=False)
    shown = []
    for row, (policy, arrived) in enumerate(captured.items()):
        parity = numpy.array(arrived.aggregates) % 2
        numbers = numpy.arange(1, len(arrived.gaps_ms) + 1)
        marks: list[Mark] = [
            Strokes(
                entries=[policy],
                x=floats(numbers[parity == shade]),
                low=y.limits[0],
                high=numpy.maximum(arrived.gaps_ms[parity == shade], lowest),
                colour=policies.colour(policy, kind),
                width=_BAR_POINTS / len(numbers),
            )
            for shade, kind in enumerate(("policy", "tint"))
        ]
        marks.append(
            Line(
                entries=[policy, _ACK_SENT],
                x=floats(arrived.acks_after) + 0.5,
                y=numpy.full(len(arrived.acks_after), highest * 1.7),
                style=_ACK_STYLE,
            )
        )
        shown.append(Panel(x, y, marks, row=row))
    legend = policies.legend(captured, [Entry(_ACK_SENT, _ACK_STYLE)])
    return Figure(shown, 0.7 + 1.35 * len(captured), legend=legend, shared="xy")


def _readable(
    condition: Condition, read: Callable[[Measured], _T], notes: list[str]
) -> dict[str, _T]:
    """The result of read() for each policy; adds a note if a file cannot be read."""
    values: dict[str, _T] = {}
    for measured in condition.policies:
        try:
            values[measured.policy] = read(measured)
        except AirtcpError as error:
            notes.append(f"Left out, {measured.policy}: {error}")
    return values


def _over_time(measured: Measured) -> series.OverTime:
    run = measured.runs[0]
    return series.over_time(run.directory, run.testbed)


def _arrivals(measured: Measured) -> series.Arrivals | None:
    run = measured.runs[0]
    return series.arrivals(run.directory, run.testbed)


def _aggregates(measured: Measured) -> Counter[int]:
    """Number of data PPDUs by their number of MPDUs, over all seeds."""
    total: Counter[int] = Counter()
    for run in measured.runs:
        total.update(ampdu_sizes(read_airsim(run.directory)))
    return total


def _ping_ms(measured: Measured) -> list[float]:
    """Round-trip times during the transfer over all seeds; empty if ping was off."""
    return [
        float(rtt)
        for run in measured.runs
        for ping in run.pings
        for rtt in latency.during_transfer(ping, run.settings).answered.rtt_ms
    ]


def _exchange_ms(measured: Measured) -> dict[str, list[float]]:
    """Times of exchanges over all seeds by workload; none for bulk transfers."""
    times_ms: dict[str, list[float]] = {}
    for run in measured.runs:
        for flow in run.testbed.exchanges:
            of_flow = read_exchanges(run.directory / flow.exchanges_file).times_ms
            times_ms.setdefault(flow.workload, []).extend(map(float, of_flow))
    return times_ms

# SPDX-License-Identifier: GPL-2.0-only
"""The figures that look into the runs of one condition, a line or a panel for each policy."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy

from airtcp.errors import AirtcpError
from airtcp.files.airsim import ampdu_sizes, read_airsim
from airtcp.files.exchanges import read_exchanges
from airtcp.report import model, series
from airtcp.report.figure import (
    Axis,
    Entry,
    Figure,
    Floats,
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

_BAR_POINTS = 190  # width of all strokes of arrivals together: nearly that of a panel
_ACK_SENT = "ACK sent"
_ACK_STYLE = Style("ink", marker="tick", size=4, edge=0.6)

_T = TypeVar("_T")


@dataclass(frozen=True)
class Inside:
    """The figures of one condition, and why some are left out."""

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
    """Of bulk transfers by TCP, of the first seed."""
    first = [one.runs[0] for one in condition.policies]
    if not all(run.parameters["protocol"] == "tcp" and model.is_bulk(run) for run in first):
        return
    seeds = " and ".join(f"seed {seed}" for seed in sorted({run.seed for run in first}))
    lines = _readable(condition, _over_time, notes)
    if lines:
        yield _plot(
            condition,
            "time",
            "Congestion window, RTT and goodput over time",
            f"The sender's window and smoothed RTT as sampled, the receiver's goodput by "
            f"iperf3 interval; {seeds}.",
            over_time(lines, policies),
        )
    arrived = _readable(condition, _arrivals, notes)
    captured = {policy: one for policy, one in arrived.items() if one is not None}
    if captured:
        from_air = all(one.aggregates_from_air for one in captured.values())
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
    sizes = _readable(condition, _aggregates, notes)
    if any(sizes.values()):
        yield _plot(
            condition,
            "ampdu",
            "MPDUs in an A-MPDU",
            "PPDUs that carry data, all seeds together.",
            aggregates({policy: one for policy, one in sizes.items() if one}, policies),
        )


def _latency_plots(condition: Condition, policies: Policies, notes: list[str]) -> Iterator[Plot]:
    """Of all seeds together."""
    rtts_ms = {policy: one for policy, one in _readable(condition, _ping_ms, notes).items() if one}
    if rtts_ms:
        yield _plot(
            condition,
            "ping",
            "Latency beside the transfer",
            "Cumulative distribution of ping's round-trip times, all seeds together.",
            latency(rtts_ms, policies, "round-trip time of ping", "replies"),
        )
    times = _readable(condition, _exchange_ms, notes)
    times_ms = {policy: one for policy, one in times.items() if one}
    if times_ms:
        yield _plot(
            condition,
            "exchanges",
            "Time of an exchange",
            "Cumulative distribution, all seeds together.",
            latency(times_ms, policies, "time", "exchanges"),
        )


def over_time(lines: Mapping[str, series.OverTime], policies: Policies) -> Figure:
    """Congestion window, smoothed RTT and goodput over time, one line a flow."""
    window: list[Mark] = []
    rtt: list[Mark] = []
    goodput: list[Mark] = []
    for policy, one in lines.items():
        style = policies.line(policy)
        for flow in one.flows:
            for marks, column in ((window, "cwnd"), (rtt, "srtt_ms")):
                marks.append(Line(entries=[policy], x=flow["time_s"], y=flow[column], style=style))
        edges = numpy.array([0.0, *one.goodput_end_s])
        style = policies.line(policy, 1.0)
        goodput.append(Steps(entries=[policy], heights=one.goodput_mbps, edges=edges, style=style))
    times = [end for one in lines.values() for end in _extent([0.0, *one.goodput_end_s])]
    for one in lines.values():
        times += [end for flow in one.flows for end in _extent(flow["time_s"])]
    limits = with_margin(times, 0.01)
    panels = []
    for row, (marks, name, unit) in enumerate(
        (
            (window, "cwnd", "segments"),
            (rtt, "smoothed RTT", "ms"),
            (goodput, "goodput", "Mbit/s"),
        )
    ):
        y = Axis(name, unit, with_margin(_heights(marks), low=0.0))
        panels.append(Panel(Axis("virtual time", "s", limits), y, marks, row=row))
    return Figure(panels, 3.6, legend=policies.legend(lines, lines=True), shared="x")


def _extent(values: Sequence[float] | Floats) -> tuple[float, float]:
    return float(numpy.min(values)), float(numpy.max(values))


def _heights(marks: Sequence[Mark]) -> list[float]:
    """The least and the greatest value of each mark."""
    found: list[float] = []
    for mark in marks:
        assert isinstance(mark, Line | Steps)
        values = mark.y if isinstance(mark, Line) else mark.heights
        known = values[~numpy.isnan(values)]
        found += _extent(known) if len(known) else []
    return found


def aggregates(sizes: Mapping[str, Mapping[int, int]], policies: Policies) -> Figure:
    """Histogram of MPDUs in a data PPDU."""
    largest = max(max(counts) for counts in sizes.values())
    edges = floats(numpy.arange(largest + 1) + 0.5)
    marks: list[Mark] = []
    for policy, counts in sizes.items():
        total = sum(counts.values())
        shares = floats([100 * counts.get(size, 0) / total for size in range(1, largest + 1)])
        style = policies.line(policy, 1.0)
        marks.append(Steps(entries=[policy], heights=shares, edges=edges, style=style, filled=True))
    x = Axis("MPDUs in a data PPDU", limits=(0.5, largest + 0.5), grid=False)
    y = Axis("share of data PPDUs", "%", with_margin(_heights(marks), low=0.0))
    return Figure([Panel(x, y, marks)], 1.9, legend=policies.legend(sizes))


def latency(
    times_ms: Mapping[str, Sequence[float]], policies: Policies, name: str, of: str
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
    y_axis = Axis(f"share of {of} within", limits=(0, 1))
    return Figure([Panel(x_axis, y_axis, marks)], 1.9, legend=policies.legend(times_ms, lines=True))


def arrivals(captured: Mapping[str, series.Arrivals], policies: Policies) -> Figure:
    """Time between data segments at the receiver, ACKs marked, after Fig. 3.1 of the thesis."""
    lowest = min(float(one.gaps_ms[one.gaps_ms > 0].min()) for one in captured.values())
    highest = max(float(one.gaps_ms.max()) for one in captured.values())
    longest = max(len(one.gaps_ms) for one in captured.values())
    y = Axis("inter-arrival", "ms", (lowest / 1.6, highest * 2.6), scale="log")
    x = Axis("data segment at the receiver", limits=(0, longest + 1), grid=False)
    panels = []
    for row, (policy, one) in enumerate(captured.items()):
        parity = numpy.array(one.aggregates) % 2
        numbers = numpy.arange(1, len(one.gaps_ms) + 1)
        marks: list[Mark] = [
            Strokes(
                entries=[policy],
                x=floats(numbers[parity == which]),
                low=y.limits[0],
                high=numpy.maximum(one.gaps_ms[parity == which], lowest),
                colour=policies.colour(policy, kind),
                width=_BAR_POINTS / len(numbers),
            )
            for which, kind in enumerate(("policy", "tint"))
        ]
        marks.append(
            Line(
                entries=[policy, _ACK_SENT],
                x=floats(one.acks_after) + 0.5,
                y=numpy.full(len(one.acks_after), highest * 1.7),
                style=_ACK_STYLE,
            )
        )
        panels.append(Panel(x, y, marks, row=row))
    legend = policies.legend(captured, [Entry(_ACK_SENT, _ACK_STYLE)])
    return Figure(panels, 0.7 + 1.35 * len(captured), legend=legend, shared="xy")


def _readable(
    condition: Condition, read: Callable[[Measured], _T], notes: list[str]
) -> dict[str, _T]:
    """What read() returns for each policy; where a file cannot be read, a note instead."""
    values: dict[str, _T] = {}
    for one in condition.policies:
        try:
            values[one.policy] = read(one)
        except AirtcpError as error:
            notes.append(f"Left out, {one.policy}: {error}")
    return values


def _over_time(measured: Measured) -> series.OverTime:
    run = measured.runs[0]
    return series.over_time(run.directory, run.testbed)


def _arrivals(measured: Measured) -> series.Arrivals | None:
    run = measured.runs[0]
    return series.arrivals(run.directory, run.testbed)


def _aggregates(measured: Measured) -> Counter[int]:
    """Data PPDUs by how many MPDUs each carried, over all seeds."""
    total: Counter[int] = Counter()
    for run in measured.runs:
        total.update(ampdu_sizes(read_airsim(run.directory)))
    return total


def _ping_ms(measured: Measured) -> list[float]:
    """Round-trip times over all seeds; none where ping was off."""
    return [float(rtt) for run in measured.runs for ping in run.pings for rtt in ping.rtt_ms]


def _exchange_ms(measured: Measured) -> list[float]:
    """Times of exchanges over all seeds; none with bulk."""
    times_ms = [
        read_exchanges(run.directory / flow.exchanges_file).times_ms
        for run in measured.runs
        for flow in run.testbed.exchanges
    ]
    return [float(time_ms) for of_run in times_ms for time_ms in of_run]

# SPDX-License-Identifier: GPL-2.0-only
"""A quantity over time, of the first seed, or the distribution of its values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy

from airtcp.errors import AirtcpError
from airtcp.experiment.figures import TimeFigure
from airtcp.files.latency import during_transfer, read_ping
from airtcp.report import series
from airtcp.report.declared import layout, panels
from airtcp.report.declared.layout import Layout, Place
from airtcp.report.figure import Axis, Entry, Figure, Line, Mark, Steps, Style, floats
from airtcp.report.formats import number
from airtcp.report.model import Results, Run, is_bulk
from airtcp.report.plot import Plot
from airtcp.report.table import Table
from airtcp.results.documents import FigureRecord
from airtcp.statistics import Floats

Flows = Sequence[tuple[Floats, Floats]]
"""(time in s, value) of each flow."""

_BINS = 40
_SPREAD = ("mean", "least", "most")


@dataclass(frozen=True)
class _Quantity:
    """A quantity that can be shown over time.

    read: returns the file that has the values, and the flows; raises AirtcpError. has_steps: values
    are of intervals, and read() returns their ends. any_workload: not only of bulk transfers.
    apart: each flow has a different dash. threshold: flows to draw dotted beside them.
    """

    axis: Axis
    caption: str
    read: Callable[[Run], tuple[str, Flows]]
    has_steps: bool = False
    any_workload: bool = False
    apart: bool = False
    threshold: Callable[[Run], tuple[str, Flows]] | None = None


def _sampled(column: str) -> Callable[[Run], tuple[str, Flows]]:
    """Read a column of the samples of the sender's TCP."""

    def read(run: Run) -> tuple[str, Flows]:
        over_time = series.over_time(run.directory, run.testbed)
        known = [(flow["time_s"], flow[column]) for flow in over_time.flows]
        flows = [(times_s[values == values], values[values == values]) for times_s, values in known]
        return f"tcp-{run.testbed.over('tcp')[0].sender}.csv", flows

    return read


def _by_second(what: str) -> Callable[[Run], tuple[str, Flows]]:
    return lambda run: (
        "series.csv",
        series.by_second(run.directory, run.testbed, what),
    )


def _cwnd_at_acks(run: Run) -> tuple[str, Flows]:
    return "cwnd-trace.txt", series.cwnd_at_acks(run.directory, run.testbed)


def _received(run: Run) -> tuple[str, Flows]:
    received = series.received(run.directory, run.testbed)
    first = (run.testbed.exchanges or run.testbed.over("tcp"))[0]
    return f"tcp-{first.receiver}.csv", received


def _ping(run: Run) -> tuple[str, Flows]:
    pings = run.pings or [read_ping(run.directory)]
    loaded = [during_transfer(ping, run.settings).answered for ping in pings]
    return "ping.txt", [(ping.sent_s - run.settings.baseline_s, ping.rtt_ms) for ping in loaded]


# The values of over_time in experiment/figures.py.
QUANTITIES: Mapping[str, _Quantity] = {
    "cwnd": _Quantity(
        Axis("cwnd", "segments"),
        "The sender's congestion window as sampled, one line per flow; dotted: ssthresh",
        _sampled("cwnd"),
        threshold=_sampled("ssthresh"),
    ),
    "cwnd_at_acks": _Quantity(
        Axis("cwnd", "segments"),
        "The sender's congestion window at each ACK",
        _cwnd_at_acks,
        any_workload=True,
    ),
    "goodput": _Quantity(
        Axis("goodput", "Mbit/s"),
        "The receivers' goodput by second",
        _by_second("goodput"),
        has_steps=True,
    ),
    "flow_goodput": _Quantity(
        Axis("goodput", "Mbit/s"),
        "Goodput of each flow by second",
        _by_second("flow_goodput"),
        has_steps=True,
        apart=True,
    ),
    "ping": _Quantity(
        Axis("ping RTT", "ms"), "Round-trip time of each ping during the transfer", _ping
    ),
    "rtt": _Quantity(
        Axis("RTT", "ms"),
        "The sender's smoothed RTT as sampled, one line per flow",
        _sampled("srtt_ms"),
    ),
    "segments": _Quantity(
        Axis("segments", "1/s"),
        "Segments with data that reached the receivers, by second",
        _by_second("segments"),
        has_steps=True,
    ),
    "acks": _Quantity(
        Axis("ACKs", "1/s"),
        "Segments without data that the receivers sent, by second",
        _by_second("acks"),
        has_steps=True,
    ),
    "segments_per_ack": _Quantity(
        Axis("segments per ACK"),
        "Segments with data per segment without data that the receivers sent, by second",
        lambda run: (
            "series.csv",
            series.segments_per_ack(run.directory, run.testbed),
        ),
        has_steps=True,
    ),
    "received": _Quantity(
        Axis("received", "segments"),
        "Segments with data that have reached the receiver",
        _received,
        any_workload=True,
    ),
}


@dataclass(frozen=True)
class _Read:
    """What was read from the first run of a place."""

    place: Place
    file: str
    flows: Flows
    thresholds: Flows = ()

    @property
    def run(self) -> Run:
        return self.place.measured.runs[0]

    @property
    def names(self) -> list[str]:
        """The names of the flows, numbered where several have the same."""
        testbed = self.run.testbed
        names = series.flow_names(testbed, testbed.bulk)
        return [
            f"{name} {names[: index + 1].count(name)}" if names.count(name) > 1 else name
            for index, name in enumerate(names)
        ]

    @property
    def pooled(self) -> Floats:
        """The values of all flows."""
        return numpy.concatenate([values for _, values in self.flows])


def _read(place: Place, quantity: _Quantity) -> _Read:
    """Raises AirtcpError if no flow has a value."""
    run = place.measured.runs[0]
    file, flows = quantity.read(run)
    thresholds = quantity.threshold(run)[1] if quantity.threshold else ()
    known, limits = ([flow for flow in each if flow[0].size] for each in (flows, thresholds))
    if not known:
        raise AirtcpError(f"{run.directory / file}: has no {quantity.axis.name}")
    return _Read(place, file, known, limits)


def build(declared: FigureRecord, results: Results, slug: str, notes: list[str]) -> Plot:
    figure = declared.figure
    assert isinstance(figure, TimeFigure)
    quantity = QUANTITIES[figure.over_time]
    shown = [case for case in results.cases if quantity.any_workload or is_bulk(case.runs[0])]
    laid_out = layout.lay_out(figure, shown)
    _, texts = panels.case_columns(figure)
    series_read = []
    for place in laid_out.places:
        try:
            series_read.append(_read(place, quantity))
        except AirtcpError as error:
            notes.append(f"{', '.join(texts(place))} left out: {error}")
    if not series_read:
        raise AirtcpError("left out: no run has these values.")
    seeds = sorted({item.run.seed for item in series_read})
    caption = f"{quantity.caption}; seed {' and '.join(map(str, seeds))}."
    if figure.over_time == "ping" and any(item.run.settings.stations > 1 for item in series_read):
        caption += " Only the first station is shown."
    table = _table(figure, quantity, series_read)
    describe = _histogram if figure.histogram else _over_time
    return Plot(
        slug,
        figure.title,
        caption,
        panels.described(table.rows, table.head),
        describe(laid_out, quantity, series_read),
        table,
    )


def _table(figure: TimeFigure, quantity: _Quantity, items: Sequence[_Read]) -> Table:
    heads, texts = panels.case_columns(figure)
    rows = []
    for item in items:
        values = item.pooled
        artifact = item.run.record.artifacts.get(item.file)
        path = artifact.path if artifact else item.file
        spread = (values.mean(), values.min(), values.max())
        row = [*texts(item.place), path, str(item.run.seed), str(len(values))]
        rows.append([*row, *map(number, spread)])
    spreads = [f"{kind} {quantity.axis.title}" for kind in _SPREAD]
    head = [*heads, "file", "seed", "values", *spreads]
    return Table(head, len(heads) + 1, rows, ["The files contain every value."])


def _over_time(laid_out: Layout, quantity: _Quantity, items: Sequence[_Read]) -> Figure:
    """One line per flow."""
    marks: dict[tuple[str, str], list[Mark]] = {}
    for item in items:
        panel_marks = marks.setdefault((item.place.row, item.place.panel), [])
        panel_marks += _lines(laid_out, quantity, item)
    longest_s = max(float(times_s[-1]) for item in items for times_s, _ in item.flows)
    drawn = [values for item in items for _, values in (*item.flows, *item.thresholds)]
    largest = max(float(values.max()) for values in drawn)
    clock = "time" if any(item.run.hosts for item in items) else "virtual time"
    x = Axis(clock, "s", (0, longest_s or 1.0))
    y = replace(quantity.axis, limits=(0, 1.06 * largest or 1.0))
    entries = panels.line_entries(laid_out)
    if quantity.apart:
        entries += _flow_entries(max((item.names for item in items), key=len))
    return panels.figure(laid_out, marks, x, y, entries)


def _flow_entries(names: Sequence[str]) -> list[Entry]:
    """An entry for each flow, with its dash."""
    return [
        Entry(name, Style("ink", panels.DASHES[index % len(panels.DASHES)]))
        for index, name in enumerate(names)
    ]


def _lines(laid_out: Layout, quantity: _Quantity, read: _Read) -> list[Mark]:
    line = read.place.line
    entries = [line] if line else []
    style = panels.line_style(laid_out.lines.index(line), 0.9 if quantity.has_steps else 0.8)
    marks: list[Mark] = []
    for index, (times_s, values) in enumerate(read.flows):
        if quantity.apart:
            style = replace(style, dash=panels.DASHES[index % len(panels.DASHES)])
            entries = [*([line] if line else []), read.names[index]]
        if quantity.has_steps:
            edges = floats([0.0, *times_s])
            marks.append(Steps(entries=entries, heights=values, edges=edges, style=style))
        else:
            marks.append(Line(entries=entries, x=times_s, y=values, style=style))
    dotted = replace(style, dash="dot")
    for times_s, values in read.thresholds:
        marks.append(Line(entries=entries, x=times_s, y=values, style=dotted))
    return marks


def _histogram(laid_out: Layout, quantity: _Quantity, items: Sequence[_Read]) -> Figure:
    """A histogram for each line, over all its flows, with the same bins in all panels."""
    bins = numpy.histogram_bin_edges(numpy.concatenate([item.pooled for item in items]), bins=_BINS)
    marks: dict[tuple[str, str], list[Mark]] = {}
    most = 0.0
    for item in items:
        counts, _ = numpy.histogram(item.pooled, bins)
        shares = 100 * counts / len(item.pooled)
        most = max(most, float(shares.max()))
        line = item.place.line
        marks.setdefault((item.place.row, item.place.panel), []).append(
            Steps(
                entries=[line] if line else [],
                heights=shares,
                edges=bins,
                style=panels.line_style(laid_out.lines.index(line)),
                closed=True,
            )
        )
    x = replace(quantity.axis, limits=(float(bins[0]), float(bins[-1])))
    y = Axis("share", "%", (0, 1.05 * most))
    return panels.figure(laid_out, marks, x, y, panels.line_entries(laid_out))

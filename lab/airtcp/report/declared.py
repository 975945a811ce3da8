# SPDX-License-Identifier: GPL-2.0-only
"""The figures that an experiment declares, each with a table of what it shows."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy

from airtcp.errors import AirtcpError
from airtcp.experiment.figures import MetricFigure, ModelFigure, TimeFigure
from airtcp.parameters import NUMBERS
from airtcp.report import layout, panels, series
from airtcp.report.layout import Layout, Place
from airtcp.report.model import Declared, Results, Run, is_bulk, readable, words
from airtcp.report.page import number, with_interval
from airtcp.report.writer import Plot, Table, Writer
from airtcp.results.files.latency import read_ping
from airtcp.results.modelfit import THROUGHPUT, Compared, Point
from airtcp.statistics import Summary

_DASH = "\N{EN DASH}"

# What is drawn over time: the label of its axis, and how it is come by.
_OVER_TIME: Mapping[str, tuple[str, str]] = {
    "cwnd": ("cwnd (segments)", "The sender's congestion window as sampled, a line a flow"),
    "cwnd_at_acks": ("cwnd (segments)", "The sender's congestion window at each ACK"),
    "goodput": ("goodput (Mbit/s)", "The receivers' goodput by second"),
    "flow_goodput": ("goodput (Mbit/s)", "Goodput of each flow by second; solid is the first"),
    "ping": ("ping RTT (ms)", "Round-trip time of each ping beside the transfer"),
    "rtt": ("RTT (ms)", "The sender's smoothed RTT as sampled, a line a flow"),
    "segments": ("segments (1/s)", "Segments with data that reached the receivers, by second"),
    "acks": ("ACKs (1/s)", "Segments without data that the receivers sent, by second"),
    "received": ("received (segments)", "Segments with data that have reached the receiver"),
}
# By second, and so drawn as steps.
_STEPS = ("goodput", "flow_goodput", "segments", "acks")
# Of a workload that is not bulk, too.
_OF_ANY_WORKLOAD = ("cwnd_at_acks", "received")


def draw(results: Results, writer: Writer) -> tuple[list[Plot], list[str]]:
    """The figures, and a note for whatever is missing in them."""
    found: list[Plot] = []
    notes: list[str] = []
    for place, declared in enumerate(results.figures, start=1):
        figure = declared.figure
        slug = f"figure-{place}"
        missing: list[str] = []
        try:
            if isinstance(figure, MetricFigure):
                found.append(_against(figure, results, writer, slug, missing))
            elif isinstance(figure, TimeFigure):
                found.append(_over_time(figure, results, writer, slug, missing))
            else:
                found.append(_model(figure, declared, results, writer, slug, missing))
        except AirtcpError as reason:
            missing.append(str(reason))
        notes += [f"{figure.title}: {note}" for note in missing]
    return found, notes


def _against(
    figure: MetricFigure, results: Results, writer: Writer, slug: str, missing: list[str]
) -> Plot:
    metrics = (figure.x, *figure.y)
    cases = results.cases
    if figure.x in NUMBERS:
        cases = [layout.with_factor(case, figure.x) for case in cases]
    having = [
        case
        for case in cases
        if figure.x in case.summaries and any(metric in case.summaries for metric in figure.y)
    ]
    if not having:
        raise AirtcpError(f"left out: no run has both {figure.x} and {' or '.join(figure.y)}.")
    if lacking := len(results.cases) - len(having):
        missing.append(f"{_cases(lacking)} without these metrics left out.")
    if figure.relative_to:
        having = layout.relative(figure, having)
        if not having:
            raise AirtcpError(f"left out: {figure.relative_to}, or what is beside it, is missing.")
    laid_out = layout.lay_out(figure, having)
    heads, labels = _columns(figure, laid_out)
    if figure.along:
        heads.append(words(figure.along))
    rows, sources = [], []
    for place in laid_out.places:
        of, published = place.measured, place.measured.published
        row = [*labels(place), *([place.along] if figure.along else [])]
        row += [with_interval(of.summaries.get(metric)) for metric in metrics]
        row.append(str(max(of.summaries[one].n for one in metrics if one in of.summaries)))
        for metric in metrics:
            one = published.get(metric)
            about = "≈ " if one and one.approximate else ""
            row.append(f"{about}{number(one.value)}" if one else _DASH)
            sources += [one.source] if one and one.source else []
        rows.append(row)
    units = [layout.axis([figure.x])]
    units += [layout.axis([metric], figure.relative_to) for metric in figure.y]
    caption = ["Mean over seeds."]
    if any(one.summaries[figure.x].ci95 is not None for one in having):
        caption.append("Thin bars: 95% interval (Student t), which may go on beyond the axes.")
    if figure.along and len(laid_out.alongs) > 1:
        caption.append(
            f"Points of a line are joined along {words(figure.along)}: "
            f"{', '.join(laid_out.alongs)}."
        )
    if any(place.published((figure.x, metric)) for place in laid_out.places for metric in figure.y):
        caption.append("Hollow: published for the same case; sources below the values.")
    return writer.save(
        panels.against(laid_out, figure),
        slug,
        figure.title,
        " ".join(caption),
        _described(rows, [*heads, *units]),
        table=Table(
            [*heads, *units, "runs", *(f"published {unit}" for unit in units)],
            len(heads),
            rows,
            [f"Published: {source}" for source in dict.fromkeys(sources)],
        ),
    )


def _over_time(
    figure: TimeFigure, results: Results, writer: Writer, slug: str, missing: list[str]
) -> Plot:
    text, how = _OVER_TIME[figure.over_time]
    any_workload = figure.over_time in _OF_ANY_WORKLOAD
    having = [case for case in results.cases if any_workload or is_bulk(case.runs[0])]
    laid_out = layout.lay_out(figure, having)
    heads, labels = _columns(figure, laid_out)
    traces: list[panels.Traces] = []
    rows = []
    for place in laid_out.places:
        run = place.measured.runs[0]
        try:
            file, flows = _read(figure.over_time, run)
        except AirtcpError as error:
            missing.append(f"{', '.join(labels(place))} left out: {error}")
            continue
        apart = figure.over_time == "flow_goodput"
        traces.append(panels.Traces(place, flows, figure.over_time in _STEPS, apart))
        values = numpy.concatenate([own for _, own in flows])
        shown = (values.mean(), values.min(), values.max())
        path = run.artifacts.get(file, {}).get("path", file)
        rows.append([*labels(place), path, str(run.seed), str(len(values)), *map(number, shown)])
    if not traces:
        raise AirtcpError("left out: no run has it.")
    seeds = sorted({one.place.measured.runs[0].seed for one in traces})
    caption = f"{how}; seed {' and '.join(map(str, seeds))}."
    of_one = figure.over_time == "ping"
    if of_one and any(one.place.measured.runs[0].settings.stations > 1 for one in traces):
        caption += " Of several stations the first."
    columns = [*heads, "file", "seed", "values", *(f"{kind} {text}" for kind in _SPREAD)]
    draw_panels = panels.histogram if figure.histogram else panels.over_time
    return writer.save(
        draw_panels(laid_out, traces, text),
        slug,
        figure.title,
        caption,
        _described(rows, columns),
        table=Table(columns, len(heads) + 1, rows, ["Every value stands in the file."]),
    )


_SPREAD = ("mean", "least", "most")


def _read(what: str, run: Run) -> tuple[str, Sequence[tuple[series.Floats, series.Floats]]]:
    """(the file, time in s and value of each flow). Raises AirtcpError."""
    settings = run.settings
    if what == "ping":
        pings = run.pings or [read_ping(run.directory)]
        return "ping.txt", [(ping.sent_s - settings.idle_s, ping.rtt_ms) for ping in pings]
    if what in _STEPS:
        return "series.csv", series.by_second(run.directory, settings, what, run.streams)
    if what == "cwnd_at_acks":
        return "cwnd-trace.txt", series.cwnd_at_acks(run.directory, settings, run.streams)
    if what == "received":
        return f"tcp-{settings.receiver}.csv", series.received(run.directory, settings, run.streams)
    over_time = series.over_time(run.directory, settings, run.streams)
    column = "srtt_ms" if what == "rtt" else what
    known = [(flow["time_s"], flow[column]) for flow in over_time.flows]
    flows = [(times_s[own == own], own[own == own]) for times_s, own in known]
    return f"tcp-{settings.sender}.csv", flows


def _model(
    figure: ModelFigure,
    declared: Declared,
    results: Results,
    writer: Writer,
    slug: str,
    missing: list[str],
) -> Plot:
    points, mean = declared.points, declared.mean_absolute_error
    if not points or mean is None:
        raise AirtcpError(
            f"left out: no case has a tsq in packets, {THROUGHPUT} and {figure.rtt} together."
        )
    if lacking := len(results.cases) - len(points):
        missing.append(f"{_cases(lacking)} without a tsq in packets, or without RTT, left out.")
    lines = _model_lines(points)
    rows = []
    for label, own in lines.items():
        for point in own:
            row = [label, str(point.tsq_packets), number(point.backlog_packets)]
            for one in (point.throughput_mbps, point.rtt_ms):
                row += _compared(one)
            rows.append(row)
    rows.append(
        [
            *("mean absolute error", "", "", "", ""),
            *(number(mean["throughput_mbps"]), number(mean["throughput_percent"]), "", ""),
            *(number(mean["rtt_ms"]), number(mean["rtt_percent"])),
        ]
    )
    errors = (
        f"Mean absolute error: throughput {number(mean['throughput_mbps'])} Mbit/s "
        f"({number(mean['throughput_percent'])}%), RTT {number(mean['rtt_ms'])} ms "
        f"({number(mean['rtt_percent'])}%)."
    )
    set_up = figure.model_dump(mode="json", exclude={"title", "model"})
    chosen = ", ".join(f"{words(name)} {readable(value)}" for name, value in set_up.items())
    columns = ["line", "limit (packets)", "k (packets)"]
    for what, unit in (("throughput", "Mbit/s"), ("RTT", "ms")):
        columns += [f"{what} ({unit})", "model", "error", "error (%)"]
    return writer.save(
        panels.model(figure, lines),
        slug,
        figure.title,
        f"Points: goodput and {layout.name(figure.rtt)}, means over seeds with 95% intervals. "
        f"Lines: equations 1, 4 and 5; {_counted(figure)}. {errors}",
        errors,
        table=Table(
            columns,
            1,
            rows,
            [f"The model's parameters: {chosen}.", "Error: model less measured."],
        ),
    )


def _counted(figure: ModelFigure) -> str:
    if figure.payload_bytes is None:
        return "they count whole packets, goodput counts payload"
    return f"goodput counts {figure.payload_bytes} of the {figure.packet_bytes} bytes of a packet"


def _model_lines(points: Sequence[Point]) -> dict[str, list[Point]]:
    """Points by the factors that differ, other than the limit, which is the axis."""
    names = layout.differing([point.factors for point in points])
    names.sort(key=lambda name: name != "pacing_factor")
    lines: dict[str, list[Point]] = {}
    for point in points:
        label = layout.line([], [name for name in names if name != "tsq"], point.factors)
        lines.setdefault(label, []).append(point)
    return lines


def _compared(one: Compared) -> Iterator[str]:
    yield with_interval(Summary(one.measured, one.ci95, 0))
    yield from map(number, (one.model, one.error, one.error_percent))


def _columns(
    figure: MetricFigure | TimeFigure, laid_out: Layout
) -> tuple[list[str], Callable[[Place], list[str]]]:
    """The columns that say which case it is: their heads, and what stands in them."""
    heads = [layout.heading(figure.lines)]
    heads += [words(factor) for factor in (figure.panels, figure.rows) if factor]

    def labels(place: Place) -> list[str]:
        own = [place.line or "all"]
        own += [place.panel] if figure.panels else []
        return [*own, *([place.row] if figure.rows else [])]

    return heads, labels


def _described(rows: Sequence[Sequence[str]], heads: Sequence[str]) -> str:
    """What a person who cannot see the figure reads."""
    return "; ".join(
        ", ".join(f"{head} {case}" for head, case in zip(heads, row, strict=False)) for row in rows
    )


def _cases(count: int) -> str:
    return "one case" if count == 1 else f"{count} cases"

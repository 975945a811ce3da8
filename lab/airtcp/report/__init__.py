# SPDX-License-Identifier: GPL-2.0-only
"""The report of an experiment: report.html, which needs no network, and figures/ for print."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from matplotlib.figure import Figure

from airtcp.errors import AirtcpError
from airtcp.kernel.policies import BASELINE
from airtcp.report import declared, model, page, plots, series, timeline
from airtcp.report.writer import Plot, Writer
from airtcp.results.files.airsim import ampdu_sizes, read_airsim
from airtcp.results.files.exchanges import read_exchanges

_T = TypeVar("_T")


def write_report(
    out_dir: Path, timeline_ms: int | None = None, timeline_of: str | None = None
) -> Path:
    """Write out_dir/report.html and out_dir/figures/ from out_dir/results.json and its runs.

    timeline_ms: where the timelines of the medium start, in virtual time since their captures
    began; None: in the middle. timeline_of: the run to show there, as `CELL/seed-N`; None: the
    first of each policy. Returns the page's path. Raises InputError when results.json is missing or
    corrupt, there is no such run or no capture reaches timeline_ms, AirtcpError when nothing can be
    written.
    A figure whose files are missing is left out, and the page says so.
    """
    results = model.load(out_dir)
    path = out_dir / "report.html"
    try:
        with plots.style():
            writer = Writer(out_dir / "figures")
            drawing = plots.Drawing(results)
            timelines = timeline.plots(results, writer, timeline_ms, timeline_of)
            own = declared.draw(results, writer)
            overview = _overview(results, drawing, writer)
            inside = [_inside(condition, drawing, writer) for condition in results.conditions]
            writer.add_plotly()
        path.write_text(page.render(results, overview, inside, *timelines, *own), encoding="utf-8")
    except OSError as error:
        raise AirtcpError(f"{error.filename or path}: {error.strerror}") from error
    return path


def _overview(results: model.Results, drawing: plots.Drawing, writer: Writer) -> list[Plot]:
    """The figures that compare all conditions."""
    found: list[Plot] = []

    def save(figure: Figure, slug: str, title: str, caption: str, values: list[str]) -> None:
        found.append(writer.save(figure, slug, title, caption, "; ".join(values)))

    every = [(condition, one) for condition in results.conditions for one in condition.policies]
    for headline, having in model.headlines(results):
        save(
            plots.Drawing(having).bars(headline.metric, f"{headline.title} ({headline.unit})"),
            headline.slug,
            headline.title.capitalize(),
            "Mean over seeds; whiskers: 95% interval (Student t).",
            _values(every, headline.metric, f" {headline.unit}"),
        )
    on_air = model.having(results, "airtime_data_share")
    if on_air.conditions:
        save(
            plots.Drawing(on_air).airtime(),
            "airtime",
            "Airtime",
            "An exchange is a PPDU, SIFS and the response. TCP ACKs: exchanges that carry nothing "
            "else. Idle includes AIFS and backoff.",
            [
                f"{condition.label}, {one.policy}: {_airtime(one)}"
                for condition in on_air.conditions
                for one in condition.policies
            ],
        )
    for headline, having in model.headlines(results):
        gains = model.gains(having, headline.metric)
        if not gains:
            continue
        save(
            plots.Drawing(having).gains(gains, headline.title),
            f"{headline.slug}-gain",
            f"{headline.title.capitalize()} relative to {BASELINE}",
            "Ratio of runs with the same seed, mean and 95% interval, which may go on beyond the "
            "axis; published: ratio of the published means."
            + (" Less is better." if headline.less_is_better else ""),
            [
                f"{gain.condition.label}, {gain.policy}: "
                + (page.percent(gain.measured.mean) if gain.measured else "not measured")
                + (f", published {page.percent(gain.published)}" if gain.published else "")
                for gain in gains
            ],
        )
    if any("acks_per_segment" in one.summaries for _, one in every):
        save(
            drawing.bars("acks_per_segment", "ACKs sent per data segment received"),
            "acks",
            "ACKs per data segment",
            "Mean over seeds; whiskers: 95% interval (Student t).",
            _values(every, "acks_per_segment", ""),
        )
    return found


def _airtime(one: model.Measured) -> str:
    shares = plots.airtime_shares(one).items()
    return ", ".join(f"{kind} {share:.1%}" for kind, share in shares)


def _values(
    rows: list[tuple[model.Condition, model.Measured]], metric: str, unit: str
) -> list[str]:
    """What a person who cannot see the bars of a metric reads."""
    return [
        f"{condition.label}, {one.policy}: {page.number(one.summaries[metric].mean)}{unit}"
        for condition, one in rows
        if metric in one.summaries
    ]


def _inside(condition: model.Condition, drawing: plots.Drawing, writer: Writer) -> page.Inside:
    """The figures that look into the runs of one condition."""
    notes: list[str] = []
    found: list[Plot] = []
    first = [one.runs[0] for one in condition.policies]
    seeds = " and ".join(f"seed {seed}" for seed in sorted({run.seed for run in first}))

    def save(figure: Figure, kind: str, title: str, caption: str) -> None:
        slug = f"{condition.slug}-{kind}"
        found.append(writer.save(figure, slug, title, caption, f"{condition.label}. {caption}"))

    if all(run.parameters["protocol"] == "tcp" and model.is_bulk(run) for run in first):
        over_time = _readable(condition, _over_time, notes)
        if over_time:
            save(
                drawing.over_time(over_time),
                "time",
                "Congestion window, RTT and goodput over time",
                f"The sender's window and smoothed RTT as sampled, the receiver's goodput by "
                f"iperf3 interval; {seeds}.",
            )
        arrivals = _readable(condition, _arrivals, notes)
        captured = {policy: one for policy, one in arrivals.items() if one is not None}
        if captured:
            told = (
                "the A-MPDUs seen on the air"
                if all(one.aggregates_from_air for one in captured.values())
                else "gaps longer than twice the median"
            )
            save(
                drawing.arrivals(captured),
                "arrivals",
                "Inter-arrival times",
                f"Data segments at the receiver, shades alternating by aggregate ({told}); "
                f"ticks above: pure ACKs sent; {seeds}.",
            )
        if None in arrivals.values():
            notes.append(
                "Inter-arrival times need a capture at the receiver: run again with "
                "--set capture=server,station,air"
            )
    sizes = _readable(condition, _aggregates, notes)
    if any(sizes.values()):
        save(
            drawing.aggregates({policy: one for policy, one in sizes.items() if one}),
            "ampdu",
            "MPDUs in an A-MPDU",
            "PPDUs that carry data, all seeds together.",
        )
    rtts_ms = _readable(condition, _ping_ms, notes)
    if any(rtts_ms.values()):
        save(
            drawing.latency(
                {policy: one for policy, one in rtts_ms.items() if one},
                "round-trip time of ping",
                "replies",
            ),
            "ping",
            "Latency beside the transfer",
            "Cumulative distribution of ping's round-trip times, all seeds together.",
        )
    times_ms = _readable(condition, _exchange_ms, notes)
    if any(times_ms.values()):
        save(
            drawing.latency(
                {policy: one for policy, one in times_ms.items() if one}, "time", "exchanges"
            ),
            "exchanges",
            "Time of an exchange",
            "Cumulative distribution, all seeds together.",
        )
    return page.Inside(condition, found, list(dict.fromkeys(notes)))


def _readable(
    condition: model.Condition, read: Callable[[model.Measured], _T], notes: list[str]
) -> dict[str, _T]:
    """What read gives for each policy; where a file cannot be read, a note instead."""
    values: dict[str, _T] = {}
    for one in condition.policies:
        try:
            values[one.policy] = read(one)
        except AirtcpError as error:
            notes.append(f"Left out, {one.policy}: {error}")
    return values


def _over_time(one: model.Measured) -> series.OverTime:
    run = one.runs[0]
    return series.over_time(run.directory, run.settings, run.streams)


def _arrivals(one: model.Measured) -> series.Arrivals | None:
    run = one.runs[0]
    return series.arrivals(run.directory, run.settings, run.streams)


def _aggregates(one: model.Measured) -> Counter[int]:
    """Data PPDUs by how many MPDUs each carried, over all seeds."""
    total: Counter[int] = Counter()
    for run in one.runs:
        total.update(ampdu_sizes(read_airsim(run.directory)))
    return total


def _ping_ms(one: model.Measured) -> list[float]:
    """Round-trip times over all seeds; none where ping was off."""
    return [float(rtt) for run in one.runs for ping in run.pings for rtt in ping.rtt_ms]


def _exchange_ms(one: model.Measured) -> list[float]:
    """Times of exchanges over all seeds; none with bulk."""
    exchanging = [run for run in one.runs if not model.is_bulk(run)]
    times_ms = [read_exchanges(run.directory).times_ms for run in exchanging]
    return [float(time_ms) for of_run in times_ms for time_ms in of_run]

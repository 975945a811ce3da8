# SPDX-License-Identifier: GPL-2.0-only
"""Published values compared with ours: trends, gains, and the page for all experiments."""

import re
from pathlib import Path

import pytest
from fake_run import record
from small_experiment import write
from small_published import HEAD, experiment, published

from airtcp.experiment import catalogue, papers
from airtcp.experiment.experiment import Experiment
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.results import assembly, comparison, reproduction, table
from airtcp.results.documents import Comparison

KERNEL = Kernel(Path("linux"), "6.12.0", "0123456789abcdef")

COMMAND = "./airtcp run all --quick --out '/tmp/a directory'"


def compared(of: Experiment, goodputs: dict[tuple[str, str], list[float]]) -> list[Comparison]:
    """Published values compared with runs. goodputs: a value per seed, by policy and delay."""
    runs = []
    for case in of.cases():
        policy, delay = case.factors["ack_policy"], case.factors["delay"]
        for seed, value in enumerate(goodputs.get((str(policy), str(delay)), []), start=1):
            runs.append(record(case, seed, {"goodput_mbps": value}))
    return comparison.compare(of.parameters, of.published, runs, None)


def test_gains_come_from_published_values(tmp_path: Path) -> None:
    of = experiment(
        tmp_path, published("ack_policy: default", 100), published("ack_policy: aad", 120)
    )
    value, other, gain = compared(of, {("default", "0ms"): [50, 100], ("aad", "0ms"): [60, 120]})
    assert (value.measured, other.measured, value.agreement) == (75, 90, "same trend")
    assert gain.relative_to == {"ack_policy": "default"}
    assert (gain.published, gain.n) == (1.2, 2)
    assert gain.measured == pytest.approx(1.2)
    assert (gain.agreement, gain.reason) == ("within 10%", "")


def test_a_gain_is_over_the_baseline_under_the_same_conditions(tmp_path: Path) -> None:
    of = experiment(
        tmp_path,
        published("ack_policy: default", 100),
        published("ack_policy: aad", 120),
        published("ack_policy: aad, sack: on, delay: 10ms", 99),
        published("delay: 10ms, sack: on, ack_policy: default", 90),
        published("ack_policy: default", 8, metric="tcp_rtt_ms_p50"),
        published("ack_policy: aad", 4, metric="tcp_rtt_ms_p50"),
        published("ack_policy: aad", 1.5, relative_to="ack_policy: default"),
    )
    gains = [row for row in compared(of, {}) if row.derived]
    metrics = ["goodput_mbps", "goodput_mbps", "tcp_rtt_ms_p50"]
    assert [row.metric for row in gains] == metrics
    assert [float(row.published) for row in gains] == pytest.approx([1.2, 1.1, 0.5])


def test_only_declared_ratios_are_listed_beside_the_tables(tmp_path: Path) -> None:
    of = experiment(
        tmp_path, published("ack_policy: default", 100), published("ack_policy: aad", 120)
    )
    rows = compared(of, {("default", "0ms"): [100], ("aad", "0ms"): [120]})
    assert [row.derived for row in rows] == [False, False, True]
    assert reproduction.ratios(rows) == []


@pytest.mark.parametrize(
    ("base", "of_base", "value", "precision", "gain"),
    [
        (100, "approximate", 120, "exact", "\N{ALMOST EQUAL TO} 1.2"),
        (100, "exact", 120, "approximate", "\N{ALMOST EQUAL TO} 1.2"),
        (100, "at least", 120, "exact", None),
        (100, "exact", 120, "at most", None),
        (0, "exact", 120, "exact", None),
        (100, "exact", 0, "exact", None),
    ],
)
def test_a_gain_is_computed_only_from_known_values(
    tmp_path: Path, base: float, of_base: str, value: float, precision: str, gain: str | None
) -> None:
    of = experiment(
        tmp_path,
        published("ack_policy: default", base, precision=of_base),
        published("ack_policy: aad", value, precision=precision),
    )
    goodputs = {("default", "0ms"): [50.0], ("aad", "0ms"): [60.0]}
    rows = compared(of, goodputs)
    assert [reproduction.theirs(row) for row in rows if row.derived] == ([gain] if gain else [])
    runs = [
        (case, record(case, 1, {"goodput_mbps": goodputs[key][0]}))
        for case in of.cases()
        if (key := (str(case.factors["ack_policy"]), str(case.factors["delay"]))) in goodputs
    ]
    document = assembly.document(of, of.cases(), KERNEL, runs, COMMAND)
    assert re.search(
        f"=aad delay=0ms +[+]20[.]0% +- *{'[+]20.0%' if gain else ''}$",
        table.table(document),
        re.M,
    )


def test_a_published_value_may_be_0(tmp_path: Path) -> None:
    of = experiment(tmp_path, published("delay: 0ms", 0), published("delay: 10ms", 0))
    rows = compared(of, {("default", "0ms"): [0], ("default", "10ms"): [7]})
    assert [(row.agreement, row.ratio) for row in rows] == [("within 10%", None), ("differs", None)]


def test_a_ratio_is_paired_by_seed(tmp_path: Path) -> None:
    of = experiment(tmp_path, published("ack_policy: aad", 3, relative_to="ack_policy: default"))
    rows = compared(of, {("default", "0ms"): [10, 100], ("aad", "0ms"): [30, 300]})
    [row] = rows
    assert (row.measured, row.ratio) == (3, 1)
    assert row.ci95 == pytest.approx(0)
    heading, shown = reproduction.ratios(rows)
    assert heading == ["relative to others", "n", "ratio", "published", "verdict"]
    name = "goodput_mbps: ack_policy aad, relative to ack_policy default"
    assert shown == [name, "2", "3 ± 0", "3", "within 10%"]


def test_a_ratio_is_over_runs_that_are_otherwise_equal(tmp_path: Path) -> None:
    other = published("ack_policy: aad, delay: 10ms", 2, relative_to="ack_policy: default")
    of = experiment(tmp_path, other)
    assert reproduction.ratios(compared(of, {("aad", "10ms"): [30]})) == []
    goodputs = {("default", "0ms"): [10.0], ("default", "10ms"): [20.0], ("aad", "10ms"): [44.2]}
    [row] = compared(of, goodputs)
    assert (row.measured, row.agreement) == (2.21, "same trend")


@pytest.mark.parametrize(
    ("precision", "verdict"), [("at least", "within 10%"), ("at most", "differs")]
)
def test_a_value_may_exceed_a_lower_bound(tmp_path: Path, precision: str, verdict: str) -> None:
    of = experiment(tmp_path, published("delay: 0ms", 2, precision=precision))
    [row] = compared(of, {("default", "0ms"): [3]})
    assert row.agreement == verdict


def test_the_trend_compares_neighbouring_values(tmp_path: Path) -> None:
    """Both values are far from the published ones, in the same or in the opposite order."""
    of = experiment(tmp_path, published("delay: 0ms", 100), published("delay: 10ms", 50))
    for goodputs, verdict in (((30, 20), "same trend"), ((20, 30), "differs")):
        near, far = ([float(value)] for value in goodputs)
        rows = compared(of, {("default", "0ms"): near, ("default", "10ms"): far})
        assert [row.agreement for row in rows] == [verdict, verdict]


@pytest.mark.parametrize(
    ("theirs", "ours", "verdict"),
    [
        # Of two neighbours, one is on the other side.
        ({"default 0ms": 100, "default 10ms": 50, "aad 10ms": 30}, (40, 20, 25), "differs"),
        # They are too close to be ordered.
        ({"default 0ms": 98, "default 10ms": 100}, (50, 60), "differs"),
        # They differ in two factors.
        ({"aad 0ms": 50, "default 10ms": 100}, (20, 40), "differs"),
        ({"default 0ms": 50, "default 10ms": 100}, (20, 40), "same trend"),
        ({"default 0ms": 94, "default 10ms": 100}, (20, 40), "same trend"),
        ({"default 0ms": 100, "default 10ms": 105}, (20, 40), "same trend"),
        ({"default 0ms": 0.5, "default 10ms": 1}, (0.2, 0.4), "same trend"),
        # Ours are equal within 1%.
        ({"default 0ms": 50, "default 10ms": 100}, (30, 30.2), "differs"),
        ({"default 0ms": 50, "default 10ms": 100}, (30, 30.4), "same trend"),
    ],
)
def test_the_trend_needs_neighbours_on_the_same_side(
    tmp_path: Path, theirs: dict[str, float], ours: tuple[float, ...], verdict: str
) -> None:
    cases = [(policy, delay) for policy, delay in map(str.split, theirs)]
    declared = (
        published(f"ack_policy: {policy}, delay: {delay}", value)
        for (policy, delay), value in zip(cases, theirs.values(), strict=True)
    )
    measured = {case: [float(value)] for case, value in zip(cases, ours, strict=True)}
    rows = compared(experiment(tmp_path, *declared), measured)
    wanted = {"ack_policy": "default", "delay": "10ms"}
    [row] = [row for row in rows if row.factors == wanted and not row.derived]
    assert row.agreement == verdict


@pytest.mark.parametrize(
    ("theirs", "ours", "verdict"),
    [
        ((100, 50, 40, 30, 20), (10, 5, 6, 7, 11), "same trend"),
        ((100, 50, 40, 30, 20), (10, 5, 6, 11, 11), "differs"),
        # Equal ones are not ordered, even if they are 0.
        ((0, 0, 50), (7, 0, 60), "same trend"),
        ((100, 50), (0, 0), "differs"),
    ],
)
def test_the_trend_needs_three_of_four_neighbours(
    tmp_path: Path, theirs: tuple[int, ...], ours: tuple[int, ...], verdict: str
) -> None:
    delays = [f"{number}ms" for number in range(len(theirs))]
    values = [
        published(f"delay: {delay}", value) for delay, value in zip(delays, theirs, strict=True)
    ]
    head = HEAD.replace("[0ms, 10ms]", f"[{', '.join(delays)}]")
    of = load(write(tmp_path, head + "".join(values)))
    goodputs = {
        ("default", delay): [float(value)] for delay, value in zip(delays, ours, strict=True)
    }
    [first, *_] = compared(of, goodputs)
    assert first.agreement == verdict


@pytest.mark.parametrize(
    ("theirs", "neighbour", "verdict"),
    [
        # Our values, 12 and 11, are ordered in the opposite way, if there is an order.
        (("exact", 60), ("exact", 80), "differs"),
        (("at least", 60), ("exact", 80), "same trend"),
        (("exact", 60), ("at most", 80), "same trend"),
        (("exact", 60), ("at least", 80), "differs"),
    ],
)
def test_a_bound_has_an_order_only_if_it_decides_it(
    tmp_path: Path, theirs: tuple[str, float], neighbour: tuple[str, float], verdict: str
) -> None:
    """A third value has an order with both, and ours are in this order."""
    given = {"0ms": theirs, "10ms": neighbour, "20ms": ("exact", 1)}
    values = [
        published(f"delay: {delay}", value, precision=precision)
        for delay, (precision, value) in given.items()
    ]
    head = HEAD.replace("[0ms, 10ms]", "[0ms, 10ms, 20ms]")
    of = load(write(tmp_path, head + "".join(values)))
    ours = zip(given, (12.0, 11.0, 4.0), strict=True)
    first, *_ = compared(of, {("default", delay): [value] for delay, value in ours})
    assert first.agreement == verdict


def test_the_trend_compares_values_of_the_same_metric(tmp_path: Path) -> None:
    """Neither a ratio nor another metric, which are ordered in the opposite way."""
    of = experiment(
        tmp_path,
        published("delay: 0ms", 100),
        published("delay: 10ms", 50),
        published("delay: 10ms", 5000, metric="retransmits"),
        published("delay: 10ms", 200, relative_to="delay: 0ms"),
    )
    runs = [
        record(case, 1, {"goodput_mbps": goodput, "retransmits": goodput})
        for case, goodput in zip(of.cases(), (30.0, 20.0), strict=False)
    ]
    value, *_ = comparison.compare(of.parameters, of.published, runs, None)
    assert (value.measured, value.agreement) == (30, "same trend")


def test_values_without_a_run_are_not_measured(tmp_path: Path) -> None:
    of = experiment(tmp_path, published("delay: 10ms", 50))
    [row] = compared(of, {("default", "0ms"): [1]})
    assert (row.agreement, row.measured, row.ratio) == ("not measured", None, None)


PAGE = """\
| Source | within 10% | same trend | differs | not measured |
|---|---|---|---|---|
| Statkus | 1 | 1 | 1 | 1 |

## Statkus

### `small`: A small one

Much.

| Source | Where | Metric | Published | Measured | Seeds | Ratio | Verdict |
|---|---|---|---|---|---|---|---|
| a table | delay 0ms | `goodput_mbps` Mbit/s | 100 | 99 | 1 | 0.99 | within 10% |
| a table | delay 10ms | `goodput_mbps` Mbit/s | 50 | 80 | 1 | 1.60 | same trend |
| a table | all as set | `retransmits` segments | 3 | - | 0 |  | not measured |
| a table | ack_policy aad, relative to ack_policy default | `goodput_mbps` | 2 | 1 | 1 | 0.50 | \
differs: Rain. |

Why not within 10%: The moon.

No values are published for these experiments: `thesis-iat`.
"""


def test_the_page_has_a_row_for_each_value_and_the_reasons(tmp_path: Path) -> None:
    of = experiment(
        tmp_path,
        published("delay: 0ms", 100),
        published("delay: 10ms", 50),
        published("", 3, metric="retransmits"),
        published("ack_policy: aad", 2, relative_to="ack_policy: default") + "    reason: Rain.\n",
    )
    goodputs = {("default", "0ms"): [99.0], ("default", "10ms"): [80.0], ("aad", "0ms"): [99.0]}
    unpublished = load("thesis-iat")
    case = of.cases()[0]
    runs = [
        (case, record(case, seed, {}, parameters={"duration": f"{seed}s"})) for seed in (1, 10, 2)
    ]
    found = assembly.document(of, of.cases(), KERNEL, runs, COMMAND)
    documents = [
        (of, found.model_copy(update={"published": tuple(compared(of, goodputs))})),
        (unpublished, found.model_copy(update={"published": ()})),
    ]
    page = reproduction.page(documents)
    assert "Written by `./airtcp run all --quick`; do not edit. Linux 6.12.0 " in page
    assert "(kernel `0123456789abcdef`). 6 runs of at most 10 s, at most 3 of each case." in page
    # The published values of one paper, without a heading for others.
    assert page.partition("has none.\n\n")[2] == PAGE.replace(
        "Statkus", papers.CITATIONS["statkus-2017"]
    )


def test_a_gain_is_marked_and_does_not_count(tmp_path: Path) -> None:
    of = experiment(
        tmp_path, published("ack_policy: default", 100), published("ack_policy: aad", 120)
    )
    runs = [(case, record(case, 1, {"goodput_mbps": 100.0})) for case in of.cases()]
    page = reproduction.page([(of, assembly.document(of, of.cases(), KERNEL, runs, COMMAND))])
    assert page.count("| a table |") == 2
    gain = "ack_policy aad, relative to ack_policy default | `goodput_mbps` | 1.2"
    assert f"| a table (computed) | {gain} | 1 | 1 | 0.83 | differs |" in page
    assert f"| {papers.CITATIONS['statkus-2017']} | 1 | 0 | 1 | 0 |" in page


def test_a_reason_of_its_own_is_enough(tmp_path: Path) -> None:
    of = experiment(tmp_path, published("delay: 0ms", 100) + "    reason: Rain | hail.\n")
    case = of.cases()[0]
    runs = [(case, record(case, 1, {"goodput_mbps": 10.0}))]
    page = reproduction.page([(of, assembly.document(of, [case], KERNEL, runs, COMMAND))])
    assert r"| 0.10 | differs: Rain \| hail. |" in page
    assert "Why not" not in page
    assert "No values are published" not in page


def test_the_page_has_words_and_only_the_reasons_of_differences(tmp_path: Path) -> None:
    word = published("ack_policy: aad", "less", relative_to="ack_policy: default")
    value = published("delay: 0ms", 100) + "    reason: Rain.\n"
    head = HEAD.replace("expects: Much.\nreason: The moon.\n", "")
    of = load(write(tmp_path, head + word + value.replace("a table", "p(a|b)")))
    rows = compared(of, {("default", "0ms"): [100], ("aad", "0ms"): [200]})
    document = assembly.document(of, of.cases(), KERNEL, [], COMMAND)
    run = record(of.cases()[0], 1, {})
    page = reproduction.page([(of, document.model_copy(update={"published": rows, "runs": [run]}))])
    assert "default | `goodput_mbps` | less | 2 | 1 |  | differs |\n" in page
    assert (
        "| p(a\\|b) | delay 0ms | `goodput_mbps` Mbit/s | 100 | 100 | 1 | 1.00 | within 10% |\n"
        in page
    )
    assert "### `small`: A small one\n\n| Source |" in page
    assert page.endswith("\n\nWhy not within 10%: not known.\n")


@pytest.mark.parametrize("option", ["", "--out results/x", "--out=results/x", "--jobs 2"])
def test_the_page_does_not_name_its_directory(tmp_path: Path, option: str) -> None:
    of = experiment(tmp_path, published("delay: 0ms", 100))
    runs = [(case, record(case, 1, {})) for case in of.cases()]
    command = f"./airtcp run all {option} --full"
    found = assembly.document(of, of.cases(), KERNEL, runs, command)
    assert "Written by `./airtcp run all --full`;" in reproduction.page([(of, found)])


@pytest.mark.parametrize(
    ("readings", "totals"), [("", "1 | 0 | 1"), ("readings: [aad, count]\n", "1 | 0 | 0")]
)
def test_of_several_readings_the_best_counts(tmp_path: Path, readings: str, totals: str) -> None:
    values = [published(f"ack_policy: {policy}", 100) for policy in ("aad", "count")]
    head = HEAD.replace("[default, aad]", "[aad, count]")
    of = load(write(tmp_path, head + "".join(values) + readings))
    rows = compared(of, {("aad", "0ms"): [10], ("count", "0ms"): [99]})
    document = assembly.document(of, of.cases(), KERNEL, [], COMMAND)
    run = record(of.cases()[0], 1, {})
    document = document.model_copy(update={"published": rows, "runs": (run,)})
    page = reproduction.page([(of, document)])
    assert f"| {papers.CITATIONS['statkus-2017']} | {totals} | 0 |" in page
    assert page.count("| a table |") == 2


def test_a_value_of_an_experiment_and_its_reading_counts_once(tmp_path: Path) -> None:
    values = published("delay: 0ms", 100) + published("delay: 10ms", 100)
    documents = []
    for goodput_mbps, name in (10, "small"), (99, "other\nreading_of: small"):
        of = load(write(tmp_path, HEAD.replace("small\n", f"{name}\n") + values))
        rows = compared(of, {("default", "0ms"): [goodput_mbps], ("default", "10ms"): [10]})
        document = assembly.document(of, of.cases(), KERNEL, [], COMMAND)
        run = record(of.cases()[0], 1, {})
        documents.append((of, document.model_copy(update={"published": rows, "runs": (run,)})))
    page = reproduction.page(documents)
    assert f"| {papers.CITATIONS['statkus-2017']} | 1 | 0 | 1 | 0 |" in page
    assert page.count("| a table |") == 4


def test_a_reading_has_the_values_of_its_experiment() -> None:
    def values(of: Experiment) -> set[tuple[object, ...]]:
        return {(comparison.key(one.when, one.metric), one.value) for one in of.published}

    found = {one.name: one for one in catalogue.experiments(checked=False)}
    readings = [one for one in found.values() if one.reading_of]
    assert readings
    for one in readings:
        assert one.paper == found[one.reading_of].paper
        assert one.published and values(one) <= values(found[one.reading_of])


def test_a_document_has_the_comparison(tmp_path: Path) -> None:
    of = experiment(tmp_path, published("delay: 0ms", 100))
    document = assembly.document(of, of.cases(), KERNEL, [], "./airtcp run small.yaml")
    assert [row.agreement for row in document.published] == ["not measured"]

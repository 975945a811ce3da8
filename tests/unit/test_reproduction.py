# SPDX-License-Identifier: GPL-2.0-only
"""Published figures beside ours: verdicts, gains, the page over all experiments."""

from pathlib import Path

import pytest
from fake_run import record

from airtcp.experiment import catalogue, papers, summaries
from airtcp.experiment.experiment import Experiment
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.results import assembly, reproduction, verdicts
from airtcp.results.documents import Comparison

KERNEL = Kernel(Path("linux"), "6.12.0", "0123456789abcdef")

COMMAND = "./airtcp run all --quick --out '/tmp/a directory'"

HEAD = """\
name: small
title: A small one
paper: statkus-2017
source: nobody
description: For tests.
expects: Much.
reason: The moon.
design:
  - ack_policy: [default, aad]
    delay: [0ms, 10ms]
published:
"""


def published(
    when: str, value: object, *, relative_to: str = "", metric: str = "goodput_mbps"
) -> str:
    relative = f"    relative_to: {{{relative_to}}}\n" if relative_to else ""
    return (
        f"  - when: {{{when}}}\n{relative}    metric: {metric}\n    value: {value}\n"
        "    precision: exact\n    source: a table\n"
    )


def experiment(directory: Path, *figures: str) -> Experiment:
    path = directory / "small.yaml"
    path.write_text(HEAD + "".join(figures))
    return load(path)


def compared(of: Experiment, goodputs: dict[tuple[str, str], list[float]]) -> list[Comparison]:
    """goodputs: by policy and delay, seed by seed."""
    runs = []
    for case in of.cases():
        policy, delay = case.factors["ack_policy"], case.factors["delay"]
        for seed, value in enumerate(goodputs.get((str(policy), str(delay)), []), start=1):
            runs.append(record(case, seed, {"goodput_mbps": value}))
    return reproduction.compare(of.parameters, of.published, runs)


@pytest.mark.parametrize(
    ("measured", "published", "precision", "verdict"),
    [
        (109, 100, "exact", "within tolerance"),
        (111, 100, "exact", "not reproduced"),
        (111, 100, "approximate", "within tolerance"),
        (79, 100, "approximate", "not reproduced"),
        (50, 100, "at most", "within tolerance"),
        (111, 100, "at most", "not reproduced"),
        (150, 100, "at least", "within tolerance"),
        (89, 100, "at least", "not reproduced"),
    ],
)
def test_a_value(
    measured: float, published: float, precision: papers.Precision, verdict: str
) -> None:
    assert verdicts.of_value(measured, published, precision, ordered=False) == verdict
    ordered = verdicts.of_value(measured, published, precision, ordered=True)
    assert ordered == ("same trend" if verdict == "not reproduced" else verdict)


@pytest.mark.parametrize(
    ("measured", "published", "verdict"),
    [
        (1.108, 1.108, "within tolerance"),
        (1.08, 1.108, "within tolerance"),
        (1.04, 1.108, "same trend"),
        (1.3, 1.108, "same trend"),
        (1.005, 1.108, "not reproduced"),  # no more than noise
        (0.9, 1.108, "not reproduced"),
        (0.5, 0.4, "within tolerance"),
        (0.8, 0.4, "same trend"),
        (1.04, 1.0, "within tolerance"),
        (1.06, 1.0, "not reproduced"),
    ],
)
def test_a_ratio_counts_by_its_change(measured: float, published: float, verdict: str) -> None:
    assert verdicts.of_ratio(measured, published, "exact") == verdict


@pytest.mark.parametrize(
    ("measured", "said", "verdict"),
    [
        (1.02, "more", "same trend"),
        (1.0, "more", "not reproduced"),
        (0.9, "less", "same trend"),
        (1.1, "less", "not reproduced"),
        (0.95, "same", "within tolerance"),
        (1.2, "same", "not reproduced"),
    ],
)
def test_a_word(measured: float, said: papers.Word, verdict: str) -> None:
    assert verdicts.of_word(measured, said) == verdict


def test_gains_come_from_published_values(tmp_path: Path) -> None:
    of = experiment(
        tmp_path, published("ack_policy: default", 100), published("ack_policy: aad", 120)
    )
    value, other, gain = compared(of, {("default", "0ms"): [50, 100], ("aad", "0ms"): [60, 120]})
    assert (value.measured, other.measured, value.agreement) == (75, 90, "same trend")
    assert gain.relative_to == {"ack_policy": "default"}
    assert (gain.published, gain.n) == (1.2, 2)
    assert gain.measured == pytest.approx(1.2)
    assert (gain.agreement, gain.reason) == ("within tolerance", "")


def test_a_ratio_is_paired_by_seed(tmp_path: Path) -> None:
    of = experiment(tmp_path, published("ack_policy: aad", 3, relative_to="ack_policy: default"))
    rows = compared(of, {("default", "0ms"): [10, 100], ("aad", "0ms"): [30, 300]})
    [row] = rows
    assert (row.measured, row.ratio) == (3, 1)
    assert row.ci95 == pytest.approx(0)
    _, shown = reproduction.ratios(rows)
    what = "goodput_mbps: ack_policy aad, relative to ack_policy default"
    assert shown == [what, "3 ± 0", "3", "within tolerance"]


def test_the_direction_is_that_of_the_neighbours(tmp_path: Path) -> None:
    """Both far from the published values, and in their order, or against it."""
    of = experiment(tmp_path, published("delay: 0ms", 100), published("delay: 10ms", 50))
    for goodputs, verdict in (((30, 20), "same trend"), ((20, 30), "not reproduced")):
        near, far = ([float(value)] for value in goodputs)
        rows = compared(of, {("default", "0ms"): near, ("default", "10ms"): far})
        assert [row.agreement for row in rows] == [verdict, verdict]


def test_what_has_not_been_measured_is_said(tmp_path: Path) -> None:
    of = experiment(tmp_path, published("delay: 10ms", 50))
    [row] = compared(of, {("default", "0ms"): [1]})
    assert (row.agreement, row.measured, row.ratio) == ("not measured", None, None)


def test_the_page_has_a_row_for_each_figure_and_the_reasons(tmp_path: Path) -> None:
    of = experiment(tmp_path, published("delay: 0ms", 100), published("delay: 10ms", 50))
    rows = compared(of, {("default", "0ms"): [99], ("default", "10ms"): [80]})
    silent = load("thesis-iat")
    run = record(of.cases()[0], 1, {})
    found = assembly.document(of, of.cases(), KERNEL, [(of.cases()[0], run)], COMMAND)
    documents = [
        (one, found.model_copy(update={"published": compared}))
        for one, compared in ((of, rows), (silent, []))
    ]
    page = reproduction.page(documents)
    assert (
        "| a table | delay 0ms | `goodput_mbps` Mbit/s | 100 | 99 | 0.99 | within tolerance |"
        in page
    )
    assert "| 50 | 80 | 1.60 | same trend |\n\nWhy not within tolerance: The moon.\n" in page
    assert f"| {papers.CITATIONS['statkus-2017']} | 1 | 1 | 0 | 0 |" in page
    assert "nothing is published: `thesis-iat`" in page
    assert "Written by `./airtcp run all --quick`; do not edit. Linux 6.12.0. " in page
    assert "Much." in page
    assert "2 runs of at most 10 s, 1 of each case at most." in page


def test_a_document_has_the_comparison(tmp_path: Path) -> None:
    of = experiment(tmp_path, published("delay: 0ms", 100))
    document = assembly.document(of, of.cases(), KERNEL, [], "./airtcp run small.yaml")
    assert [row.agreement for row in document.published] == ["not measured"]


def test_the_catalogue_names_what_it_reproduces() -> None:
    found = catalogue.listed(catalogue.experiments())
    assert sum(bool(one["published"]) for one in found) >= 25
    for one in found:
        assert one["source"], one["name"]
        assert one["expects"], one["name"]
        assert one["factors"], one["name"]
        assert bool(one["published"]) <= (one["paper"] != "own"), one["name"]
    table = summaries.table(summaries.read())
    assert table.index("TCP-AAD") < table.index("thesis-lan") < table.index("airtcp's own")


def test_summaries_are_those_of_the_experiments() -> None:
    loaded = [(one.name, one.title, one.paper) for one in catalogue.experiments(checked=False)]
    assert sorted(loaded) == list(map(tuple, summaries.read()))


def test_quick_measures_what_figures_are_published_of() -> None:
    cases = catalogue.quick(load("acklimit-vm"))
    assert [case.factors["ack_policy"] for case in cases] == ["limit", "default"]
    assert {case.parameters.duration_s for case in cases} == {10}
    assert {case.parameters.baseline_s for case in catalogue.quick(load("tsq-size"))} == {1}
    assert len(catalogue.quick(load("ack-latency"))) == 1


def test_quick_is_bounded() -> None:
    """Some 200 runs of 10 s: half an hour on two cores."""
    cases = [case for one in catalogue.experiments() for case in catalogue.quick(one)]
    assert len(cases) < 220
    assert all(case.parameters.duration_s <= 10 for case in cases)

# SPDX-License-Identifier: GPL-2.0-only
"""Published figures beside ours: verdicts, gains, the page over all experiments."""

from pathlib import Path
from typing import Any

import pytest

from airtcp.experiment import catalogue, papers
from airtcp.experiment.experiment import Experiment
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.results import documents, reproduction, verdicts

KERNEL = Kernel(Path("linux"), "6.12.0", "0123456789abcdef")

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


def compared(of: Experiment, goodputs: dict[tuple[str, str], list[float]]) -> list[dict[str, Any]]:
    """goodputs: by policy and delay, seed by seed."""
    runs = []
    for case in of.cases():
        policy, delay = case.factors["ack_policy"], case.factors["delay"]
        for seed, value in enumerate(goodputs.get((str(policy), str(delay)), []), start=1):
            runs.append(
                {
                    "seed": seed,
                    "status": "ok",
                    "metrics": {"goodput_mbps": value},
                    "parameters": case.parameters.plain(),
                }
            )
    return reproduction.compare(of, runs)


@pytest.mark.parametrize(
    ("measured", "published", "precision", "verdict"),
    [
        (109, 100, "exact", "in size"),
        (111, 100, "exact", "no"),
        (111, 100, "approximate", "in size"),
        (79, 100, "approximate", "no"),
        (50, 100, "at most", "in size"),
        (111, 100, "at most", "no"),
        (150, 100, "at least", "in size"),
        (89, 100, "at least", "no"),
    ],
)
def test_a_value(
    measured: float, published: float, precision: papers.Precision, verdict: str
) -> None:
    assert verdicts.of_value(measured, published, precision, ordered=False) == verdict
    ordered = verdicts.of_value(measured, published, precision, ordered=True)
    assert ordered == ("in direction" if verdict == "no" else verdict)


@pytest.mark.parametrize(
    ("measured", "published", "verdict"),
    [
        (1.108, 1.108, "in size"),
        (1.08, 1.108, "in size"),
        (1.04, 1.108, "in direction"),
        (1.3, 1.108, "in direction"),
        (1.005, 1.108, "no"),  # no more than noise
        (0.9, 1.108, "no"),
        (0.5, 0.4, "in size"),
        (0.8, 0.4, "in direction"),
        (1.04, 1.0, "in size"),
        (1.06, 1.0, "no"),
    ],
)
def test_a_ratio_counts_by_its_change(measured: float, published: float, verdict: str) -> None:
    assert verdicts.of_ratio(measured, published, "exact") == verdict


@pytest.mark.parametrize(
    ("measured", "said", "verdict"),
    [
        (1.02, "more", "in direction"),
        (1.0, "more", "no"),
        (0.9, "less", "in direction"),
        (1.1, "less", "no"),
        (0.95, "same", "in size"),
        (1.2, "same", "no"),
    ],
)
def test_a_word(measured: float, said: papers.Word, verdict: str) -> None:
    assert verdicts.of_word(measured, said) == verdict


def test_gains_come_from_published_values(tmp_path: Path) -> None:
    of = experiment(
        tmp_path, published("ack_policy: default", 100), published("ack_policy: aad", 120)
    )
    value, other, gain = compared(of, {("default", "0ms"): [50, 100], ("aad", "0ms"): [60, 120]})
    assert (value["measured"], other["measured"], value["verdict"]) == (75, 90, "in direction")
    assert gain["relative_to"] == {"ack_policy": "default"}
    assert (gain["published"], gain["measured"], gain["n"]) == (1.2, pytest.approx(1.2), 2)
    assert (gain["verdict"], gain["reason"]) == ("in size", "")


def test_a_ratio_is_paired_by_seed(tmp_path: Path) -> None:
    of = experiment(tmp_path, published("ack_policy: aad", 3, relative_to="ack_policy: default"))
    rows = compared(of, {("default", "0ms"): [10, 100], ("aad", "0ms"): [30, 300]})
    [row] = rows
    assert (row["measured"], row["ratio"], row["ci95"]) == (3, 1, pytest.approx(0))
    _, shown = reproduction.ratios(rows)
    what = "goodput_mbps: ack_policy aad, relative to ack_policy default"
    assert shown == [what, "3 ± 0", "3", "in size"]


def test_the_direction_is_that_of_the_neighbours(tmp_path: Path) -> None:
    """Both far from the published values, and in their order, or against it."""
    of = experiment(tmp_path, published("delay: 0ms", 100), published("delay: 10ms", 50))
    for goodputs, verdict in (((30, 20), "in direction"), ((20, 30), "no")):
        near, far = ([float(value)] for value in goodputs)
        rows = compared(of, {("default", "0ms"): near, ("default", "10ms"): far})
        assert [row["verdict"] for row in rows] == [verdict, verdict]


def test_what_has_not_been_measured_is_said(tmp_path: Path) -> None:
    of = experiment(tmp_path, published("delay: 10ms", 50))
    [row] = compared(of, {("default", "0ms"): [1]})
    assert (row["verdict"], row["measured"], row["ratio"]) == ("not measured", None, None)


def test_the_page_has_a_row_for_each_figure_and_the_reasons(tmp_path: Path) -> None:
    of = experiment(tmp_path, published("delay: 0ms", 100), published("delay: 10ms", 50))
    rows = compared(of, {("default", "0ms"): [99], ("default", "10ms"): [80]})
    silent = load("thesis-iat")
    run = {"seed": 1, "parameters": {"duration": "10s"}}
    kernel: dict[str, Any] = {"kernel": {"version": "6.12.0"}, "runs": [run]}
    documents = [(of, kernel | {"published": rows}), (silent, kernel | {"published": []})]
    page = reproduction.page(documents, "./airtcp run all --quick")
    assert "| a table | delay 0ms | `goodput_mbps` Mbit/s | 100 | 99 | 0.99 | in size |" in page
    assert "| 50 | 80 | 1.60 | in direction |\n\nWhy not in size: The moon.\n" in page
    assert f"| {papers.CITATIONS['statkus-2017']} | 1 | 1 | 0 | 0 |" in page
    assert "nothing is published: `thesis-iat`" in page
    assert "Much." in page
    assert "2 runs of at most 10 s, 1 of each case at most." in page


def test_a_document_has_the_comparison(tmp_path: Path) -> None:
    of = experiment(tmp_path, published("delay: 0ms", 100))
    document = documents.document(of, of.cases(), KERNEL, [], "./airtcp run small.yaml")
    assert [row["verdict"] for row in document["published"]] == ["not measured"]


def test_the_catalogue_names_what_it_reproduces() -> None:
    found = catalogue.listed(catalogue.experiments())
    assert sum(bool(one["published"]) for one in found) >= 25
    for one in found:
        assert one["source"], one["name"]
        assert one["expects"], one["name"]
        assert one["factors"], one["name"]
        assert bool(one["published"]) <= (one["paper"] != "own"), one["name"]
    table = catalogue.table(catalogue.experiments())
    assert table.index("TCP-AAD") < table.index("thesis-lan") < table.index("airtcp's own")


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

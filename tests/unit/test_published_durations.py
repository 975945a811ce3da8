# SPDX-License-Identifier: GPL-2.0-only
"""Durations of the runs that are compared with published values."""

from pathlib import Path

import pytest
from fake_run import record
from small_published import experiment, published

from airtcp.experiment.experiment import Setting
from airtcp.kernel.image import Kernel
from airtcp.results import assembly, comparison, reproduction, table

KERNEL = Kernel(Path("linux"), "6.12.0", "0123456789abcdef")

COMMAND = "./airtcp run small.yaml"


@pytest.mark.parametrize(
    ("published_s", "failed", "value", "gain"),
    [
        (300, set(), 170, 1.7),
        (6, set(), 130, 1.3),
        (None, set(), 170, 1.7),
        (300, {("aad", 1)}, 170, 1.7),
        (300, {("aad", 1), ("aad", 2)}, None, None),
    ],
)
def test_runs_of_different_durations_are_not_mixed(
    tmp_path: Path,
    published_s: float | None,
    failed: set[tuple[str, int]],
    value: float | None,
    gain: float | None,
) -> None:
    """Those closest to the published duration count; failed: of those of 300 s."""
    of = experiment(
        tmp_path, published("ack_policy: default", 100), published("ack_policy: aad", 170)
    )
    settings = map(Setting.parse, ("duration=5s,300s", "delay=0ms", "ack_policy=default,aad"))
    goodputs = {("5s", "default"): 100.0, ("5s", "aad"): 130.0, ("300s", "default"): 100.0}
    runs = []
    for case in of.cases(list(settings)):
        policy, duration = str(case.factors["ack_policy"]), str(case.factors["duration"])
        for seed in (1, 2):
            run = record(case, seed, {"goodput_mbps": goodputs.get((duration, policy), 170.0)})
            fails = duration == "300s" and (policy, seed) in failed
            runs.append(run.model_copy(update={"status": "failed"} if fails else {}))
    _, aad, ratio = comparison.compare(of.parameters, of.published, runs, published_s)
    assert (aad.measured, aad.n) == (value, 2 - len(failed))
    assert ratio.measured == (gain and pytest.approx(gain))


@pytest.mark.parametrize(
    ("published_s", "ours", "text", "warns"),
    [
        (300, ["10s"], "The published runs last 300 s, these runs 10 s", True),
        (300, ["30s"], "The published runs last 300 s, these runs 30 s", True),
        (300, ["31s", "60s"], "The published runs last 300 s, these runs 31 to 60 s", False),
        (
            300,
            ["31s", "60s", "300s"],
            "The published runs last 300 s, these runs 60 to 300 s",
            False,
        ),
        (300, ["300s"], "Both the published runs and these runs last 300 s", False),
        (2, ["20s"], "The published runs last 2 s, these runs 20 s", True),
    ],
)
def test_published_durations_are_compared_with_those_of_the_runs(
    tmp_path: Path, published_s: float, ours: list[str], text: str, warns: bool
) -> None:
    """The first and the third have the same conditions."""
    of = experiment(tmp_path, published("delay: 0ms", 100))
    case = of.cases()[0]
    runs = [
        (case, record(case, seed, {"goodput_mbps": 95.0}, parameters=parameters))
        for seed, parameters in enumerate(
            {"duration": duration, "delay": f"{place % 2}ms"} for place, duration in enumerate(ours)
        )
    ]
    found = assembly.document(of, [case], KERNEL, runs, COMMAND)
    assert comparison.durations(found) is None
    document = found.model_copy(update={"published_duration_s": published_s})
    times = comparison.durations(document)
    assert str(times) == text
    assert times and bool(times.warning) == warns
    note = f"note: t{text[1:]}. Slow start alone can explain a difference."
    assert (note in table.table(document)) == warns
    page = reproduction.page([(of, document)])
    assert f"\n{text}." in page


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({}, "The published runs last 300 s, these runs 2 s"),
        ({"status": "failed", "error": "it broke"}, None),
        ({"parameters": {"duration": "2s", "workload": "transfer"}}, None),
    ],
)
def test_durations_are_those_of_successful_bulk_transfers(
    tmp_path: Path, changed: dict[str, object], text: str | None
) -> None:
    """Also if only some of the published values were measured."""
    of = experiment(tmp_path, published("delay: 0ms", 100), published("delay: 10ms", 50))
    case = of.cases()[0]
    measured = {"goodput_mbps": 95.0}
    first = record(case, 1, measured, parameters={"duration": "2s"})
    document = assembly.document(of, [case], KERNEL, [(case, first)], COMMAND)
    changes = {"runs": (first.model_copy(update=changed),), "published_duration_s": 300.0}
    times = comparison.durations(document.model_copy(update=changes))
    assert (str(times) if times else None) == text


def test_no_duration_is_stated_beside_cases_without_published_values(tmp_path: Path) -> None:
    of = experiment(tmp_path, published("delay: 0ms", 100))
    of = of.model_copy(update={"published_duration_s": 300})
    case = of.cases()[1]
    assert case.factors["delay"] == "10ms"
    parameters = {"delay": "10ms", "duration": "1s"}
    runs = [(case, record(case, 1, {"goodput_mbps": 95.0}, parameters=parameters))]
    document = assembly.document(of, [case], KERNEL, runs, COMMAND)
    assert [row.agreement for row in document.published] == ["not measured"]
    assert comparison.durations(document) is None
    assert "published runs" not in table.table(document)

# SPDX-License-Identifier: GPL-2.0-only
"""Columns and notes of printed tables."""

import pytest
from fake_run import document

from airtcp.experiment.casenames import case_name
from airtcp.results.documents import PublishedValue
from airtcp.results.record import Artifact
from airtcp.results.table import aligned, note, table


def test_columns_are_aligned() -> None:
    rows = [
        ["case", "n", "text", "x"],
        [case_name({}), "10", "t", ""],
        [case_name({"a": 1}), *"123"],
    ]
    assert aligned(rows, (0, 2)).splitlines() == [
        "case         n  text  x",
        "(one case)  10  t",
        "a=1          1  2     3",
    ]


def test_the_note_is_on_the_case_with_the_fewest_runs() -> None:
    assert "with one run" in str(note([3, 1]))
    assert "with two runs" in str(note([2, 5]))
    assert note([3, 4]) is note([]) is None


@pytest.mark.parametrize(
    ("plans", "values", "names"),
    [
        ("abcd", [5.0, 5.0, 7.0, 7.0], "ack_count"),
        ("aabb", [5.0, 5.0, 7.0, 7.0], ""),  # reported before the runs
        ("abcd", [5.0, 5.1, 7.0, 7.1], ""),
        ("abcd", [5.0] * 4, "ack_count, delay"),
        ("aabb", [5.0] * 4, "delay"),
    ],
)
def test_a_note_names_factors_that_change_nothing(
    plans: str, values: list[float], names: str
) -> None:
    factors = [(delay, n) for delay in ("0ms", "50ms") for n in (2, 8)]
    results = document(
        "thesis-lan",
        {
            ("ack_policy=default", f"delay={delay}", f"ack_count={n}"): [{"goodput_mbps": value}]
            for (delay, n), value in zip(factors, values, strict=True)
        },
    )
    runs = [
        run.model_copy(update={"artifacts": {"plan.sh": Artifact(path="", sha256=plan)}})
        for run, plan in zip(results.runs, plans, strict=True)
    ]
    lines = table(results.model_copy(update={"runs": tuple(runs)})).splitlines()
    note = f"note: some cases that differ only in {names} have equal metrics"
    assert [line for line in lines if "differ only" in line] == ([note] if names else [])


def test_the_note_on_few_runs_is_on_the_metrics_shown() -> None:
    seeds = [{"goodput_mbps": 5.0 + seed, "acks_sent": 2} for seed in range(3)]
    seeds[0]["udp_jitter_ms"] = 1.0
    results = document("thesis-lan", {("ack_policy=default",): seeds})
    assert "note: a case with one run" not in table(results)
    assert "note: a case with one run" not in table(results, ["acks_sent"])
    assert "note: a case with one run" in table(results, ["udp_jitter_ms"])


@pytest.mark.parametrize(
    ("metric", "values", "shown"),
    [
        ("acks_sent", [32, 32], ["32", "± 0"]),
        ("acks_sent", [32, 33], ["32.50", "± 6.35"]),
        ("acks_sent", [31, 33], ["32.00", "± 12.71"]),
        ("cwnd_segments_max", [32.0], ["32", "-"]),
        ("goodput_mbps", [32.0], ["32.00", "-"]),
        ("udp_jitter_ms", [0.0042], ["0.00420", "-"]),
        ("udp_jitter_ms", [0.0, 0.0], ["0.00", "± 0.00"]),
        ("udp_lost_share", [0.25], ["0.25", "-"]),
    ],
)
def test_decimal_places_of_values(metric: str, values: list[float], shown: list[str]) -> None:
    seeds = [{metric: value} for value in values]
    results = document("thesis-lan", {("ack_policy=default",): seeds})
    line = table(results, [metric]).splitlines()[1]
    cells = " ".join([str(len(values)), *shown]).split()
    assert line.split()[1 : 1 + len(cells)] == cells


def test_a_ratio_to_a_published_value_can_be_zero() -> None:
    results = document("thesis-lan", {("ack_policy=default", "delay=0ms"): [{"goodput_mbps": 0.0}]})
    assert table(results).splitlines()[1].split()[-1] == "0.00"


def test_large_published_values_are_written_without_an_exponent() -> None:
    results = document("thesis-lan", {("ack_policy=default", "delay=0ms"): [{"goodput_mbps": 2e6}]})
    published = PublishedValue(value=1234567, precision="exact", source="")
    row = next(row for row in results.summary if row.metric == "goodput_mbps")
    row = row.model_copy(update={"published": published})
    text = table(results.model_copy(update={"summary": (row,)}))
    assert text.splitlines()[1].split()[-2:] == ["1234567", "1.62"]


def test_a_change_uses_seeds_with_which_both_were_measured() -> None:
    """The second run of aad has no goodput, as a failed one."""
    default, aad = [{"goodput_mbps": 100.0}, {"goodput_mbps": 50.0}], [{"goodput_mbps": 110.0}, {}]
    results = document("thesis-lan", {("ack_policy=default",): default, ("ack_policy=aad",): aad})
    change = table(results).split("\n\n")[1].splitlines()[1]
    assert change.split()[:3] == ["ack_policy=aad", "+10.0%", "-"]

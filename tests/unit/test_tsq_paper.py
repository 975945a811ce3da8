# SPDX-License-Identifier: GPL-2.0-only
"""The tables of docs/explanation/tsq-paper.md (bench/tsq_paper.py)."""

import re
from collections.abc import Mapping

import fake_run
import pytest
import tsq_paper
from tsq_paper import TABLES, Table

from airtcp.errors import AirtcpError
from airtcp.experiment.reader import load
from airtcp.paths import REPOSITORY
from airtcp.results.documents import SweepDocument

TABLE = Table("small", "tsq-variants", ("congestion_control",), ("flows",))


def document(values: Mapping[tuple[str, str], tuple[float, ...]]) -> SweepDocument:
    """tsq-variants with the goodput of each seed by congestion control and number of flows."""
    same = {"ping_rtt_ms_p50": 4.76, "ampdu_mpdus_mean": 11.5}
    return fake_run.document(
        "tsq-variants",
        {
            (f"congestion_control={control}", f"flows={flows}"): [
                {"goodput_mbps": goodput, **same} for goodput in goodputs
            ]
            for (control, flows), goodputs in values.items()
        },
    )


def test_a_table_has_means_by_row_and_column() -> None:
    found = document({("cubic", "1"): (140, 150), ("cubic", "4"): (180,), ("nv", "4"): (59.6,)})
    assert tsq_paper.text(TABLE, found).splitlines() == [
        "`tsq-variants`, 30 s, 2 seeds: goodput in Mbit/s / MPDUs per aggregate / ping in ms / "
        "TCP's RTT in ms:",
        "",
        "| | flows 1 | flows 4 |",
        "|---|---|---|",
        "| `cubic` | 145 / 12 / 4.8 / - | 180 / 12 / 4.8 / - |",
        "| `nv` | - | 60 / 12 / 4.8 / - |",
    ]


def test_only_runs_with_the_values_of_the_other_factors_count() -> None:
    found = document({("cubic", "1"): (140,), ("nv", "1"): (60,)})
    one = Table("one", "tsq-variants", ("flows",), ("tsq",), ("goodput_mbps",), {"flows": "4"})
    with pytest.raises(AirtcpError, match="tsq-variants: no run for the table 'one'"):
        tsq_paper.text(one, found)
    nv = Table("nv", "tsq-variants", ("flows",), ("tsq",), where={"congestion_control": "nv"})
    assert "| flows 1 | 60 / 12" in tsq_paper.text(nv, found)


def test_the_page_has_all_tables_and_each_is_of_an_experiment() -> None:
    page = tsq_paper.PAGE.read_text(encoding="utf-8")
    marked = re.findall("<!-- table: (.*) -->", page)
    assert sorted(marked) == sorted([*(table.name for table in TABLES), "tsq-fit"])


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table.name))
def test_cases_of_an_experiment_differ_within_a_table_only_in_its_factors(table: Table) -> None:
    """No cell would be a mean over different cases."""
    cases = [case.parameters.plain() for case in load(table.experiment, checked=False).cases()]
    shown = [
        case
        for case in cases
        if all(str(case[name]) == value for name, value in table.where.items())
    ]
    cells = {tuple(case[name] for name in (*table.rows, *table.columns)) for case in shown}
    assert shown and len(cells) == len(shown)


def test_other_experiments_are_reported() -> None:
    with pytest.raises(AirtcpError, match="'thesis-lan' has no table; allowed: tsq-inflight"):
        list(tsq_paper.experiments(["thesis-lan"]))


def test_the_page_is_of_the_same_measurement_as_the_published_values() -> None:
    published = (REPOSITORY / "docs/reference/published.md").read_text(encoding="utf-8")
    section = published.partition("### `tsq-size`")[2].partition("\n### ")[0]
    measured = re.findall(
        r"\| congestion_control (\w+), tsq (\d+)ms \| `goodput_mbps` Mbit/s \|[^|]*\| ([\d.]+) \|",
        section,
    )
    assert len(measured) > 5
    table = tsq_paper.PAGE.read_text(encoding="utf-8").partition("<!-- table: tsq-size -->")[2]
    lines = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("|")]
    limits = lines[0]
    rows = {name.strip("`"): cells for name, *cells in lines[2:9]}
    for control, limit_ms, goodput in measured:
        cell = rows[control][limits.index(f"{limit_ms} ms")]
        assert cell.split(" / ")[0] == f"{float(goodput):.0f}", (control, limit_ms)

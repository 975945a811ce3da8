# SPDX-License-Identifier: GPL-2.0-only
"""The fit of the radio of the TSQ paper's experiments with 802.11ac (bench/tsq_fit.py)."""

from collections.abc import Iterator, Mapping

import fake_run
import pytest
import tsq_fit

from airtcp.errors import AirtcpError
from airtcp.experiment.reader import load
from airtcp.results.record import RunRecord

RADIOS = ("tp-rate-ac", "tsq-size-ac")


def runs(factors: Mapping[tsq_fit.Radio, float]) -> Iterator[RunRecord]:
    """Runs with the published values times a factor, by radio."""
    cases: dict[tuple[str, ...], list[dict[str, float]]] = {}
    for (formed, loss), factor in factors.items():
        for (control, tsq, pacing, metric), value in tsq_fit.PUBLISHED.items():
            settings = (
                *(f"formed_ppdus={formed}", f"return_loss={loss:.5f}"),
                *(f"congestion_control={control}", f"tsq={tsq}", f"pacing_factor={pacing:g}"),
            )
            cases.setdefault(settings, [{}])[0][metric] = value * factor
    yield from fake_run.document(tsq_fit.EXPERIMENT, cases).runs


def test_the_error_is_a_factor_in_either_direction() -> None:
    found = tsq_fit.errors(
        runs({(2, 0.0): 2.0, (3, 0.0): 1.0, (2, 0.0001): 0.25, (3, 0.0001): 1.5})
    )
    assert {radio: round(error, 9) for radio, error in found.items()} == {
        (2, 0.0): 2.0,
        (3, 0.0): 1.0,
        (2, 0.0001): 4.0,
        (3, 0.0001): 1.5,
    }
    assert tsq_fit.text(found).splitlines() == [
        "| Aggregates formed ahead | loss 0 | loss 0.0001 |",
        "|---|---|---|",
        "| 2 | 2.00 | 4.00 |",
        "| 3 | **1.00** | 1.50 |",
    ]


def test_every_value_needs_a_run() -> None:
    complete = list(runs({(2, 0.0): 1.0}))
    with pytest.raises(AirtcpError, match=r"formed_ppdus=2 return_loss=0.0: no run of \('"):
        tsq_fit.errors(complete[1:])


def test_a_second_seed_is_refused() -> None:
    found = list(runs({(2, 0.0): 1.0}))
    with pytest.raises(AirtcpError, match=r"yeah 1ms 1\.0: more than one run; allowed: 1 seed"):
        tsq_fit.errors([found[0], *found])


def test_no_experiment_compares_what_was_fitted() -> None:
    """Nothing is judged on data to which it was fitted, or on the same number in its sentence."""
    fitted = {
        (tsq, factor, metric, value)
        for (_, tsq, factor, metric), value in tsq_fit.PUBLISHED.items()
    }
    for name in RADIOS:
        for one in load(name, checked=False).published:
            factor = float(one.when.get("pacing_factor", 1))
            assert (one.when["tsq"], factor, one.metric, one.value) not in fitted


def test_experiments_have_the_radio_that_fits_best() -> None:
    page = tsq_fit.PAGE.read_text(encoding="utf-8")
    table = page.partition("<!-- table: tsq-fit -->")[2].partition("<!-- end -->")[0]
    heading, _, *rows = (line.strip("|").split("|") for line in table.strip().splitlines())
    [(formed, loss)] = [
        (int(row[0]), float(heading[place].replace("loss", "")))
        for row in rows
        for place, cell in enumerate(row)
        if "**" in cell
    ]
    for name in RADIOS:
        parameters = load(name, checked=False).parameters
        assert (parameters.formed_ppdus, parameters.return_loss) == (formed, loss)
    formed_too = {
        (case.parameters.formed_ppdus, case.parameters.return_loss)
        for case in load("tsq-formed", checked=False).cases()
        if case.parameters.preset == "qca6178"
    }
    assert {(formed, 0.0), (formed, loss)} <= formed_too

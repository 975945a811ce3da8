# SPDX-License-Identifier: GPL-2.0-only
"""Names of cases in designs in which many factors vary one at a time."""

from pathlib import Path

from fake_run import document
from small_results import results

from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.casenames import case_name, usual_values
from airtcp.experiment.experiment import Case
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.report import finding, model, question
from airtcp.results.table import table
from airtcp.sweep.progress import Progress
from airtcp.sweep.request import requests
from airtcp.sweep.sweep import Event

USUAL: dict[str, Plain] = {
    **{"ack_policy": "default", "delay": "5ms", "mcs": 3},
    **{"sack": "on", "gro": "on", "streams": 2},
}
CHANGES: list[dict[str, Plain]] = [
    {},
    {"delay": "1ms"},
    {"mcs": 1},
    {"sack": "off"},
    {"gro": "off"},
    {"streams": 1, "mcs": 2},
]
STAR = [USUAL | change for change in CHANGES]


def test_values_of_most_cases_are_usual_if_there_are_many_factors() -> None:
    assert usual_values(STAR) == {name: USUAL[name] for name in USUAL if name != "mcs"}
    assert usual_values([*STAR, {**USUAL, "gro": "off"}, {**USUAL, "sack": "off"}]) == {
        name: USUAL[name] for name in ("ack_policy", "delay", "streams")
    }
    few = [{name: case[name] for name in list(USUAL)[:5]} for case in STAR]
    assert usual_values(few) == usual_values([]) == {}


def test_names_omit_usual_values() -> None:
    usual = usual_values(STAR)
    assert case_name(STAR[1], usual) == "delay=1ms mcs=3"
    assert case_name(USUAL, USUAL) == "(usual values)"
    assert case_name({}, {}) == "(one case)"


def test_the_printed_table_says_what_it_omits() -> None:
    results = document(
        "thesis-lan",
        {
            tuple(f"{name}={value}" for name, value in case.items()): [{"goodput_mbps": 9.0}]
            for case in STAR
        },
    )
    lines = table(results).splitlines()
    assert [line.split("  ")[0] for line in lines[1:7]] == [
        *("mcs=3", "delay=1ms mcs=3", "mcs=1", "mcs=3 sack=off", "mcs=3 gro=off"),
        "mcs=2 streams=1",
    ]
    note = "note: unless its name says otherwise, a case has ack_policy=default delay=5ms sack=on"
    assert f"{note} gro=on streams=2" in lines


def test_reports_compare_all_cases_with_the_usual_one() -> None:
    cases = [{name: str(value) for name, value in case.items()} for case in STAR]
    values = [[8.0, 8.1], [5.0, 5.1], [10.0, 10.1], *[[9.0, 9.1]] * 3]
    found = results(list(zip(cases, values, strict=True)), usual=usual_values(cases))
    asked = question.of(found)
    assert asked
    sentence = finding.sentence(found, asked)
    start = "Of 6 cases, mcs 1 is best: goodput is 24.8% higher than with mcs 3 "
    assert sentence.startswith(start)
    assert model.label_of(cases[0], usual_values(cases)) == "mcs 3"
    assert model.label_of(USUAL, USUAL) == "usual values"


def test_progress_omits_usual_values() -> None:
    cases = [Case(case, Parameters().replace(case)) for case in STAR]
    todo = requests(
        Kernel(Path("linux"), "6.12.0", "0123456789abcdef"), GuestTools(Path("tools")), cases, [1]
    )
    lines: list[str] = []
    Progress(todo, lines.append, tty=True)(Event([(todo[1], 2.0)]))
    assert "  delay=1ms mcs=3 seed=1 at 2 s" in lines[0]

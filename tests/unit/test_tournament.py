# SPDX-License-Identifier: GPL-2.0-only
"""The tournament's conditions, and its standings from runs with round numbers."""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from fake_run import record
from small_report import Elements
from small_tournament import TITLES, contests, small, write_page

from airtcp import cli
from airtcp.experiment import tournament as field
from airtcp.experiment.tournament import Condition
from airtcp.kernel import policies
from airtcp.paths import REPOSITORY
from airtcp.report import tournament as page
from airtcp.results import tournament as judge
from airtcp.results.tournament import Contest, Result, Standing
from airtcp.statistics import Summary

ALL = field.load()


@pytest.mark.parametrize("condition", ALL.conditions, ids=lambda condition: condition.name)
def test_every_condition_is_possible(condition: Condition) -> None:
    experiment, cases = field.contest(ALL, condition, "5s")
    assert experiment.name == condition.name
    planned = [case for of_entrant in cases.values() for case in of_entrant]
    assert {case.slug for case in experiment.cases()} == {case.slug for case in planned}
    # Only filters may be impossible, for example on a cable.
    without_filter = [each for each in ALL.entrants if "ack_filter" not in each.changes]
    assert [each.name for each in without_filter] == [
        name for name, given in cases.items() if given[0].parameters.ack_filter == ()
    ]


def test_delays_take_the_place_of_seeds_where_nothing_is_random(tmp_path: Path) -> None:
    condition = Condition(
        name="cable",
        aspect="Wire",
        title="",
        set={"access": "ethernet"},
        delays=("15ms", "20ms", "25ms"),
    )
    _, cases = field.contest(small(), condition, "5s")
    delays = [case.parameters.plain(["delay"]) for case in cases["aad"]]
    assert delays == [{"delay": "15ms"}, {"delay": "20ms"}, {"delay": "25ms"}]
    # aad has half, the same, and twice the goodput of default at the same delay.
    goodput = {"default": (100, 50, 20), "aad": (50, 50, 40)}
    runs = [
        record(case, 1, {"goodput_mbps": value})
        for entrant, values in goodput.items()
        for case, value in zip(cases[entrant], values, strict=True)
    ]
    document = contests()[0].document.model_copy(update={"runs": tuple(reversed(runs))})
    judged = judge.contest(condition, cases, document, 1)
    assert judged
    result = judged.results["aad"]
    assert result.ratio.mean == pytest.approx((0.5 + 1 + 2) / 3)
    assert (result.ratio.n, result.verdict) == (3, "tied")
    assert condition.parameters == {"access": "ethernet", "delay": "15ms, 20ms, 25ms"}
    assert json.dumps(condition.parameters) in json.dumps(judge.document([], [judged]))
    page.write(tmp_path, judge.standings([judged], TITLES), [judged], "")
    text = (tmp_path / "index.html").read_text()
    assert 'href="cable/"' in text and "3 pairs of runs, tied" in text
    half = f" ± {100 * (result.ratio.ci95 or 0):.1f}"
    assert f"<small>{half}</small>" in text  # of the case
    assert f"+16.7%{half}</td>" in text  # of the mean over cases
    assert f"| +16.7%{half} | +16.7%{half} |" in (tmp_path / "tournament.md").read_text()


def test_names_are_unique() -> None:
    for names in ([each.name for each in ALL.entrants], [each.name for each in ALL.conditions]):
        assert len(set(names)) == len(names)


def test_all_acknowledging_policies_compete() -> None:
    """All but those that send more ACKs, to study senders."""
    competing = {each.changes["ack_policy"] for each in ALL.entrants}
    assert competing == set(policies.names()) - {"every", "divack"}


def test_quick_has_every_aspect() -> None:
    counted = {condition.aspect for condition in ALL.conditions if not condition.side}
    assert {condition.aspect for condition in ALL.conditions_of(is_quick=True)} == counted


def test_ackhold_competes_only_if_it_is_named() -> None:
    assert {each.name for each in ALL.entrants if each.opt_in} == {"ackhold"}
    assert "ackhold" not in [each.name for each in ALL.only(None).entrants]
    assert [each.name for each in ALL.only(["ackhold"]).entrants] == ["default", "ackhold"]


def test_own_policies_are_entrants() -> None:
    tournament = ALL.with_policies(["prompt"]).only(["prompt", "aad"])
    assert [each.name for each in tournament.entrants] == ["default", "aad", "prompt"]
    _, cases = field.contest(
        tournament, tournament.conditions[0], "5s", {"ack_policy": ("prompt",)}
    )
    assert cases["prompt"][0].parameters.ack_policy == "prompt"


@pytest.mark.parametrize(
    ("ratio", "ci95", "less_is_better", "verdict"),
    [
        (1.02, 0.005, False, "won"),
        (1.02, 0.03, False, "tied"),  # within the interval
        (1.011, 0.001, False, "won"),
        (1.009, 0.001, False, "tied"),  # within 1%
        (0.989, 0.001, False, "lost"),
        (0.991, 0.001, False, "tied"),
        (0.98, 0.005, False, "lost"),
        (0.98, 0.005, True, "won"),
        (1.02, 0.005, True, "lost"),
        (1.5, None, False, "tied"),  # one pair, because other runs failed
    ],
)
def test_a_verdict_needs_significance_and_more_than_1_percent(
    ratio: float, ci95: float | None, less_is_better: bool, verdict: str
) -> None:
    summary = Summary(ratio, ci95, 5)
    assert Result("aad", summary, summary, less_is_better, ()).verdict == verdict


def test_performance_is_the_inverse_of_the_ratio_where_less_is_better() -> None:
    summary = Summary(0.8, 0.1, 5)
    results = [Result("aad", summary, summary, is_time, ()) for is_time in (False, True)]
    assert [result.performance for result in results] == [0.8, 1.25]


def test_standings_summarize_the_conditions() -> None:
    first, second = judge.standings(contests(), TITLES)
    assert (first.entrant, second.entrant) == ("aad", "default")
    assert first.goodput_geomean == pytest.approx(1.1)  # 1.21 and 1
    assert first.worst == pytest.approx(0.8)  # files take 1.25 times as long
    assert [first.count(verdict) for verdict in ("won", "tied", "lost")] == [1, 1, 1]
    assert first.completion_ratio == pytest.approx(1.25)
    assert first.latency_p99_ratio is None
    assert first.acks_per_s == 100
    assert second.goodput_geomean == second.worst == 1
    assert second.count("tied") == 3


def result_of(
    entrant: str, metrics: Mapping[str, tuple[float, float]], *, is_time: bool = False
) -> Result:
    """A result of two runs of 5 s with these metrics."""
    _, cases = field.contest(small(), small().conditions[0], "5s")
    runs = [
        record(cases[entrant][0], seed, {name: values[seed] for name, values in metrics.items()})
        for seed in (0, 1)
    ]
    return Result(entrant, Summary(1, 0, 2), Summary(1, 0, 2), is_time, runs)


def test_latency_and_rtt_are_geometric_means_over_conditions() -> None:
    """A condition without the metric does not count; runs are paired by seed."""
    metrics = ("request_response_ms_p50", "request_response_ms_p99", "tcp_rtt_ms_p50")
    bases = [
        result_of("default", dict.fromkeys(metrics, (10, 20))),
        result_of("default", dict.fromkeys(metrics, (5, 1))),
        result_of("default", {}),
    ]
    times = dict(zip(metrics, ((80, 160), (20, 40), (5, 10)), strict=True))
    results = [
        result_of("aad", times),
        result_of("aad", dict.fromkeys(metrics, (10, 2))),
        result_of("aad", {}),
    ]
    standing = Standing("aad", "", results, bases, [])
    # The geometric mean of 8 and 2, of 2 and 2, and of 0.5 and 2.
    assert standing.latency_p50_ratio == pytest.approx(4)
    assert standing.latency_p99_ratio == pytest.approx(2)
    assert standing.rtt_ratio == pytest.approx(1)
    assert standing.completion_ratio is None


def with_rtts(contest: Contest, rtt_ms: Mapping[str, float]) -> Contest:
    """Judge a bulk transfer again, after its runs have got these RTTs."""
    runs = tuple(
        run.model_copy(
            update={
                "metrics": {
                    **run.metrics,
                    "tcp_rtt_ms_p50": rtt_ms[str(run.factors["ack_policy"])] * run.seed,
                }
            }
        )
        for run in contest.document.runs
    )
    _, cases = field.contest(small(), contest.condition, "5s")
    document = contest.document.model_copy(update={"runs": runs})
    judged = judge.contest(contest.condition, cases, document, 2)
    assert judged
    return judged


def test_goodput_is_compared_with_the_best_whose_rtt_is_no_longer() -> None:
    lan, far, files, side = contests()  # aad has 1.21 times the goodput, the same, and half
    longer = with_rtts(lan, {"default": 20, "aad": 30})
    assert longer.results["aad"].rtt_ratio == pytest.approx(1.5)
    assert [longer.share_of_best(name) for name in ("default", "aad")] == [1, 1]
    same = with_rtts(lan, {"default": 20, "aad": 20})
    assert [same.share_of_best(name) for name in ("default", "aad")] == [pytest.approx(1 / 1.21), 1]
    assert with_rtts(side, {"default": 20, "aad": 30}).share_of_best("aad") == pytest.approx(0.5)
    assert with_rtts(side, {"default": 20, "aad": 10}).share_of_best("aad") == 1
    assert far.share_of_best("aad") is None  # without RTTs
    assert with_rtts(files, {"default": 20, "aad": 20}).share_of_best("aad") is None
    first, second = judge.standings([same, longer, far, files], TITLES)
    assert (first.entrant, first.share_of_best) == ("aad", 1)
    assert second.share_of_best == pytest.approx(1 / 1.21)
    assert re.search(r"^default +0\.0% +0\.0% +82\.6% ", judge.table([second]), re.M)


def test_conditions_have_the_same_weight_in_the_rate_of_acks() -> None:
    """However many runs they have."""
    few = result_of("aad", {"acks_sent": (500, 500)})
    many = result_of("aad", {"acks_sent": (1500, 1500)})
    many = replace(many, runs=[*many.runs, *many.runs])
    assert Standing("aad", "", [], [], [few, many]).acks_per_s == pytest.approx(200)


def test_acks_and_their_airtime_count_in_bulk_transfers_only() -> None:
    results = [
        result_of("aad", {"acks_sent": (500, 1000), "airtime_ack_share": (0.1, 0.2)}),
        result_of("aad", {"acks_sent": (1500, 1000), "airtime_ack_share": (0.3, 0.4)}),
        result_of("aad", {"acks_sent": (9, 9), "airtime_ack_share": (0.9, 0.9)}, is_time=True),
        result_of("aad", {}),
    ]
    standing = Standing("aad", "", results, results, results)
    assert standing.acks_per_s == pytest.approx(200)
    assert standing.ack_airtime == pytest.approx(0.25)
    nothing = Standing("aad", "", results[3:], results[3:], results[3:])
    assert (nothing.acks_per_s, nothing.ack_airtime) == (None, None)
    assert judge.table([nothing]).split()[-1] == "-"


def test_acks_that_filters_drop_do_not_count() -> None:
    result = result_of("aad", {"acks_sent": (5000, 5000), "acks_filtered": (4000, 3000)})
    assert Standing("aad", "", [], [], [result]).acks_per_s == pytest.approx(300)


def test_rates_of_acks_are_compared_under_the_same_conditions() -> None:
    """aad takes no part in the second, in which there are ten times as many ACKs."""
    lan, far = contests()[:2]
    runs = [
        run.model_copy(update={"metrics": {**run.metrics, "acks_sent": 5000.0}})
        for run in far.results["default"].runs
    ]
    far = replace(far, results={"default": replace(far.results["default"], runs=runs)})
    standings = judge.standings([lan, far], TITLES)
    assert [standing.acks_per_s for standing in standings] == [100, 100]


def test_an_entrant_is_judged_only_where_it_competed() -> None:
    lan, far, files, side = contests()
    lan, far = (replace(one, results={"default": one.results["default"]}) for one in (lan, far))
    # Who has no goodput is last.
    names = dict(reversed(TITLES.items()))
    first, second = judge.standings([lan, far, files, side], names)
    assert (first.entrant, len(first.results)) == ("default", 3)
    assert (second.entrant, len(second.results)) == ("aad", 1)
    assert second.goodput_geomean is None
    assert judge.standings([side], names) == []


def test_document_and_table_have_the_standings() -> None:
    judged = contests()
    standings = judge.standings(judged, TITLES)
    document = json.loads(json.dumps(judge.document(standings, judged)))
    assert document["schema"] == 1
    best = document["policies"][0]
    assert best["name"] == "aad"
    assert (best["won"], best["tied"], best["lost"]) == (1, 1, 1)
    assert [case["counted"] for case in document["cases"]] == [True, True, True, False]
    assert document["cases"][2]["results"][1] == {
        "policy": "aad",
        "mean": 18.75,
        "ratio": 1.25,
        "ci95": 0,
        "n": 2,
        "verdict": "lost",
        "tcp_rtt_ratio": None,
        "share_of_best": None,
    }
    assert best["goodput_ci95"] == pytest.approx(0)
    text = judge.table(standings)
    assert re.search(r"^aad +\+10\.0% +-20\.0% +- +1 +1 +1 +0 +- +\+25\.0% ", text, re.M)
    assert re.search(r"^default +0\.0% +0\.0% +- +0 +3 +0 +0 +- +0\.0% ", text, re.M)


def test_the_documentation_has_all_keys_of_the_document() -> None:
    judged = contests()
    text = json.dumps(judge.document(judge.standings(judged, TITLES), judged))
    document = json.loads(text)
    case = document["cases"][0]
    keys = {*document, *document["policies"][0], *case, *case["results"][0]}
    page_text = (REPOSITORY / "docs" / "how-to" / "tournament.md").read_text()
    assert [key for key in keys if f"`{key}`" not in page_text] == []


def judged_again(number: int, policy: str, seeds: Collection[int]) -> Contest | None:
    """A condition by its number, after these runs of a policy have failed."""
    condition = small().conditions[number]
    _, cases = field.contest(small(), condition, "5s")
    document = contests()[number].document
    runs = tuple(
        run.model_copy(update={"status": "failed"})
        if run.factors["ack_policy"] == policy and run.seed in seeds
        else run
        for run in document.runs
    )
    return judge.contest(condition, cases, document.model_copy(update={"runs": runs}), 2)


def test_a_condition_without_the_baseline_is_not_judged() -> None:
    assert judged_again(0, "default", (1, 2)) is None


def test_a_condition_with_a_baseline_of_zero_is_not_judged() -> None:
    """Not even where an entrant has only runs that could be compared."""
    condition, document = small().conditions[0], contests()[0].document
    _, cases = field.contest(small(), condition, "5s")
    zero, *runs = document.runs
    assert (zero.factors["ack_policy"], zero.seed) == ("default", 1)
    runs = [run for run in runs if (run.factors["ack_policy"], run.seed) != ("aad", 1)]
    runs.append(zero.model_copy(update={"metrics": {"goodput_mbps": 0.0}}))
    assert judge.contest(condition, cases, document.model_copy(update={"runs": runs}), 2) is None


def test_an_entrant_may_have_a_goodput_of_zero(tmp_path: Path) -> None:
    condition, document = small().conditions[0], contests()[0].document
    _, cases = field.contest(small(), condition, "5s")
    runs = [
        run.model_copy(update={"metrics": {"goodput_mbps": 0.0}})
        if run.factors["ack_policy"] == "aad"
        else run
        for run in document.runs
    ]
    lan = judge.contest(condition, cases, document.model_copy(update={"runs": tuple(runs)}), 2)
    assert lan
    judged = [lan, contests()[1]]
    best, last = judge.standings(judged, TITLES)
    assert (last.entrant, last.goodput_geomean, last.worst, last.count("lost")) == ("aad", 0, 0, 1)
    assert best.goodput_geomean == 1
    page.write(tmp_path, [best, last], judged, "")
    assert "shade-4" in (tmp_path / "index.html").read_text()


def test_failed_runs_are_reported(tmp_path: Path) -> None:
    """The files, which aad would lose, fail; so does one run without a delay."""
    _, far, _, side = contests()
    lan, files = judged_again(0, "aad", [1]), judged_again(2, "aad", (1, 2))
    assert lan and files
    judged = [lan, far, files, side]
    standings = judge.standings(judged, TITLES)
    first, second = standings
    assert (first.entrant, first.failed, first.count("lost")) == ("aad", 1, 0)
    assert (second.entrant, second.failed) == ("default", 0)
    document = json.loads(json.dumps(judge.document(standings, judged)))
    assert [case["failed_runs"] for case in document["cases"]] == [{"aad": 1}, {}, {"aad": 2}, {}]
    page.write(tmp_path, standings, judged, "")
    text = (tmp_path / "index.html").read_text()
    assert "aad: 2 runs failed, no pair of runs is left" in text
    assert "tied; 1 run failed" in text
    assert "| Files | 1 MB | 15.00 ms | failed |" in (tmp_path / "tournament.md").read_text()


def test_runs_without_a_record_have_failed() -> None:
    condition, document = small().conditions[0], contests()[0].document
    _, cases = field.contest(small(), condition, "5s")
    runs = tuple(run for run in document.runs if run.factors["ack_policy"] != "aad")
    lan = judge.contest(condition, cases, document.model_copy(update={"runs": runs}), 2)
    assert lan and lan.failed == {"aad": 2}
    failed = {each.entrant: each.failed for each in judge.standings([lan], TITLES)}
    assert failed == {"default": 0, "aad": 1}


def test_a_policy_whose_other_runs_have_no_partner_has_failed(tmp_path: Path) -> None:
    """Of aad the first seed fails, of default the second."""
    condition, document = small().conditions[0], contests()[0].document
    _, cases = field.contest(small(), condition, "5s")
    runs = tuple(
        run.model_copy(update={"status": "failed"})
        if (run.factors["ack_policy"], run.seed) in {("aad", 1), ("default", 2)}
        else run
        for run in document.runs
    )
    lan = judge.contest(condition, cases, document.model_copy(update={"runs": runs}), 2)
    assert lan
    standings = judge.standings([lan], TITLES)
    assert [(each.entrant, each.failed) for each in standings] == [("default", 0), ("aad", 1)]
    page.write(tmp_path, standings, [lan], "")
    assert "aad: 1 run failed, no pair of runs is left" in (tmp_path / "index.html").read_text()


def test_an_entrant_of_which_all_runs_failed_is_last() -> None:
    judged = [each for number in range(3) if (each := judged_again(number, "aad", (1, 2)))]
    best, last = judge.standings(judged, TITLES)
    assert (best.entrant, last.entrant, last.failed, last.worst) == ("default", "aad", 3, None)
    assert re.search(r"^aad +- +- +- +0 +0 +0 +3 +-", judge.table([best, last]), re.M)


def test_markdown_has_standings_and_conditions(tmp_path: Path) -> None:
    write_page(tmp_path)
    lines = (tmp_path / "tournament.md").read_text().splitlines()
    tables = [line.count("|") for line in lines if line.startswith("|")]
    assert set(tables) == {14, 5}
    row = (
        "| `aad` | <AAD> | +10.0% ± 0.0 | \N{MINUS SIGN}20.0% ± 0.0 | \N{EN DASH} | 1 | 1 | 1 | 0 |"
    )
    assert any(line.startswith(row) for line in lines)
    assert "| Delay | none | 150 Mbit/s | **+21.0%** |" in lines


def test_page_has_standings_and_heat_map(tmp_path: Path) -> None:
    text = write_page(tmp_path).read_text()
    elements = Elements(text)
    assert not elements.open
    assert len(elements.ids) == len(set(elements.ids))
    assert {"lan/", "lan/runs/aad/", "files/runs/aad/"} <= set(elements.references)
    assert "&lt;AAD&gt;" in text
    assert "shade4" in text and "shade-4" in text
    assert "Side table" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--entrants", "aat"], "--entrants: 'aat' is not allowed; did you mean 'aad'?"),
        (["--conditions", "lann"], "--conditions: 'lann' is not allowed; did you mean 'lan'?"),
        (["--seeds", "1"], "--seeds 1: intervals need two seeds or more"),
    ],
)
def test_bad_input_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["tournament", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1

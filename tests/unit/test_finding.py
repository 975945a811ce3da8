# SPDX-License-Identifier: GPL-2.0-only
"""The question of an experiment, and the sentence that answers it."""

from dataclasses import replace
from typing import Any

import pytest
from small_results import Cases, results

from airtcp.experiment.figures import MetricFigure
from airtcp.parameters.quantity import Plain
from airtcp.report import comparison, finding, model, question
from airtcp.report.model import Measured
from airtcp.results.documents import FigureRecord
from airtcp.steps.workloads import HEADLINES

MINUS = "\N{MINUS SIGN}"
BASE = [100.0, 102.0, 98.0]
SAME = [101.0, 99.0, 100.0]


def policies(*values: tuple[str, list[float]], delay: str = "0ms") -> Cases:
    return [({"ack_policy": policy, "delay": delay}, each) for policy, each in values]


def times(ratio: float) -> list[float]:
    """A bit more than BASE by this ratio: the interval is narrow but not empty."""
    return [value * ratio * wobble for value, wobble in zip(BASE, (1, 1.001, 0.999), strict=True)]


def sentence(cases: Cases, metric: str = "goodput_mbps", **changed: Any) -> str:
    found = results(cases, metric, **changed)
    asked = question.of(found)
    assert asked
    assert asked.metric == metric
    return finding.sentence(found, asked)


def test_the_finding_states_the_gain_of_a_policy() -> None:
    assert sentence(policies(("default", BASE), ("aad", times(1.109)))) == (
        "With aad, goodput is 10.9% higher than with default "
        "(95% interval +10.6% to +11.2%, 3 seeds)."
    )


@pytest.mark.parametrize("metric", ["goodput_jain", "flow_jain"])
def test_goodput_is_named_beside_fairness(metric: str) -> None:
    found = results(policies(("default", BASE), ("aad", times(0.6))), metric, "goodput_mbps")
    asked = question.of(found)
    assert asked
    assert asked.metric == metric
    text = finding.of(found, asked)
    assert text.startswith("With aad, fairness between ")
    assert " seeds). With aad, goodput is 40.0% lower than with default (95% interval" in text


def test_only_fairness_has_a_second_sentence_and_only_if_goodput_was_measured() -> None:
    cases = policies(("default", BASE), ("aad", times(0.6)))
    for headline, *others in (
        [question.GOODPUT],
        [question.FAIRNESS[0]],
        [HEADLINES["web"], question.GOODPUT],
    ):
        found = results(cases, headline.metric, *(other.metric for other in others))
        assert finding.of(found, headline) == finding.sentence(found, headline)
    shared = results(policies(("default", BASE), ("aad", times(0.6))), "goodput_jain")
    both = results(policies(("default", BASE), delay="5ms"), "goodput_jain", "goodput_mbps")
    mixed = replace(shared, conditions=[*shared.conditions, *both.conditions])
    fairness = question.FAIRNESS[0]
    assert finding.of(mixed, fairness) == finding.sentence(mixed, fairness)


def test_the_finding_states_the_loss_of_a_policy() -> None:
    text = sentence(policies(("default", BASE), ("aad", times(0.6))))
    start = "With aad, goodput is 40.0% lower than with default (95% interval "
    assert text.startswith(start + MINUS)


@pytest.mark.parametrize(
    ("factor", "values", "than"),
    [
        ("ack_policy", ("aad", "default"), "With aad, goodput is 10.9% higher than with default"),
        ("sack", ("off", "on"), "With sack off, goodput is 10.9% higher than with sack on"),
        ("mcs", ("7", "3"), "With mcs 3, goodput is 9.8% lower than with mcs 7"),
    ],
)
def test_the_baseline_is_the_default_or_else_the_first(
    factor: str, values: tuple[str, str], than: str
) -> None:
    given = zip(values, (times(1.109), BASE), strict=True)
    cases = [({factor: value}, each) for value, each in given]
    assert sentence(cases).startswith(than)


def test_policies_are_compared_by_their_means_over_conditions() -> None:
    """However many conditions they have."""
    near = policies(("default", BASE), ("aad", times(1.1)), ("count", times(1.15)))
    far = policies(("default", BASE), ("aad", times(1.1)), delay="10ms")
    assert sentence([*near, *far]).startswith("Of 3 ACK policies, count is best: goodput is 15.0%")


def test_without_a_significant_gain_the_baseline_is_best_only_if_it_is_on_average() -> None:
    noisy = [value * wobble for value, wobble in zip(BASE, (1.3, 0.95, 1.15), strict=True)]
    near = policies(("default", BASE), ("aad", noisy), ("count", times(0.9)))
    far = policies(("default", BASE), ("aad", times(0.98)), ("count", times(0.9)), delay="10ms")
    assert sentence([*near, *far]).startswith(
        "Of 3 ACK policies, none is significantly better than default: with aad, goodput is up to "
        "2.0% lower than with default (delay 10 ms;"
    )


def test_the_only_policy_with_significant_gains_has_the_clearest_one() -> None:
    """Even if another has more on average."""
    noisy = [value * wobble for value, wobble in zip(BASE, (1.5, 0.9, 1.2), strict=True)]
    near = policies(("default", BASE), ("aad", times(1.1)), ("count", noisy))
    far = policies(("default", BASE), ("aad", times(1.1)), ("count", noisy), delay="10ms")
    text = sentence([*near, *far])
    assert text.startswith("Of 3 ACK policies, aad has the clearest gain: goodput is up to 10.0%")


def test_a_loss_under_one_condition_is_named() -> None:
    near = policies(("default", BASE), ("aad", times(1.1)))
    far = policies(("default", BASE), ("aad", times(0.6)), delay="10ms")
    between = policies(("default", BASE), ("aad", SAME), delay="5ms")
    text = sentence([*near, *between, *far])
    assert text.startswith(
        "With aad, goodput is up to 10.0% higher than with default (delay 0 ms; 95% interval +9.7%"
    )
    assert f", but up to 40.0% lower (delay 10 ms; 95% interval {MINUS}40.1% to" in text
    assert text.endswith(
        "Under 1 of 3 conditions the difference is not significant (0.0%, delay 5 ms)."
    )


def test_the_largest_of_several_small_differences_is_named() -> None:
    near = policies(("default", BASE), ("aad", times(1.1)))
    small = policies(("default", BASE), ("aad", SAME), delay="5ms")
    larger = policies(("default", BASE), ("aad", [98.0, 99.0, 100.0]), delay="10ms")
    largest = f"(largest: {MINUS}1.0%, delay 10 ms)."
    assert sentence([*near, *larger, *small]).endswith(
        f"Under 2 of 3 conditions the difference is not significant {largest}"
    )


def test_a_difference_within_its_interval_is_not_significant() -> None:
    text = sentence(policies(("default", BASE), ("aad", SAME)))
    same = "With aad, goodput is not significantly different from that with default"
    assert text.startswith(f"{same}: ")
    assert f"(95% interval {MINUS}" in text
    far = policies(("default", BASE), ("aad", [101.0, 104.0, 97.0]), delay="10ms")
    several = sentence([*policies(("default", BASE), ("aad", SAME)), *far])
    assert several.startswith(f"{same} under any of 2 conditions; the largest difference is +")
    third = policies(("default", BASE), ("aad", SAME), ("tack", times(0.9)))
    assert sentence(third).startswith(
        "With aad, the best of 2 other ACK policies, goodput is not significantly different from "
    )
    assert "(delay 10 ms; 95% interval" in several


def test_equal_values_are_no_difference() -> None:
    text = sentence(policies(("default", BASE), ("aad", BASE)))
    assert text.endswith("from that with default: 0.0% (95% interval 0.0% to 0.0%, 3 seeds).")


@pytest.mark.parametrize(("ratio", "differs"), [(1.0009, False), (1.0011, True), (0.9, True)])
def test_equal_ratios_have_an_empty_interval(ratio: float, differs: bool) -> None:
    text = sentence(policies(("default", [100.0] * 3), ("aad", [100 * ratio] * 3)))
    assert ("not significantly different" not in text) == differs


@pytest.mark.parametrize("base", [[0.0, 0.0, 0.0], [0.0, 10.0, 10.0]])
def test_nothing_is_compared_with_zero(base: list[float]) -> None:
    text = sentence(policies(("default", base), ("aad", BASE)))
    assert text == "Goodput cannot be compared: it is 0 in a run of the baseline."


@pytest.mark.parametrize("values", [BASE, [0.0, 0.0, 0.0]])
def test_cases_without_a_common_seed_are_not_compared(values: list[float]) -> None:
    default, aad = results(policies(("default", BASE), ("aad", values))).conditions[0].policies
    runs = [replace(run, record=run.record.model_copy(update={"seed": 9})) for run in aad.runs]
    condition = model.Condition("x", "x", [default, replace(aad, runs=runs)])
    found = replace(results(()), conditions=[condition])
    text = finding.sentence(found, question.GOODPUT)
    assert text == "Goodput cannot be compared: the cases have no seed in common."


def test_one_seed_has_no_interval() -> None:
    text = sentence(policies(("default", [100.0]), ("aad", [110.0])))
    assert text == (
        "With aad, goodput is 10.0% higher than with default (one seed). "
        "One seed gives no confidence interval; other seeds may differ."
    )
    near = policies(("default", [100.0]), ("aad", [100.5]))
    assert sentence(near) == (
        "With aad, goodput is within 1% of that with default: +0.5% (one seed)."
    )
    others = policies(("default", [100.0]), ("aad", [100.0]), delay="5ms")
    assert sentence([*near, *others]).startswith(
        "With aad, goodput is within 1% of that with default under each of 2 conditions;"
    )
    more = policies(("default", BASE), ("aad", SAME), delay="5ms")
    assert sentence([*near, *more]).startswith("With aad, goodput is not significantly different")
    several = policies(("default", BASE), ("aad", times(1.1)), delay="5ms")
    text = sentence([*several, *near])
    assert text.endswith("One seed gives no confidence interval; other seeds may differ.")
    far = policies(("default", [100.0]), ("aad", [110.0]), delay="10ms")
    assert "1 of 2 conditions the difference is at most 1% (+0.5%," in sentence([*near, *far])


def test_a_single_case_has_its_value() -> None:
    assert sentence(policies(("aad", BASE))) == (
        "Goodput is 100 Mbit/s (95% interval 95.03 to 105.0, 3 seeds)."
    )
    alone = sentence(policies(("aad", [100.0])))
    assert alone == "Goodput is 100 Mbit/s (one seed, so no confidence interval)."
    index = sentence([({"stations": "4"}, [0.5])], "goodput_jain")
    assert index == "Fairness between stations is 0.5000 (one seed, so no confidence interval)."


def test_the_finding_names_the_best_of_several_policies() -> None:
    cases = policies(("default", BASE), ("aad", times(1.1)), ("tack", times(1.2)))
    assert sentence(cases).startswith(
        "Of 3 ACK policies, tack is best: goodput is 20.0% higher than with default (95% interval"
    )
    worse = policies(("default", BASE), ("aad", times(0.8)), ("tack", times(0.9)))
    assert sentence(worse).startswith(
        "Of 3 ACK policies, default is best: with tack, the next, goodput is 10.0% lower than"
    )
    far = policies(("default", BASE), ("tack", times(0.5)), ("aad", SAME), delay="50ms")
    assert sentence([*cases, *far]).startswith(
        "Of 3 ACK policies, aad is best on average: goodput is up to 10.0% higher than"
    )
    mixed = policies(("default", BASE), ("tack", times(0.5)), ("aad", times(0.9)), delay="50ms")
    assert sentence([*cases, *mixed]).startswith(
        "Of 3 ACK policies, none is best everywhere: with aad, goodput is up to 10.0% higher"
    )
    mostly = policies(("default", BASE), ("aad", times(0.95)), ("tack", times(0.9)), delay="50ms")
    assert sentence(
        [*policies(("default", BASE), ("aad", times(1.2)), ("tack", SAME)), *mostly]
    ).startswith("Of 3 ACK policies, none is best everywhere: with aad, goodput is up to 20.0%")


def test_a_wide_interval_does_not_make_the_best() -> None:
    noisy = [100.0, 200.0, 150.0]
    text = sentence(policies(("default", BASE), ("aad", times(1.1)), ("tack", noisy)))
    assert text.startswith("Of 3 ACK policies, aad has the clearest gain: goodput is 10.0% higher")


def test_shorter_times_are_better() -> None:
    metric = HEADLINES["web"].metric
    settings = {"workload": "web"}
    cases = [
        ({**settings, **factors}, values)
        for factors, values in policies(
            ("default", BASE), ("aad", times(0.8)), ("tack", times(1.3))
        )
    ]
    assert sentence(cases, metric).startswith(
        "Of 3 ACK policies, aad is best: mean page time is 20.0% lower than with default"
    )


def test_a_large_ratio_is_a_multiple() -> None:
    text = sentence(policies(("default", BASE), ("aad", times(5))))
    assert text.startswith("With aad, goodput is 5.00 times that with default (95% interval +39")
    assert "is 3.10 times that" in sentence(policies(("default", BASE), ("aad", times(3.1))))
    assert "is 190.0% higher" in sentence(policies(("default", BASE), ("aad", times(2.9))))


def test_a_large_loss_beside_a_gain_is_a_percentage() -> None:
    """Not a multiple, whose baseline would have to be named again."""
    metric = HEADLINES["web"].metric
    cases = [
        ({"workload": "web", **factors}, values)
        for delay, ratio in (("0ms", 0.8), ("10ms", 3.5))
        for factors, values in policies(("default", BASE), ("aad", times(ratio)), delay=delay)
    ]
    assert ", but up to 250.0% higher (delay 10 ms; 95% interval" in sentence(cases, metric)


def test_another_factor_than_the_policy() -> None:
    """tsq has no default among its values: the first is the baseline; filters name their rates."""
    cases = [
        ({"congestion_control": control, "tsq": tsq}, times(ratio))
        for control, rows in (("cubic", (1, 1.5, 2)), ("reno", (1, 1.1, 1.2)))
        for tsq, ratio in zip(("1ms", "4ms", "16ms"), rows, strict=True)
    ]
    figure = MetricFigure(
        title="", x="ping_rtt_ms_p50", y=("goodput_mbps",), lines="congestion_control", along="tsq"
    )
    text = sentence(cases, figures=(FigureRecord(figure=figure),))
    assert text.startswith(
        "Of 3 values of tsq, tsq 16 ms is best on average: goodput is up to 100.0% higher than "
        "with tsq 1 ms (cubic; 95% interval"
    )
    assert sentence(cases, compares="congestion_control").startswith(
        "With reno, goodput is up to 40.0% lower than with cubic (tsq 16 ms;"
    )


def test_factors_that_follow_from_the_main_one_do_not_separate_its_values() -> None:
    filters = [
        ({"ack_filter": "none", "ack_filter_rate": "none"}, BASE),
        ({"ack_filter": "police", "ack_filter_rate": "1Mbit"}, times(1.1)),
    ]
    assert sentence(filters).startswith(
        "With ACK filter police, goodput is 10.0% higher than with ACK filter none (95% interval"
    )


def test_cases_that_differ_in_several_factors_are_compared_with_the_first() -> None:
    cases = [
        ({"ack_policy": "default", "delay": "10ms"}, BASE),
        ({"ack_policy": "aad", "delay": "20ms"}, times(1.1)),
        ({"ack_policy": "aad", "delay": "50ms"}, times(0.5)),
        ({"ack_policy": "tack", "delay": "50ms"}, times(0.4)),
    ]
    assert sentence(cases).startswith(
        "Of 4 cases, ACK policy aad, delay 20 ms is best: goodput is 10.0% higher than with ACK "
        "policy default, delay 10 ms (95% interval"
    )


@pytest.mark.parametrize(
    ("settings", "metric"),
    [
        ({}, "goodput_mbps"),
        ({"direction": "both"}, "ping_rtt_ms_p50"),
        ({}, "udp_ping_rtt_ms_p50"),
        ({"workload": "transfer", "transfer_size": "1MB"}, "completion_time_ms_mean"),
        ({"workload": "web"}, "page_time_ms_mean"),
        ({"workload": "request_response"}, "request_response_ms_mean"),
        ({"stations": "4"}, "goodput_jain"),
        ({"flows": "4"}, "flow_jain"),
        ({"stations": "4"}, "goodput_mbps"),  # the index was not measured
    ],
)
def test_the_question_follows_from_workload_and_flows(
    settings: dict[str, str], metric: str
) -> None:
    asked = question.of(results([(settings, BASE)], metric))
    assert asked and asked.metric == metric


def test_without_a_headline_metric_there_is_no_question() -> None:
    found = results([({}, BASE)], "retransmits")
    assert question.of(found) is None
    assert question.tables(found) == []


def test_a_metric_that_some_cases_lack_is_not_the_question() -> None:
    indexed = results([({"flows": "2"}, BASE)], "flow_jain", "goodput_mbps")
    single = results([({"flows": "1"}, BASE)])
    both = replace(indexed, conditions=[*single.conditions, *indexed.conditions])
    assert question.of(indexed) == question.FAIRNESS[1]
    assert question.of(both) == question.GOODPUT


def test_goodput_is_the_question_beside_other_workloads() -> None:
    metrics = ("request_response_ms_mean", "goodput_mbps")
    mixed = results([({}, BASE), ({"workload": "request_response"}, BASE)], *metrics)
    assert question.of(mixed) == question.GOODPUT
    single = replace(mixed, conditions=[mixed.conditions[1]])
    assert question.of(single) == HEADLINES["request_response"]
    lacking = results([({"workload": "request_response"}, BASE)], metrics[0])
    both = replace(mixed, conditions=[*mixed.conditions, *lacking.conditions])
    assert question.of(both) == HEADLINES["request_response"]


def test_latency_is_the_question_only_if_every_case_loads_both_directions() -> None:
    cases: Cases = [({"direction": "both"}, BASE), ({"direction": "download"}, BASE)]
    metrics = ("ping_rtt_ms_p50", "goodput_mbps")
    assert question.of(results(cases[:1], *metrics)) == question.LATENCY[0]
    assert question.of(results(cases, *metrics)) == question.GOODPUT


def test_cases_are_compared_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as many conditions need twice as many looks at a case."""

    def looks(conditions: int) -> int:
        cases = [
            case
            for delay in range(conditions)
            for case in policies(("default", BASE), ("aad", times(1.1)), delay=f"{delay}ms")
        ]
        found, seen = results(cases), 0

        def look(case: Measured, name: str) -> Plain:
            nonlocal seen
            seen += 1
            return value(case, name)

        monkeypatch.setattr(comparison, "_value", look)
        compared = comparison.compare(found, HEADLINES["bulk"])
        assert compared and len(compared.rows) == conditions
        return seen

    value = comparison._value
    assert looks(40) == 2 * looks(20)


def test_conditions_that_differ_have_different_labels() -> None:
    labels = [
        model.label_of({"delay": "10ms", "aad_min_iat": value})
        for value in ("kernel", "0ms", "1ms")
    ]
    assert labels == [
        f"delay 10 ms{more}" for more in ("", ", aad min iat 0 ms", ", aad min iat 1 ms")
    ]
    assert model.label_of({"delay": "0ms", "rate": "unlimited"}) == "delay 0 ms"

# SPDX-License-Identifier: GPL-2.0-only
"""Experiments: strict reading, errors with their line, cases, published values."""

import json
import re
from pathlib import Path

import pytest
from pydantic import BaseModel, TypeAdapter
from small_experiment import GOOD, settings, write

from airtcp import cli
from airtcp.errors import InputError
from airtcp.experiment.experiment import Case
from airtcp.experiment.figures import Figure, MetricFigure, ModelFigure, TimeFigure, documented
from airtcp.experiment.reader import load
from airtcp.models.aggregation import Station
from airtcp.parameters import PARAMETER_NAMES, Parameters

FIGURES = """\
figures:
  - title: One metric against another
    x: ping_rtt_ms_p50
    y: goodput_mbps
    lines: ack_policy
    along: rate
  - title: The window
    over_time: cwnd
    panels: rate
    rows: ack_policy
"""
IN_PACKETS = """\
  - tsq: [40packets]
    ack_policy: [default]
"""


def refused(directory: Path, text: str) -> str:
    """The error, which must be one line."""
    with pytest.raises(InputError) as error:
        load(write(directory, text))
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_design_is_the_union_of_its_products(tmp_path: Path) -> None:
    cases = load(write(tmp_path, GOOD)).cases()
    assert [dict(case.factors) for case in cases] == [
        {"ack_policy": "default", "rate": "10Mbit"},
        {"ack_policy": "aad", "rate": "10Mbit"},
        {"ack_policy": "default", "rate": "unlimited"},
    ]
    assert all(case.parameters.delay_s == 0.01 and not case.parameters.sack for case in cases)


def test_settings_replace_the_design_and_keep_its_policies(tmp_path: Path) -> None:
    cases = load(write(tmp_path, GOOD)).cases(settings("mcs=3,7", "delay=0ms"))
    assert [case.slug for case in cases] == [
        "mcs-3_delay-0ms_ack_policy-default",
        "mcs-3_delay-0ms_ack_policy-aad",
        "mcs-7_delay-0ms_ack_policy-default",
        "mcs-7_delay-0ms_ack_policy-aad",
    ]
    assert {case.parameters.rate_bps for case in cases} == {None}


def test_duration_and_captures_are_not_factors(tmp_path: Path) -> None:
    experiment = load(write(tmp_path, GOOD))
    cases = experiment.cases(settings("duration=2s", "capture=air,server"))
    assert [case.slug for case in cases] == [case.slug for case in experiment.cases()]
    assert cases[0].parameters.duration_s == 2
    assert cases[0].parameters.capture == ("server", "air")


def test_names_of_directories_differ_and_are_not_too_long() -> None:
    texts = ("ls a", "ls/a", f"ls {300 * 'a'}b", f"ls {300 * 'a'}c")
    walks = [f"0s=5m,{300 * '1'}s={end}m" for end in (6, 7)]
    cases = [Case({"command": text}, Parameters()) for text in texts]
    cases += [Case({"walk": walk}, Parameters()) for walk in walks]
    slugs = {case.slug for case in cases}
    assert len(slugs) == len(cases)
    assert all(re.fullmatch(r"[A-Za-z0-9._+-]{1,255}", slug) for slug in slugs)


def test_a_published_value_applies_only_to_its_conditions(tmp_path: Path) -> None:
    experiment = load(write(tmp_path, GOOD))

    def found(*texts: str) -> list[float | str | None]:
        cases = experiment.cases(settings(*texts))
        published = [values.get("goodput_mbps") for values in experiment.published_for(cases)]
        return [value.value if value else None for value in published]

    assert found() == [None, 9.5, None]
    assert found("duration=5s") == [None, 9.5, None]
    assert found("rate=10Mbit", "ack_policy=aad") == [9.5]
    assert found("rate=10Mbit", "ack_policy=aad", "mcs=3") == [None]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "  delay: 10ms",
            "  dealy: 10ms",
            "small.yaml:6: parameters.dealy: unknown key; did you mean 'delay'? allowed: ",
        ),
        ("  delay: 10ms", "  delay: 10", "small.yaml:6: parameters.delay: '10' is not a duration"),
        ("  delay: 10ms", "  delay: 11s", "small.yaml:6: parameters.delay: '11s' is out of range"),
        ("  sack: off", "  sack: no", "small.yaml:7: parameters.sack: 'no' is not a switch"),
        ("  sack: off", "  sack: [off]", "small.yaml:7: parameters.sack: "),
        ("  sack: off", "  delay: 5ms", "small.yaml:7: parameters.delay: given twice"),
        ("  sack: off", "  mcs: 1.5", "small.yaml:7: parameters.mcs: '1.5' is not a whole number"),
        ("  sack: off", "  channel: 7", "allowed: 1 6 11 36 44 149 157"),
        ("  sack: off", "  duration: 1500ms", "not a whole number of seconds"),
        ("  sack: off", "  snr: 20", "parameters.snr: '20' is not a ratio of levels; write a"),
        ("  sack: off", "  walk: 5m", "'5m' is not a time and a position, as in 0s=5m,10s=40m,"),
        ("  sack: off", "  walk: 1s=5m", "'1s=5m' does not begin at 0s"),
        ("  sack: off", "  walk: 0s=5m,2s=5m,1s=4m", "1s is not after the one before"),
        ("  sack: off", "  walk: 0s=5m,1s=1500m", "too fast; allowed: 1000 m/s"),
        ("  sack: off", "  walk: 0s=100001m", "'100001m' is out of range; allowed: -100000m to"),
        (
            "  sack: off",
            "  width: 80MHz",
            "small.yaml:7: parameters.width: 80MHz is not allowed with 802.11n on channel 36; "
            "allowed: 20MHz 40MHz",
        ),
        (
            "    rate: [10Mbit]",
            "    rate: 10Mbit",
            "design[0].rate: '10Mbit' is not a list; write [",
        ),
        (
            "    rate: [10Mbit]",
            "    mcs: [7, 9]",
            "small.yaml:9: design[0]: mcs: 9 is not allowed with 802.11n at 20MHz with streams 1",
        ),
        (
            "    rate: [10Mbit]",
            "    standard: [802.11g]",
            "small.yaml:9: design[0]: ack_policy=default standard=802.11g: channel: 36 is not",
        ),
        (
            "rate: 10Mbit}",
            "standard: 802.11g}",
            "small.yaml:13: published[0].when: ack_policy=aad standard=802.11g: channel: 36 is not",
        ),
        ("    rate: [10Mbit]", "    rat: [1]", "small.yaml:10: design[0].rat: unknown parameter"),
        ("[10Mbit]", "[10Mbit, 9]", "small.yaml:10: design[0].rate[1]: '9' is not a rate"),
        (
            "[default, aad]",
            "[default, add]",
            "'add' is not allowed; did you mean 'aad'? allowed: default aad aad-listing",
        ),
        ("metric: goodput_mbps", "metric: speed", "small.yaml:14: published[0].metric: unknown"),
        ("rate: 10Mbit}", "rate: fast}", "small.yaml:13: published[0].when.rate: 'fast' is not"),
        (
            "rate: 10Mbit}",
            "rate: 11Mbit}",
            "13: published[0].when: no case of the design has ack_policy=aad rate=11Mbit",
        ),
        (
            "    metric: goodput",
            "    relative_to: {ack_policy: count}\n    metric: goodput",
            "14: published[0].relative_to: no case of the design has ack_policy=count rate=10Mbit",
        ),
        (
            "    metric: goodput",
            "    relative_to: {standard: 802.11g}\n    metric: goodput",
            "14: published[0].relative_to: ack_policy=aad rate=10Mbit standard=802.11g: channel: ",
        ),
        ("precision: exact", "precision: fair", "small.yaml:16: published[0].precision: 'fair'"),
        ("title: A small one\n", "", "small.yaml:1: title: missing"),
        ("name: small\ntitle: A small one\n", "", "small.yaml:1: name, title: missing"),
        (
            "    precision: exact\n    source: a table\n",
            "",
            "small.yaml:13: published[0].precision, published[0].source: missing",
        ),
        ("name: small", "name: Too Big", "small.yaml:1: name: 'Too Big' is not a name; allowed:"),
        ("title: A", "title: [A", "not YAML: "),
        (GOOD, "", "small.yaml:1: must consist of"),
        (GOOD, "- a\n- b\n", "small.yaml:1: must consist of"),
    ],
)
def test_an_error_has_file_line_key_and_allowed_values(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert message in refused(tmp_path, GOOD.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "x: ping_rtt_ms_p50",
            "x: ping",
            "20: figures[0].x: 'ping' is neither a metric nor a numeric parameter",
        ),
        ("y: goodput_mbps", "y: [goodput_mbps, up]", "21: figures[0].y[1]: unknown metric 'up'"),
        ("y: goodput_mbps", "y: []", "21: figures[0].y: "),
        (
            "y: goodput_mbps",
            "y: [goodput_mbps, retransmits]",
            "19: figures[0]: y: all metrics must have the same unit, not goodput_mbps in Mbit/s, ",
        ),
        (
            "lines: ack_policy",
            "lines: ack_policy\n    relative_to: default",
            "19: figures[0]: relative_to: needs lines, and a numeric parameter as x",
        ),
        ("    y: goodput_mbps\n", "", "19: figures[0].y: missing"),
        ("    x: ping_rtt_ms_p50\n", "", "19: figures[0].x: missing"),
        (
            "lines: ack_policy",
            "lines: mcs",
            "22: figures[0].lines: 'mcs' is not a factor of the design; allowed: ack_policy rate",
        ),
        (
            "figures:\n",
            "compares: delay\nfigures:\n",
            "18: compares: 'delay' is not a factor of the design; allowed: ack_policy rate",
        ),
        (
            "figures:\n",
            "readings: [tack]\nfigures:\n",
            "18: readings[0]: no published value has the ACK policy 'tack'",
        ),
        (
            "along: rate",
            "along: ack_policy",
            "19: figures[0]: along: 'ack_policy' is already used for lines",
        ),
        (
            "x: ping_rtt_ms_p50\n    y: goodput_mbps\n    lines: ack_policy\n    along: rate",
            "x: rate\n    y: goodput_mbps\n    lines: ack_policy\n    relative_to: defualt",
            "23: figures[0].relative_to: 'defualt' is not allowed; did you mean 'default'?",
        ),
        ("panels: rate", "along: rate", "26: figures[1].along: unknown key; allowed: title"),
        ("    panels: rate\n", "", "24: figures[1]: rows: needs panels"),
        (
            "over_time: cwnd",
            "over_time: speed",
            "25: figures[1].over_time: 'speed' is not allowed;",
        ),
        (
            "    over_time: cwnd\n",
            "",
            "24: figures[1]: unknown kind of figure; give one of: x and y, over_time, model",
        ),
        ("  - title: The window\n    over", "  - over", "24: figures[1].title: missing"),
        (
            "over_time: cwnd",
            "model: bianchi",
            "figures[1].model: 'bianchi' is not allowed; allowed:",
        ),
        (
            "figures:",
            "figured:",
            "18: figured: unknown key; did you mean 'figures'? allowed: name title",
        ),
    ],
)
def test_errors_of_figures_have_file_line_and_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert message in refused(tmp_path, GOOD + FIGURES.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("sack: off", "capture: srver", "'srver' is not a capture point; did you mean 'server'?"),
        ("sack: off", "sack: of", "'of' is not a switch; did you mean 'off'? allowed: on off"),
        ("sack: off", "rate: unlimted", "as in 50Mbit; did you mean 'unlimited'?"),
        ("sack: off", "tsq: drvier", "small queues; did you mean 'driver'? allowed: kernel"),
        ("sack: off", "ack_filter: polcie", "ACK filtering; did you mean 'police'? allowed: none"),
        ("sack: off", "congestion_control: cubci", "'cubci' is not allowed; did you mean 'cubic'?"),
        (
            "goodput_mbps\n    value",
            "goodput\n    value",
            "'goodput'; did you mean 'goodput_mbps'?",
        ),
        (
            "over_time: cwnd",
            "over_tiem: cwnd",
            "figures[1].over_tiem: unknown key; did you mean 'o",
        ),
        (
            "over_time: cwnd",
            "over_time: gooput",
            "'gooput' is not allowed; did you mean 'goodput'?",
        ),
        ("lines: ack_policy", "lines: ack_polcy", "of the design; did you mean 'ack_policy'? all"),
        ("x: ping_rtt_ms_p50", "x: ping_rtt_p50", "did you mean 'ping_rtt_ms_p50'? allowed: good"),
    ],
)
def test_errors_suggest_the_closest_word(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD + FIGURES
    error = refused(tmp_path, (GOOD + FIGURES).replace(old, new))
    assert message in error
    assert len(error.removeprefix(str(tmp_path))) < 600


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("rtt: goodput_mbps", "23: figures[0].rtt: 'goodput_mbps' is not a time; allowed: request"),
        ("rate: 216", "23: figures[0].rate: '216' is not a rate; write a number and a unit"),
        (
            "backlog_factor: 2",
            "23: figures[0].backlog_factor: '2' is out of range; allowed: 0.0 to",
        ),
        ("pacing_multiplies: maybe", "23: figures[0].pacing_multiplies: 'maybe' is not a switch;"),
        ("lines: rate", "23: figures[0].lines: unknown key; allowed: title model rtt pacing_mult"),
    ],
)
def test_parameters_of_a_model_have_units_and_ranges(
    tmp_path: Path, keys: str, message: str
) -> None:
    design = GOOD.replace("published:", IN_PACKETS + "published:")
    figure = f"figures:\n  - title: Model\n    model: aggregation\n    {keys}\n"
    assert message in refused(tmp_path, design + figure)


def test_a_model_of_packets_needs_a_limit_in_packets(tmp_path: Path) -> None:
    figure = "figures:\n  - title: Model\n    model: aggregation\n"
    message = "20: figures[0].model: the model needs a case with tsq in packets"
    assert message in refused(tmp_path, GOOD + figure)
    design = GOOD.replace("published:", IN_PACKETS + "published:")
    [model] = load(write(tmp_path, design + figure)).figures
    assert isinstance(model, ModelFigure)
    assert model.station(None) == Station()
    assert model.station(1).most_packets == 1
    assert (model.pacing(1), model.pacing(2)) == (1.2, 2.4)


def test_source_and_description_are_optional(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    without = ("source: nobody\ndescription: For tests.\n", "")
    assert cli.main(["show", str(write(tmp_path, GOOD, without))]) == 0
    first, blank, third, *_ = capsys.readouterr().out.splitlines()
    assert (first, blank) == ("small: A small one", "")
    assert third.startswith("Parameters (")


def test_written_figures_are_read_back(tmp_path: Path) -> None:
    declared = load(write(tmp_path, GOOD + FIGURES)).figures
    read = TypeAdapter(Figure).validate_python
    written = [json.dumps(documented(figure)) for figure in declared]
    assert [read(json.loads(text)) for text in written] == list(declared)


def test_the_figures_in_the_docs_are_valid(tmp_path: Path) -> None:
    """The example in docs/reference/figures.md, in an experiment with the factors that it uses."""
    text = (Path(__file__).parents[2] / "docs" / "reference" / "figures.md").read_text()
    [block] = re.findall(r"^```yaml\n(.*?)^```", text, re.M | re.S)
    design = "  - congestion_control: [cubic]\n    tsq: [4packets]\n    flows: [1]\n"
    declared = load(write(tmp_path, GOOD.replace("published:", design + "published:") + block))
    kinds: list[type[BaseModel]] = [MetricFigure, TimeFigure, ModelFigure]
    assert [type(figure) for figure in declared.figures] == kinds
    keys = {field.alias or name for kind in kinds for name, field in kind.model_fields.items()}
    assert all(f"`{key}`" in text or f"{key}:" in text for key in keys)


def test_error_of_an_unknown_experiment_lists_the_known_ones() -> None:
    with pytest.raises(
        InputError, match=r"unknown experiment 'thesis'; did you mean 'thesis-wan'\? allowed: "
    ):
        load("thesis")


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        load(tmp_path / "none.yaml")


def test_written_parameters_are_read_back() -> None:
    parameters = Parameters().replace(
        {"aad_beta": 1.5, "rate": "50Mbit", "gro": "off", "capture": "air"}
    )
    assert Parameters.model_validate(parameters.plain()) == parameters
    assert tuple(parameters.plain()) == PARAMETER_NAMES


def test_thesis_lan_has_its_published_values() -> None:
    """Table 5.1 has two values per condition; those of TCP-AAD apply to both variants of aad."""
    experiment = load("thesis-lan")
    cases = experiment.cases()
    assert len(cases) == 21
    published = [values.get("goodput_mbps") for values in experiment.published_for(cases)]
    assert [value.value for value in published if value] == [
        *(157.4, 125.8, 25, 5.91),
        *(174.4, 155.8, 51.62, 6.59) * 2,
        *(9, 47.8, 95.6),
        *(9.41, 47.8, 95.6) * 2,
    ]


@pytest.mark.parametrize("when", ["rate: 0.01Gbit}", "rate: 10Mbit, duration: 5s}"])
def test_published_values_match_cases_in_any_notation(tmp_path: Path, when: str) -> None:
    text = GOOD.replace("rate: 10Mbit}", when)
    assert text != GOOD
    assert load(write(tmp_path, text)).published

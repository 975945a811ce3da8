# SPDX-License-Identifier: GPL-2.0-only
"""Earlier names of parameters are accepted with a warning that has the new name."""

import json
import re
from pathlib import Path
from typing import Any

import fake_run
import pyarrow
import pytest

from airtcp import cli
from airtcp.errors import InputError, RenamedWarning
from airtcp.experiment.experiment import Case, Setting
from airtcp.experiment.figures import MetricFigure
from airtcp.experiment.reader import load
from airtcp.parameters import PARAMETER_NAMES, Parameters
from airtcp.parameters.renames import RENAMED
from airtcp.results import earlier, jsonfile, record

OLD = """\
name: small
title: A small one
source: nobody
description: For tests.
parameters:
  sense: -85dBm
  error_model: snr
  snr: 20dB
  duration: 20s
design:
  - idle: [1s, 2s]
    hand_up: [mpdu, ppdu]
published:
  - when: {idle: 1s, hand_up: mpdu}
    relative_to: {hand_up: ppdu}
    metric: goodput_mbps
    value: 1.5
    precision: exact
    source: a table
figures:
  - title: One
    x: idle
    y: goodput_mbps
    lines: hand_up
"""

OLD_NETWORK = """\
name: small
title: A small one
source: nobody
description: For tests.
topology:
  access_points:
    ap: {hand_up: ppdu}
  servers:
    server: {}
  stations:
    phone: {access_point: ap, hand_up: mpdu}
flows:
  - {from: server, to: phone}
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(text)
    return path


def new(text: str) -> str:
    return re.sub("[a-z_]+", lambda word: RENAMED.get(word[0], word[0]), text)


def test_earlier_names_are_not_reused() -> None:
    assert not set(RENAMED) & set(PARAMETER_NAMES)
    assert set(RENAMED.values()) <= set(PARAMETER_NAMES)
    assert len(set(RENAMED.values())) == len(RENAMED)


@pytest.mark.parametrize("text", [OLD, OLD_NETWORK])
def test_earlier_names_give_the_same_experiment(tmp_path: Path, text: str) -> None:
    with pytest.warns(RenamedWarning):
        experiment = load(write(tmp_path, text))
    assert experiment == load(write(tmp_path, new(text)))


def test_every_line_with_an_earlier_name_is_reported_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, OLD)
    assert cli.main(["show", str(path), "--json", "--set", "marking=none"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["parameters"]["cca_threshold"] == "-85dBm"
    lines = printed.err.splitlines()
    assert lines[0] == (
        f"warning: {path}:6: sense is now cca_threshold; accepted in this version only"
    )
    warnings = [line.split(": ", 2)[1:] for line in lines]
    assert [(place.rpartition(":")[2], text.split()[0]) for place, text in warnings] == [
        *(("6", "sense"), ("11", "idle"), ("12", "hand_up"), ("14", "idle"), ("14", "hand_up")),
        *(("15", "hand_up"), ("22", "idle"), ("24", "hand_up"), ("--set marking=none", "marking")),
    ]
    assert cli.main(["show", "thesis-lan"]) == 0
    assert capsys.readouterr().err == ""


def test_giving_both_names_is_an_error(tmp_path: Path) -> None:
    text = OLD.replace("  sense: -85dBm\n", "  sense: -85dBm\n  cca_threshold: -85dBm\n")
    with (
        pytest.warns(RenamedWarning),
        pytest.raises(InputError, match=r"yaml:7: parameters\.cca_threshold: given twice"),
    ):
        load(write(tmp_path, text))


@pytest.mark.parametrize("name", RENAMED)
def test_settings_accept_earlier_names(name: str) -> None:
    with pytest.warns(RenamedWarning, match=f"^--set {name}=x: {name} is now {RENAMED[name]};"):
        assert Setting.parse(f"{name}=x") == Setting(RENAMED[name], ("x",))


def test_other_names_are_still_unknown(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'baseline'"):
        Setting.parse("baselin=1s")
    with pytest.raises(InputError, match="did you mean 'rx_delivery'"):
        load(write(tmp_path, new(OLD).replace("rx_delivery: [", "rx_deliver: [")))


def recorded(names: dict[str, str]) -> dict[str, Any]:
    """A document whose parameters have these names."""
    idle, hand_up = names["idle"], names["hand_up"]
    factors = {idle: "1s", hand_up: "mpdu"}
    network = {"topology": {"stations": {"phone": {"access_point": "ap", hand_up: "mpdu"}}}}
    figure = MetricFigure(title="One", x="baseline", y=("goodput_mbps",), lines="rx_delivery")
    return {
        "runs": [
            {
                "factors": factors,
                "parameters": {**factors, names["patience"]: "on"},
                "network": network,
                "metrics": {"idle": 1},
            }
        ],
        "summary": [{"factors": factors, "metric": "goodput_mbps"}],
        "published": [{"factors": factors, "relative_to": {hand_up: "ppdu"}}],
        "figures": [{**figure.model_dump(), "x": idle, "lines": hand_up, "y": ["goodput_mbps"]}],
    }


@pytest.mark.filterwarnings("error")
def test_recorded_results_are_upgraded_to_current_names() -> None:
    old, new = recorded({name: name for name in RENAMED}), recorded(dict(RENAMED))
    assert earlier.document(old) == earlier.document(new) == new
    assert record.FORM.upgraded(old["runs"][0] | {"schema": 1}) == new["runs"][0] | {"schema": 2}


def test_recorded_tables_are_upgraded_to_current_names() -> None:
    metadata = {"airtcp.factors": json.dumps(["idle"]), "airtcp.schema": "1"}
    old = pyarrow.table({"seed": [1], "idle": ["1s"], "sense": ["-85dBm"]}, metadata=metadata)
    with pytest.warns(RenamedWarning, match="idle is now baseline, sense is now cca_threshold"):
        found = earlier.table(old, "results.parquet")
    assert found.to_pylist() == [{"seed": 1, "baseline": "1s", "cca_threshold": "-85dBm"}]
    assert json.loads(found.schema.metadata[b"airtcp.factors"]) == ["baseline"]
    assert found.schema.metadata[b"airtcp.schema"] == b"1"
    assert earlier.table(found, "results.parquet") is found


def test_results_have_both_names_for_one_version() -> None:
    case = Case({"baseline": "1s"}, Parameters().replace({"baseline": "1s"}))
    result = fake_run.record(case, 1, {})
    written = json.loads(jsonfile.text(result.model_dump()))
    assert written["factors"] == {"baseline": "1s", "idle": "1s"}
    parameters = written["parameters"]
    assert all(parameters[old] == parameters[name] for old, name in RENAMED.items())
    assert record.FORM.parse(jsonfile.text(result.model_dump()).encode()) == result

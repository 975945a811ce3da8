# SPDX-License-Identifier: GPL-2.0-only
"""The JSON Schema takes what the loader takes, and refuses what it refuses in structure."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from airtcp import cli
from airtcp.errors import InputError
from airtcp.experiment import schema
from airtcp.experiment.reader import load
from airtcp.experiment.summaries import names
from airtcp.parameters import PARAMETER_NAMES, Parameters
from airtcp.paths import EXPERIMENTS_DIR

GOOD = """\
name: small
title: A small one
source: nobody
description: For tests.
parameters:
  delay: 10ms
  channel: 36
  sack: off
  wire_loss: 0.01
design:
  - ack_policy: [default, aad]
    rate: [10Mbit, unlimited]
    tsq: [4packets]
published:
  - when: {ack_policy: aad, rate: 10Mbit, tsq: 4packets}
    metric: goodput_mbps
    value: 9.5
    precision: exact
    source: a table
figures:
  - title: One
    x: ping_rtt_ms_p50
    y: [goodput_mbps]
    lines: ack_policy
  - title: Two
    over_time: cwnd
    histogram: on
  - title: Three
    model: aggregation
    payload: 1448B
"""


@pytest.fixture(scope="module")
def check() -> jsonschema.Draft202012Validator:
    made = schema.schema()
    jsonschema.Draft202012Validator.check_schema(made)
    return jsonschema.Draft202012Validator(made)


def taken(path: Path) -> bool:
    try:
        load(path)
    except InputError:
        return False
    return True


class Yaml12(yaml.SafeLoader):
    """on, off, yes and no are words, as in YAML 1.2, which editors read."""


Yaml12.yaml_implicit_resolvers = {
    key: [(tag, pattern) for tag, pattern in pairs if not tag.endswith(":bool")]
    for key, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Yaml12.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("true|false"), list("tf"))


@pytest.mark.parametrize("loader", [yaml.SafeLoader, Yaml12])
@pytest.mark.parametrize("name", names())
def test_every_experiment_is_right(
    check: jsonschema.Draft202012Validator, name: str, loader: Any
) -> None:
    text = (EXPERIMENTS_DIR / f"{name}.yaml").read_text()
    assert [error.message for error in check.iter_errors(yaml.load(text, loader))] == []


def changes() -> list[tuple[str, str, bool]]:
    """What becomes of GOOD, and whether it is still right."""
    right = [
        *("delay: 0", "delay: 1.5 ms", "delay: 0s", "rate: unlimited", "rate: 2Gbit"),
        *("rate_burst: 4000", "rate_burst: 4KiB", "mcs: 5", 'mcs: "5"', "aad_alpha: 0.5"),
        *("aad_alpha: kernel", "tsq: off", "tsq: 40packets", "tsq: 1ms", "tsq: kernel"),
        *("capture: off", "capture: server,air", "rts_threshold: off", "rts_threshold: 500"),
        *("block_ack_request: on", "width: 20MHz", "legacy_rate: 6Mbit", "gro: on"),
        *("error_rate: 1e-3", "error_rate: 0", "ack_filter: none", "stations: 3"),
    ]
    wrong = [
        *("delay: 10", "delay: 10mm", "delay: fast", "delay: [1ms]", "rate: 10", "rate: none"),
        *("mcs: 1.5", "mcs: -1", "mcs: 12", "mcs: high", "channel: 7", "sack: maybe", "sack: 1"),
        *("aad_alpha: x", "aad_alpha: 2", "tsq: 5", "tsq: on", "capture: roof", "capture: on"),
        *("width: 20", "ack_policy: add", "dealy: 1ms", "snr: 20", "walk: 5m", "stations: 0"),
        *("gro: {}", "rts_threshold: on", "ack_filter: drop", "rate_burst: big", "delay: -1ms"),
    ]
    lines = [(f"  {text}\n", True) for text in right] + [(f"  {text}\n", False) for text in wrong]
    cases = [
        ("  delay: 10ms\n  channel: 36\n  sack: off\n  wire_loss: 0.01\n", line, fine)
        for line, fine in lines
    ]
    cases += [
        ("title: A small one\n", "", False),
        ("name: small", "name: Small One", False),
        ("name: small", "name: 42", True),
        ("title: A small one", "title: 42", True),
        ("title: A small one", "titel: A small one", False),
        ("title: A small one", "title: [a]", False),
        ("[default, aad]", "default", False),
        ("[default, aad]", "[]", False),
        ("[default, aad]", "[default, add]", False),
        ("    rate: [", "    raet: [", False),
        ("  - ack_policy: [", "    ack_policy: [", False),
        ("metric: goodput_mbps", "metric: speed", False),
        ("value: 9.5", "value: high", False),
        ("value: 9.5", "value: 1e3", True),
        ("precision: exact", "precision: fair", False),
        ("{ack_policy: aad, rate", "{ack_polcy: aad, rate", False),
        ("{ack_policy: aad, rate: 10Mbit, ", "{ack_policy: aad, rate: fast, ", False),
        ("    source: a table\n", "", False),
        ("y: [goodput_mbps]", "y: goodput_mbps", True),
        ("y: [goodput_mbps]", "y: []", False),
        ("y: [goodput_mbps]", "y: [up]", False),
        ("    x: ping_rtt_ms_p50\n", "", False),
        ("x: ping_rtt_ms_p50", "x: rate", True),
        ("x: ping_rtt_ms_p50", "x: ack_policy", False),
        ("over_time: cwnd", "over_time: speed", False),
        ("histogram: on", "along: rate", False),
        ("histogram: on", "histogram: maybe", False),
        ("model: aggregation", "model: bianchi", False),
        ("payload: 1448B", "payload: packet", True),
        ("payload: 1448B", "payload: many", False),
        ("payload: 1448B", "rtt: goodput_mbps", False),
        ("payload: 1448B", "title2: x", False),
        (GOOD, "- a\n", False),
        ("", "", True),
    ]
    return cases


@pytest.mark.parametrize(("old", "new", "fine"), changes(), ids=lambda x: str(x)[:30].strip())
def test_loader_and_schema_agree(
    check: jsonschema.Draft202012Validator, tmp_path: Path, old: str, new: str, fine: bool
) -> None:
    assert old in GOOD
    path = tmp_path / "small.yaml"
    path.write_text(GOOD.replace(old, new))
    assert taken(path) == fine
    for loader in (yaml.SafeLoader, Yaml12):
        assert check.is_valid(yaml.load(path.read_text(), loader)) == fine


def objects(part: Any) -> list[dict[str, Any]]:
    """Every schema of an object with keys of its own."""
    if isinstance(part, list):
        return [found for one in part for found in objects(one)]
    if not isinstance(part, dict):
        return []
    within = [found for one in part.values() for found in objects(one)]
    return [part, *within] if isinstance(part.get("properties"), dict) else within


def test_every_key_is_described_and_no_other_is_allowed() -> None:
    found = objects(schema.schema())
    assert len(found) >= 7
    for one in found:
        assert one["additionalProperties"] is False
        for key, described in one["properties"].items():
            assert described.get("description") or "ack_policy" in one["properties"], key


def test_parameters_have_the_defaults_of_the_laboratory() -> None:
    properties = schema.schema()["$defs"]["Parameters"]["properties"]
    assert tuple(properties) == PARAMETER_NAMES
    usual = Parameters().plain()
    assert {name: one["default"] for name, one in properties.items()} == usual
    assert all(one["description"] for one in properties.values())
    assert properties["delay"]["examples"] == ["10ms"]
    assert "0ms to 10s" in properties["delay"]["description"]
    assert properties["rate"]["examples"] == ["20Mbit"]
    check = jsonschema.Draft202012Validator(schema.schema())
    for name, value in usual.items():
        assert check.evolve(schema=properties[name]).is_valid(value), name
        for example in properties[name].get("examples", ()):
            assert check.evolve(schema=properties[name]).is_valid(example), name


def test_it_is_printed_with_the_names_of_own_policies(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    shipped = [one["properties"] for one in printed["$defs"].values()]
    sample = Path(__file__).parents[2] / "samples" / "ackpol"
    assert cli.main(["schema", "--policy", str(sample)]) == 0
    models = json.loads(capsys.readouterr().out)["$defs"]
    having = [one["properties"] for one in models.values() if "ack_policy" in one["properties"]]
    assert len(having) == 4  # also servers, stations and what changes of a custom topology
    assert all("fixed" in properties["ack_policy"]["enum"] for properties in having)
    assert not any("fixed" in one.get("ack_policy", {}).get("enum", ()) for one in shipped)

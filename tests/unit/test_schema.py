# SPDX-License-Identifier: GPL-2.0-only
"""The JSON Schema accepts the same experiments as the reader, as far as structure goes."""

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
    generated = schema.schema()
    jsonschema.Draft202012Validator.check_schema(generated)
    return jsonschema.Draft202012Validator(generated)


def is_accepted(path: Path) -> bool:
    try:
        load(path)
    except InputError:
        return False
    return True


class Yaml12(yaml.SafeLoader):
    """on, off, yes and no are strings, as in YAML 1.2, which editors use."""


Yaml12.yaml_implicit_resolvers = {
    key: [(tag, pattern) for tag, pattern in pairs if not tag.endswith(":bool")]
    for key, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Yaml12.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("true|false"), list("tf"))


@pytest.mark.parametrize("loader", [yaml.SafeLoader, Yaml12])
@pytest.mark.parametrize("name", names())
def test_every_experiment_matches_the_schema(
    check: jsonschema.Draft202012Validator, name: str, loader: Any
) -> None:
    text = (EXPERIMENTS_DIR / f"{name}.yaml").read_text()
    assert [error.message for error in check.iter_errors(yaml.load(text, loader))] == []


def changes() -> list[tuple[str, str, bool]]:
    """Text of GOOD, its replacement, and whether the result is valid."""
    accepted = [
        *("delay: 0", "delay: 1.5 ms", "delay: 0s", "rate: unlimited", "rate: 2Gbit"),
        *("rate_burst: 4000", "rate_burst: 4KiB", "rate_burst: 4kB"),
        *("mcs: 5", 'mcs: "5"', 'mcs: " 5"', "ack_filter: hold + txq", "aad_alpha: 0.5"),
        *("aad_alpha: kernel", "tsq: off", "tsq: 40packets", "tsq: 1ms", "tsq: kernel"),
        *("capture: off", "capture: server,air", "rts_threshold: off", "rts_threshold: 500"),
        *("block_ack_request: on", "width: 20MHz", "legacy_rate: 6Mbit", "gro: on"),
        *("error_rate: 1e-3", "error_rate: 0", "ack_filter: none", "stations: 3"),
    ]
    refused = [
        *("delay: 10", "delay: 10mm", "delay: fast", "delay: [1ms]", "rate: 10", "rate: none"),
        *("mcs: 1.5", "mcs: -1", "mcs: 14", "mcs: high", "channel: 7", "sack: maybe", "sack: 1"),
        *("aad_alpha: x", "aad_alpha: 2", "tsq: 5", "tsq: on", "capture: roof", "capture: on"),
        *("width: 20", "ack_policy: add", "dealy: 1ms", "snr: 20", "walk: 5m", "stations: 0"),
        *("gro: {}", "rts_threshold: on", "ack_filter: drop", "rate_burst: big", "delay: -1ms"),
    ]
    old = "  delay: 10ms\n  channel: 36\n  sack: off\n  wire_loss: 0.01\n"
    cases = [(old, f"  {text}\n", True) for text in accepted]
    cases += [(old, f"  {text}\n", False) for text in refused]
    cases += [
        ("title: A small one\n", "", False),
        ("name: small", "name: Small One", False),
        ("name: small", "name: 42", True),
        ("name: small", "name: demo", False),
        ("name: small", "name: demo-2", True),
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


@pytest.mark.parametrize(("old", "new", "valid"), changes(), ids=lambda x: str(x)[:30].strip())
def test_reader_and_schema_agree(
    check: jsonschema.Draft202012Validator, tmp_path: Path, old: str, new: str, valid: bool
) -> None:
    assert old in GOOD
    path = tmp_path / "small.yaml"
    path.write_text(GOOD.replace(old, new))
    assert is_accepted(path) == valid
    for loader in (yaml.SafeLoader, Yaml12):
        assert check.is_valid(yaml.load(path.read_text(), loader)) == valid


def objects(part: Any) -> list[dict[str, Any]]:
    """Every schema of an object with properties."""
    if isinstance(part, list):
        return [found for item in part for found in objects(item)]
    if not isinstance(part, dict):
        return []
    nested = [found for value in part.values() for found in objects(value)]
    return [part, *nested] if isinstance(part.get("properties"), dict) else nested


def test_every_key_has_a_description_and_others_are_refused() -> None:
    found = objects(schema.schema())
    assert len(found) >= 7
    for part in found:
        assert part["additionalProperties"] is False
        for key, value in part["properties"].items():
            assert value.get("description") or "ack_policy" in part["properties"], key


def test_parameters_have_the_defaults_of_the_laboratory() -> None:
    properties = schema.schema()["$defs"]["Parameters"]["properties"]
    assert tuple(properties) == PARAMETER_NAMES
    defaults = Parameters().plain()
    assert {name: value["default"] for name, value in properties.items()} == defaults
    assert all(value["description"] for value in properties.values())
    assert properties["delay"]["examples"] == ["10ms"]
    assert "0ms to 10s" in properties["delay"]["description"]
    assert properties["rate"]["examples"] == ["20Mbit"]
    check = jsonschema.Draft202012Validator(schema.schema())
    for name, value in defaults.items():
        assert check.evolve(schema=properties[name]).is_valid(value), name
        for example in properties[name].get("examples", ()):
            assert check.evolve(schema=properties[name]).is_valid(example), name


def test_schema_is_printed_with_the_names_of_custom_policies(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    without_policy = [model["properties"] for model in printed["$defs"].values()]
    sample = Path(__file__).parents[2] / "samples" / "ackpol"
    assert cli.main(["schema", "--policy", str(sample)]) == 0
    models = json.loads(capsys.readouterr().out)["$defs"]
    properties = [model["properties"] for model in models.values()]
    policies = [keys["ack_policy"]["enum"] for keys in properties if "ack_policy" in keys]
    assert len(policies) == 4  # also for servers, stations and changes of a custom topology
    assert all("fixed" in names for names in policies)
    assert not any("fixed" in keys.get("ack_policy", {}).get("enum", ()) for keys in without_policy)

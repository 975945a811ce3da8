# SPDX-License-Identifier: GPL-2.0-only
"""Annotations of parameters are consistent with the parameters."""

from collections import Counter
from typing import Any, get_args

import pytest

from airtcp.experiment.topology import MODELS, Settings
from airtcp.kernel import names
from airtcp.parameters import PARAMETER_NAMES, Parameters
from airtcp.parameters.ack_filter import STAGES
from airtcp.parameters.section import (
    OnlyWith,
    RadioKey,
    Sysctl,
    facts,
    key_of,
    keys,
    own_fields,
    sections,
)

CONDITIONS = dict.fromkeys(
    [
        *(condition for _, condition in facts(Parameters, OnlyWith)),
        *(section.only_with for section in sections(Parameters) if section.only_with),
    ]
)


def test_every_parameter_is_declared_in_one_section() -> None:
    declared = [name for section in sections(Parameters) for name in own_fields(section)]
    assert sorted(declared) == sorted(Parameters.model_fields)


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition.name)
def test_conditions_name_values_of_a_parameter(condition: OnlyWith) -> None:
    assert condition.name in PARAMETER_NAMES
    kind = Parameters.model_fields[condition.name].annotation
    others = {**names.known(), "ack_filter": STAGES}
    assert condition.values <= set(others.get(condition.name) or get_args(kind))


@pytest.mark.parametrize(("kind", "shared"), [(Sysctl, ["tcp_rmem"]), (RadioKey, [])])
def test_only_sysctls_with_several_values_have_several_parameters(
    kind: Any, shared: list[str]
) -> None:
    names = Counter(fact.name for _, fact in facts(Parameters, kind))
    assert [name for name, count in names.items() if count > 1] == shared
    assert len(names) > 10


def test_keys_are_attributes_without_the_unit() -> None:
    units = ("", "_s", "_bps", "_bytes", "_packets", "_segments", "_m", "_db", "_dbm", "_hz")
    for attribute in Parameters.model_fields:
        assert attribute in [key_of(Parameters, attribute) + unit for unit in units]


def test_settings_that_can_change_are_keys_of_nodes() -> None:
    of_nodes = {key for model in MODELS.values() for key in keys(model)}
    assert set(keys(Settings)) <= of_nodes
    assert set(keys(Settings)) - {"access_point"} <= set(PARAMETER_NAMES)

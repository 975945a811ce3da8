# SPDX-License-Identifier: GPL-2.0-only
"""airsim's attributes: docs and parameters agree with the tables in <uapi/linux/airsim.h>."""

import re
from pathlib import Path
from typing import get_args

import pytest
from airsim_attrs import Attr, attrs, counters, numbers

from airtcp.kernel.source import OVERLAY
from airtcp.parameters import Parameters

PAGE = Path(__file__).parents[2] / "docs/reference/airsim-control.md"
PRESETS = OVERLAY / "drivers/net/wireless/virtual/airsim/presets.c"

ATTRS = attrs()
DOCUMENTED = {name: attr for name, attr in ATTRS.items() if attr.object != "link"}


def rows(heading: str) -> dict[str, list[str]]:
    """By key: the other cells of its row, in tables whose first column has this heading."""
    found: dict[str, list[str]] = {}
    for table in re.findall(rf"^\| {heading} \|.*\n((?:\|.*\n)+)", PAGE.read_text(), re.M):
        for line in table.splitlines()[1:]:
            keys, *cells = line.strip("| ").split(" | ")
            found |= dict.fromkeys(re.findall(r"`(\w+)`", keys), cells)
    return found


def test_tables_have_every_attribute_except_structural_ones() -> None:
    without = ["unspec", "index", "wiphy", "address", "preset", "counters"]
    assert sorted([*ATTRS, *without]) == sorted(numbers())


def test_page_has_every_key() -> None:
    assert set(rows("Key")) == {"preset", *DOCUMENTED}


@pytest.mark.parametrize(("name", "attr"), DOCUMENTED.items())
def test_page_has_the_allowed_values(name: str, attr: Attr) -> None:
    allowed = rows("Key")[name][0]
    if attr.words:
        # Notes on single standards follow a semicolon.
        assert set(re.findall(r"`([^`]+)`", allowed.partition(";")[0])) == set(attr.words)
        return
    values = [int(value) for value in re.findall(r"-?\b\d+\b", allowed)]
    assert min(values) == attr.low
    assert max(values) == attr.high or (allowed == "from 0" and attr.high == 2**32 - 1)


def test_page_has_the_defaults_of_the_air() -> None:
    air = {name: attr for name, attr in ATTRS.items() if attr.object == "air"}
    assert len(air) == 5
    for name, attr in air.items():
        assert re.match(rf"{attr.default}\b", rows("Key")[name][1])


def test_parameters_have_the_power_and_the_air_of_airsim() -> None:
    """A plan never sets the loss at 1 m, and the others only if they are not the default."""
    default = {name: attr.default for name, attr in ATTRS.items()}
    parameters = Parameters()
    at_1_m_mdbm = default["tx_power_mdbm"] - default["path_loss_reference_mdb"]
    assert round(1000 * parameters.received_dbm(1)) == at_1_m_mdbm
    assert "tx_power" not in PRESETS.read_text()
    assert 1000 * parameters.path_loss_exponent == default["path_loss_exponent_milli"]
    assert 1000 * parameters.cca_threshold_dbm == default["cca_threshold_mdbm"]


def test_page_has_every_counter() -> None:
    assert list(rows("Counter")) == counters()


def test_presets_match_the_parameter_and_the_page() -> None:
    presets = re.findall(r'\.name = "([^"]+)"', PRESETS.read_text())
    assert len(presets) > 5
    assert presets == list(get_args(Parameters.model_fields["preset"].annotation))
    assert presets == re.findall(r"^\| `([\w-]+)` \| 802\.11", PAGE.read_text(), re.M)

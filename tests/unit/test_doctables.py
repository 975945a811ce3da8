# SPDX-License-Identifier: GPL-2.0-only
"""The tables of experiments.md and topologies.md are up to date with the schema."""

from pathlib import Path

import pytest
from doctables import topology_tables, with_table, with_tables

from airtcp.errors import AirtcpError
from airtcp.experiment.schema import schema

# docs/reference/topologies.md has these in one table.
ELSEWHERE = {"Topology", "Server", "AccessPoint", "Station", "Flow", "Change", "Settings"}

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PAGE = REFERENCE / "experiments.md"


def test_a_new_table_replaces_the_old_one() -> None:
    page = "before\n<!-- table: small -->\nold\n<!-- end -->\nafter\n"
    assert with_table(page, "small", "new\n") == page.replace("old", "new")
    with pytest.raises(AirtcpError, match="no <!-- table: other --> with <!-- end -->"):
        with_table(page, "other", "new\n")


def test_the_tables_in_the_docs_are_up_to_date() -> None:
    page = PAGE.read_text()
    assert page == with_tables(page), "make tables"


def test_every_model_has_a_table() -> None:
    page = PAGE.read_text()
    definitions = schema()
    models = {"Experiment": definitions, **definitions["$defs"]}
    for name in models.keys() - ELSEWHERE:
        table = page.partition(f"<!-- table: {name} -->\n")[2].partition("<!-- end -->\n")[0]
        for key in models[name]["properties"]:
            assert f"| `{key}` | " in table, (name, key)


def test_topologies_has_every_key() -> None:
    assert topology_tables() in (REFERENCE / "topologies.md").read_text()

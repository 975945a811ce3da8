# SPDX-License-Identifier: GPL-2.0-only
"""The parts of `make verify`, with the tests that pytest lists."""

import pytest
from verification import steps
from verification.steps import real_steps

from airtcp.errors import AirtcpError
from airtcp.paths import REPOSITORY


def test_every_step_has_parts_that_can_be_run() -> None:
    parts_of = {step.name: step.parts for step in real_steps()}
    assert all(parts_of.values())
    for part in (part for parts in parts_of.values() for part in parts):
        assert (REPOSITORY / part.arguments[0].partition("::")[0]).is_file()
    assert len(parts_of["fuzz"]) == 5
    assert len(parts_of["kcsan"]) == 2
    connections = [part for part in parts_of["soak"] if "under load [" in part.name]
    assert len(connections) == 6
    assert "tests/system/test_packets.py" in [part.name for part in parts_of["test-debug"]]
    # Its guests do not run the debug kernel.
    assert "tests/system/test_shell.py" not in [part.name for part in parts_of["test-debug"]]


def test_failure_to_list_the_tests_is_reported_in_one_line() -> None:
    with pytest.raises(AirtcpError, match=r"^pytest cannot list tests/nosuch\.py: ERROR: .*$"):
        steps.collected(("tests/nosuch.py",), {})

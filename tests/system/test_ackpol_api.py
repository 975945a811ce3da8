# SPDX-License-Identifier: GPL-2.0-only
"""Ways to choose an ACK policy: namespace, route, socket; who may, what wins, what is told."""

from typing import Any

import pytest
from guests import GUEST, guest_output

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel

SCRIPT = GUEST / "ackpol_api.py"


@pytest.fixture(scope="module")
def said(
    lab_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    return guest_output(SCRIPT, lab_kernel, tools, tmp_path_factory.mktemp("api"))


def test_namespace(said: dict[str, Any]) -> None:
    told = said["namespace"]
    assert {"default", "aad", "aad-listing"} <= set(told["available"])
    assert told["allowed"] == ["default"]
    assert told["unknown"] == told["unknown allowed"] == "ENOENT"
    assert told["both ends"] == ["aad", "aad"]
    assert told["restored"] == "default"


def test_socket(said: dict[str, Any]) -> None:
    told = said["socket"]
    assert told["at first"] == "default"
    assert told["one end"] == ["aad", "default"]
    assert told["unknown"] == told["long"] == "ENOENT"
    assert told["empty"] == "EINVAL"
    assert told["after refusals"] == "aad"
    assert told["default again"] == "default"
    assert told["listener chose default"] == ["aad", "default"]
    assert told["listener chose aad"] == ["default", "aad"]
    assert told["after connections that failed"] == "aad-listing"


def test_the_unprivileged_choose_what_is_allowed(said: dict[str, Any]) -> None:
    told = said["without_privilege"]
    assert told["default"] == told["aad allowed"] == ""
    assert told["aad"] == told["longer name"] == told["no longer allowed"] == "EPERM"
    assert told["sysctl"] == "EACCES"


def test_socket_overrides_route_overrides_namespace(said: dict[str, Any]) -> None:
    told = said["route"]
    assert told["unknown"] == "EINVAL"
    assert told["dumped"] == {"192.0.2.7": "aad"}
    assert told["connecting"] == "aad"
    assert told["socket chose default"] == "default"
    assert told["route has default"] == "default"
    assert told["removed"] == {}


def test_diagnosis_tells_policy_and_state(said: dict[str, Any]) -> None:
    told = said["diagnosis"]
    assert told["default"] == {}
    assert told["aad"] == {"name": "aad", "segs": 0, "delay_us": 0, "state": {}}
    waits = told["aad delayed"]
    assert waits["segs"] >= 1
    assert 0 < waits["due_us"] <= 200_000
    assert waits["due_us"] <= waits["delay_us"] <= 500_000

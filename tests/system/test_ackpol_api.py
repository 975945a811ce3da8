# SPDX-License-Identifier: GPL-2.0-only
"""Selection of an ACK policy by namespace, route and socket: permission, precedence, diagnosis."""

from typing import Any

import pytest
from guests import GUEST, guest_output

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel

SCRIPT = GUEST / "ackpol_api.py"


@pytest.fixture(scope="module")
def output(
    lab_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    return guest_output(SCRIPT, lab_kernel, tools, tmp_path_factory.mktemp("api"))


def test_a_sysctl_selects_the_policy_of_a_namespace(output: dict[str, Any]) -> None:
    results = output["namespace"]
    assert {"default", "aad", "aad-listing"} <= set(results["available"])
    assert results["allowed"] == ["default"]
    assert results["unknown"] == results["unknown allowed"] == "ENOENT"
    assert results["both ends"] == ["aad", "aad"]
    assert results["restored"] == "default"


def test_a_socket_option_selects_the_policy_of_a_socket(output: dict[str, Any]) -> None:
    results = output["socket"]
    assert results["at first"] == "default"
    assert results["one end"] == ["aad", "default"]
    assert results["unknown"] == results["long"] == "ENOENT"
    assert results["empty"] == "EINVAL"
    assert results["after refusals"] == "aad"
    assert results["default again"] == "default"
    assert results["listener chose default"] == ["aad", "default"]
    assert results["listener chose aad"] == ["default", "aad"]
    assert results["after connections that failed"] == "aad-listing"


def test_unprivileged_users_can_select_allowed_policies(output: dict[str, Any]) -> None:
    results = output["without_privilege"]
    assert results["default"] == results["aad allowed"] == ""
    assert results["aad"] == results["longer name"] == results["no longer allowed"] == "EPERM"
    assert results["sysctl"] == "EACCES"


def test_socket_overrides_route_overrides_namespace(output: dict[str, Any]) -> None:
    results = output["route"]
    assert results["unknown"] == "EINVAL"
    assert results["dumped"] == {"192.0.2.7": "aad"}
    assert results["connecting"] == "aad"
    assert results["socket chose default"] == "default"
    assert results["route has default"] == "default"
    assert results["removed"] == {}


def test_inet_diag_reports_policy_and_state(output: dict[str, Any]) -> None:
    results = output["diagnosis"]
    assert results["default"] == {}
    assert results["aad"] == {"name": "aad", "segs": 0, "delay_us": 0, "state": {}}
    delayed = results["aad delayed"]
    assert delayed["segs"] >= 1
    assert 0 < delayed["due_us"] <= 200_000
    assert delayed["due_us"] <= delayed["delay_us"] <= 500_000


def test_inet_diag_reports_no_delay_if_the_policy_leaves_it_to_tcp(output: dict[str, Any]) -> None:
    for name in ("auto", "limit"):
        reported = output["diagnosis"][f"{name} left to TCP"]
        assert reported["name"] == name
        assert reported["segs"] >= 1
        assert "delay_us" not in reported


def test_state_is_new_after_another_connect(output: dict[str, Any]) -> None:
    results = output["reconnecting"]
    new = {"name": "aad", "segs": 0, "delay_us": 0, "state": {}}
    for name in ("first", "second"):
        assert results[f"{name}, before data"] == new
        assert results[f"{name}, after data"]["segs"] >= 1
        assert results[f"{name}, after data"]["iat_us"] >= 0
        assert results[f"{name}, after data"]["state"] != {}
        assert results[f"{name}, disconnected"] == "aad"
        assert results[f"{name}, RTT before data"] == 0
        assert results[f"{name}, RTT after data"] > 0


def test_disconnect_resets_rtt_before_a_policy_is_chosen(output: dict[str, Any]) -> None:
    before, again = output["reconnecting_by_default"]
    assert before > 0
    assert again == 0

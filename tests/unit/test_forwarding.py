# SPDX-License-Identifier: GPL-2.0-only
"""Flows that a server forwards (`via`)."""

from pathlib import Path

import pytest
from plans import section

from airtcp.errors import InputError
from airtcp.experiment.reader import load
from airtcp.steps.plan import plan
from airtcp.steps.step import Step
from airtcp.testbed.build import testbed_of

TEXT = """\
name: forwarded
title: Forwarded
source: Nobody
description: None
topology:
  servers:
    relay: {delay: 10ms}
    other: {}
  access_points:
    ap: {}
  stations:
    laptop: {access_point: ap}
    phone: {access_point: ap}
flows:
  - {from: laptop, to: phone, via: relay}
  - {from: phone, to: laptop, via: relay}
  - {from: other, to: laptop}
design:
  - ack_policy: [default]
"""
RELAY_MAC = "02:00:00:00:11:01"


def planned(directory: Path, text: str = TEXT) -> list[Step]:
    path = directory / "forwarded.yaml"
    path.write_text(text)
    [case] = load(path).cases()
    return plan(testbed_of(case))


def neighbours(steps: list[Step], node: str) -> dict[str, str]:
    """MAC addresses by IP address."""
    words = [line.split() for line in section(steps, node) if "neighbour replace" in line]
    return {line[line.index("lladdr") - 1]: line[line.index("lladdr") + 1] for line in words}


def test_both_ends_send_to_the_forwarding_server(tmp_path: Path) -> None:
    steps = planned(tmp_path)
    assert neighbours(steps, "laptop")["10.0.0.102"] == RELAY_MAC
    assert neighbours(steps, "phone")["10.0.0.101"] == RELAY_MAC
    assert neighbours(steps, "laptop")["10.0.0.2"] != RELAY_MAC
    assert neighbours(steps, "relay") == {
        "10.0.0.101": "02:61:69:72:01:00",
        "10.0.0.102": "02:61:69:72:02:00",
    }


def test_only_the_forwarding_server_forwards(tmp_path: Path) -> None:
    steps = planned(tmp_path)
    relay = section(steps, "relay")
    assert "set_sysctl ip_forward 1" in relay
    assert sum("send_redirects 0" in line for line in relay) == 2
    for node in ("other", "laptop", "phone"):
        assert "set_sysctl ip_forward 1" not in section(steps, node)


def test_a_forwarding_server_may_have_a_router(tmp_path: Path) -> None:
    steps = planned(tmp_path, TEXT.replace("delay: 10ms", "router: cisco881"))
    near, far = "02:00:00:00:13:01", "02:00:00:00:14:01"
    assert neighbours(steps, "laptop")["10.0.0.102"] == far
    assert set(neighbours(steps, "relay").values()) == {near}
    routed = neighbours(steps, "router-relay")
    assert routed["10.0.0.101"] == "02:61:69:72:01:00" and routed["10.0.0.1"] == RELAY_MAC


def test_a_router_has_one_route_to_a_host_that_its_server_both_reaches_and_forwards(
    tmp_path: Path,
) -> None:
    text = TEXT.replace("delay: 10ms", "router: cisco881").replace("from: other", "from: relay")
    routes = [line for line in section(planned(tmp_path, text), "router-relay") if "route" in line]
    assert routes == [
        "must ip route add 10.0.0.1/32 dev eth0",
        "must ip route add 10.0.0.101/32 dev eth1",
        "must ip route add 10.0.0.102/32 dev eth1",
    ]


def test_the_router_of_an_end_sends_to_the_forwarding_server(tmp_path: Path) -> None:
    """Otherwise data crosses the forwarding server, and its ACKs do not."""
    text = TEXT.replace("other: {}", "other: {router: cisco881}")
    text = text.replace("{from: other, to: laptop}", "{from: laptop, to: other, via: relay}")
    steps = planned(tmp_path, text)
    assert neighbours(steps, "laptop")["10.0.0.2"] == RELAY_MAC
    assert neighbours(steps, "router-other")["10.0.0.101"] == RELAY_MAC


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("via: relay", "via: rely", "unknown server 'rely'; did you mean 'relay'"),
        ("via: relay", "via: ap", "unknown server 'ap'"),
        (
            "{from: other, to: laptop}",
            "{from: other, to: laptop, via: other}",
            "'other' is an end of the flow; give another server",
        ),
        (
            "{from: phone, to: laptop, via: relay}",
            "{from: phone, to: laptop}",
            "all flows between two hosts need the same `via`",
        ),
        (
            "{from: other, to: laptop}",
            "{from: relay, to: laptop, via: other}",
            "flows[0].via: 'relay' is also an end of another flow of these hosts that has a `via`",
        ),
    ],
)
def test_invalid_forwarding_is_reported(old: str, new: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        planned(tmp_path, TEXT.replace(old, new, 1))
    assert message in str(error.value)
    assert "\n" not in str(error.value)

# SPDX-License-Identifier: GPL-2.0-only
"""Which flows a run has: their files, ports and classes, and who sends."""

from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.steps.workloads.bulk import client, server
from airtcp.testbed.default import testbed, udp_classes
from airtcp.testbed.model import Flow


def parameters(**values: Plain) -> Parameters:
    return Parameters().replace(values)


def transfers(wanted: Parameters) -> list[Flow]:
    return list(testbed(wanted).flows)


def test_a_single_transfer_has_files_of_the_plain_name() -> None:
    [one] = transfers(parameters())
    assert (one.file("client"), one.file("server")) == ("iperf3-client.json", "iperf3-server.json")
    assert (one.sender, one.receiver, one.receiver_address) == ("server", "station", "10.0.0.2")
    [other] = transfers(parameters(direction="upload"))
    assert (other.file("client"), other.receiver_address) == ("iperf3-client.json", "10.0.0.1")


def test_both_directions_of_several_stations_have_files_and_addresses_of_their_own() -> None:
    found = transfers(parameters(direction="both", stations=2, flows=3))
    assert [(one.file("client"), one.sender, one.receiver) for one in found] == [
        ("iperf3-client-download.json", "server", "station"),
        ("iperf3-client-upload.json", "station", "server"),
        ("iperf3-client-download2.json", "server", "station2"),
        ("iperf3-client-upload2.json", "station2", "server"),
    ]
    assert [one.receiver_address for one in found] == [
        *("10.0.0.2", "10.0.0.1"),
        *("10.0.0.3", "10.0.0.102"),
    ]
    assert {one.flows for one in found} == {3}


def test_classes_are_dealt_over_flows_and_have_ports() -> None:
    def dealt(flows: int) -> list[tuple[str | None, int, int]]:
        found = transfers(parameters(dscp="rrul", flows=flows))
        return [(one.service, one.port, one.flows) for one in found]

    assert dealt(1) == [("BE", 5201, 1)]
    assert dealt(4) == [(name, 5201 + n, 1) for n, name in enumerate(("BE", "BK", "CS5", "EF"))]
    assert dealt(6) == [("BE", 5201, 2), ("BK", 5202, 2), ("CS5", 5203, 1), ("EF", 5204, 1)]
    several = transfers(parameters(flows=8, stations=3, direction="both"))
    assert {one.port for one in several} == {5201}


def test_a_class_is_said_to_iperf3() -> None:
    wanted = parameters(dscp="rrul", flows=4, direction="both")
    last = transfers(wanted)[-1]
    assert last.file("server") == "iperf3-server-upload-EF.json"
    assert client(last).startswith("iperf3 -4 -J -c 10.0.0.1 -p 5204 --dscp 46 -t 10 -P 1 ")
    assert server(last) == "iperf3 -4 -s -1 -J -p 5204"


def test_udp_probes_are_of_classes_where_flows_are() -> None:
    assert udp_classes(parameters()) == ()
    assert udp_classes(parameters(udp_ping_interval="20ms")) == ("BE",)
    marked = parameters(udp_ping_interval="20ms", dscp="rrul")
    assert udp_classes(marked) == ("BE", "BK", "EF")

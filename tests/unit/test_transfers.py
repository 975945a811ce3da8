# SPDX-License-Identifier: GPL-2.0-only
"""The flows of a run: files, ports, classes and directions."""

from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.steps.workloads.bulk import client, server
from airtcp.testbed.default import testbed, udp_classes
from airtcp.testbed.model import Flow


def with_values(**values: Plain) -> Parameters:
    return Parameters().replace(values)


def transfers(parameters: Parameters) -> list[Flow]:
    return list(testbed(parameters).flows)


def test_files_of_a_single_transfer_have_no_suffix() -> None:
    [down] = transfers(with_values())
    assert (down.file("client"), down.file("server")) == (
        "iperf3-client.json",
        "iperf3-server.json",
    )
    assert (down.sender, down.receiver, down.receiver_address) == ("server", "station", "10.0.0.2")
    [up] = transfers(with_values(direction="upload"))
    assert (up.file("client"), up.receiver_address) == ("iperf3-client.json", "10.0.0.1")


def test_transfers_have_different_files_and_addresses() -> None:
    found = transfers(with_values(direction="both", stations=2, flows=3))
    assert [(flow.file("client"), flow.sender, flow.receiver) for flow in found] == [
        ("iperf3-client-download.json", "server", "station"),
        ("iperf3-client-upload.json", "station", "server"),
        ("iperf3-client-download2.json", "server", "station2"),
        ("iperf3-client-upload2.json", "station2", "server"),
    ]
    assert [flow.receiver_address for flow in found] == [
        *("10.0.0.2", "10.0.0.1"),
        *("10.0.0.3", "10.0.0.102"),
    ]
    assert {flow.connections for flow in found} == {3}


def test_classes_are_distributed_over_flows() -> None:
    def classes(flows: int) -> list[tuple[str | None, int, int]]:
        found = transfers(with_values(dscp="rrul", flows=flows))
        return [(flow.service, flow.port, flow.connections) for flow in found]

    assert classes(1) == [("BE", 5201, 1)]
    assert classes(4) == [(name, 5201 + n, 1) for n, name in enumerate(("BE", "BK", "CS5", "EF"))]
    assert classes(6) == [("BE", 5201, 2), ("BK", 5202, 2), ("CS5", 5203, 1), ("EF", 5204, 1)]
    several = transfers(with_values(flows=8, stations=3, direction="both"))
    assert {flow.port for flow in several} == {5201}


def test_iperf3_gets_the_dscp_of_a_class() -> None:
    parameters = with_values(dscp="rrul", flows=4, direction="both")
    last = transfers(parameters)[-1]
    assert last.file("server") == "iperf3-server-upload-EF.json"
    assert client(last).startswith("iperf3 -4 -J -c 10.0.0.1 -p 5204 --dscp 46 -t 10 -P 1 ")
    assert server(last) == "iperf3 -4 -s -1 -J -p 5204"


def test_udp_probes_use_the_classes_of_flows() -> None:
    assert udp_classes(with_values()) == ()
    assert udp_classes(with_values(udp_ping_interval="20ms")) == ("BE",)
    marked = with_values(udp_ping_interval="20ms", dscp="rrul")
    assert udp_classes(marked) == ("BE", "BK", "EF")

# SPDX-License-Identifier: GPL-2.0-only
"""Plans with cables, paths, slow processors and stages of ACK filtering, and their metrics."""

import json
from pathlib import Path

import pytest
from plans import check_shell, planned, section, text
from pydantic import ValidationError
from small_experiment import write

from airtcp.errors import AirtcpError
from airtcp.experiment.reader import load
from airtcp.files.cwndtrace import read_cwnd_trace
from airtcp.files.qdisc import read_tbf
from airtcp.parameters import NUMBERS, Parameters
from airtcp.parameters.quantity import Plain
from airtcp.results import metrics
from airtcp.steps import cpu_cost
from airtcp.steps.plan import plan
from airtcp.steps.step import Step
from airtcp.testbed.build import testbed_of
from airtcp.testbed.default import testbed
from airtcp.testbed.processors import Cost

CABLES: dict[str, Plain] = {"access": "ethernet", "ethernet_rate": "100Mbit"}
# A frame, and what 100 Mbit/s are in 2 us.
CABLE = "overhead 24 mpu 84 burst 1539b latency 400000us"
SLOW_CABLE = "overhead 24 mpu 84 burst 1514b latency 400000us"
SEGMENTS = "tbf rate 100gbit burst 1514b latency 1s"
LOSS = "netem loss 1% limit 1000000"


def qdiscs(plan: list[Step], node: str) -> list[str]:
    prefix = "must tc qdisc add dev "
    return [line.removeprefix(prefix) for line in section(plan, node) if line.startswith(prefix)]


@pytest.mark.parametrize(
    "values",
    [
        {**CABLES, "stations": 2, "router": "cisco881"},
        {**CABLES, "direction": "upload", "slow_host": "receiver", "host_packet": "20us"},
        {"ack_filter": "police+hold", "ack_filter_rate": "1Mbit", "direction": "both"},
        {"ack_filter": "shape+multicast", "ack_filter_rate": "1Mbit", "direction": "upload"},
        {"path": "satellite", "ack_filter": "cake", "router": "custom", "router_packet": "9us"},
        {**CABLES, "workload": "transfer", "transfer_size": "1B", "cwnd_trace": "on"},
        {"rate_at": "server", "rate": "20Mbit", "stations": 2},
    ],
)
def test_plans_are_valid_shell(values: dict[str, Plain]) -> None:
    plan = planned(**values)
    nodes = ["server", *(["router"] if "router" in values else []), "ap", "station"]
    check_shell(plan, nodes)


def test_cables_have_no_radios() -> None:
    plan = planned(**CABLES, stations=2)
    for word in ("airsim radio add", "hostapd", "iw dev", "wlan0", "ieee80211"):
        assert word not in text(plan)
    assert "peer name port2 netns ap" in text(plan)


def test_a_server_limits_its_own_rate() -> None:
    tbf = "tbf rate 40000000bit burst 4000b latency 400000us"
    assert qdiscs(planned(rate_at="server", rate="40Mbit", delay="3ms"), "server") == [
        f"eth0 root handle 2: {tbf}",
        "eth0 parent 2:1 handle 1: netem delay 3000us limit 1000",
    ]
    assert qdiscs(planned(rate_at="server", rate="40Mbit"), "server") == [
        f"eth0 root handle 2: {tbf}"
    ]
    assert not qdiscs(planned(rate_at="server"), "server")


def test_a_queue_is_not_longer_than_tc_can_express() -> None:
    """tc would compute 36,704 bytes for this one."""
    fast = planned(rate="10Gbit", rate_latency="3436ms", rate_at="server")
    assert qdiscs(fast, "server") == [
        "eth0 root handle 2: tbf rate 10000000000bit burst 4000b latency 3435970us"
    ]


def test_packets_are_segmented_before_they_are_lost() -> None:
    tbf = "tbf rate 40000000bit burst 4000b latency 400000us"
    assert qdiscs(planned(wire_loss=0.01, delay="3ms", rate="40Mbit"), "server") == [
        "eth0 root handle 1: netem delay 3000us limit 1000000",
        f"eth0 parent 1:1 handle 4: {SEGMENTS}",
        f"eth0 parent 4:1 handle 5: {LOSS}",
        f"eth0 parent 5:1 handle 2: {tbf}",
    ]
    assert qdiscs(planned(wire_loss=0.01, rate_at="server", rate="40Mbit"), "server") == [
        f"eth0 root handle 2: {tbf}",
        "eth0 parent 2:1 handle 1: netem delay 1us limit 1000",
        f"eth0 parent 1:1 handle 4: {SEGMENTS}",
        f"eth0 parent 4:1 handle 5: {LOSS}",
    ]


def test_every_cable_limits_the_rate() -> None:
    plan = planned(**CABLES, delay="3ms", wire_loss=0.01, rate="40Mbit")
    tbf = "tbf rate 40000000bit overhead 24 mpu 84 burst 1524b latency 400000us"
    assert qdiscs(plan, "server") == [f"eth0 root handle 2: {tbf}"]
    assert qdiscs(plan, "ap") == [
        "eth0 root handle 1: netem delay 1us limit 1000",
        f"eth0 parent 1:1 handle 2: tbf rate 100000000bit {CABLE}",
        "eth0 parent 2:1 handle 3: pfifo limit 100",
        "port1 root handle 1: netem delay 3000us loss 1% limit 1000",
        f"port1 parent 1:1 handle 2: tbf rate 100000000bit {CABLE}",
    ]
    assert qdiscs(plan, "station") == [f"eth0 root handle 2: tbf rate 100000000bit {CABLE}"]


def test_the_bridge_shapes_the_return_path() -> None:
    assert qdiscs(planned(), "ap") == []
    plan = planned(return_delay="7ms", return_rate="1Mbit", return_queue=9)
    assert qdiscs(plan, "ap") == [
        "eth0 root handle 1: netem delay 7000us limit 1000",
        f"eth0 parent 1:1 handle 2: tbf rate 1000000bit {SLOW_CABLE}",
        "eth0 parent 2:1 handle 3: pfifo limit 9",
    ]
    assert qdiscs(planned(return_loss=0.01), "ap") == [
        "eth0 root handle 1: netem delay 1us limit 1000",
        f"eth0 parent 1:1 handle 4: {SEGMENTS}",
        f"eth0 parent 4:1 handle 5: {LOSS}",
    ]
    assert qdiscs(planned(return_loss=0.01, return_rate="1Mbit"), "ap") == [
        "eth0 root handle 1: netem delay 1us limit 1000",
        f"eth0 parent 1:1 handle 4: {SEGMENTS}",
        f"eth0 parent 4:1 handle 5: {LOSS}",
        f"eth0 parent 5:1 handle 2: tbf rate 1000000bit {SLOW_CABLE}",
        "eth0 parent 2:1 handle 3: pfifo limit 100",
    ]
    assert qdiscs(planned(return_loss=0.01, path="adsl"), "ap")[2].endswith(LOSS)
    assert qdiscs(planned(**CABLES, return_loss=0.01), "ap")[2].endswith(LOSS)
    adsl = planned(path="adsl", ack_filter="cake-aggressive")
    assert qdiscs(adsl, "ap")[1:] == [
        f"eth0 parent 1:1 handle 2: tbf rate 128000bit {SLOW_CABLE}",
        "eth0 parent 2:1 handle 3: cake unlimited besteffort ack-filter-aggressive",
    ]
    assert "netem delay 15000us" in qdiscs(adsl, "server")[0]


def test_a_router_is_between_server_and_bridge() -> None:
    plan = planned(router="custom", router_packet="20us", router_byte="2ns", router_queue=75)
    router = section(plan, "router")
    assert "must ip route add 10.0.0.1/32 dev eth0" in router
    assert "must ip route add 10.0.0.2/32 dev eth1" in router
    assert "set_sysctl ip_forward 1" in router
    # 2 ns per byte are 4 Gbit/s; 20 us are 10,000 bytes.
    bucket = "rate 4000000000bit overhead 10000 burst 2514b limit 10000000"
    assert f"must tc qdisc add dev ifb0 root handle 1: tbf {bucket}" in router
    assert "ifb0 parent 1:1 handle 2: pfifo limit 75" in qdiscs(plan, "router")
    redirected = [line.split()[5] for line in router if "mirred" in line]
    assert redirected == ["eth0", "eth1"]
    assert "lladdr 02:00:00:00:10:03" in "\n".join(section(plan, "server"))
    assert "lladdr 02:00:00:00:10:04" in "\n".join(section(plan, "station"))
    assert "router" not in text(planned())


def test_a_slow_host_delays_what_it_sends_and_receives() -> None:
    plan = planned(**CABLES, slow_host="sender", host_packet="20us")
    directions = [line.split()[6] for line in section(plan, "server") if "mirred" in line]
    assert directions == ["ingress", "egress"]
    assert "ifb0" not in "\n".join(section(plan, "station"))
    assert "processor-server-before.json" in text(plan)


def test_of_several_stations_the_first_is_slow() -> None:
    several: dict[str, Plain] = {"stations": 3, "slow_host": "receiver", "host_packet": "20us"}
    assert [node.name for node in testbed(Parameters().replace(several)).slow] == ["station"]


def test_utilisation_is_the_share_of_time_spent_on_packets(tmp_path: Path) -> None:
    for when, packets, octets in (("before", 100, 50_000), ("after", 1100, 1_050_000)):
        counters = {"kind": "tbf", "bytes": octets, "packets": packets, "drops": 0}
        path = tmp_path / cpu_cost.file("router", when)
        path.write_text(json.dumps([{"kind": "pfifo"}, counters]))
    # 1,000 packets at 20 us and 1,000,000 bytes at 10 ns take 30 ms of 100 ms.
    cost = Cost(20e-6, 10e-9, 75)
    assert metrics.utilisation(tmp_path, "router", cost, 0.1) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("values", "device", "ends"),
    [
        ({}, "wlan0", "src 10.0.0.2/32 match ip dst 10.0.0.1/32"),
        (CABLES, "port1", "src 10.0.0.2/32 match ip dst 10.0.0.1/32"),
        ({"direction": "upload"}, "eth0", "src 10.0.0.1/32 match ip dst 10.0.0.2/32"),
        ({"router": "cisco881", "ack_filter_at": "router"}, "eth1", "src 10.0.0.2/32"),
    ],
)
def test_acks_are_policed_where_they_arrive(
    values: dict[str, Plain], device: str, ends: str
) -> None:
    plan = planned(**values, ack_filter="police", ack_filter_rate="80kbit")
    node = "router" if values.get("ack_filter_at") == "router" else "ap"
    filters = [line for line in section(plan, node) if "police" in line]
    assert [f"dev {device} ingress" in line and ends in line for line in filters] == [True, True]
    # ACKs without options and those with only timestamps share a token bucket.
    assert "match u16 40 0xffff at 2" in filters[0] and "match u16 52 0xffff at 2" in filters[1]
    assert "rate 80000bit burst 5000b conform-exceed drop/continue index 1" in filters[0]
    assert filters[1].endswith("action police index 1")


def test_all_packets_to_the_sender_are_policed_and_others_dropped() -> None:
    given: dict[str, Plain] = {**CABLES, "stations": 2, "ack_filter": "police"}
    plan = planned(**given, ack_filter_rate="100kbit", ack_filter_match="destination")
    filters = [line for line in section(plan, "ap") if "tc filter" in line]
    for port in (1, 2):
        limited, dropped = (line for line in filters if f"dev port{port} ingress" in line)
        assert "prio 1 u32 match ip dst 10.0.0.1/32 action police rate 100000bit" in limited
        assert limited.endswith(f"burst 5000b conform-exceed drop/pass index {port}")
        assert "prio 2 u32 match u32 0 0 at 0 action police rate 8bit burst 1b" in dropped
        assert dropped.endswith(f"conform-exceed drop/drop index {port + 2}")


def test_ack_filters_can_be_limited_to_the_first_station() -> None:
    given: dict[str, Plain] = {**CABLES, "stations": 3, "ack_filter": "police"}
    plan = planned(**given, ack_filter_rate="80kbit")
    assert text(plan).count("conform-exceed") == 3
    plan = planned(**given, ack_filter_rate="80kbit", ack_filter_stations="first")
    assert text(plan).count("conform-exceed") == 1


def test_stages_of_ack_filtering_have_a_fixed_order() -> None:
    given = {"ack_filter_rate": "1Mbit", "direction": "upload"}
    parameters = Parameters().replace({**given, "ack_filter": "multicast+police"})
    assert parameters.ack_filter == ("police", "multicast")
    assert parameters.plain()["ack_filter"] == "police+multicast"
    assert parameters.replace(parameters.plain()) == parameters


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ("drop", "'drop' is not a stage of ACK filtering; allowed: none police shape cake"),
        ("police+shape", "'police+shape' has both of police and shape; choose one"),
        ("", "'' is not a stage"),
    ],
)
def test_invalid_stages_are_reported(stages: str, message: str) -> None:
    with pytest.raises(ValidationError) as error:
        Parameters().replace({"ack_filter": stages})
    assert message in error.value.errors()[0]["msg"]


def test_dropped_acks_of_each_stage_are_counted(tmp_path: Path) -> None:
    (tmp_path / "ack-filter-police.txt").write_text(
        " Sent 5200 bytes 100 pkt (dropped 80, overlimits 80 requeues 0)\n"
        " Sent 52 bytes 1 pkt (dropped 3, overlimits 0 requeues 0)\n"
    )
    (tmp_path / "ack-filter-txq.txt").write_text("mode on\nfiltered 7\nmode on\nfiltered 5\n")
    (tmp_path / "airsim-after.txt").write_text("acks_suppressed 11\nacks_held 4\n")

    def filtered(stages: str, **values: Plain) -> int:
        rate: dict[str, Plain] = {"ack_filter_rate": "1Mbit"} if "police" in stages else {}
        parameters = Parameters().replace({"ack_filter": stages, **rate, **values})
        return metrics.filtered(tmp_path, testbed(parameters).filters)

    (tmp_path / "qdisc-bridge.json").write_text('[{"tins": [{"drops": 9, "ack_drops": 2}]}]')
    assert filtered("police") == 83
    assert filtered("cake+txq+hold", return_rate="1Mbit") == 2 + 12 + 11


def test_numeric_parameters_have_readable_units() -> None:
    given = Parameters().replace({"delay": "250ms", "ack_count": 4, "return_rate": "128kbit"})
    numbers = {name: NUMBERS[name] for name in ("delay", "ack_count", "return_rate", "rate")}
    assert {name: number.of(given) for name, number in numbers.items()} == {
        "delay": 250,
        "ack_count": 4,
        "return_rate": 0.128,
        "rate": None,
    }
    assert [number.unit for number in numbers.values()] == ["ms", "", "Mbit/s", "Mbit/s"]
    assert "congestion_control" not in NUMBERS and "walk" not in NUMBERS


def test_missing_counters_of_a_processor_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "processor-router-before.json"
    path.write_text("[]")
    with pytest.raises(AirtcpError, match="no counters of a qdisc tbf"):
        read_tbf(path)


def test_cwnd_is_read_for_each_ack_that_the_sender_receives(tmp_path: Path) -> None:
    def probe(time: str, source: str, peer: str, cwnd: int) -> str:
        return (
            f"  exchange-77 [000] ..s.. {time}: tcp_probe: family=AF_INET src={source} dest={peer} "
            f"mark=0x0 data_len=0 snd_nxt=0x1 snd_una=0x1 snd_cwnd={cwnd} ssthresh=9 snd_wnd=1\n"
        )

    lines = [
        probe("7.000001", "10.0.0.1:5201", "10.0.0.2:40000", 3),
        probe("7.100000", "10.0.0.2:40000", "10.0.0.1:5201", 10),
        probe("7.250001", "10.0.0.1:5201", "10.0.0.2:40000", 6),
        probe("7.250001", "10.0.0.1:22", "10.0.0.2:40001", 1),
        probe("7.300000", "10.0.0.1:5201", "10.0.0.3:40000", 8),
        probe("7.400000", "10.0.0.1:5201", "10.0.0.2:40002", 9),
        probe("7.40.0001", "10.0.0.1:5201", "10.0.0.2:40002", 9),  # damaged
    ]
    (tmp_path / "cwnd-trace.txt").write_text("# tracer: nop\n" + "".join(lines))
    traces = read_cwnd_trace(tmp_path, {("10.0.0.1", 5201): frozenset({40000})})
    # Of two stations, which have connected from the same port.
    assert [(times_s.tolist(), cwnd.tolist()) for times_s, cwnd in traces] == [
        ([7.000001, 7.250001], [3, 6]),
        ([7.3], [8]),
    ]
    everything = read_cwnd_trace(tmp_path, {("10.0.0.2", 5201): None, ("10.0.0.1", 5201): None})
    assert [cwnd.tolist() for _, cwnd in everything] == [[10], [3, 6], [8], [9]]
    with pytest.raises(AirtcpError, match=r"no ACK reached 10\.0\.0\.9"):
        read_cwnd_trace(tmp_path, {("10.0.0.1", 5201): None, ("10.0.0.9", 5201): None})
    full = "# entries-in-buffer/entries-written: 3/4   #P:1\n"
    (tmp_path / "cwnd-trace.txt").write_text(full + "".join(lines))
    with pytest.raises(AirtcpError, match="only the last 3 of 4 segments"):
        read_cwnd_trace(tmp_path, {("10.0.0.2", 5201): None})


def test_policers_of_a_node_are_counted_once(tmp_path: Path) -> None:
    station = "{access_point: ap, ack_filter: police, ack_filter_rate: 1Mbit}"
    topology = f"""\
name: policed
title: Policed
source: Nobody
description: None
topology:
  servers: {{server: {{}}}}
  access_points: {{ap: {{}}}}
  stations: {{laptop: {station}, phone: {station}}}
flows:
  - {{from: server, to: laptop}}
  - {{from: server, to: phone}}
"""
    policed = testbed_of(load(write(tmp_path, topology)).cases()[0])
    (tmp_path / "ack-filter-police-ap.txt").write_text("dropped 7, over\ndropped 5, over\n")
    assert metrics.filtered(tmp_path, policed.filters) == 12
    assert text(plan(policed)).count("tc -s actions list action police") == 1

# SPDX-License-Identifier: GPL-2.0-only
"""Custom topologies: keys of experiments, plans, and errors."""

from pathlib import Path

import pytest
from plans import check_shell, commands, section
from plans import text as text_of
from small_experiment import write

from airtcp.backends import shell
from airtcp.backends.guesttools import GuestTools
from airtcp.errors import InputError
from airtcp.experiment import topology_text
from airtcp.experiment.experiment import Case, Setting
from airtcp.experiment.reader import load
from airtcp.experiment.topology import Network
from airtcp.kernel.image import Kernel
from airtcp.steps import events
from airtcp.steps.plan import plan
from airtcp.steps.step import Start, Step
from airtcp.sweep.request import requests, without_effect
from airtcp.testbed.build import testbed_of
from airtcp.testbed.model import Testbed

GOOD = """\
name: small
title: Small
source: Nobody
description: None
parameters: {delay: 2ms, duration: 5s, ping_interval: 0ms}
topology:
  servers:
    near: {}
    far: {delay: 50ms, rate: 100Mbit, tsq: 4ms}
  access_points:
    ap1: {channel: 36}
    ap2: {channel: 44, mcs: 5}
  stations:
    laptop: {access_point: ap1, error_rate: 0.1}
    phone: {access_point: ap2, ack_policy: aad}
    tablet: {access_point: ap2, mcs: 3}
  hidden: [[ap1, phone]]
flows:
  - {from: near, to: laptop}
  - {from: far, to: phone, congestion_control: bbr, start: 1500ms, duration: 3s}
  - {from: laptop, to: near, protocol: udp, rate: 5Mbit, start: 2s}
  - {from: near, to: laptop, start: 4s}
  - {from: phone, to: tablet, name: aside, rate: 1Mbit}
schedule:
  - {at: 3s, node: far, set: {delay: 60ms}}
  - {at: 2s, node: phone, set: {ack_policy: default, mcs: 2}}
  - {at: 3s, node: phone, set: {aad_beta: 2, error_rate: 0.5}}
"""


def loaded(directory: Path, text: str = GOOD, *settings: str) -> Case:
    return load(write(directory, text)).cases([Setting.parse(setting) for setting in settings])[0]


def planned(directory: Path, text: str = GOOD, *settings: str) -> list[Step]:
    case = loaded(directory, text, *settings)
    return plan(testbed_of(case))


def testbed(directory: Path, text: str = GOOD) -> Testbed:
    return testbed_of(loaded(directory, text))


def test_plan_and_scripts_of_nodes_are_valid_shell(tmp_path: Path) -> None:
    nodes = ("switch", "near", "far", "ap1", "ap2", "laptop", "phone", "tablet")
    check_shell(planned(tmp_path), nodes)


def test_nodes_inherit_from_access_points_and_parameters(tmp_path: Path) -> None:
    nodes = testbed(tmp_path).by_name
    assert [nodes[name].parameters.mcs for name in ("ap1", "laptop", "phone", "tablet")] == [
        *(7, 7, 5, 3)
    ]
    assert [nodes[name].parameters.channel for name in ("laptop", "tablet")] == [36, 44]
    assert [nodes[name].parameters.delay_s for name in ("near", "far")] == [0.002, 0.05]
    assert [nodes[name].parameters.tsq for name in ("near", "far")] == [None, "4000 us"]


def test_factors_apply_to_nodes_that_do_not_override_them(tmp_path: Path) -> None:
    steps = planned(tmp_path, GOOD, "ack_policy=tack", "delay=7ms")
    policies = {"laptop": "tack", "phone": "aad", "tablet": "tack"}
    for name, policy in policies.items():
        assert f"set_sysctl tcp_ack_policy {policy}" in section(steps, name)
    assert "must tc qdisc add dev eth0 root handle 1: netem delay 7000us limit 1000" in section(
        steps, "near"
    )


def test_addresses_and_radios_are_unique(tmp_path: Path) -> None:
    found = testbed(tmp_path)
    assert [(radio.node, radio.number) for radio in found.radios] == [
        *(("ap1", 0), ("ap2", 1), ("laptop", 2), ("phone", 3), ("tablet", 4))
    ]
    addresses = [address for node in found.hosts for address in node.addresses]
    assert addresses == ["10.0.0.1", "10.0.0.2", "10.0.0.101", "10.0.0.102", "10.0.0.103"]
    macs = [node.mac for node in found.hosts]
    assert len(set(macs)) == len(macs) and macs[3] == "02:61:69:72:03:00"


def test_flows_have_names_ports_and_times(tmp_path: Path) -> None:
    flows = testbed(tmp_path).flows
    assert [(flow.label, flow.port, flow.direction) for flow in flows] == [
        ("near-laptop", 5201, "download"),
        ("far-phone", 5202, "download"),
        ("laptop-near", 5203, "upload"),
        ("near-laptop-2", 5204, "download"),
        ("aside", 5205, "across"),
    ]
    text = text_of(planned(tmp_path))
    assert "iperf3 -4 -J -c 10.0.0.101 -t 5 -P 1 -C cubic >iperf3-client-near-" in text
    assert "sleep 1.5\nmust node far LD_PRELOAD" in text
    assert "iperf3 -4 -J -c 10.0.0.102 -p 5202 -t 3 -P 1 -C bbr >" in text
    assert "udpflow -p 5203 -P 1 send 10.0.0.1 1472 5000000 3 >" in text
    assert "sleep 4\nmust node near LD_PRELOAD" in text
    assert "-p 5205 -t 5 -P 1 -C cubic -b 1000000 -l 1250 >" in text


CHANGES = """\
sleep 2
in_node phone <<'END'
set_sysctl tcp_ack_policy default
must set_policy default
END
batch airsim '
radio set 3 rate_format ht rate_mcs 2 rate_streams 1 rate_width_mhz 20 rate_gi_ns 800
link set 1 3 rate_format ht rate_mcs 2 rate_streams 1 rate_width_mhz 20 rate_gi_ns 800
'
sleep 1
in_node far <<'END'
batch tc '
qdisc change dev eth0 root handle 1: netem delay 60000us limit 1000000
qdisc change dev eth0 parent 1:1 handle 2: tbf rate 100000000bit burst 4000b latency 400000us
'
END
in_node phone <<'END'
set_sysctl tcp_aad_beta_percent 200
END
must airsim radio set 3 errors fixed mpdu_error_ppm 500000 response_error_ppm 0
"""


def test_changes_are_in_order_of_time_and_set_only_what_changes(tmp_path: Path) -> None:
    [start] = events.start(testbed(tmp_path))
    assert isinstance(start, Start)
    assert shell.text(start.steps) == CHANGES


def test_hidden_radios_and_errors_are_set(tmp_path: Path) -> None:
    text = text_of(planned(tmp_path))
    assert "must airsim link set 0 3 blocked\nmust airsim link set 3 0 blocked\n" in text
    assert "must airsim radio set 2 errors fixed mpdu_error_ppm 100000 " in text
    # Stations may lose all beacons to hidden radios.
    loop = "while sleep 0.5; do case $(iw dev wlan0 link) in Not*) iw dev wlan0 connect"
    assert f"start node laptop sh -c '{loop} ap1 5180; esac; done'" in text
    seen = GOOD.replace("  hidden: [[ap1, phone]]\n", "")
    assert "connect" not in text_of(planned(tmp_path, seen))


def test_beacons_of_access_points_alternate(tmp_path: Path) -> None:
    """Without backoff, beacons that are due together collide whenever the medium was busy."""
    plan = planned(tmp_path)
    start = "must hostapd -B /tmp/hostapd-ap"
    assert f"sleep 0.0512\n{start}2.conf" in "\n".join(section(plan, "ap2"))
    assert "sleep" not in "\n".join(section(plan, "ap1"))


def test_stations_can_override_the_snr(tmp_path: Path) -> None:
    text = GOOD.replace("delay: 2ms,", "delay: 2ms, error_model: snr, snr: 30dB,")
    text = text.replace("error_rate: 0.1", "snr: 20dB").replace(", error_rate: 0.5", ", snr: 10dB")
    found = text_of(planned(tmp_path, text))
    links = [line.split()[4:] for line in found.splitlines() if "loss_mdb" in line]
    assert [link[:2] for link in links[:6]] == [
        *(["0", "2"], ["2", "0"], ["1", "3"], ["3", "1"], ["1", "4"], ["4", "1"])
    ]
    laptop, _, phone, _, tablet, _, changed, reverse = (int(link[-1]) for link in links)
    assert phone == tablet == laptop - 10_000
    assert links[6][:2] == ["1", "3"] and changed == reverse == phone + 20_000


def test_snr_can_be_given_per_node_only(tmp_path: Path) -> None:
    text = GOOD.replace("delay: 2ms,", "delay: 2ms, error_model: snr,").replace(
        "ap2: {channel: 44, mcs: 5}", "ap2: {channel: 44, mcs: 5, snr: 30dB}"
    )
    text = text.replace(", error_rate: 0.5", "")
    found = text_of(planned(tmp_path, text.replace("error_rate: 0.1", "snr: 20dB")))
    losses = [line.split()[-1] for line in found.splitlines() if "loss_mdb" in line]
    assert len(losses) == 6 and int(losses[0]) == int(losses[2]) + 10_000
    message = r"stations\.laptop: error_model snr needs a position here, or one of snr, distance, w"
    with pytest.raises(InputError, match=message):
        planned(tmp_path, text.replace(", error_rate: 0.1", ""))


def test_captures_include_all_nodes_of_a_kind(tmp_path: Path) -> None:
    text = text_of(planned(tmp_path, GOOD, "capture=server,air"))
    assert [line.split()[-1] for line in text.splitlines() if "tcpdump" in line] == [
        *(">near.pcap", ">far.pcap", ">air.pcap")
    ]


def test_a_written_network_is_read_back(tmp_path: Path) -> None:
    network = loaded(tmp_path).network
    assert network
    assert Network.model_validate(network.plain()) == network
    assert "station phone: access point ap2, ACK policy aad" in list(topology_text.lines(network))


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("    near: {}", "    phone: {}", 15, "topology.stations.phone: the name is already used"),
        ("    near: {}", "    Near_1: {}", 8, "topology.servers.Near_1: not a node name"),
        ("    near: {}", "    air: {}", 8, "but not switch air helpers"),
        ("    near: {}", "    near: {mcs: 3}", 8, "not a parameter of servers, but of access "),
        ("    near: {}", "    near: {}\n    near: {}", 9, "topology.servers.near: given twice"),
        ("channel: 36", "channel: 38", 11, "ap1.channel: '38' is not a channel; allowed: 1 6 11"),
        ("mcs: 5", "mcs: 9", 12, "ap2.mcs: 9 is not allowed with 802.11n at 20MHz"),
        ("access_point: ap1", "access_point: ap3", 14, "access_point: unknown access point 'ap3'"),
        ("access_point: ap1, ", "", 14, "topology.stations.laptop.access_point: missing"),
        ("[[ap1, phone]]", "[[ap1, near]]", 17, "hidden[0]: unknown radio 'near'; allowed: ap1"),
        ("[[ap1, phone]]", "[ap1, phone]", 17, "hidden[0]: 'ap1' is not a list; each entry is"),
        ("{from: near, to: laptop}", "{from: near, to: lap}", 19, "to: unknown host 'lap'"),
        ("{from: near, to: laptop}", "{from: near, to: near}", 19, "flows[0].to: from 'near' to"),
        ("{from: near, to: laptop}", "{from: near, to: ap1}", 19, "to: unknown host 'ap1'"),
        ("rate: 5Mbit, ", "", 21, "flows[2].protocol: udp needs a rate"),
        ("start: 2s}", "start: 5s}", 21, "flows[2].start: the run has a duration of 5s"),
        ("duration: 3s}", "duration: 4s}", 20, "flows[1].duration: the run ends earlier, after 5s"),
        ("start: 4s}", "bytes: 1MiB}", 22, "flows[3].bytes: unknown key; allowed: from to name"),
        ("name: aside", "name: near-laptop", 23, "flows[4]: two flows are named 'near-laptop'"),
        ("{at: 2s", "{at: 5s", 26, "schedule[1].at: the run has ended by then"),
        (
            "node: phone",
            "node: phones",
            26,
            "schedule[1].node: unknown node 'phones'; did you mean",
        ),
        ("mcs: 2", "delay: 2ms", 26, "set.delay: cannot change for stations; allowed:"),
        ("mcs: 2", "mcs: 9", 26, "schedule[1].set.mcs: 9 is not allowed with 802.11n"),
        ("mcs: 2", "tsq: kernel", 26, "set.tsq: 'kernel' is the value at boot"),
        ("mcs: 2", "gro: off", 26, "schedule[1].set.gro: cannot change during a run; allowed:"),
        ("mcs: 2", "access_point: ap1", 26, "'phone' could not reach its access point 'ap1'"),
        ("mcs: 2", "mode: mesh", 26, "schedule[1].set.mode: unknown key; allowed: access_point"),
        (
            "aad_beta: 2,",
            "mcs: 3}}\n  - {at: 3000ms, node: phone, set: {mcs: 4,",
            28,
            "schedule[3].set.mcs: phone already has a change of mcs at that time",
        ),
        ("rate: 100Mbit, ", "", 25, ""),
        ("delay: 2ms,", "delay: 2ms, tcp_sample: 2s,", 22, "lasts 1s, less than tcp_sample 2s"),
        ("delay: 2ms,", "delay: 2ms, stations: 2,", 5, "parameters.stations: 2 is not"),
    ],
)
def test_invalid_topologies_are_reported_with_their_line(
    tmp_path: Path, old: str, new: str, line: int, message: str
) -> None:
    text = GOOD.replace(old, new, 1)
    if not message:
        text, message = (
            text.replace("{delay: 60ms}", "{rate: 1Mbit}"),
            "set.rate: can change only if",
        )
    with pytest.raises(InputError) as error:
        loaded(tmp_path, text)
    assert "\n" not in str(error.value)
    assert f"small.yaml:{line}: " in str(error.value), error.value
    assert message in str(error.value)


def test_a_setting_that_conflicts_with_the_topology_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--set direction=upload: upload is not allowed w"):
        loaded(tmp_path, GOOD, "direction=upload")
    with pytest.raises(InputError, match=r"--set duration=2s: flows\[1\]\.start: the run has a"):
        loaded(tmp_path, GOOD, "duration=2s")


def test_flows_require_a_topology(tmp_path: Path) -> None:
    head, _, rest = GOOD.partition("topology:")
    flows = rest[rest.index("flows:") :]
    with pytest.raises(InputError, match=r"small.yaml:6: flows: needs a `topology`"):
        loaded(tmp_path, head + flows)


@pytest.mark.parametrize(
    ("first", "second", "media"),
    [
        ("channel: 36", "channel: 36", 1),
        ("channel: 36", "channel: 44", 2),
        ("channel: 36, width: 40MHz", "channel: 44, width: 40MHz", 2),
        ("channel: 36, standard: 802.11ac, width: 80MHz", "channel: 44", 1),
        ("channel: 6", "channel: 11", 2),
    ],
)
def test_cells_share_a_medium_where_their_channels_overlap(
    tmp_path: Path, first: str, second: str, media: int
) -> None:
    text = GOOD.replace("{channel: 36}", f"{{{first}}}").replace("channel: 44", second)
    assert testbed(tmp_path, text).media == media


WHOLE = """\
name: whole
title: Whole
source: Nobody
description: None
parameters: {duration: 5s, error_model: snr, channel: 44, udp_ping_interval: 200ms}
topology:
  servers:
    near: {return_rate: 1Mbit, ack_filter: cake}
    far: {router: cisco881}
  access_points:
    ap: {ack_filter: txq}
  stations:
    laptop: {access_point: ap, snr: 30dB, ack_filter: shape, ack_filter_rate: 1Mbit}
    phone: {access_point: ap, walk: "0s=2m,2s=6m"}
    desk: {access_point: ap, access: ethernet, ack_filter: none, slow_host: receiver, \
host_packet: 9us}
flows:
  - {from: far, to: laptop, dscp: rrul, flows: 6}
  - {from: laptop, to: far, dscp: rrul, flows: 4}
  - {from: near, to: phone, workload: web, pages: 3, congestion_control: reno}
  - {from: near, to: desk, workload: request_response, start: 1s}
"""


def test_a_server_can_have_a_router(tmp_path: Path) -> None:
    steps = planned(tmp_path, WHOLE)
    router = section(steps, "router-far")
    assert "must ip route add 10.0.0.2/32 dev eth0" in router
    assert "must ip route add 10.0.0.101/32 dev eth1" in router
    assert any("mirred egress redirect dev ifb0" in line for line in router)
    # Each side sends to the router's address on its side.
    assert any("lladdr 02:00:00:00:13:02" in line for line in section(steps, "far"))
    assert any("lladdr 02:00:00:00:14:02" in line for line in section(steps, "laptop"))
    assert not any("router-near" in line for line in commands(steps))


def test_acks_are_filtered_at_the_given_places(tmp_path: Path) -> None:
    steps = planned(tmp_path, WHOLE)
    shaped = [line for line in section(steps, "ap") if "redirect dev ifb1" in line]
    assert len(shaped) == 2 and all("dev wlan0 ingress" in line for line in shaped)
    assert all("src 10.0.0.101/32 match ip dst 10.0.0.2/32" in line for line in shaped)
    [cake] = [line for line in section(steps, "switch") if "cake" in line]
    assert cake == (
        "must tc qdisc add dev server1 parent 2:1 handle 3: cake unlimited besteffort ack-filter"
    )
    filters = {stage.stage: stage.file for stage in testbed(tmp_path, WHOLE).filters}
    assert filters == {
        "shape": "ack-filter-shape-ap-laptop.json",
        "cake": "qdisc-switch-near.json",
        "txq": "ack-filter-txq.txt",
    }


def test_stations_can_walk_or_use_cables(tmp_path: Path) -> None:
    found = testbed(tmp_path, WHOLE)
    assert [(radio.node, radio.position) for radio in found.radios] == [
        ("ap", (0, 0)),
        ("laptop", (0, 0)),
        ("phone", (2, 0)),
    ]
    text = text_of(planned(tmp_path, WHOLE))
    assert (
        "must airsim radio set 2 x_mm 2000 y_mm 0 vx_mm_per_s 2000 vy_mm_per_s 0\nsleep 2\n" in text
    )
    desk = found.by_name["desk"]
    assert (desk.radio, desk.device, desk.parameters.channel) == (None, "eth0", 36)
    assert "must ip link set port3 up master br0" in section(planned(tmp_path, WHOLE), "ap")
    assert [node.name for node in found.slow] == ["router-far", "desk"]


def test_flows_have_classes_workloads_and_ports(tmp_path: Path) -> None:
    flows = testbed(tmp_path, WHOLE).flows
    assert [(flow.label, flow.service, flow.connections) for flow in flows[:4]] == [
        *(("far-laptop-be", "BE", 2), ("far-laptop-bk", "BK", 2)),
        *(("far-laptop-cs5", "CS5", 1), ("far-laptop-ef", "EF", 1)),
    ]
    assert [flow.port for flow in flows] == list(range(5201, 5211))
    text = text_of(planned(tmp_path, WHOLE))
    assert "start node near exchange -C reno -p 5209 host\n" in text
    assert (
        "must node desk exchange -C cubic -p 5210 ask 10.0.0.1 64 64 1000 "
        ">exchanges-near-desk.csv" in text
    )
    probes = [probe.file for probe in testbed(tmp_path, WHOLE).probes]
    assert probes == [
        "ping-laptop.txt",
        *(f"udp-ping-{service}-laptop.csv" for service in ("BE", "BK", "EF")),
    ]


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("laptop: {", "router-far: {", 13, "router-SERVER is the name of a server's router"),
        ("pages: 3", "dscp: rrul", 19, "flows[2].dscp: rrul is not allowed with workload web"),
        ("start: 1s", "duration: 2s", 20, "flows[3].duration: is not allowed with workload"),
        ("access: ethernet", "channel: 36", 15, "not a parameter of stations, but of access "),
        ("access: ethernet", "access: ethernet, mcs: 3", 15, "mcs: 3 is not allowed with access"),
        (
            "ack_filter: txq",
            "ack_filter: multicast",
            13,
            "give it to the access point and all of its",
        ),
        ("snr: 30dB, ", "", 13, "error_model snr needs a position here, or one of snr,"),
        (
            "ack_filter: shape, ack_filter_rate: 1Mbit",
            "ack_filter: shape, ack_filter_rate: 1Mbit, ack_filter_at: router",
            17,
            "",
        ),
        ("router: cisco881", "router: custom, router_packet: 1s", 9, "router_packet"),
    ],
)
def test_invalid_nodes_and_flows_are_reported_with_their_line(
    tmp_path: Path, old: str, new: str, line: int, message: str
) -> None:
    text = WHOLE.replace(old, new, 1)
    if not message:
        text = text.replace("far: {router: cisco881}", "far: {}")
        message = "laptop has ack_filter_at router, but neither end of the flow has a router"
    if "router-far" in new:
        text = text.replace("laptop", "router-far")
    with pytest.raises(InputError) as error:
        loaded(tmp_path, text)
    assert f"small.yaml:{line}: " in str(error.value) and message in str(error.value), error.value


@pytest.mark.parametrize(
    ("setting", "names"),
    [("channel=36,44", ["channel"]), ("tsq=1ms,2ms", []), ("mcs=4,6", [])],
)
def test_factors_that_everything_overrides_are_named(
    tmp_path: Path, setting: str, names: list[str]
) -> None:
    loaded(tmp_path)
    cases = load(tmp_path / "small.yaml").cases([Setting.parse(setting)])
    kernel, tools = Kernel(Path("linux"), "6.12.0", "0123456789abcdef"), GuestTools(Path("tools"))
    assert without_effect(requests(kernel, tools, cases, [1, 2])) == names

# SPDX-License-Identifier: GPL-2.0-only
"""Limits of custom topologies, their flows and changes: what is refused, what is just allowed."""

from pathlib import Path

import pytest
from small_experiment import write

from airtcp.backends import shell
from airtcp.errors import InputError
from airtcp.experiment.experiment import Experiment
from airtcp.experiment.reader import load
from airtcp.steps.plan import plan
from airtcp.testbed.build import testbed_of

SMALL = """\
name: small
title: Small
source: Nobody
description: None
parameters: {duration: 5s}
topology:
  servers:
    near: {}
  access_points:
    ap: {}
  stations:
    laptop: {access_point: ap}
    phone: {access_point: ap}
  hidden: [[laptop, phone]]
flows:
  - {from: near, to: laptop, start: 1s, duration: 4s}
schedule:
  - {at: 2s, node: laptop, set: {ack_policy: aad}}
"""


def changed(directory: Path, old: str, new: str) -> Experiment:
    assert old in SMALL
    return load(write(directory, SMALL.replace(old, new, 1)))


def nodes(count: int, value: str) -> str:
    return "".join(f"    n{number}: {value}\n" for number in range(count))


def test_station_on_a_cable_inherits_nothing_of_the_radio(tmp_path: Path) -> None:
    text = SMALL.replace("  hidden: [[laptop, phone]]\n", "")
    text = text.replace("ap: {}", "ap: {width: 40MHz}")
    text = text.replace("phone: {access_point: ap}", "phone: {access_point: ap, access: ethernet}")
    [case] = load(write(tmp_path, text)).cases()
    assert case.network is not None
    assert case.network.of_node("laptop", case.parameters).width_mhz == 40
    assert case.network.of_node("phone", case.parameters).width_mhz == 20


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    ap: {}\n", "    {}\n", "9: topology.access_points: 0 given; allowed: 1 to 16"),
        (
            "near: {}",
            "near: {ack_filter: police, ack_filter_rate: 1Mbit, ack_filter_stations: first}",
            "8: topology.servers.near.ack_filter_stations: not a parameter of servers",
        ),
        (
            "laptop: {",
            "laptop: {walk: 0s=5m,2s=6m, ",
            "12: topology.stations.laptop.2s=6m: unknown key; write a value that contains commas",
        ),
        ("near: {}", "near:", "'' is not a mapping; write `key: value` lines below it, or {}"),
        ("    near: {}\n", nodes(17, "{}"), "7: topology.servers: 17 given; allowed: 0 to 16"),
        (
            "    phone: {access_point: ap}\n",
            nodes(64, "{access_point: ap}"),
            "11: topology.stations: 65 given; allowed: 1 to 64",
        ),
        ("near: {}", "switch: {}", "8: topology.servers.switch: not a node name; allowed: up to"),
        (
            "near: {}",
            f"a{20 * 'b'}: {{}}",
            "not a node name; allowed: up to 20 lower-case letters, digits and dashes, a letter fi",
        ),
        (
            "[[laptop, phone]]",
            "[[laptop, phone], [phone, ap]]",
            "14: topology.hidden[1]: 'phone' could not reach its access point 'ap'",
        ),
        (
            "[[laptop, phone]]",
            "[[laptop, phone, ap]]",
            "14: topology.hidden[0]: 3 values given; allowed: at most 2",
        ),
        ("[[laptop, phone]]", "[[ap, ap]]", "14: topology.hidden[0]: 'ap' given twice; give two"),
        (
            "phone: {access_point: ap}",
            "phone: {access_point: ap, access: ethernet}",
            "14: topology.hidden[0]: unknown radio 'phone'; allowed: ap laptop",
        ),
        ("start: 1s, duration", "name: 1st, duration", "flows[0].name: not a flow name; allowed:"),
        (
            "start: 1s",
            "start: 4001ms",
            "flows[0].start: the run has a duration of 5s; allowed: 0ms to 4s",
        ),
        ("duration: 4s", "duration: 5s", "duration: the run ends earlier, after 5s; allowed: 1s t"),
        (
            "start: 1s",
            "protocol: udp, rate: 1Mbit, congestion_control: reno",
            "16: flows[0].congestion_control: not allowed with udp",
        ),
        ("{ack_policy: aad}", "{}", "18: schedule[0].set: give at least one; allowed: "),
        ("{ack_policy: aad}", "{snr: none}", "set.snr: 'none' is not a ratio; give one, such as"),
        ("node: laptop, set: {ack_policy: aad}", "node: ap, set: {snr: 9dB}", "cannot change for"),
        ("at: 2s", "at: 5s", "18: schedule[0].at: the run has ended by then; allowed: less than 5"),
    ],
)
def test_impossible_settings_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        changed(tmp_path, old, new)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "{ack_policy: aad}",
            "{mcs: 3}",
            "rate_control minstrel chooses the rate; allowed with fixed",
        ),
        ("node: laptop, set: {ack_policy: aad}", "node: near, set: {rate: unlimited}", "another"),
    ],
)
def test_rates_can_change_only_to_other_fixed_ones(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = SMALL.replace("near: {}", "near: {rate: 10Mbit}").replace("5s}", "5s, RATE}", 1)
    control = "minstrel" if "minstrel" in message else "fixed"
    text = text.replace("RATE", f"rate_control: {control}").replace(old, new)
    with pytest.raises(InputError, match=message):
        load(write(tmp_path, text))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    near: {}\n", "    near: {}\n" + nodes(15, "{}")),
        (
            "    phone: {access_point: ap}\n",
            "    phone: {access_point: ap}\n" + nodes(62, "{access_point: ap}"),
        ),
        ("start: 1s, duration: 4s", "start: 4s"),
        ("start: 1s, duration: 4s", "duration: 5s"),
        ("start: 1s, ", f"name: a{19 * 'b'}, "),
        ("at: 2s", "at: 4999ms"),
    ],
)
def test_the_last_possible_value_is_allowed(tmp_path: Path, old: str, new: str) -> None:
    assert changed(tmp_path, old, new).cases()


@pytest.mark.parametrize(
    ("design", "message"),
    [
        ("direction: [download, upload]", "20: design[0].direction[1]: upload is not allowed with"),
        ("duration: [5s, 4s]", "16: flows[0].duration: the run ends earlier, after 4s"),
    ],
)
def test_an_error_in_the_design_is_reported_at_its_place(
    tmp_path: Path, design: str, message: str
) -> None:
    with pytest.raises(InputError) as error:
        load(write(tmp_path, f"{SMALL}design:\n  - {design}\n"))
    assert f"small.yaml:{message}" in str(error.value)


def test_values_of_the_design_are_named_only_where_they_matter(tmp_path: Path) -> None:
    design = "design:\n  - duration: [5s, 4s]\n"
    with pytest.raises(InputError, match=r"allowed: 1s to 4s \(with duration=4s\)$"):
        load(write(tmp_path, SMALL.replace("start: 1s, duration: 4s", "duration: 5s") + design))
    with pytest.raises(InputError, match=r"unknown host 'ap'; allowed: near laptop phone$"):
        load(write(tmp_path, SMALL.replace("to: laptop", "to: ap") + design))


def test_rate_at_in_parameters_applies_to_all_servers(tmp_path: Path) -> None:
    [case] = changed(tmp_path, "5s}", "5s, rate_at: server, rate: 20Mbit}").cases()
    assert "eth0 root handle 2: tbf rate 20000000bit" in shell.text(plan(testbed_of(case)))


def test_there_may_be_no_server(tmp_path: Path) -> None:
    text = SMALL.replace("  servers:\n    near: {}\n", "")
    assert load(write(tmp_path, text.replace("from: near", "from: phone"))).cases()
    with pytest.raises(InputError, match="flows: give at least one, as in"):
        load(write(tmp_path, text[: text.index("flows:")]))


def test_acks_between_servers_are_filtered_at_the_router_of_either(tmp_path: Path) -> None:
    shaped = "{ack_filter: shape, ack_filter_rate: 1Mbit, ack_filter_at: router}"
    text = SMALL.replace("{from: near, to: laptop,", "{from: near, to: far,")
    routed = text.replace("near: {}", f"near: {{router: cisco881}}\n    far: {shaped}")
    assert load(write(tmp_path, routed)).cases()
    direct = text.replace("near: {}", f"near: {{}}\n    far: {shaped}")
    with pytest.raises(InputError, match="far has ack_filter_at router, but neither end of the"):
        load(write(tmp_path, direct))


@pytest.mark.parametrize(
    ("near", "far", "flow"),
    [
        ("rate: 1Gbit", "", ""),
        ("", "return_rate: 1Gbit", ""),
        ("", "delay: 1ms", ""),
        ("path: lte", "", ""),
        ("", "router: cisco881", ""),
        ("", "", ", rate: 1Gbit"),
        ("", "", ", read_rate: 1Gbit"),
        ("", "", ", workload: transfer, transfer_size: 1MB"),
        ("", "", ", protocol: udp, rate: 1Gbit"),
    ],
)
def test_bulk_data_between_servers_needs_a_limit(
    tmp_path: Path, near: str, far: str, flow: str
) -> None:
    text = SMALL.replace("near: {}", f"near: {{{near}}}\n    far: {{{far}}}")
    unlimited = SMALL.replace("near: {}", "near: {return_rate: 1Gbit}\n    far: {rate: 1Gbit}")
    old = "{from: near, to: laptop, start: 1s, duration: 4s}"
    assert old in SMALL
    assert load(write(tmp_path, text.replace(old, f"{{from: near, to: far{flow}}}"))).cases()
    message = r":\d+: flows\[0\]: nothing limits its rate; give near a rate or a delay, or the"
    with pytest.raises(InputError, match=message):
        load(write(tmp_path, unlimited.replace(old, "{from: near, to: far}")))


def test_stations_inherit_from_access_points_all_but_their_place(tmp_path: Path) -> None:
    text = SMALL.replace("ap: {}", "ap: {standard: 802.11ax, snr: 30dB, ul_ofdma: on}")
    text = text.replace("{duration: 5s}", "{duration: 5s, error_model: snr}")
    network = load(write(tmp_path, text.replace("phone: {", "phone: {distance: 5m, "))).network
    assert network
    assert network.own("laptop") == {"standard": "802.11ax", "snr": "30dB"}
    of_phone = {"standard": "802.11ax", "snr": "none", "distance": "5m", "walk": "none"}
    assert network.own("phone") == of_phone


def test_the_air_is_captured_only_where_there_are_radios(tmp_path: Path) -> None:
    text = SMALL.replace("  hidden: [[laptop, phone]]\n", "")
    text = text.replace("{duration: 5s}", "{duration: 5s, capture: air}")
    one = text.replace("laptop: {access_point: ap", "laptop: {access_point: ap, access: ethernet")
    assert load(write(tmp_path, one)).cases()
    none = text.replace("access_point: ap", "access_point: ap, access: ethernet")
    with pytest.raises(InputError, match="capture: air is not allowed without a station"):
        load(write(tmp_path, none))


def test_a_change_without_effect_has_no_job_to_wait_for(tmp_path: Path) -> None:
    """The rate of 802.11a at an access point of 802.11n."""
    old, new = "{at: 2s, node: laptop, set: {ack_policy: aad}}", "{at: 0ms, node: ap, set: {%s}}"
    for change, has_job in (("legacy_rate: 24Mbit", False), ("mcs: 3", True)):
        [case] = changed(tmp_path, old, new % change).cases()
        assert ("events" in shell.text(plan(testbed_of(case)))) is has_job


def test_each_flow_can_have_its_own_command(tmp_path: Path) -> None:
    text = SMALL.replace("duration: 5s}", "duration: 5s, workload: command}")
    flow = "{from: near, to: laptop, start: 1s, duration: 4s}"
    with pytest.raises(InputError, match=r"16: flows\[0\]\.workload: command needs command, as in"):
        load(write(tmp_path, text.replace(flow, "{from: near, to: laptop}"))).cases()
    given = text.replace(flow, "{from: near, to: laptop, command: id}")
    [case] = load(write(tmp_path, given)).cases()
    assert case.network is not None and case.network.flows[0].command == "id"

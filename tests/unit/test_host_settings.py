# SPDX-License-Identifier: GPL-2.0-only
"""The settings that a run on real hosts applies, and the rights that they need."""

from dataclasses import replace
from pathlib import Path

import pytest
from small_hosts import facts, hosts

from airtcp.errors import AirtcpError
from airtcp.hosts import settings
from airtcp.hosts.inventory import Role
from airtcp.hosts.lab import HostsLab
from airtcp.hosts.preflight import Facts
from airtcp.hosts.ssh import Remote
from airtcp.parameters import Parameters
from airtcp.testbed.default import testbed


def test_hosts_get_the_settings_of_their_role(tmp_path: Path) -> None:
    read = hosts(tmp_path)
    parameters = Parameters.model_validate(
        {"delay": "10ms", "rate": "10Mbit", "gro": "off", "initcwnd": 20, "tsq": "2ms"}
    )
    roles: tuple[tuple[Role, Facts], ...] = (
        ("server", facts()),
        ("station", facts("default", "aad")),
    )
    calls = {
        role: [" ".join(map(str, call)) for call in settings.of_host(role, known, read, bed)]
        for bed in [testbed(parameters)]
        for role, known in roles
    }
    server, station = calls["server"], calls["station"]
    assert "put /proc/sys/net/ipv4/tcp_sack 1" in server
    assert any(call.startswith("put /proc/sys/net/ipv4/tcp_small_queue") for call in server)
    assert "windows eth0 192.168.1.7 initcwnd 20" in server
    assert "qdisc eth0 root handle 1: netem delay 10000us limit 1000000" in server
    assert next(call for call in server if "tbf" in call).startswith(
        "qdisc eth0 parent 1:1 handle 2:"
    )
    # The station receives; a host with policies may have had another one before.
    assert "put_default /proc/sys/net/ipv4/tcp_ack_policy default" in station
    assert "offload wlan0 gro off" in station
    assert not any(call.startswith(("qdisc", "windows")) for call in station)


RATIOS = ["put_default tcp_pacing_ss_ratio 200", "put_default tcp_pacing_ca_ratio 120"]
BBR, BBR2 = "put_default tcp_bbr_pacing_percent 100", "put_default tcp_bbr2_pacing_percent 100"
DOUBLE = ["put tcp_pacing_ss_ratio 400", "put tcp_pacing_ca_ratio 240"]


@pytest.mark.parametrize(
    ("values", "calls"),
    [
        ({}, ["put_default hystart 1", *RATIOS]),
        ({"hystart": "off"}, ["put hystart 0", *RATIOS]),
        ({"congestion_control": "reno"}, RATIOS),
        ({"congestion_control": "bbr"}, [*RATIOS, BBR]),
        ({"congestion_control": "bbr2"}, [*RATIOS, BBR2]),
        ({"pacing_factor": 2}, [*DOUBLE, "put_default hystart 1"]),
        (
            {"pacing_factor": 2, "congestion_control": "bbrp"},
            [*DOUBLE, "put tcp_bbr_pacing_percent 200"],
        ),
    ],
)
def test_senders_get_defaults_and_only_what_their_congestion_control_has(
    tmp_path: Path, values: dict[str, object], calls: list[str]
) -> None:
    bed = testbed(Parameters.model_validate(values))
    by_role: dict[Role, list[str]] = {"server": calls, "station": []}
    for role, wanted in by_role.items():
        given = settings.of_host(role, facts(), hosts(tmp_path), bed)
        assert [
            f"{call[0]} {str(call[1]).rpartition('/')[2]} {call[2]}"
            for call in given
            if "hystart" in str(call) or "pacing" in str(call)
        ] == wanted


def test_rights_for_all_settings_of_a_sweep_are_asked_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, list[str]] = {}

    def do(remote: Remote, *calls: settings.Call, timeout_s: float) -> str:
        assert timeout_s > len(calls)
        asked[remote.role] = [" ".join(map(str, call)) for call in calls]
        return ""

    monkeypatch.setattr(Remote, "call", do)
    lab = HostsLab(hosts(tmp_path), False, {}, print)
    radio = replace(facts(), radio={})
    lab.facts = {"server": facts(), "station": radio, "ap": radio}
    cases: list[dict[str, object]] = [{"initcwnd": 20}, {"initcwnd": 30, "delay": "10ms"}]
    lab.require_rights([testbed(Parameters.model_validate(values)) for values in cases])
    assert asked["ap"] == []  # power_save: keep
    assert "rights power_save wlan0 off" in asked["station"]
    for call in ("windows eth0 192.168.1.7 initcwnd 20", "windows eth0 192.168.1.7 initcwnd 30"):
        assert f"rights {call}" in asked["server"]
    assert any(call.startswith("rights qdisc eth0 root") for call in asked["server"])
    assert len(asked["server"]) == len(set(asked["server"]))


def test_bound_of_the_ack_delay_remains_on_hosts(tmp_path: Path) -> None:
    bed = testbed(Parameters.model_validate({"ack_policy": "aad", "ack_delay_bound": "off"}))
    calls = settings.of_host("station", facts("default", "aad"), hosts(tmp_path), bed)
    policy = [call[1:] for call in calls if "/tcp_ack_policy" in str(call)]
    assert policy == [("/proc/sys/net/ipv4/tcp_ack_policy", "aad")]


def test_without_delay_there_is_no_netem(tmp_path: Path) -> None:
    for values, kinds in (
        ({}, []),
        ({"access": "ethernet"}, []),
        ({"rate": "10Mbit"}, ["tbf"]),
        ({"rate": "10Mbit", "access": "ethernet"}, ["tbf"]),
    ):
        bed = testbed(Parameters.model_validate(values))
        calls = settings.of_host("server", facts(), hosts(tmp_path), bed)
        assert [call[5] for call in calls if call[0] == "qdisc"] == kinds


def test_policy_and_congestion_control_are_checked() -> None:
    plain = {"server": facts(), "station": facts()}
    ours = {"server": facts(), "station": facts("default", "aad")}
    settings.check_case(Parameters.model_validate({"ack_policy": "aad"}), ours)
    with pytest.raises(AirtcpError, match=r"ack_policy aad: station \(laptop\).*plain Linux"):
        settings.check_case(Parameters.model_validate({"ack_policy": "aad"}), plain)
    with pytest.raises(AirtcpError, match=r"ack_policy tack: .*; loaded: default aad"):
        settings.check_case(Parameters.model_validate({"ack_policy": "tack"}), ours)
    with pytest.raises(AirtcpError, match=r"_control bbr: .* tcp_bbr, .*; allowed: cubic reno"):
        settings.check_case(Parameters.model_validate({"congestion_control": "bbr"}), ours)

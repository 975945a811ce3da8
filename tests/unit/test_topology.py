# SPDX-License-Identifier: GPL-2.0-only
"""A run's plan is text: what each parameter changes in it, and that a shell can read it."""

import subprocess

import pytest

from airtcp import workload
from airtcp.parameters import Parameters, Plain
from airtcp.run import plan
from airtcp.topology import hostapd_conf


def planned(**values: Plain) -> str:
    return plan(Parameters().replace(values))


def lines(text: str) -> list[str]:
    return text.splitlines()


def section(text: str, node: str) -> list[str]:
    """The commands that run in a node."""
    after = text.partition(f"in_node {node} <<'END'\n")[2]
    return lines(after.partition("\nEND")[0])


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"delay": "50ms", "rate": "10Mbit", "capture": "server,station,air"},
        {"direction": "upload", "protocol": "udp", "ping_interval": "0ms", "flows": 3},
        {"gro": "off", "gso": "off", "tso": "off", "patience": "off"},
    ],
)
def test_a_shell_can_read_every_plan(values: dict[str, Plain]) -> None:
    text = planned(**values)
    checked = subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True, check=False)
    assert checked.stderr == ""
    for node in ("server", "ap", "station"):
        body = "\n".join(section(text, node))
        assert body
        checked = subprocess.run(
            ["sh", "-n"], input=body, text=True, capture_output=True, check=False
        )
        assert checked.stderr == ""


def test_a_plan_is_a_function_of_the_parameters() -> None:
    assert planned(delay="50ms") == planned(delay="50ms")
    assert planned(delay="50ms") != planned(delay="51ms")


def test_the_wire_always_delays_and_may_limit() -> None:
    def wire(**values: Plain) -> list[str]:
        return [line for line in section(planned(**values), "server") if "tc qdisc" in line]

    assert wire() == ["must tc qdisc add dev eth0 root handle 1: netem delay 1us limit 1000"]
    assert wire(delay="50ms", wire_queue=300) == [
        "must tc qdisc add dev eth0 root handle 1: netem delay 50000us limit 300"
    ]
    assert wire(rate="10Mbit")[1] == (
        "must tc qdisc add dev eth0 parent 1:1 handle 2: "
        "tbf rate 10000000bit burst 4000b latency 400000us"
    )


def test_the_policy_is_the_receivers() -> None:
    policy = "set_sysctl tcp_ack_policy aad"
    assert policy in section(planned(ack_policy="aad"), "station")
    assert policy not in section(planned(ack_policy="aad"), "server")
    assert policy in section(planned(ack_policy="aad", direction="upload"), "server")


def test_the_default_policy_asks_nothing_of_the_kernel() -> None:
    assert "set_sysctl tcp_a" not in planned()


def test_aad_is_set_before_it_is_chosen_in_the_kernels_units() -> None:
    station = section(
        planned(
            ack_policy="aad",
            aad_alpha=0.75,
            aad_beta=3,
            aad_min_iat="200us",
            aad_reset="1s",
            aad_segments=2,
            aad_max_delay="500ms",
        ),
        "station",
    )
    assert [line for line in station if "set_sysctl tcp_a" in line] == [
        "set_sysctl tcp_aad_alpha_percent 75",
        "set_sysctl tcp_aad_beta_percent 300",
        "set_sysctl tcp_aad_min_iat_us 200",
        "set_sysctl tcp_aad_reset_ms 1000",
        "set_sysctl tcp_aad_segments 2",
        "set_sysctl tcp_aad_max_delay_us 500000",
        "set_sysctl tcp_ack_policy aad",
    ]


def test_offloads_off_must_go_off_and_on_may_be_missing() -> None:
    ap = section(planned(gro="off", tso="off"), "ap")
    for device in ("eth0", "wlan0"):
        assert f"must ethtool -K {device} gro off tso off" in ap
        assert f"try_offload {device} gso" in ap


@pytest.mark.parametrize(
    ("values", "index"),
    [
        ({"mcs": 7}, 7),
        ({"mcs": 13, "guard_interval": "short", "width": "40MHz"}, 13 * 16 + 5),
        ({"mcs": 31, "width": "40MHz"}, 11 * 16 + 7),
    ],
)
def test_the_radios_are_pinned_to_one_rate(values: dict[str, Plain], index: int) -> None:
    pinned = f"echo {index} >/sys/kernel/debug/ieee80211/$phy/rc/fixed_rate_idx ||"
    assert any(pinned in line for line in lines(planned(**values)))


def test_hostapd_offers_what_the_experiment_uses() -> None:
    plain = hostapd_conf(Parameters())
    assert "ht_capab=\n" in plain
    wide = hostapd_conf(Parameters().replace({"width": "40MHz", "guard_interval": "short"}))
    assert "ht_capab=[HT40+][SHORT-GI-20][SHORT-GI-40]" in wide
    assert "country_code" not in wide


def test_errors_on_the_air_start_after_the_warm_up() -> None:
    text = planned(error_rate=0.1)
    assert text.index("must ping") < text.index("set_airsim error_rate_ppm 100000 0")


def test_the_sender_is_iperf3s_client() -> None:
    def client(**values: Plain) -> str:
        return workload.client(Parameters().replace(values))

    assert client(nagle="off") == "iperf3 -4 -J -c 10.0.0.2 -t 10 -P 1 -C cubic -N"
    assert client(direction="upload", congestion_control="bbr").endswith(
        "-c 10.0.0.1 -t 10 -P 1 -C bbr"
    )
    assert client(protocol="udp", udp_rate="10Mbit", flows=2).endswith("-P 2 -u -l 1472 -b 5000000")


@pytest.mark.parametrize(
    ("mcs", "width", "guard_interval", "rate"),
    [(13, "40MHz", "short", 240e6), (7, "20MHz", "long", 65e6), (31, "40MHz", "short", 600e6)],
)
def test_unlimited_udp_is_sent_at_the_radios_rate(
    mcs: int, width: str, guard_interval: str, rate: float
) -> None:
    values = {"mcs": mcs, "width": width, "guard_interval": guard_interval, "protocol": "udp"}
    assert workload.client(Parameters().replace(values)).endswith(f" -b {rate:.0f}")


def test_captures_are_asked_for_and_end() -> None:
    assert "tcpdump" not in planned()
    text = planned(capture="server,air", capture_duration="2s")
    captures = [line for line in lines(text) if "tcpdump" in line]
    assert len(captures) == 2
    assert captures[0].startswith("start ip netns exec server timeout -s INT 3 tcpdump")
    assert captures[1].startswith("start timeout -s INT 3 tcpdump")
    assert "--time-stamp-precision=nano -w air.pcap" in captures[1]


def test_both_ends_of_iperf3_are_patient() -> None:
    marked = [line for line in lines(planned()) if "LD_PRELOAD" in line]
    assert len(marked) == 2
    assert "LD_PRELOAD" not in planned(patience="off")

# SPDX-License-Identifier: GPL-2.0-only
"""Plans: hosts, flows, probes and captures."""

import re
from collections.abc import Sequence

import pytest
from plans import check_shell, commands, planned, section, text
from pydantic import ValidationError

from airtcp.backends import shell
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.steps import step
from airtcp.steps.workloads import bulk
from airtcp.testbed.default import testbed


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"delay": "50ms", "rate": "10Mbit", "capture": "server,station,air"},
        {"direction": "upload", "protocol": "udp", "ping_interval": "0ms", "flows": 3},
        {"gro": "off", "gso": "off", "tso": "off", "iperf3_block": "off"},
        {"stations": 3, "direction": "upload", "rts_threshold": "500B"},
        {"workload": "request_response", "capture": "server,station,air"},
        {"workload": "transfer", "transfer_size": "1B", "direction": "upload", "nagle": "off"},
        {"error_model": "snr", "walk": "0s=5m,10s=40m", "stations": 2},
        {"stations": 2, "start_interval": "3s", "read_rate": "20Mbit"},
    ],
)
def test_plans_are_valid_shell(values: dict[str, Plain]) -> None:
    check_shell(planned(**values), ("server", "ap", "station"))


def test_equal_parameters_give_equal_plans() -> None:
    assert planned(delay="50ms") == planned(delay="50ms")
    assert planned(delay="50ms") != planned(delay="51ms")


def test_the_wire_always_has_a_delay_and_optionally_a_rate() -> None:
    def wire(**values: Plain) -> list[str]:
        return [line for line in section(planned(**values), "server") if "tc qdisc" in line]

    assert wire() == ["must tc qdisc add dev eth0 root handle 1: netem delay 1us limit 1000"]
    assert wire(delay="50ms", wire_queue=300) == [
        "must tc qdisc add dev eth0 root handle 1: netem delay 50000us limit 300"
    ]
    # The queue is tbf's: if netem refuses a packet, TCP retries it, which is no loss.
    assert wire(rate="10Mbit", wire_queue=300) == [
        "must tc qdisc add dev eth0 root handle 1: netem delay 1us limit 1000000",
        "must tc qdisc add dev eth0 parent 1:1 handle 2: "
        "tbf rate 10000000bit burst 4000b latency 400000us",
    ]


def test_the_policy_is_set_at_the_receiver() -> None:
    policy = "set_sysctl tcp_ack_policy aad"
    assert policy in section(planned(ack_policy="aad"), "station")
    assert policy not in section(planned(ack_policy="aad"), "server")
    assert policy in section(planned(ack_policy="aad", direction="upload"), "server")


def test_the_default_policy_sets_no_sysctl() -> None:
    assert "set_sysctl tcp_a" not in text(planned())


def test_the_bound_is_lifted_only_with_a_policy() -> None:
    """`default` must run on a kernel without policies, which does not have the sysctl."""
    sysctl = "set_sysctl tcp_ack_policy_unbounded 1"
    assert sysctl in section(planned(ack_policy="aad", ack_delay_bound="off"), "station")
    for values in ({"ack_policy": "aad"}, {"ack_policy": "default", "ack_delay_bound": "off"}):
        assert sysctl not in commands(planned(**values))


def test_parameters_of_aad_are_set_before_the_policy() -> None:
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


@pytest.mark.parametrize(
    ("policy", "values", "sysctls"),
    [
        ("aad-listing", {"aad_beta": 3}, ["tcp_aad_beta_percent 300"]),
        ("limit", {"ack_limit": 0, "ack_limit_max": 8}, ["tcp_ack_limit 0", "tcp_ack_limit_max 8"]),
        ("every", {}, []),
        (
            "count",
            {"ack_count": 4, "ack_count_delay": "20ms"},
            ["tcp_ack_count 4", "tcp_ack_count_delay_us 20000"],
        ),
        (
            "tack",
            {"tack_segments": 3, "tack_beta": 5},
            ["tcp_tack_segments 3", "tcp_tack_beta 5"],
        ),
        (
            "auto",
            {"auto_min_interval": "1ms", "auto_max_interval": "4ms"},
            ["tcp_auto_min_interval_us 1000", "tcp_auto_max_interval_us 4000"],
        ),
        (
            "divack",
            {"divack": 3, "divack_spread": "100us"},
            ["tcp_divack 3", "tcp_divack_spread_us 100"],
        ),
    ],
)
def test_every_policy_is_set_only_at_the_receiver(
    policy: str, values: dict[str, Plain], sysctls: list[str]
) -> None:
    plan = planned(ack_policy=policy, **values)
    expected = [f"set_sysctl {sysctl}" for sysctl in [*sysctls, f"tcp_ack_policy {policy}"]]
    other_lines = len(section(planned(), "station"))
    assert [line for line in section(plan, "station") if line in expected] == expected
    assert len(section(plan, "station")) == other_lines + len(expected)
    assert section(plan, "server") == section(planned(), "server")


def test_hystart_of_linux_5_4_is_a_parameter_of_the_module() -> None:
    line = "put 1 /sys/module/tcp_cubic/parameters/hystart_linux54"
    assert line in section(planned(hystart_linux54="on"), "server")
    assert "hystart" not in text(planned())


def test_divack_sender_is_set_at_the_sender() -> None:
    sysctl = "set_sysctl tcp_divack_sender 3"
    download = planned(ack_policy="divack", divack_sender=3)
    assert sysctl in section(download, "server")
    assert sysctl not in section(download, "station")
    assert sysctl in section(planned(direction="upload", divack_sender=3), "station")


@pytest.mark.parametrize(
    ("values", "sysctls"),
    [
        ({"tsq": "8ms"}, ['tcp_small_queue "8000 us"']),
        ({"tsq": "64KiB"}, ['tcp_small_queue "65536 bytes"']),
        ({"tsq": "40packets"}, ['tcp_small_queue "40 packets"']),
        ({"tsq": "40paced"}, ['tcp_small_queue "40 paced"']),
        ({"tsq": "off"}, ["tcp_small_queue off"]),
        ({"tsq_burst": "1ms"}, ["tcp_small_queue_burst_us 1000"]),
        ({"forget_cwnd_limited": "on"}, ["tcp_forget_cwnd_limited 1"]),
        ({"tso_rtt_log": 0}, ["tcp_tso_rtt_log 0"]),
        (
            {"congestion_control": "bbr", "bbr_probe_up_gain": 640},
            ["tcp_bbr_probe_up_gain 640"],
        ),
        (
            {"pacing_factor": 2},
            [
                *("tcp_pacing_ss_ratio 400", "tcp_pacing_ca_ratio 240"),
                *("tcp_bbr_pacing_percent 200", "tcp_bbr2_pacing_percent 200"),
            ],
        ),
        ({"tsq": "kernel", "pacing_factor": 1, "tso_rtt_log": "kernel"}, []),
    ],
)
def test_limits_of_the_sender_are_set_at_the_sender(
    values: dict[str, Plain], sysctls: list[str]
) -> None:
    for direction, sender, receiver in (
        ("download", "server", "station"),
        ("upload", "station", "server"),
    ):
        plan, plain = (planned(direction=direction, **more) for more in (values, {}))
        added = [line for line in section(plan, sender) if line not in section(plain, sender)]
        assert added == [f"set_sysctl {line}" for line in sysctls]
        assert section(plan, receiver) == section(plain, receiver)


def commands_of_exchange(**values: Plain) -> list[str]:
    plan = planned(**values)
    assert "iperf3" not in text(plan) and "ping.txt" not in text(plan)
    return [line for line in commands(plan) if " exchange -C " in line]


def test_the_receiver_sends_requests_and_the_sender_responds() -> None:
    assert commands_of_exchange(workload="request_response", message="100B", exchanges=9) == [
        "node server exchange -C cubic serve 100 100 1 & server=$!",
        "must node station exchange -C cubic ask 10.0.0.1 100 100 9 >exchanges.csv",
    ]
    upload = commands_of_exchange(workload="request_response", direction="upload", nagle="off")
    assert upload == [
        "node station exchange -C cubic -N serve 64 64 1 & server=$!",
        "must node server exchange -C cubic -N ask 10.0.0.2 64 64 1000 >exchanges.csv",
    ]


def test_transfers_use_a_connection_each() -> None:
    assert commands_of_exchange(
        workload="transfer", transfer_size="10000B", transfers=5, congestion_control="reno"
    ) == [
        "node server exchange -C reno serve 64 10000 5 & server=$!",
        "must node station exchange -C reno fetch 10.0.0.1 64 10000 5 >exchanges.csv",
    ]


def test_instruments_outlast_all_connections() -> None:
    """tcpwatch writes a connection's last counters when it ends, so it must still run then."""
    for plan in (planned(), planned(workload="web"), planned(protocol="udp")):
        [end] = [index for index, part in enumerate(plan) if part == step.EndInstruments()]
        busy = (step.Start, step.Wait, step.Instrument)
        assert not any(isinstance(part, busy) for part in plan[end:])
        outlasting = [part for part in plan if isinstance(part, step.Instrument) and part.outlasts]
        assert [part.run.argv[0] for part in outlasting] == ["tcpwatch"] * 2
        assert "closed\nstop\n" in shell.render(plan)


def test_offloads_can_be_turned_off_and_can_be_missing_if_on() -> None:
    ap = section(planned(gro="off", tso="off"), "ap")
    for device in ("eth0", "wlan0"):
        assert f"must ethtool -K {device} gro off tso off" in ap
        assert f"try_offload {device} gso" in ap


def test_each_station_has_a_transfer() -> None:
    def iperf3s(direction: str) -> list[str]:
        plan = planned(stations=3, direction=direction, iperf3_block="off", nagle="on")
        return [line for line in commands(plan) if "iperf3 -4" in line]

    download = iperf3s("download")
    assert len(download) == 6
    assert "node station2 iperf3 -4 -s -1 -J >iperf3-server2.json &" in download[1]
    assert "node server iperf3 -4 -J -c 10.0.0.4 " in download[3]
    assert download[3].endswith('>iperf3-client3.json & senders="$senders $!"')
    assert "-c 10.0.0.2 " in download[5] and ">iperf3-client.json &" in download[5]
    upload = iperf3s("upload")
    assert "node server iperf3 -4 -s -1 -J -B 10.0.0.103 >iperf3-server3.json" in upload[2]
    assert "node station3 iperf3 -4 -J -c 10.0.0.103 " in upload[3]


def test_stations_may_start_one_after_another_and_end_together() -> None:
    parameters = Parameters().replace({"stations": 3, "start_interval": "3s", "duration": "12s"})
    built = testbed(parameters)
    assert [(flow.start_s, flow.duration_s) for flow in built.flows] == [(0, 12), (3, 9), (6, 6)]
    assert built.staggered and built.simultaneous
    message = "the last of 3 stations would start after half of duration 12s; allowed: up to 3s"
    with pytest.raises(ValidationError, match=message):
        parameters.replace({"start_interval": "4s"})


def test_initial_windows_are_attributes_of_the_route() -> None:
    route = "must ip route change 10.0.0.0/24 dev "
    assert route not in text(planned())
    plan = planned(initcwnd=3, initrwnd=700)
    assert f"{route}eth0 initcwnd 3 initrwnd 700" in section(plan, "server")
    assert f"{route}wlan0 initrwnd 700" in section(plan, "station")


def test_ssthresh_is_a_locked_attribute_of_the_route() -> None:
    plan = planned(ssthresh=113)
    assert "must ip route change 10.0.0.0/24 dev eth0 ssthresh lock 113" in section(plan, "server")
    assert "set_sysctl tcp_no_ssthresh_metrics_save 0" in section(plan, "server")
    assert "ssthresh" not in "".join(section(plan, "station")) + text(planned())


def test_sizes_of_receive_buffers_are_one_sysctl() -> None:
    sysctl = "set_sysctl tcp_rmem"
    assert f'{sysctl} "4096 131072 6291456"' in section(planned(), "station")
    plan = planned(tcp_rmem_default="2MiB", tcp_rmem_max="4MiB")
    assert f'{sysctl} "4096 2097152 4194304"' in section(plan, "station")


def test_buffers_of_linux_5_4_are_set_at_every_host() -> None:
    plan = planned(memory_linux54="on")
    for host in ("server", "station"):
        assert "set_sysctl tcp_memory_linux54 1" in section(plan, host)
    assert "memory" not in text(planned())


def test_a_slow_reader_writes_to_a_fifo_that_is_read_at_its_rate() -> None:
    assert "drain" not in text(planned())
    lines = commands(planned(stations=2, direction="upload", read_rate="20Mbit"))
    for fifo in ("/tmp/received", "/tmp/received2"):
        made = lines.index(f"must mkfifo {fifo}")
        assert lines[made + 1] == f'drain 20000000 {fifo} & receivers="$receivers $!"'
        assert "iperf3 -4 -s -1 -J -B 10.0.0.1" in lines[made + 2]
        assert f" -F {fifo} >" in lines[made + 2]


def test_stations_associate_in_parallel_and_are_all_watched() -> None:
    plan = planned(stations=3)
    associations = (
        "node station\nassociate wlan0 airtcp 5180 30\n"
        "node station2\nassociate wlan0 airtcp 5180 30\n"
        "node station3\nassociate wlan0 airtcp 5180 30\n"
    )
    assert associations in shell.render(plan)
    watched = [line.split()[-1] for line in commands(plan) if "tcpwatch 10000" in line]
    assert watched == [f"tcp-{node}.csv" for node in ("server", "station", "station2", "station3")]
    server = "\n".join(section(plan, "server"))
    for number in (1, 2, 3):
        assert f"replace 10.0.0.{number + 1} lladdr 02:61:69:72:{number:02x}:00" in server
    for number, node in enumerate(("station", "station2", "station3"), start=1):
        assert f"must ip link set wlan{number} name wlan0" in section(plan, node)
        assert f"must ip address add 10.0.0.{number + 1}/24 dev wlan0" in section(plan, node)


def programs(plan: Sequence[step.Step]) -> list[str]:
    """The lines of plan.sh that start programs, without their input."""
    script = re.sub(r"<<'(\w+)'.*?\n\1\n", "\n", shell.render(plan), flags=re.DOTALL)
    script = re.sub(r"^batch (\w+) '.*?'$", r"batch \1", script, flags=re.DOTALL | re.MULTILINE)
    starts = ("must", "node", "batch", "configure", "keep", "tcpwatch", "LD_PRELOAD", "in_node")
    return [line for line in script.splitlines() if line.startswith(starts) and "() {" not in line]


def test_the_number_of_programs_does_not_grow_with_the_number_of_stations() -> None:
    few, many = (programs(planned(stations=stations)) for stations in (9, 64))
    assert few == many
    assert len(many) < 20


def test_tcp_is_sampled_less_often_with_many_stations() -> None:
    def sampled(**values: Plain) -> set[str]:
        lines = commands(planned(**values))
        return {line.split()[3] for line in lines if "tcpwatch" in line}

    assert sampled(stations=8) == {"10000"}
    assert sampled(stations=9) == {"100000"}
    assert sampled(stations=9, tcp_sample="10ms") == {"10000"}


def client_command(parameters: Parameters, station: int = 1) -> str:
    """The command of iperf3's client for a station's transfer."""
    return bulk.client(testbed(parameters).flows[station - 1])


def test_the_sender_runs_iperf3s_client() -> None:
    def client(**values: Plain) -> str:
        return client_command(Parameters().replace(values))

    assert client(nagle="off") == "iperf3 -4 -J -c 10.0.0.2 -t 10 -P 1 -C cubic -N"
    assert client(direction="upload", congestion_control="bbr").endswith(
        "-c 10.0.0.1 -t 10 -P 1 -C bbr"
    )
    assert client(protocol="udp", udp_rate="10Mbit", flows=2) == (
        "udpflow -P 2 send 10.0.0.2 1472 5000000 10"
    )


@pytest.mark.parametrize(
    ("values", "mbps"),
    [
        ({"standard": "802.11a", "legacy_rate": "36Mbit"}, 36),
        ({"mcs": 7}, 65),
        ({"mcs": 5, "streams": 2, "width": "40MHz", "guard_interval": "400ns"}, 240),
        ({"mcs": 7, "streams": 4, "width": "40MHz", "guard_interval": "400ns"}, 600),
        ({"rate_control": "minstrel", "mcs": 0, "streams": 2}, 144.444444),
        # Tables 21-30 to 21-61 and 27-54 to 27-110.
        ({"standard": "802.11ac", "mcs": 8}, 78),
        (
            {
                **{"standard": "802.11ac", "mcs": 9, "width": "160MHz", "streams": 4},
                "guard_interval": "400ns",
            },
            3466.666667,
        ),
        ({"standard": "802.11ax", "mcs": 0, "guard_interval": "3200ns"}, 7.3125),
        ({"standard": "802.11ax", "mcs": 11, "width": "160MHz", "streams": 4}, 4803.897059),
        ({"standard": "802.11ax", "width": "80MHz", "rate_control": "minstrel"}, 433.333333),
        # 1960 * 12 * 5/6 * 2 bits in 13.6 us.
        ({"standard": "802.11be", "mcs": 13, "width": "160MHz", "streams": 2}, 2882.352941),
        ({"standard": "802.11be", "width": "80MHz", "rate_control": "minstrel"}, 433.333333),
    ],
)
def test_unlimited_udp_is_sent_at_the_radios_rate(values: dict[str, Plain], mbps: float) -> None:
    parameters = Parameters().replace({**values, "protocol": "udp"})
    rate_bps = float(client_command(parameters).split()[-2])
    assert rate_bps == pytest.approx(mbps * 1e6, rel=1e-6)


def test_stations_share_the_rate_of_unlimited_udp() -> None:
    parameters = Parameters().replace({"protocol": "udp", "stations": 4, "flows": 2})
    assert client_command(parameters, 3).endswith(f" 1472 {65e6 / 8:.0f} 10")
    limited = parameters.replace({"udp_rate": "10Mbit"})
    assert client_command(limited, 3).endswith(" 1472 5000000 10")


def test_captures_are_optional_and_limited_in_time() -> None:
    assert "tcpdump" not in text(planned())
    plan = planned(capture="server,air", capture_duration="2s")
    captures = [line for line in commands(plan) if "tcpdump" in line]
    assert len(captures) == 2
    assert captures[0].startswith("start node server timeout -s INT 4.1 tcpdump")
    assert captures[1].startswith("start timeout -s INT 4.1 tcpdump")
    assert "--time-stamp-precision=nano -w - >air.pcap" in captures[1]


def test_ack_trace_is_optional() -> None:
    assert "ack-trace" not in text(planned())
    plan = planned(ack_trace="on")
    assert "echo 1 >/sys/kernel/tracing/events/tcp_ackpol/enable" in text(plan)
    assert "must cp /sys/kernel/tracing/trace ack-trace.txt" in commands(plan)


def test_iperf3_blocks_at_both_ends() -> None:
    preloaded = [line for line in commands(planned()) if "LD_PRELOAD" in line]
    assert len(preloaded) == 2
    assert "LD_PRELOAD" not in text(planned(iperf3_block="off"))

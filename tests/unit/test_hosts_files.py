# SPDX-License-Identifier: GPL-2.0-only
"""What programs on real hosts write: ss, iw, and hosts.yaml of users."""

import errno
import os
from pathlib import Path

import pytest
from small_hosts import YAML, facts, hosts

from airtcp import cli
from airtcp.errors import AirtcpError, InputError, StopError
from airtcp.experiment import catalogue
from airtcp.experiment.experiment import Case, Setting
from airtcp.files import iwstation, ss
from airtcp.files.tcpwatch import Ends, read_connections
from airtcp.hosts import applicable, inventory, preflight, ssh
from airtcp.parameters import Parameters
from airtcp.sweep.hostsweep import HostMachines, HostOptions
from airtcp.testbed.model import Testbed

SAMPLE = (
    "{state} 0      0      192.168.1.2:45188 {server} cubic wscale:10,10 rto:204 rtt:2.902/4.264 "
    "mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:55 ssthresh:50 bytes_sent:83886453 "
    "bytes_retrans:336 bytes_acked:83886118 segs_out:58028 segs_in:{segs_in} data_segs_out:58026 "
    "send 22126158511bps lastsnd:12 pacing_rate 26546816328bps delivery_rate 64000000bps "
    "delivered:58027 busy:144ms retrans:0/7 dsack_dups:1 rcv_space:14480 minrtt:0.003\n"
)
PEER = "[::ffff:192.168.1.7]:5201"
NAMES = {"192.168.1.2": "10.0.0.1", "192.168.1.7": "10.0.0.2"}


def convert(run_dir: Path, closes: str) -> None:
    sample = SAMPLE.format(state="ESTAB", server=PEER, segs_in=466)
    texts = ["1700000000500000000\n", sample.replace("rto:204", "rto:204 ato:1.5.1")]
    (run_dir / "ss.txt").write_text("".join([*texts, "1700000000600000000\n"]))
    (run_dir / "closed.txt").write_text(closes)
    ss.convert(
        run_dir / "ss.txt",
        run_dir / "closed.txt",
        run_dir / "tcp-server.csv",
        names=NAMES,
        ahead_ns=400_000_000,
        epoch_ns=1_700_000_000_000_000_000,
    )


@pytest.mark.parametrize("reported", [True, False])
def test_samples_of_ss_are_read_like_those_of_tcpwatch(tmp_path: Path, reported: bool) -> None:
    other = SAMPLE.format(state="UNCONN", server="192.168.1.7:22", segs_in=1)
    closed = SAMPLE.format(state="UNCONN", server="192.168.1.7:5201", segs_in=470)
    convert(tmp_path, other + closed if reported else other)
    ends = Ends("10.0.0.1", frozenset({45188}), "10.0.0.2", 5201)
    [trace] = read_connections(tmp_path, "server").traces(ends)
    # The clock of the host is 0.4 s ahead.
    assert list(trace.columns["time_ns"]) == [100_000_000]
    values = {name: int(trace.columns[name][0]) for name in ("srtt_us", "cwnd", "retrans")}
    assert values == {"srtt_us": 2902, "cwnd": 55, "retrans": 7}
    assert trace.columns["min_rtt_us"][0] == 3
    assert trace.columns["data_segs_in"][0] == 0  # ss omits what is 0
    assert trace.final["segs_in"] == (470 if reported else 466)
    assert trace.final["delivery_rate_bps"] == 64_000_000


def test_ss_without_samples_is_an_error(tmp_path: Path) -> None:
    for name in ("ss.txt", "closed.txt"):
        (tmp_path / name).write_text("")
    with pytest.raises(AirtcpError, match=r"ss\.txt: contains no sample"):
        ss.convert(
            *(tmp_path / name for name in ("ss.txt", "closed.txt", "out.csv")),
            names={},
            ahead_ns=0,
            epoch_ns=0,
        )


STATION = """\
Station 02:00:00:00:01:{number:02} (on wlan0)
\tinactive time:\t4 ms
\trx bytes:\t{bytes}
\ttx packets:\t100
\ttx retries:\t{retries}
\ttx failed:\t1
\tbeacon loss:\t0
\ttx duration:\t{us} us
\tsignal:  \t-42 [-44, -47] dBm
"""


def stations(*counters: tuple[int, int, int, int]) -> str:
    """iw's list of stations: number, octets, retries and airtime of each."""
    names = ("number", "bytes", "retries", "us")
    return "".join(STATION.format(**dict(zip(names, each, strict=True))) for each in counters)


def test_counters_of_a_driver_cover_only_the_run(tmp_path: Path) -> None:
    (tmp_path / "iw-ap-before.txt").write_text(stations((1, 10, 5, 700), (2, 1, 1, 1)))
    (tmp_path / "iw-ap-after.txt").write_text(stations((1, 100, 25, 9700), (2, 1, 2, 1)))
    assert iwstation.increase(tmp_path, "ap") == {
        **{"rx_bytes": 90, "tx_packets": 0, "tx_retries": 21, "tx_failed": 0},
        **{"beacon_loss": 0, "tx_duration_us": 9000},
    }
    assert iwstation.increase(tmp_path, "station") == {}


def test_counters_of_stations_that_come_and_go_never_decrease(tmp_path: Path) -> None:
    """The first associates again, the second leaves, the third joins."""
    (tmp_path / "iw-ap-before.txt").write_text(stations((1, 1000, 5, 700), (2, 500, 9, 900)))
    (tmp_path / "iw-ap-after.txt").write_text(stations((1, 30, 7, 100), (3, 4, 2, 50)))
    increase = iwstation.increase(tmp_path, "ap")
    assert (increase["rx_bytes"], increase["tx_retries"]) == (34, 9)
    assert increase["tx_duration_us"] == 150


def test_facts_about_a_radio_are_read_from_iw() -> None:
    found = {
        "radio": "Interface wlan0\n\tssid home net\n\ttype managed\n\tchannel 36 (5180 MHz), "
        "width: 40 MHz, center1: 5190 MHz\n\ttxpower 22.00 dBm",
        "link": "Connected to 02:00:00:00:00:00 (on wlan0)\n\tsignal: -41 dBm\n\trx bitrate: 6.0 "
        "MBit/s\n\ttx bitrate: 270.0 MBit/s MCS 13 40MHz short GI",
        "power_save": "Power save: on",
        "survey": "Survey data from wlan0\n\tfrequency: 5180 MHz [in use]\n\tchannel active time:"
        "\t\t2000 ms\n\tchannel busy time:\t\t500 ms\nSurvey data from wlan0\n\tfrequency:\t5200 "
        "MHz\n\tchannel active time:\t\t10 ms\n\tchannel busy time:\t\t9 ms",
    }
    assert preflight.radio(found) == {
        **{"ssid": "home net", "type": "managed", "channel": 36.0, "frequency_mhz": 5180.0},
        **{"width_mhz": 40.0, "tx_power_dbm": 22.0, "signal_dbm": -41.0},
        **{"tx_bitrate": "270.0 MBit/s MCS 13 40MHz short GI", "rx_bitrate": "6.0 MBit/s"},
        **{"power_save": "on", "channel_busy_share": 0.25},
    }
    assert preflight.radio({"radio": "Interface wlan0", "survey": ""}) == {}


def test_hosts_yaml_is_read(tmp_path: Path) -> None:
    read = hosts(tmp_path)
    assert [role for role, _ in read.entries] == ["server", "station", "ap"]
    assert (read.server.netem, read.dead_man_s, read.directory) == (True, 20.0, "/tmp")
    assert read.ap and read.ap.power_save == "keep"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a mapping"),
        ("- server", "not a mapping"),
        ("server: {ssh: a, interface: b, address: 1.2.3.4}", ":1: station: missing"),
        ((YAML % "on").replace("station", "sation"), ":2: sation: unknown .* mean 'station'"),
        ((YAML % "on").replace("address: 192.168.1.7", "adress: a"), ":2: station.adress: .* mean"),
        (YAML % "on" + "stations: 2\n", "stations: unknown key; did you mean 'station'"),
        (YAML % "on" + "directory: /tmp/$(reboot)\n", ":5: directory: "),
        ((YAML % "on").replace("20s", "1s"), ":4: dead_man: '1s' is out of range"),
        ((YAML % "on").replace("lab", "-oProxyCommand=x"), ":1: server.ssh: .*not a name"),
        ((YAML % "on").replace("keep", "on"), ":3: ap.power_save: .*off keep"),
        ((YAML % "on").replace("laptop", "lab"), ":2: station.ssh: lab is already the server"),
        (YAML % "on" + "ssh_config: none\n", "none: no such file"),
        (YAML % "on" + "ssh_config: ~nobody-here/x\n", "~nobody-here/x: no such user"),
        (YAML % "on" + f"ssh_config: {'x' * 300}\n", "ssh_config: .*x: File name too long"),
        (YAML % "on" + "[a]: b\n", ":5: a key must be a word"),
        (YAML % "on" + "dead_man: 30s\n", ":5: dead_man: given twice"),
    ],
)
def test_wrong_hosts_yaml_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "hosts.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as raised:
        inventory.read(path)
    assert "\n" not in str(raised.value)


def case(**values: object) -> Case:
    return Case({}, Parameters.model_validate(values))


def test_parameters_without_effect_on_hosts_are_recorded(tmp_path: Path) -> None:
    ignored = applicable.not_applied(
        case(mcs=5, error_rate=0.1, ack_delay_bound="off", sack="off", capture="air,server"),
        hosts(tmp_path),
    )
    assert set(ignored) == {"mcs", "error_rate", "ack_delay_bound", "capture", "tcp_sample"}


@pytest.mark.parametrize(
    ("interval", "is_ignored"), [("auto", True), ("10ms", True), ("100ms", False), ("5s", True)]
)
def test_hosts_sample_at_their_own_interval(
    tmp_path: Path, interval: str, is_ignored: bool
) -> None:
    ignored = applicable.not_applied(case(tcp_sample=interval), hosts(tmp_path))
    assert ("tcp_sample" in ignored) == is_ignored


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"delay": "10ms"}, "delay 10ms: needs `netem: on`"),
        ({"rate": "10Mbit"}, "rate 10Mbit: needs `netem: on`"),
        ({"protocol": "udp"}, "protocol udp: cannot be applied"),
        ({"workload": "web"}, "workload web: cannot be applied to real hosts; allowed: bulk"),
        ({"path": "adsl"}, "path adsl: cannot"),
        ({"ack_filter": "txq"}, "ack_filter txq: cannot"),
        ({"read_rate": "1Mbit"}, "read_rate 1Mbit: cannot"),
        ({"slow_host": "sender", "host_packet": "1us"}, "slow_host sender: cannot"),
    ],
)
def test_parameters_that_hosts_cannot_apply_are_errors(
    tmp_path: Path, values: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        applicable.not_applied(case(**values), hosts(tmp_path, netem="off"))


def test_a_topology_cannot_be_applied_to_hosts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hosts.yaml").write_text(YAML % "on")
    where = ["--hosts", str(tmp_path / "hosts.yaml"), "--out", str(tmp_path / "out")]
    assert cli.main(["run", "two-access-points", *where]) == 2
    message = "--hosts: topology: real hosts have the default topology, with one station"
    assert capsys.readouterr().err == f"airtcp: {message}\n"
    assert not (tmp_path / "out").exists()


def test_every_parameter_is_handled(tmp_path: Path) -> None:
    """Those that are neither refused nor ignored are the ones that settings and workload apply."""
    read, defaults = hosts(tmp_path, netem="off"), Parameters.model_construct()
    applied = set()
    for attribute, field in Parameters.model_fields.items():
        other = defaults.model_copy(update={attribute: object()})
        plain = {**defaults.plain(), field.alias or attribute: "x"}
        try:
            ignored = applicable.not_applied(_Case(other, plain), read)  # type: ignore[arg-type]
        except InputError:
            continue
        if (field.alias or attribute) not in ignored:
            applied.add(field.alias or attribute)
    of_policies = {name for name in applied if name.startswith(("aad_", "ack_", "tack_", "auto_"))}
    assert {"ack_policy", "aad_beta"} <= of_policies
    assert not any(name.startswith("ack_filter") for name in of_policies)
    assert applied - of_policies == APPLIED | OF_OTHER_WORKLOADS


class _Case:
    """A case whose parameters need no valid values."""

    network = None

    def __init__(self, parameters: Parameters, plain: dict[str, object]) -> None:
        self.parameters = _Values(parameters, plain)


class _Values:
    def __init__(self, parameters: Parameters, plain: dict[str, object]) -> None:
        self._parameters = parameters
        self._plain = plain

    def __getattr__(self, name: str) -> object:
        value = getattr(self._parameters, name)
        numeric = {"tcp_sample_s": 1.0, "capture": ()}
        return numeric[name] if name in numeric and not isinstance(value, float | tuple) else value

    def text(self, attribute: str) -> object:
        return self._plain.get(attribute, "x")


APPLIED = {
    *("divack", "divack_spread", "divack_sender", "tso_rtt_log", "tsq", "tsq_burst"),
    *(
        "pacing_factor",
        "congestion_control",
        "initcwnd",
        "bbr_probe_up_gain",
        "nagle",
        "hystart",
        "sack",
    ),
    *("timestamps", "initrwnd", "tcp_rmem_default", "tcp_rmem_max", "tcp_wmem_max", "gro", "gso"),
    *("gso_segments", "tso", "direction", "flows", "dscp", "duration", "baseline"),
    *("ping_interval", "capture", "capture_duration"),
    # Of the qdiscs, without effect without delay, rate and loss.
    *("rate_burst", "rate_latency", "rate_at", "wire_queue"),
}


# They need a workload that is refused.
OF_OTHER_WORKLOADS = {
    *("message", "exchanges", "transfer_size", "transfers", "pages", "reading_time", "command"),
    *("server_command", "command_times", "command_limit"),
}


def test_policies_of_a_condition_follow_each_other(tmp_path: Path) -> None:
    [experiment] = [one for one in catalogue.experiments() if one.name == "thesis-lan"]
    options = HostOptions(hosts(tmp_path), 2, "./airtcp run", print)

    class Lab:
        facts = {"server": facts(), "station": facts(), "ap": facts()}  # noqa: RUF012

    factors = ("ack_policy=default,aad", "delay=0ms,10ms")
    cases = experiment.cases([Setting.parse(factor) for factor in factors])
    jobs = HostMachines(options, Lab(), {}).requests(cases)  # type: ignore[arg-type]
    order = [(job.seed, job.case.factors["delay"], job.case.factors["ack_policy"]) for job in jobs]
    assert order == [
        (seed, delay, policy)
        for seed in (1, 2)
        for delay in ("0ms", "10ms")
        for policy in ("default", "aad")
    ]
    assert len({job.identity for job in jobs}) == len(jobs)


def test_a_full_disk_removes_the_run(tmp_path: Path) -> None:
    [experiment] = [one for one in catalogue.experiments() if one.name == "thesis-lan"]
    options = HostOptions(hosts(tmp_path), 1, "./airtcp run", print)

    class Lab:
        facts = {"server": facts(), "station": facts(), "ap": facts()}  # noqa: RUF012

        def run(self, _: Testbed, run_dir: Path) -> None:
            run_dir.mkdir(parents=True)
            (run_dir / "ss-server.txt").touch()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    machines = HostMachines(options, Lab(), {})  # type: ignore[arg-type]
    [job] = machines.requests(experiment.cases([Setting.parse("mcs=6")])[:1])
    outcome = machines.execute([job], tmp_path, lambda *_: None)
    assert "No space left" in outcome.stopped
    assert not job.directory(tmp_path).exists()


def test_runs_are_not_repeated_because_a_policy_was_loaded(tmp_path: Path) -> None:
    [experiment] = [one for one in catalogue.experiments() if one.name == "thesis-lan"]
    options = HostOptions(hosts(tmp_path), 1, "./airtcp run", print)
    cases = experiment.cases([Setting.parse("ack_policy=aad")])
    identities = set()
    for policies in (("default", "aad"), ("default", "auto", "aad")):

        class Lab:
            facts = {"server": facts(), "station": facts(*policies)}  # noqa: RUF012

        machines = HostMachines(options, Lab(), {})  # type: ignore[arg-type]
        identities.add((machines.kernel.hash, *(job.identity for job in machines.requests(cases))))
    assert len(identities) == 1


def test_directories_for_connections_are_private(tmp_path: Path) -> None:
    private = tmp_path / "private"
    for _ in range(2):
        assert ssh.private_directory(private).stat().st_mode & 0o777 == 0o700
    (tmp_path / "link").symlink_to(private)
    (tmp_path / "open").mkdir(mode=0o755)
    (tmp_path / "open").chmod(0o710)
    for name in ("link", "open"):
        with pytest.raises(StopError, match=f"{name}: not a directory that only this user"):
            ssh.private_directory(tmp_path / name)

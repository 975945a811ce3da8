# SPDX-License-Identifier: GPL-2.0-only
"""`run --hosts` over sshd on three network namespaces, with the TCP of this machine.

Their settings are restored however a run ends, and each kind of failure is one line.
"""

import json
import os
import random
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from namespaces import ADDRESSES, SYSCTLS, Bench, bench, ended
from waiting import wait_until

from airtcp import cli
from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel
from airtcp.results import documents
from airtcp.results.documents import SweepDocument

SEED = int(os.environ.get("AIRTCP_TEST_SEED") or random.SystemRandom().randrange(10**6))
# The dead-man timer in hosts.yaml, and time to notice and to restore.
DEAD_MAN_S = 10
RESTORING_S = 30


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench(tmp_path_factory.mktemp("hosts")) as made:
        yield made


@pytest.fixture(autouse=True)
def unchanged(hosts: Bench) -> Iterator[None]:
    """Every test leaves the hosts as they were."""
    before = hosts.all_settings()
    yield
    assert hosts.all_settings() == before
    assert {name: hosts.left(name) for name in ADDRESSES} == {name: [] for name in ADDRESSES}


def arguments(hosts: Bench, out: Path, *more: str) -> list[str]:
    """Runs of 1 s at 50 Mbit/s without captures, unless there are other settings."""
    settings = more
    if "--set" not in more:
        pairs = ("ack_policy=default", "rate=50Mbit", "capture=off")
        settings = (*(word for pair in pairs for word in ("--set", pair)), *more)
    place = ["--hosts", str(hosts.hosts_yaml), "--out", str(out)]
    return ["run", "thesis-lan", *settings, "--duration", "1s", *place]


def run(hosts: Bench, out: Path, *more: str) -> tuple[object, str, str]:
    code, output, error = ended(hosts.airtcp(*arguments(hosts, out, *more)))
    return code, str(output), str(error)


def last_line(error: str) -> str:
    assert "Traceback" not in error
    return error.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def measured(hosts: Bench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep over two rates."""
    out = tmp_path_factory.mktemp("measured")
    code, output, error = run(hosts, out, "--set", "ack_policy=default", "--set", RATES)
    assert code == 0, error
    assert "goodput" in output
    return out


RATES = "rate=10Mbit,50Mbit"


def document(out: Path) -> SweepDocument:
    return documents.read(out)


def test_thesis_lan_gives_results_of_this_machines_tcp(measured: Path) -> None:
    slow, fast = document(measured).runs
    assert (slow.factors["rate"], fast.factors["rate"]) == ("10Mbit", "50Mbit")
    # tbf limits frames, of which 1448 of 1514 bytes are payload, and starts with a full bucket.
    assert 8.5 < (slow.metrics["goodput_mbps"] or 0) < 10
    assert 42 < (fast.metrics["goodput_mbps"] or 0) < 50
    for one in (slow, fast):
        segments = one.metrics["data_segments"] or 0
        # Payload of the transfer, counted by TCP at the sender and by iperf3 at the receiver.
        directory = one.directory(measured)
        client = json.loads((directory / "iperf3-client.json").read_text())
        received = client["end"]["sum_received"]["bytes"]
        assert segments >= received / 1448
        assert 0 < (one.metrics["acks_per_segment"] or 0) <= 1
        assert (one.metrics["tcp_rtt_ms_mean"] or 0) > 0
        assert (one.metrics["ping_rtt_ms_p50"] or 0) > 0
        names = set(one.artifacts)
        assert {"server.pcapng", "station.pcapng", "series.csv", "run.flent.gz"} <= names
        assert {"nstat-server.json", "nstat-station.json", "ping.txt"} <= names


def test_results_say_what_they_were_measured_on(measured: Path) -> None:
    for one in document(measured).runs:
        assert one.measured_on
        assert set(one.measured_on.hosts) == set(ADDRESSES)
        for host in one.measured_on.hosts.values():
            assert (host.kernel, host.ack_policies) == (os.uname().release, ())
            assert host.radio is None and host.driver is None
            # They have the clock of this machine.
            assert abs(host.clock_ahead_ms) <= host.clock_error_ms + 1
        assert "simulated radio" in one.measured_on.not_applied["preset"]
        assert "sack" not in one.measured_on.not_applied
        for name, value in one.metrics.items():
            assert (value is None) == (name in one.measured_on.not_measured), name
        assert "radio" in one.measured_on.not_measured["airtime_data_share"]


def test_report_names_the_hosts(measured: Path) -> None:
    assert cli.main(["report", str(measured)]) == 0
    page = (measured / "report.html").read_text()
    assert f"server server (Linux {os.uname().release})" in page
    assert "No such file" not in page


def test_same_command_does_not_repeat_runs(hosts: Bench, measured: Path) -> None:
    before = document(measured).runs
    more = ("--set", "ack_policy=default", "--set", RATES)
    code, _, error = run(hosts, measured, *more)
    assert code == 0, error
    assert "2 of 2 runs are in" in error and "[1/" not in error
    assert document(measured).runs == before


def test_real_and_simulated_runs_are_compared(
    measured: Path,
    lab_kernel: Kernel,
    tools: GuestTools,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert lab_kernel and tools  # built beforehand
    settings = ["--set", "ack_policy=default", "--set", "rate=10Mbit", "--duration", "1s"]
    assert cli.main(["run", "thesis-lan", *settings, "--out", str(tmp_path / "lab")]) == 0
    assert document(tmp_path / "lab").runs[0].measured_on is None
    capsys.readouterr()
    assert cli.main(["results", "compare", str(tmp_path / "lab"), str(measured), "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)
    # The same bottleneck, so that the radio does not matter.
    assert row["metric"] == "goodput_mbps" and row["n"] == 1
    assert 0.85 < row["ratio"] < 1.15


def changed(hosts: Bench) -> bool:
    return (
        hosts.within("server", "cat", "/proc/sys/net/ipv4/tcp_sack").strip() != SYSCTLS["tcp_sack"]
    )


def wait_for_change(hosts: Bench) -> None:
    wait_until(lambda: changed(hosts), timeout_s=60)


def wait_until_restored(hosts: Bench, settings: object) -> None:
    """As after the client was lost: the dead-man timers restore the settings, and end.

    An ssh outlives a killed client, and may still start a timer.
    """
    wait_until(lambda: not hosts.processes("client"), timeout_s=30)
    deadline = time.monotonic() + DEAD_MAN_S + RESTORING_S
    while any(hosts.left(name) for name in ADDRESSES):
        assert time.monotonic() < deadline, {name: hosts.left(name) for name in ADDRESSES}
        time.sleep(0.1)
    assert hosts.all_settings() == settings


@pytest.mark.parametrize("instants", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_settings_are_restored_after_sigkill(hosts: Bench, tmp_path: Path, instants: int) -> None:
    rng = random.Random(SEED)
    settings = hosts.all_settings()
    began = time.monotonic()
    code, _, error = run(hosts, tmp_path / "whole")
    assert code == 0, error
    lasts_s = time.monotonic() - began
    caught = 0
    for number in range(instants):
        instant_s = rng.uniform(0, lasts_s)
        process = hosts.airtcp(*arguments(hosts, tmp_path / str(number)))
        if number == 0:  # how long it takes until then depends on the machine
            wait_for_change(hosts)
        else:
            print(f"AIRTCP_TEST_SEED={SEED}: {instant_s:.3f} s of {lasts_s:.3f} s")
            time.sleep(instant_s)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        caught += (during := changed(hosts))
        if during and caught == 1:  # the next client waits for the timers
            code, _, error = run(hosts, tmp_path / "next")
            assert code == 0 and "waiting for another airtcp" in error, error
            assert hosts.all_settings() == settings
        else:
            wait_until_restored(hosts, settings)
    assert caught


def test_ctrl_c_restores_at_once_and_keeps_finished_runs(hosts: Bench, tmp_path: Path) -> None:
    settings = hosts.all_settings()
    process = hosts.airtcp(*arguments(hosts, tmp_path, "--seeds", "9"))
    assert process.stderr
    line = process.stderr.readline()
    while not line.startswith("[1/"):
        assert line, "the first run has not finished"
        line = process.stderr.readline()
    wait_for_change(hosts)
    os.killpg(process.pid, signal.SIGINT)
    code, _, error = ended(process)
    assert code == 130, error
    assert "airtcp: interrupted: 1 of 9 runs are kept" in str(error)
    assert hosts.all_settings() == settings
    assert all(not hosts.left(name) for name in ADDRESSES)
    assert len(document(tmp_path).runs) == 1


def edited(hosts: Bench, path: Path, old: str, new: str) -> Bench:
    """The bench with a change in hosts.yaml or ssh_config, in another directory."""
    for name in ("hosts.yaml", "ssh_config"):
        text = (hosts.directory / name).read_text()
        (path / name).write_text(text.replace(old, new))
    other = Bench.__new__(Bench)
    other.__dict__.update(hosts.__dict__, hosts_yaml=path / "hosts.yaml")
    return other


@pytest.mark.parametrize(
    ("old", "new", "code", "message"),
    [
        ("Port 2222", "Port 2223", 1, r"\w+ \(\w+\): .*Connection refused"),
        ("/key\n", "/host_key\n", 1, r"\w+ \(\w+\): .*Permission denied \(publickey.*\)\."),
        ("wire0", "wire7", 2, r"\w+ \(\w+\): interface wire7: does not exist; allowed: .*wire0.*"),
        (
            "address: 10.77.0.3",
            "address: 10.77.0.9",
            2,
            r".*wire0 does not have it; .*10\.77\.0\.3",
        ),
        (
            "address: 10.77.0.3",
            "address: nowhere",
            2,
            r".*yaml:\d+: station.address: 'nowhere' is .*",
        ),
        ("netem: on", "netem: perhaps", 2, r".*hosts.yaml:8: server.netem: 'perhaps' .*"),
        ("station:", "stations:", 2, r".*hosts.yaml:\d+: .*"),
    ],
)
def test_a_wrong_hosts_yaml_is_reported(
    hosts: Bench, tmp_path: Path, old: str, new: str, code: int, message: str
) -> None:
    other = edited(hosts, tmp_path, old, new)
    got, _, error = run(other, tmp_path / "out")
    assert got == code, error
    assert re.fullmatch(f"airtcp: {message}", last_line(error)), error


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("ack_policy=aad", "ack_policy aad: station (station) does not have it, as it runs plain"),
        (
            "congestion_control=bbr3",
            "congestion_control bbr3: server (server) does not have it, or",
        ),
        ("stations=2", "--hosts: stations 2: cannot be applied to real hosts; allowed: 1"),
        ("router=cisco881", "--hosts: router cisco881: cannot be applied to real hosts; allowed"),
        ("return_delay=5ms", "--hosts: return_delay 5ms: cannot be applied to real hosts"),
    ],
)
def test_a_case_that_the_hosts_cannot_do_is_reported(
    hosts: Bench, tmp_path: Path, setting: str, message: str
) -> None:
    code, _, error = run(hosts, tmp_path, "--set", setting, "--set", "delay=0ms")
    assert code != 0
    assert message in last_line(error)


@pytest.fixture
def with_modules(hosts: Bench, tmp_path: Path) -> Iterator[None]:
    """The station has the sysctls of a kernel whose policies are modules, none of them loaded.

    Its sysctls are ordinary files, and modprobe is a program that adds those of the policy `aad`.
    """
    sysctls, modprobe = tmp_path / "sysctls", tmp_path / "modprobe"
    sysctls.mkdir()
    for path in Path("/proc/sys/net/ipv4").glob("tcp_[rstw]*"):
        value = hosts.within("station", "cat", path)
        (sysctls / path.name).write_text(value)
    for name in ("tcp_ack_policy", "tcp_available_ack_policies"):
        (sysctls / name).write_text("default\n")
    (sysctls / "tcp_available_congestion_control").write_text("reno cubic\n")
    there = "/proc/sys/net/ipv4"
    modprobe.write_text(
        f'#!/bin/sh\n[ "$*" = tcp-ackpol-aad ] || exit 1\necho 100 >{there}/tcp_aad_beta_percent\n'
        f"echo default aad >{there}/tcp_available_ack_policies\n"
    )
    modprobe.chmod(0o755)
    program = Path(shutil.which("modprobe", path="/usr/sbin:/sbin") or pytest.skip("no modprobe"))
    hosts.within("station", "mount", "--bind", sysctls, there)
    hosts.within("station", "mount", "--bind", modprobe, program.resolve())
    yield
    for mounted in (program.resolve(), there):
        hosts.within("station", "umount", mounted)


@pytest.mark.usefixtures("with_modules")
def test_policies_that_are_modules_are_loaded(hosts: Bench, tmp_path: Path) -> None:
    """And a policy that does not exist is reported before anything is changed."""
    short = ("--set", "delay=0ms", "--set", "capture=off", "--set", "aad_beta=0.7")
    code, _, error = run(hosts, tmp_path / "out", "--set", "ack_policy=tack", *short)
    assert code == 1
    assert last_line(error) == (
        "airtcp: ack_policy tack: station (station) does not have it, or cannot load its module "
        "tcp-ackpol-tack; loaded: default"
    )
    code, _, error = run(hosts, tmp_path / "out", "--set", "ack_policy=aad", *short)
    assert code == 0, error
    [one] = document(tmp_path / "out").runs
    assert one.measured_on
    assert one.measured_on.hosts["station"].ack_policies == ("default", "aad")
    # The experiment removes the bound, which only the laboratory's kernel can do.
    assert "ack_delay_bound" in one.measured_on.not_applied
    policy = hosts.within("station", "cat", "/proc/sys/net/ipv4/tcp_ack_policy")
    assert policy == "default\n"  # restored


def test_a_missing_tool_is_reported(hosts: Bench, tmp_path: Path) -> None:
    iperf3 = shutil.which("iperf3")
    empty = hosts.directory / "not-a-program"
    empty.touch(mode=0o644)
    hosts.within("station", "mount", "--bind", empty, iperf3)
    try:
        code, _, error = run(hosts, tmp_path)
    finally:
        hosts.within("station", "umount", iperf3)
    assert code == 1
    assert last_line(error) == "airtcp: station (station): missing: iperf3; install them there"


def finished_then(hosts: Bench, out: Path, action: Callable[[], None]) -> tuple[object, str]:
    """A sweep, in whose second run something happens."""
    process = hosts.airtcp(*arguments(hosts, out, "--seeds", "2"))
    assert process.stderr
    lines = [process.stderr.readline()]
    while not lines[-1].startswith("[1/"):
        assert lines[-1], "".join(lines)
        lines.append(process.stderr.readline())
    wait_for_change(hosts)
    action()
    code, _, error = ended(process)
    return code, str(error)


def test_a_full_disk_of_a_host_is_reported(hosts: Bench, tmp_path: Path) -> None:
    file = hosts.room / "filled"

    def fill() -> None:
        script = f"head -c 100000000 /dev/zero >{file} 2>/dev/null; true"
        hosts.within("server", "sh", "-c", script)

    try:
        code, error = finished_then(hosts, tmp_path, fill)
    finally:
        hosts.within("server", "rm", "-f", file)
    assert code == 1
    assert "airtcp: server (server): no space left in" in last_line(error)
    assert "1 of 2 runs are kept" in last_line(error)
    assert len(document(tmp_path).runs) == 1


def test_a_reboot_during_a_run_is_reported(hosts: Bench, tmp_path: Path) -> None:
    """The host loses its processes and settings, and has another boot_id."""
    settings = hosts.settings("station")

    def reboot() -> None:
        hosts.stop_sshd("station")
        for pid in hosts.processes("station"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        hosts.start_sshd("station")
        boot = hosts.directory / "boot_id"
        boot.write_text("00000000-0000-4000-8000-000000000001\n")
        hosts.within("station", "mount", "--bind", boot, "/proc/sys/kernel/random/boot_id")
        for sysctl, value in SYSCTLS.items():
            path = f"/proc/sys/net/ipv4/{sysctl}"
            hosts.within("station", "sh", "-c", f"echo '{value}' >{path}")
        offloads = ("gro", "off", "gso", "on", "tso", "on")
        hosts.within("station", "ethtool", "-K", "wire0", *offloads)

    code, error = finished_then(hosts, tmp_path, reboot)
    assert code == 1
    assert "airtcp: station (station): was rebooted during a run" in last_line(error)
    assert len(document(tmp_path).runs) == 1
    assert hosts.settings("station") == settings

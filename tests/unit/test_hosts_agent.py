# SPDX-License-Identifier: GPL-2.0-only
"""agent.sh with programs that only record how they are called, and the file for sudoers."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from airtcp.hosts.ssh import AGENT
from airtcp.paths import REPOSITORY

FEATURES = """\
Features for eth0:
tcp-segmentation-offload: on
\ttx-tcp-segmentation: on
\ttx-tcp-ecn-segmentation: off [fixed]
\ttx-tcp-mangleid-segmentation: off
\ttx-tcp6-segmentation: on
generic-segmentation-offload: on
generic-receive-offload: on
large-receive-offload: off [fixed]
"""

# Of a radio without scatter/gather.
NO_SEGMENTATION = """\
Features for wlan0:
tcp-segmentation-offload: off
\ttx-tcp-segmentation: off [fixed]
\ttx-tcp6-segmentation: off [fixed]
generic-segmentation-offload: off [requested on]
generic-receive-offload: on
"""

# Settings are files in the directory of the fakes, so that changes and restoring are visible.
FAKES = {
    "modprobe": "exit 1",
    "id": "echo 1000",
    "sudo": '[ "$1" = -n ] || exit 1\nshift\n'
    'if [ "$1" = -l ]; then shift; echo "$*" >>"$fakes/asked"; '
    '! echo "$*" | grep -qf "$fakes/denied"; exit; fi\n'
    'echo "$*" >>"$fakes/as-root"\n'
    'case $1 in tee) exec "$@" ;; esac\nexport ROOT=1\nexec "$@"',
    "iw": 'case "$*" in\n*get*) echo "Power save: $(cat "$fakes/power")" ;;\n'
    '*) [ "$ROOT" ] && echo "$5" >"$fakes/power" ;;\nesac',
    "tc": 'case "$*" in\n*show*) cat "$fakes/qdisc" ;;\n'
    '*add*root*) echo "qdisc netem 1: root" >"$fakes/qdisc" ;;\n'
    '*del*) echo "qdisc mq 0: root" >"$fakes/qdisc" ;;\nesac',
    "ethtool": 'case $1 in\n-k) cat "$fakes/features" ;;\n'
    '-K) [ ! -s "$fakes/unchanged" ] || { cat "$fakes/unchanged" >&2; exit 1; } ;;\nesac',
    "ip": 'case "$*" in\n*"-d link show"*) echo "2: eth0 gso_max_segs 65535" ;;\n'
    '*"route show exact"*) cat "$fakes/route" ;;\n'
    '*"route get"*) echo "10.0.0.2 via 10.0.0.9 dev eth0 src 10.0.0.1" ;;\n'
    '*"route add"*) echo there >"$fakes/route" ;;\n*"route del"*) : >"$fakes/route" ;;\nesac',
}


class Agent:
    """An agent in a directory, with a dead-man timer that is a mere process."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "agent"
        self.fakes = directory / "fakes"
        for made in (self.directory, self.fakes):
            made.mkdir()
        shutil.copy(AGENT, self.directory / "agent.sh")
        for name, script in FAKES.items():
            path = self.fakes / name
            path.write_text(f"#!/bin/sh\nfakes={self.fakes}\n{script}\n")
            path.chmod(0o755)
        values = {"power": "on", "qdisc": "qdisc mq 0: root", "features": FEATURES, "route": ""}
        values |= {"denied": "", "unchanged": ""}
        for name, text in values.items():
            (self.fakes / name).write_text(text and f"{text.rstrip()}\n")
        (self.directory / "undo").touch()
        (self.directory / "jobs").mkdir()
        (self.directory / "run").mkdir()

    def do(self, *lines: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["sh", self.directory / "agent.sh", "lines"],
            input="".join(f"{line}\n" for line in lines),
            env={"PATH": f"{self.fakes}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
        )

    def value(self, name: str) -> str:
        return (self.fakes / name).read_text().strip()

    @property
    def as_root(self) -> list[str]:
        return (self.fakes / "as-root").read_text().splitlines()


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    made = Agent(tmp_path)
    # The process of the test stands for the timer.
    (made.directory / "guard").write_text(f"{os.getpid()}\n")
    return made


CHANGES = (
    "power_save eth0 off",
    "offload eth0 tso off",
    "segments eth0 20",
    "windows eth0 10.0.0.2 initcwnd 20 initrwnd 40",
    "qdisc eth0 root handle 1: netem delay 10000us limit 1000",
    "qdisc eth0 parent 1:1 handle 4: tbf rate 100gbit burst 1514b latency 1s",
    "qdisc eth0 parent 4:1 handle 5: netem loss 0.1% limit 1000000",
    "qdisc eth0 parent 5:1 handle 2: tbf rate 10000000bit burst 4000b latency 400000us",
    "qdisc eth0 parent 2:1 handle 3: pfifo limit 100",
)


def test_settings_are_changed_and_restored(agent: Agent, tmp_path: Path) -> None:
    setting = tmp_path / "tcp_rmem"
    setting.write_text("4096\t131072\t6291456\n")
    ended = agent.do(*CHANGES, f"put {setting} '4096 16384 1048576'")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert setting.read_text() == "4096 16384 1048576\n"
    assert agent.value("power") == "off" and "netem" in agent.value("qdisc")
    assert agent.value("route") == "there"
    assert agent.do("restore").returncode == 0
    assert setting.read_text().split() == ["4096", "131072", "6291456"]
    assert (agent.value("power"), agent.value("route")) == ("on", "")
    assert agent.value("qdisc") == "qdisc mq 0: root"
    restored = [line for line in agent.as_root if line.startswith("ethtool")][-1]
    # Only what is not fixed, by the names of the kernel.
    assert restored == (
        "ethtool -K eth0 tx-tcp-segmentation on tx-tcp-mangleid-segmentation off "
        "tx-tcp6-segmentation on gso on gro on"
    )
    assert agent.as_root[-1] == "iw dev eth0 set power_save on"  # the first change
    assert (agent.directory / "undo").read_text() == ""


def test_an_offload_that_a_device_does_not_have_remains_off(agent: Agent) -> None:
    (agent.fakes / "features").write_text(NO_SEGMENTATION)
    (agent.fakes / "unchanged").write_text("Could not change any device features\n")
    ended = agent.do("offload wlan0 gro on", "offload wlan0 gso on", "offload wlan0 tso on")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert agent.do("restore").returncode == 0
    assert agent.as_root[-1] == "ethtool -K wlan0 gso on gro on"  # gso is requested again
    assert agent.do("offload wlan0 gro off").returncode == 1


@pytest.mark.parametrize("change", ["gso on", "gro off"])
def test_an_error_of_ethtool_is_reported(agent: Agent, change: str) -> None:
    (agent.fakes / "features").write_text(NO_SEGMENTATION)
    (agent.fakes / "unchanged").write_text("netlink error: No such device\n")
    ended = agent.do(f"offload wlan0 {change}")
    message = f"ethtool -K wlan0 {change}: netlink error: No such device\n"
    assert (ended.returncode, ended.stderr) == (1, message)
    assert "not restored" in agent.do("restore").stderr


def test_nothing_is_changed_without_the_timer(agent: Agent) -> None:
    (agent.directory / "guard").unlink()
    ended = agent.do("power_save eth0 off")
    assert (ended.returncode, agent.value("power")) == (3, "on")
    assert "dead-man timer does not run" in ended.stderr


def test_setting_that_is_not_restored_is_reported_and_kept(agent: Agent, tmp_path: Path) -> None:
    setting = tmp_path / "tcp_sack"
    setting.write_text("1\n")
    assert agent.do("power_save eth0 off", f"put {setting} 0").returncode == 0
    setting.unlink()
    setting.mkdir()
    ended = agent.do("restore")
    assert ended.returncode == 1
    assert "not restored: write" in ended.stderr
    assert agent.value("power") == "on"  # all others are
    assert "tcp_sack" in (agent.directory / "undo").read_text()


def test_setting_that_is_changed_while_others_are_restored(agent: Agent, tmp_path: Path) -> None:
    first, second = tmp_path / "tcp_sack", tmp_path / "tcp_dsack"
    second.write_text("0\n")
    # Restoring the first one stands for a command that changes the second one meanwhile.
    undo = agent.directory / "undo"
    undo.write_text(f"echo \"write '{second}' '1'\" >>undo; write '{first}' '1'\n")
    ended = agent.do("restore")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (first.read_text(), second.read_text()) == ("1\n", "1\n")
    assert undo.read_text() == ""


def test_nothing_is_changed_while_the_timer_restores(agent: Agent, tmp_path: Path) -> None:
    setting = tmp_path / "tcp_sack"
    setting.write_text("1\n")
    (agent.directory / "undo").write_text(f"sh ./agent.sh put {setting} 0 || true\n")
    timer = subprocess.run(["sh", agent.directory / "agent.sh", "guard", "1"], timeout=20)
    assert timer.returncode == 0
    assert setting.read_text() == "1\n"
    assert not agent.directory.exists()


def test_rights_cover_changing_and_restoring(agent: Agent, tmp_path: Path) -> None:
    """Nothing is changed by asking for them."""
    setting = tmp_path / "tcp_sack"
    setting.write_text("1\n")
    changes = (*CHANGES, f"put {setting} 0")
    before = {path: path.read_text() for path in agent.fakes.iterdir()}
    ended = agent.do(*(f"rights {change}" for change in changes))
    assert (ended.returncode, ended.stderr) == (0, "")
    asked = set(agent.value("asked").splitlines())
    (agent.fakes / "asked").unlink()
    assert {path: path.read_text() for path in agent.fakes.iterdir()} == before
    assert (setting.read_text(), (agent.directory / "undo").read_text()) == ("1\n", "")
    assert agent.do(*changes, "restore").returncode == 0
    assert asked == set(agent.as_root)


@pytest.mark.parametrize(
    ("change", "denied"),
    [
        ("segments eth0 20", "ip link set dev eth0 gso_max_segs 20"),
        ("offload eth0 tso off", "ethtool -K eth0 tso off"),
        ("offload eth0 gro on", "ethtool -K eth0 gro on"),
        ("windows eth0 10.0.0.2 initcwnd 20", "ip route del 10.0.0.2/32 dev eth0"),
        ("qdisc eth0 parent 1:1 handle 2: tbf rate 1mbit", "tc qdisc add dev eth0 parent 1:1 "),
        ("qdisc eth0 root handle 1: netem delay 1us", "tc qdisc del dev eth0 root"),
        ("root modprobe tcp_bbr", "modprobe tcp_bbr"),
    ],
)
def test_missing_right_is_named(agent: Agent, change: str, denied: str) -> None:
    (agent.fakes / "denied").write_text(f"^{denied}\n")
    without_gro = FEATURES.replace("receive-offload: on", "receive-offload: off")
    (agent.fakes / "features").write_text(without_gro)
    ended = agent.do(f"rights {change}", "touch after")
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"not root, and sudo -n does not allow: {denied}")
    assert not (agent.directory / "after").exists()
    (agent.fakes / "denied").write_text("")
    assert agent.do(f"rights {change}").returncode == 0


def test_a_sysctl_that_the_kernel_lacks_needs_no_rights(agent: Agent) -> None:
    assert agent.do("rights put /proc/sys/net/ipv4/tcp_ack_policy aad").returncode == 0


@pytest.mark.parametrize("user", [0, 1000])
def test_others_than_root_are_told_which_congestion_controls_are_allowed(
    agent: Agent, user: int
) -> None:
    (agent.fakes / "id").write_text(f"#!/bin/sh\necho {user}\n")
    allowed = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text()
    assert (f"== allowed\n{allowed}" in agent.do("available").stdout) == (user != 0)


def test_other_qdiscs_are_left_alone(agent: Agent) -> None:
    (agent.fakes / "qdisc").write_text("qdisc htb 1: root refcnt 2\n")
    ended = agent.do("qdisc eth0 root handle 1: netem delay 1us")
    assert ended.returncode == 1
    assert "eth0 has the qdisc htb 1:" in ended.stderr
    assert not (agent.fakes / "as-root").exists()


def test_a_sysctl_that_the_kernel_lacks_is_reported(agent: Agent) -> None:
    ended = agent.do("put /proc/sys/net/ipv4/tcp_ack_policy aad")
    assert ended.stderr == (
        "this kernel has no net.ipv4.tcp_ack_policy, so it cannot be set to aad\n"
    )


def test_a_default_that_the_kernel_lacks_is_not_needed(agent: Agent, tmp_path: Path) -> None:
    setting = tmp_path / "tcp_pacing_ss_ratio"
    setting.write_text("300\n")
    ended = agent.do(f"put_default {tmp_path}/missing 100", f"put_default {setting} 200")
    assert (ended.returncode, ended.stderr, setting.read_text()) == (0, "", "200\n")
    assert agent.do("restore").returncode == 0
    assert setting.read_text() == "300\n"


def sudoers() -> str:
    page = (REPOSITORY / "docs" / "how-to" / "hosts.md").read_text()
    [block] = re.findall(r"^```sudoers\n(.*?)^```", page, re.M | re.S)
    return str(block)


def allowed(command: str) -> bool:
    """As sudo decides: a regular expression for arguments, or equal words."""
    rules = re.findall(r"(/\S+) (.+?)(?:, \\)?$", sudoers(), re.M)
    name, _, given = command.partition(" ")
    for path, pattern in rules:
        regular = pattern.startswith("^")
        # sudoers needs a backslash before these characters.
        pattern = re.sub(r"\\([:=,])", r"\1", pattern)
        if path.rpartition("/")[2] == name and (
            re.search(pattern, given) if regular else pattern == given
        ):
            return True
    return False


def test_sudoers_has_every_command(agent: Agent) -> None:
    load = "load tcp-ackpol-aad-listing tcp_bbr"
    agent.do(*CHANGES, "restore", load, "capture server eth0 12.5 128")
    used = agent.as_root
    assert {line.split()[0] for line in used} == {
        *("iw", "ethtool", "ip", "tc", "timeout", "modprobe")
    }
    assert [line for line in used if "modprobe" in line] == [
        *("modprobe tcp-ackpol-aad-listing", "modprobe tcp_bbr")
    ]
    put = "tee /proc/sys/net/ipv4/tcp_ack_policy"
    hystart = "tee /sys/module/tcp_cubic/parameters/hystart"
    for command in (*used, put, hystart):
        assert allowed(command), command
    for other in (
        "tee /proc/sys/net/ipv4/tcp_sack /etc/passwd",
        "tee /proc/sys/net/ipv4/tcp_x/../../../kernel/core_pattern",
        "ethtool -K eth1 gro off",
        "modprobe tcp-ackpol-aad -C /tmp/conf",
        "modprobe -r tcp-ackpol-aad",
        "modprobe tcpdump",
        "ip route add 0.0.0.0/0 dev eth0",
        "tc qdisc add dev eth0 root handle 1: netem delay 1us; reboot",
        "timeout --preserve-status -s INT 5 tcpdump -Z root -n -i eth0 -s 128 -z sh -w -",
    ):
        assert not allowed(other), other


@pytest.mark.skipif(not shutil.which("visudo", path="/usr/sbin"), reason="sudo is missing")
def test_sudo_accepts_the_file(tmp_path: Path) -> None:
    path = tmp_path / "airtcp"
    path.write_text(sudoers())
    path.chmod(0o440)
    checked = subprocess.run(["/usr/sbin/visudo", "-c", "-f", path], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr

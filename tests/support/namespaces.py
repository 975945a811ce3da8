# SPDX-License-Identifier: GPL-2.0-only
"""Three hosts for tests of `run --hosts`: network namespaces, each with an sshd of its own.

    server --veth-- ap (a bridge) --veth-- station
                     |
                    client, where airtcp runs

TCP is that of this machine. Each host has a directory of its own for airtcp, on a tmpfs.
"""

import getpass
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from airtcp.paths import REPOSITORY

ADDRESSES = {"server": "10.77.0.1", "ap": "10.77.0.2", "station": "10.77.0.3"}
CLIENT_ADDRESS = "10.77.0.4"
PORT = 2222
ROOM_MB = 32

# Settings that a run changes, with other values than the kernel's defaults and the experiments'.
SYSCTLS = {
    "tcp_sack": "1",
    "tcp_timestamps": "0",
    "tcp_rmem": "4096\t65536\t1048576",
    "tcp_wmem": "4096\t32768\t2097152",
}

_SSHD = """\
Port {port}
ListenAddress {address}
HostKey {directory}/host_key
AuthorizedKeysFile {directory}/key.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
Subsystem none /bin/false
"""

_HOST = """\
Host {name}
HostName {address}
Port {port}
User {user}
IdentityFile {directory}/key
IdentitiesOnly yes
UserKnownHostsFile {directory}/known_hosts
StrictHostKeyChecking yes
"""

_HOSTS_YAML = """\
ssh_config: ssh_config
directory: {room}
dead_man: 10s
server:
  ssh: server
  interface: wire0
  address: 10.77.0.1
  netem: on
ap:
  ssh: ap
station:
  ssh: station
  interface: wire0
  address: 10.77.0.3
"""


def _call(*words: object) -> str:
    return subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout


class Bench:
    """The three hosts. directory has hosts.yaml."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.hosts_yaml = directory / "hosts.yaml"
        self.room = directory / "room"
        self._prefix = f"airtcp{os.getpid()}"
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    def namespace(self, name: str) -> str:
        return f"{self._prefix}-{name}"

    def within(self, name: str, *words: object) -> str:
        """The output of a command in the namespaces of a host: network and mounts."""
        pid = self._daemons[name].pid
        return _call("nsenter", "-t", pid, "-m", "-n", *words)

    def start(self) -> None:
        for name in (*ADDRESSES, "client"):
            _call("ip", "netns", "add", self.namespace(name))
            _call("ip", "-n", self.namespace(name), "link", "set", "lo", "up")
        ap = self.namespace("ap")
        _call("ip", "-n", ap, "link", "add", "br0", "type", "bridge")
        for name in ("server", "station", "client"):
            here = self.namespace(name)
            _call(
                *("ip", "link", "add", "wire0", "netns", here, "type", "veth"),
                *("peer", "name", name, "netns", ap),
            )
            _call("ip", "-n", ap, "link", "set", name, "master", "br0", "up")
            address = ADDRESSES.get(name, CLIENT_ADDRESS)
            _call("ip", "-n", here, "address", "add", f"{address}/24", "dev", "wire0")
            _call("ip", "-n", here, "link", "set", "wire0", "up")
        _call("ip", "-n", ap, "address", "add", f"{ADDRESSES['ap']}/24", "dev", "br0")
        _call("ip", "-n", ap, "link", "set", "br0", "up")
        for key in ("host_key", "key"):
            _call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.directory / key)
        public = (self.directory / "host_key.pub").read_text()
        known = [f"[{address}]:{PORT} {public}" for address in ADDRESSES.values()]
        (self.directory / "known_hosts").write_text("".join(known))
        user = getpass.getuser()
        config = [
            _HOST.format(name=name, address=address, port=PORT, user=user, directory=self.directory)
            for name, address in ADDRESSES.items()
        ]
        (self.directory / "ssh_config").write_text("\n".join(config))
        self.hosts_yaml.write_text(_HOSTS_YAML.format(room=self.room))
        self.room.mkdir()
        for name in ADDRESSES:
            self.start_sshd(name)
            for sysctl, value in SYSCTLS.items():
                self.within(name, "sh", "-c", f"echo '{value}' >/proc/sys/net/ipv4/{sysctl}")

    def start_sshd(self, name: str) -> None:
        """Start the sshd of a host, with new mounts, and wait until it listens."""
        path = self.directory / f"sshd-{name}"
        path.write_text(_SSHD.format(port=PORT, address=ADDRESSES[name], directory=self.directory))
        sshd = shutil.which("sshd", path="/usr/sbin:/usr/bin") or pytest.skip("sshd is missing")
        # What the user's shell does when sshd starts it is not part of a test.
        bashrc = Path.home() / ".bashrc"
        hidden = f"mount --bind /dev/null {bashrc} && " if bashrc.exists() else ""
        script = hidden + (
            f"mount -t tmpfs -o size={ROOM_MB}m none {self.room} && mount -t tmpfs none /run && "
            f"mkdir /run/sshd && exec {sshd} -D -e -f {path}"
        )
        command = ["ip", "netns", "exec", self.namespace(name), "sh", "-c", script]
        log = (self.directory / f"sshd-{name}.log").open("ab")
        with log:
            self._daemons[name] = subprocess.Popen(command, stderr=log, start_new_session=True)
        deadline = time.monotonic() + 20
        while f":{PORT}" not in _call("ip", "netns", "exec", self.namespace(name), "ss", "-ltn"):
            assert time.monotonic() < deadline, Path(log.name).read_text()
            time.sleep(0.05)

    def stop_sshd(self, name: str) -> None:
        """End the sshd of a host with all of its connections, as a crash of the host would."""
        for pid in self.processes(name):
            try:
                if "sshd" in Path(f"/proc/{pid}/comm").read_text():
                    os.kill(pid, 9)
            except (FileNotFoundError, ProcessLookupError):  # it has ended
                pass
        self._daemons.pop(name).wait()

    def processes(self, name: str) -> list[int]:
        """The processes in the network namespace of a host."""
        return [int(pid) for pid in _call("ip", "netns", "pids", self.namespace(name)).split()]

    def airtcp(self, *arguments: str) -> "subprocess.Popen[str]":
        """airtcp in the client's namespace."""
        return subprocess.Popen(
            [
                *("ip", "netns", "exec", self.namespace("client")),
                *(str(REPOSITORY / "airtcp"), *arguments),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def settings(self, name: str) -> dict[str, str]:
        """Everything that a run may change on a host."""
        values = {
            sysctl: self.within(name, "cat", f"/proc/sys/net/ipv4/{sysctl}").strip()
            for sysctl in SYSCTLS
        }
        if name != "ap":
            features = self.within(name, "ethtool", "-k", "wire0").splitlines()
            values |= dict(line.strip().split(": ", 1) for line in features if ": " in line)
            values["qdisc"] = self.within(name, "tc", "qdisc", "show", "dev", "wire0")
            values["routes"] = self.within(name, "ip", "route")
            link = self.within(name, "ip", "-d", "link", "show", "dev", "wire0").split()
            values["gso_max_segs"] = link[link.index("gso_max_segs") + 1]
        return values

    def all_settings(self) -> dict[str, dict[str, str]]:
        return {name: self.settings(name) for name in ADDRESSES}

    def left(self, name: str) -> list[str]:
        """What airtcp has left in its directory on a host."""
        return self.within(name, "ls", "-A", self.room).split()

    def stop(self) -> None:
        for name in (*ADDRESSES, "client"):
            try:
                pids = self.processes(name)
            except subprocess.CalledProcessError:  # there is no such namespace yet
                continue
            for pid in pids:
                try:
                    os.kill(pid, 9)
                except ProcessLookupError:
                    pass
            _call("ip", "netns", "del", self.namespace(name))
        for daemon in self._daemons.values():
            daemon.wait()


@contextmanager
def bench(directory: Path) -> Iterator[Bench]:
    """The hosts while the block lasts. Skips the test where they cannot be made."""
    if os.getuid() != 0:
        pytest.skip("network namespaces need root")
    hosts = Bench(directory)
    try:
        hosts.start()
        yield hosts
    finally:
        hosts.stop()


def ended(process: "subprocess.Popen[str]") -> Sequence[object]:
    """Exit code, standard output and standard error."""
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err

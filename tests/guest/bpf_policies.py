# SPDX-License-Identifier: GPL-2.0-only
"""BPF programs of type sockops that select ACK policies; prints the results as JSON.

Runs in a guest as root, over the loopback device, in a directory with bpf_sockops.py and netns.py.
"""

import contextlib
import fcntl
import json
import socket
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bpf_sockops import (
    NAME_MAX,
    SOL_TCP,
    TCP_ACK_POLICY,
    Map,
    alternate_in_every_header,
    attached,
    name_in,
    remove_in_every_ack,
    set_when_established,
)
from netns import unshare

TCP_IS_MPTCP, IPPROTO_MPTCP = 43, 262
SYSCTL = Path("/proc/sys/net/ipv4")


@contextlib.contextmanager
def pair(protocol: int = 0) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A connection: the socket that connected, and the accepted one."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol) as listener,
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol) as client,
    ):
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        client.connect(listener.getsockname())
        client.setsockopt(SOL_TCP, socket.TCP_NODELAY, 1)
        server, _ = listener.accept()
        with server:
            yield client, server


def policy(sock: socket.socket) -> str:
    return name_in(sock.getsockopt(SOL_TCP, TCP_ACK_POLICY, NAME_MAX))


def receive(sock: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        part = sock.recv(length - len(data))
        if not part:
            raise EOFError(f"{len(data)} of {length} bytes")
        data += part
    return data


def transfer(client: socket.socket, server: socket.socket, rounds: int, size: int) -> int:
    """Send blocks to the server, which answers every eighth; returns the bytes sent."""
    total = 0
    for number in range(rounds):
        block = number.to_bytes(4, "big") * (size // 4)
        client.sendall(block)
        if receive(server, len(block)) != block:
            raise ValueError(f"block {number} was corrupted")
        total += len(block)
        if number % 8 == 7:
            server.sendall(b"answer")
            receive(client, 6)
    return total


def counters() -> dict[str, int]:
    """The counters of ACK policies in this namespace."""
    lines = [line.split() for line in Path("/proc/self/net/netstat").read_text().splitlines()]
    names, values = next(
        (names, values)
        for names, values in zip(lines[::2], lines[1::2], strict=True)
        if names[0] == "TcpExt:"
    )
    return {
        name: int(value)
        for name, value in zip(names[1:], values[1:], strict=True)
        if name.startswith("TCPAckPol")
    }


def set_sysctl(name: str, value: object) -> None:
    (SYSCTL / name).write_text(str(value))


def available() -> list[str]:
    return (SYSCTL / "tcp_available_ack_policies").read_text().split()


def unacknowledged(sock: socket.socket) -> int:
    """tcpi_unacked: segments that are not acknowledged."""
    info = sock.getsockopt(SOL_TCP, socket.TCP_INFO, 104)
    return int(struct.unpack_from("<I", info, 24)[0])


def until_acknowledged_ms(sock: socket.socket, left: int = 0) -> float:
    """The time until at most `left` segments are not acknowledged."""
    start = time.monotonic()
    while unacknowledged(sock) > left:
        if time.monotonic() - start > 5:
            raise TimeoutError("no ACK in 5 s")
        time.sleep(0.0002)
    return 1000 * (time.monotonic() - start)


def try_choice(cgroup: Path) -> dict[str, Any]:
    """Set a policy for the first time since boot."""
    results: dict[str, Any] = {"allowed": (SYSCTL / "tcp_allowed_ack_policies").read_text().split()}
    for name in ("aad", "nonesuch", "limit"):
        shared = Map(name)
        with attached(cgroup, set_when_established(shared.fd)), pair() as (client, server):
            result = {"ends": [policy(client), policy(server)], **shared.read()}
            if name == "aad":
                # A worker enables the hooks of TCP, so they may not run from the first segment on.
                deadline_s = time.monotonic() + 5
                before = sum(counters().values())
                while sum(counters().values()) == before and time.monotonic() < deadline_s:
                    transfer(client, server, 40, 1000)
                result["counted"] = sum(counters().values()) - before
            results[name] = result
    results["available"] = available()
    with pair() as (client, server):
        results["detached"] = [policy(client), policy(server)]
    return results


def alternating(cgroup: Path, first: str, second: str, size: int) -> dict[str, Any]:
    shared = Map(first, second)
    with attached(cgroup, alternate_in_every_header(shared.fd)), pair() as (client, server):
        results: dict[str, Any] = {"bytes": transfer(client, server, 400, size)}
        results["last"] = policy(server)
        results.update(shared.read())
    return results


def try_waiting_ack(cgroup: Path) -> dict[str, Any]:
    """Change the policy by a program that runs without a segment, while an ACK is delayed."""
    set_sysctl("tcp_aad_max_delay_us", 100_000)
    set_sysctl("tcp_ack_count_delay_us", 100_000)
    set_sysctl("tcp_ack_count", 100)
    results: dict[str, Any] = {}
    for name in ("left alone", "policy changed", "more data"):
        shared = Map("aad", "count")
        with attached(cgroup, alternate_in_every_header(shared.fd)), pair() as (client, server):
            # Leave quick ACK mode.
            for _ in range(20):
                client.send(bytes(1000))
                receive(server, 1000)
                until_acknowledged_ms(client)
            client.send(bytes(1000))
            receive(server, 1000)
            time.sleep(0.005)
            result: dict[str, Any] = {"waits": unacknowledged(client), "policies": [policy(server)]}
            before = shared.read()
            if name != "left alone":
                # The kernel computes the size of a segment, but sends nothing.
                server.setsockopt(SOL_TCP, socket.TCP_CORK, 1)
                server.send(b"x")
                if name == "more data":
                    client.send(bytes(1000))
                result["policies"].append(policy(server))
                result["changes"] = shared.read()["set"] - before["set"]
            result["ms"] = until_acknowledged_ms(client, left=int(name == "more data"))
            try:
                client.recv(1, socket.MSG_DONTWAIT)
                result["data"] = True
            except BlockingIOError:
                result["data"] = False
            result.update(shared.read())
        results[name] = result
    return results


def try_removal(cgroup: Path) -> dict[str, Any]:
    """Remove the policy by a program that runs while TCP sends an ACK that is nearly due: when a
    small segment follows another within the last quarter of the delayed ACK timer.
    """
    results: dict[str, Any] = {"rounds": 0, "at once": 0, "left": []}
    shared = Map("default")
    with attached(cgroup, remove_in_every_ack(shared.fd)), pair() as (client, server):
        # Leave quick ACK mode.
        for _ in range(20):
            client.send(bytes(1000))
            receive(server, 1000)
            until_acknowledged_ms(client)
        before = shared.read()
        for gap_ms in [*range(25, 40)] * 3:
            server.setsockopt(SOL_TCP, TCP_ACK_POLICY, b"limit")
            client.send(bytes(10))
            time.sleep(gap_ms / 1000)
            waits = unacknowledged(client)
            client.send(bytes(10))
            # Segments over the loopback device have been processed when send() returns.
            results["at once"] += waits == 1 and unacknowledged(client) == 0
            until_acknowledged_ms(client)
            receive(server, 20)
            results["left"].append(policy(server))
            results["rounds"] += 1
        after = shared.read()
        results |= {name: after[name] - before[name] for name in ("calls", "set", "other")}
    return results


def try_divack(cgroup: Path, spread_us: int) -> dict[str, Any]:
    set_sysctl("tcp_divack", 3)
    set_sysctl("tcp_divack_spread_us", spread_us)
    return alternating(cgroup, "divack", "default", 2000)


def bytes_in_flight(sock: socket.socket) -> int:
    """Bytes of MPTCP without a DATA_ACK."""
    return int(struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(4)))[0])


def try_mptcp(name: str) -> dict[str, Any]:
    """Test MPTCP in a new network namespace; this process stays in it."""
    unshare()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    set_sysctl("tcp_ack_policy", name)
    results: dict[str, Any] = {"messages": 0}
    with pair(IPPROTO_MPTCP) as (client, server):
        start = time.monotonic()
        for number in range(1000):
            message = f"message {number:4}".encode()
            client.sendall(message)
            server.sendall(receive(server, len(message)))
            results["messages"] += receive(client, len(message)) == message
        results["s"] = time.monotonic() - start
        slowest = 0.0
        for _ in range(50):
            start = time.monotonic()
            client.sendall(bytes(100))
            receive(server, 100)
            while bytes_in_flight(client):
                time.sleep(0.0005)
            slowest = max(slowest, time.monotonic() - start)
        results["slowest DATA_ACK ms"] = 1000 * slowest
        results["is mptcp"] = [sock.getsockopt(SOL_TCP, TCP_IS_MPTCP) for sock in (client, server)]
    results["counted"] = sum(counters().values())
    with pair() as (client, server):
        results["tcp"] = [policy(client), policy(server)]
        transfer(client, server, 40, 1000)
    results["counted with tcp"] = sum(counters().values())
    return results


def main() -> None:
    cgroup = Path("/run/cgroup")
    cgroup.mkdir()
    subprocess.run(["mount", "-t", "cgroup2", "none", cgroup], check=True)
    results: dict[str, Any] = {}
    for module in ("aad", "count", "divack"):
        subprocess.run(["modprobe", f"tcp-ackpol-{module}"], check=True)
    results["choice"] = try_choice(cgroup)
    results["alternating"] = alternating(cgroup, "aad", "count", 2000)
    results["waiting ack"] = try_waiting_ack(cgroup)
    results["removal"] = try_removal(cgroup)
    results["divack"] = try_divack(cgroup, 0)
    results["divack spread"] = try_divack(cgroup, 5000)
    results["mptcp default"] = try_mptcp("default")
    results["mptcp aad"] = try_mptcp("aad")
    print(json.dumps(results))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: GPL-2.0-only
"""Selects ACK policies by each interface and prints, as JSON, what the kernel reports.

Runs in a guest as root, over the loopback device, with Python's standard library only.
"""

import contextlib
import ctypes
import errno
import json
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TCP_ACK_POLICY = 47
NOBODY = 65534
SYSCTL = Path("/proc/sys/net/ipv4")

NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_DUMP = 1, 4, 0x400, 0x200, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
NETLINK_ROUTE, NETLINK_SOCK_DIAG = 0, 4
RTM_NEWROUTE, RTM_DELROUTE, RTM_GETROUTE = 24, 25, 26
RTA_DST, RTA_OIF, RTA_METRICS, RTAX_ACK_POLICY = 1, 4, 8, 18
RT_TABLE_MAIN, RTPROT_BOOT, RT_SCOPE_LINK, RTN_UNICAST = 254, 3, 253, 1
SOCK_DIAG_BY_FAMILY = 20
INET_DIAG_INFO, INET_DIAG_ACKPOL = 2, 23
ACKPOL_NAME, ACKPOL_SEGS, ACKPOL_IAT_US, ACKPOL_DELAY_US, ACKPOL_DUE_US, ACKPOL_STATE = range(1, 7)
NLA_TYPE = 0x3FFF
LOOPBACK = 1

libc = ctypes.CDLL(None, use_errno=True)


def attribute(kind: int, payload: bytes) -> bytes:
    padded = payload + bytes(-len(payload) % 4)
    return struct.pack("=HH", 4 + len(payload), kind) + padded


def attributes(data: bytes) -> dict[int, bytes]:
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        found[kind & NLA_TYPE] = data[4:length]
        data = data[length + -length % 4 :]
    return found


def netlink(protocol: int, kind: int, flags: int, payload: bytes) -> Iterator[bytes]:
    """The payloads of the answers. Raises OSError for an error of the kernel."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as sock:
        head = struct.pack("=IHHII", 16 + len(payload), kind, NLM_F_REQUEST | flags, 1, 0)
        sock.send(head + payload)
        while True:
            data = sock.recv(65536)
            while data:
                length, answer = struct.unpack_from("=IH", data)
                if answer == NLMSG_ERROR:
                    [code] = struct.unpack_from("=i", data, 16)
                    if code:
                        raise OSError(-code, os.strerror(-code))
                    return
                if answer == NLMSG_DONE:
                    return
                yield data[16:length]
                data = data[length + -length % 4 :]


def route(address: str, policy: str | None, kind: int = RTM_NEWROUTE) -> None:
    head = struct.pack(
        "=8BI",
        socket.AF_INET,
        32,
        0,
        0,
        RT_TABLE_MAIN,
        RTPROT_BOOT,
        RT_SCOPE_LINK,
        RTN_UNICAST,
        0,
    )
    payload = head + attribute(RTA_DST, socket.inet_aton(address))
    payload += attribute(RTA_OIF, struct.pack("=I", LOOPBACK))
    if policy is not None:
        metric = attribute(RTAX_ACK_POLICY, policy.encode() + b"\0")
        payload += attribute(RTA_METRICS, metric)
    flags = NLM_F_ACK | (NLM_F_CREATE | NLM_F_EXCL if kind == RTM_NEWROUTE else 0)
    for _ in netlink(NETLINK_ROUTE, kind, flags, payload):
        pass


def routes() -> dict[str, str]:
    """The policies of the routes that have one, by address."""
    found = {}
    request = struct.pack("=8BI", socket.AF_INET, *bytes(7), 0)
    for answer in netlink(NETLINK_ROUTE, RTM_GETROUTE, NLM_F_DUMP, request):
        reported = attributes(answer[12:])
        metrics = attributes(reported.get(RTA_METRICS, b""))
        if RTAX_ACK_POLICY in metrics:
            name = metrics[RTAX_ACK_POLICY].rstrip(b"\0").decode()
            found[socket.inet_ntoa(reported[RTA_DST])] = name
    return found


def diagnosed(port: int) -> dict[str, Any]:
    """The policy and its state as inet_diag reports them for the socket with this local port."""
    every_state = 0xFFFF
    # Policies are reported with INET_DIAG_INFO.
    extensions = 1 << (INET_DIAG_INFO - 1)
    request = struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, extensions, 0, every_state)
    for answer in netlink(NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, request + bytes(48)):
        if struct.unpack_from(">H", answer, 4)[0] != port:
            continue
        reported = attributes(answer[72:])
        if INET_DIAG_ACKPOL not in reported:
            return {}
        policy = attributes(reported[INET_DIAG_ACKPOL])
        diagnosis: dict[str, Any] = {"name": policy[ACKPOL_NAME].rstrip(b"\0").decode()}
        numbers = {
            "segs": ACKPOL_SEGS,
            "iat_us": ACKPOL_IAT_US,
            "delay_us": ACKPOL_DELAY_US,
            "due_us": ACKPOL_DUE_US,
        }
        for key, kind in numbers.items():
            if kind in policy:
                [diagnosis[key]] = struct.unpack("=I", policy[kind])
        state = attributes(policy.get(ACKPOL_STATE, b""))
        diagnosis["state"] = {kind: struct.unpack("=I", value)[0] for kind, value in state.items()}
        return diagnosis
    raise LookupError(f"no socket with port {port}")


def get_policy(sock: socket.socket) -> str:
    return sock.getsockopt(socket.IPPROTO_TCP, TCP_ACK_POLICY, 16).rstrip(b"\0").decode()


def set_policy(sock: socket.socket, name: str) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, TCP_ACK_POLICY, name.encode())


def disconnect(sock: socket.socket) -> None:
    """Connect to an address of the family AF_UNSPEC."""
    address = bytes(16)
    if libc.connect(sock.fileno(), address, len(address)):
        raise OSError(ctypes.get_errno(), "connect")


def receiver_rtt_us(sock: socket.socket) -> int:
    """The receiver's estimate, tcpi_rcv_rtt: after 8 octets and 21 numbers; 0 if unknown."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 96)
    return int(struct.unpack_from("=I", info, 92)[0])


def refusal(attempt: Callable[[], object]) -> str:
    """The name of the error, or "" if there is none."""
    try:
        attempt()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return ""


@contextlib.contextmanager
def namespace_policy(name: str) -> Iterator[None]:
    (SYSCTL / "tcp_ack_policy").write_text(name)
    yield
    (SYSCTL / "tcp_ack_policy").write_text("default")


@contextlib.contextmanager
def pair(
    address: str = "127.0.0.1", prepare: Callable[[socket.socket], None] | None = None
) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A connection: the socket that connected, and the accepted one."""
    with socket.create_server((address, 0)) as listener:
        if prepare:
            prepare(listener)
        with socket.create_connection(listener.getsockname()) as client:
            server, _ = listener.accept()
            with server:
                yield client, server


def as_nobody(attempt: Callable[[], str]) -> str:
    """The result of `attempt` in a process without privileges."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        os.write(writer, attempt().encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as pipe:
        return pipe.read()


def try_namespace() -> dict[str, Any]:
    results: dict[str, Any] = {
        "available": (SYSCTL / "tcp_available_ack_policies").read_text().split(),
        "allowed": (SYSCTL / "tcp_allowed_ack_policies").read_text().split(),
        "unknown": refusal(lambda: (SYSCTL / "tcp_ack_policy").write_text("nonesuch")),
        "unknown allowed": refusal(
            lambda: (SYSCTL / "tcp_allowed_ack_policies").write_text("aad nonesuch")
        ),
    }
    with namespace_policy("aad"), pair() as (client, server):
        results["both ends"] = [get_policy(client), get_policy(server)]
    results["restored"] = (SYSCTL / "tcp_ack_policy").read_text().strip()
    return results


def try_socket() -> dict[str, Any]:
    results: dict[str, Any] = {}
    with pair() as (client, server):
        results["at first"] = get_policy(client)
        set_policy(client, "aad")
        results["one end"] = [get_policy(client), get_policy(server)]
        results["unknown"] = refusal(lambda: set_policy(client, "nonesuch"))
        results["empty"] = refusal(lambda: set_policy(client, ""))
        results["long"] = refusal(lambda: set_policy(client, "a" * 100))
        results["after refusals"] = get_policy(client)
        set_policy(client, "default")
        results["default again"] = get_policy(client)
    with namespace_policy("aad"):
        with pair(prepare=lambda listener: set_policy(listener, "default")) as (client, server):
            results["listener chose default"] = [get_policy(client), get_policy(server)]
        with socket.socket() as sock:
            set_policy(sock, "aad-listing")
            sock.connect_ex(("127.0.0.1", 1))
            sock.connect_ex(("127.0.0.1", 1))
            results["after connections that failed"] = get_policy(sock)
    with pair(prepare=lambda listener: set_policy(listener, "aad")) as (client, server):
        results["listener chose aad"] = [get_policy(client), get_policy(server)]
    return results


def try_without_privilege() -> dict[str, Any]:
    def attempt(name: str) -> str:
        with socket.socket() as sock:
            return refusal(lambda: set_policy(sock, name))

    results = {"aad": as_nobody(lambda: attempt("aad"))}
    results["default"] = as_nobody(lambda: attempt("default"))
    (SYSCTL / "tcp_allowed_ack_policies").write_text("default aad")
    results["aad allowed"] = as_nobody(lambda: attempt("aad"))
    results["longer name"] = as_nobody(lambda: attempt("aad-listing"))
    (SYSCTL / "tcp_allowed_ack_policies").write_text("default")
    results["no longer allowed"] = as_nobody(lambda: attempt("aad"))
    results["sysctl"] = as_nobody(
        lambda: refusal(lambda: (SYSCTL / "tcp_ack_policy").write_text("aad"))
    )
    return results


def try_route() -> dict[str, Any]:
    results: dict[str, Any] = {"unknown": refusal(lambda: route("127.0.0.2", "nonesuch"))}
    # Not a local address: connections to those use the routes in table local.
    address = "192.0.2.7"
    route(address, "aad")
    results["dumped"] = routes()
    with socket.socket() as sock:
        sock.setblocking(False)
        sock.connect_ex((address, 9))
        results["connecting"] = get_policy(sock)
    with socket.socket() as sock:
        sock.setblocking(False)
        set_policy(sock, "default")
        sock.connect_ex((address, 9))
        results["socket chose default"] = get_policy(sock)
    route(address, None, RTM_DELROUTE)
    route(address, "default")
    with namespace_policy("aad"), socket.socket() as sock:
        sock.setblocking(False)
        sock.connect_ex((address, 9))
        results["route has default"] = get_policy(sock)
    route(address, "default", RTM_DELROUTE)
    results["removed"] = routes()
    return results


def try_diagnosis() -> dict[str, Any]:
    results: dict[str, Any] = {}
    with pair() as (client, server):
        results["default"] = diagnosed(client.getsockname()[1])
        set_policy(client, "aad")
        results["aad"] = diagnosed(client.getsockname()[1])
        # The first 16 segments are acknowledged in quick ACK mode; then an ACK is delayed.
        for _ in range(20):
            server.send(bytes(10))
        results["aad delayed"] = diagnosed(client.getsockname()[1])
    # Policies that leave the decision to TCP: on a path this short, and for a single segment.
    for name in ("auto", "limit"):
        with pair() as (client, server):
            set_policy(client, name)
            for _ in range(20):
                server.send(bytes(10))
            results[f"{name} left to TCP"] = diagnosed(client.getsockname()[1])
    return results


def try_reconnecting() -> dict[str, Any]:
    """A socket with a policy of its own connects a second time."""
    results: dict[str, Any] = {}
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as client:
        set_policy(client, "aad")
        for name in ("first", "second"):
            client.connect(listener.getsockname())
            results[f"{name}, before data"] = diagnosed(client.getsockname()[1])
            results[f"{name}, RTT before data"] = receiver_rtt_us(client)
            server, _ = listener.accept()
            with server:
                # The first 16 segments are acknowledged in quick ACK mode; with shorter times
                # between them, "aad" has no state.
                for _ in range(20):
                    server.send(bytes(10))
                    time.sleep(0.001)
                results[f"{name}, after data"] = diagnosed(client.getsockname()[1])
                server.sendall(bytes(100_000))
                client.recv(20 * 10 + 100_000, socket.MSG_WAITALL)
                results[f"{name}, RTT after data"] = receiver_rtt_us(client)
                disconnect(client)
            results[f"{name}, disconnected"] = get_policy(client)
    return results


def try_reconnecting_by_default() -> list[int]:
    """The receiver's RTT after data, and after the socket connects again; before any choice."""
    rtts = []
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as client:
        for size in (100_000, 0):
            client.connect(listener.getsockname())
            server, _ = listener.accept()
            with server:
                server.sendall(bytes(size))
                client.recv(size, socket.MSG_WAITALL)
                rtts.append(receiver_rtt_us(client))
                disconnect(client)
    return rtts


def main() -> None:
    functions = (
        try_reconnecting_by_default,
        *(try_namespace, try_socket, try_without_privilege, try_route, try_diagnosis),
        try_reconnecting,
    )
    print(json.dumps({each.__name__.removeprefix("try_"): each() for each in functions}))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: GPL-2.0-only
"""Chooses ACK policies in every way there is and prints, as JSON, what the kernel says of it.

Runs in a guest as root, with nothing but Python itself, over the loopback device.
"""

import contextlib
import errno
import json
import os
import socket
import struct
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
    """The payloads of what is answered. OSError when the kernel refuses."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as own:
        head = struct.pack("=IHHII", 16 + len(payload), kind, NLM_F_REQUEST | flags, 1, 0)
        own.send(head + payload)
        while True:
            data = own.recv(65536)
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
    """Address -> policy, of the routes that have one."""
    found = {}
    request = struct.pack("=8BI", socket.AF_INET, *bytes(7), 0)
    for answer in netlink(NETLINK_ROUTE, RTM_GETROUTE, NLM_F_DUMP, request):
        said = attributes(answer[12:])
        metrics = attributes(said.get(RTA_METRICS, b""))
        if RTAX_ACK_POLICY in metrics:
            name = metrics[RTAX_ACK_POLICY].rstrip(b"\0").decode()
            found[socket.inet_ntoa(said[RTA_DST])] = name
    return found


def diagnosed(port: int) -> dict[str, Any]:
    """What inet_diag says of the connection that has this local port."""
    every_state = 0xFFFF
    # Policies are told with what INET_DIAG_INFO asks for.
    asked = 1 << (INET_DIAG_INFO - 1)
    request = struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, asked, 0, every_state)
    for answer in netlink(NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, request + bytes(48)):
        if struct.unpack_from(">H", answer, 4)[0] != port:
            continue
        reported = attributes(answer[72:])
        if INET_DIAG_ACKPOL not in reported:
            return {}
        policy = attributes(reported[INET_DIAG_ACKPOL])
        said: dict[str, Any] = {"name": policy[ACKPOL_NAME].rstrip(b"\0").decode()}
        numbers = {
            "segs": ACKPOL_SEGS,
            "iat_us": ACKPOL_IAT_US,
            "delay_us": ACKPOL_DELAY_US,
            "due_us": ACKPOL_DUE_US,
        }
        for key, kind in numbers.items():
            if kind in policy:
                [said[key]] = struct.unpack("=I", policy[kind])
        state = attributes(policy.get(ACKPOL_STATE, b""))
        said["state"] = {kind: struct.unpack("=I", value)[0] for kind, value in state.items()}
        return said
    raise LookupError(f"no socket with port {port}")


def chosen(own: socket.socket) -> str:
    return own.getsockopt(socket.IPPROTO_TCP, TCP_ACK_POLICY, 16).rstrip(b"\0").decode()


def choose(own: socket.socket, name: str) -> None:
    own.setsockopt(socket.IPPROTO_TCP, TCP_ACK_POLICY, name.encode())


def refusal(attempt: Callable[[], object]) -> str:
    """The name of the error, or "" when there is none."""
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
    """A connection: the end that connected, the end that was accepted."""
    with socket.create_server((address, 0)) as listener:
        if prepare:
            prepare(listener)
        with socket.create_connection(listener.getsockname()) as one:
            other, _ = listener.accept()
            with other:
                yield one, other


def as_nobody(attempt: Callable[[], str]) -> str:
    """What the attempt returns in a process without privileges."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        os.write(writer, attempt().encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as said:
        return said.read()


def try_namespace() -> dict[str, Any]:
    told: dict[str, Any] = {
        "available": (SYSCTL / "tcp_available_ack_policies").read_text().split(),
        "allowed": (SYSCTL / "tcp_allowed_ack_policies").read_text().split(),
        "unknown": refusal(lambda: (SYSCTL / "tcp_ack_policy").write_text("nonesuch")),
        "unknown allowed": refusal(
            lambda: (SYSCTL / "tcp_allowed_ack_policies").write_text("aad nonesuch")
        ),
    }
    with namespace_policy("aad"), pair() as (one, other):
        told["both ends"] = [chosen(one), chosen(other)]
    told["left behind"] = (SYSCTL / "tcp_ack_policy").read_text().strip()
    return told


def try_socket() -> dict[str, Any]:
    told: dict[str, Any] = {}
    with pair() as (one, other):
        told["at first"] = chosen(one)
        choose(one, "aad")
        told["one end"] = [chosen(one), chosen(other)]
        told["unknown"] = refusal(lambda: choose(one, "nonesuch"))
        told["empty"] = refusal(lambda: choose(one, ""))
        told["long"] = refusal(lambda: choose(one, "a" * 100))
        told["after refusals"] = chosen(one)
        choose(one, "default")
        told["back"] = chosen(one)
    with namespace_policy("aad"):
        with pair(prepare=lambda listener: choose(listener, "default")) as (one, other):
            told["listener chose default"] = [chosen(one), chosen(other)]
        with socket.socket() as own:
            choose(own, "aad-listing")
            own.connect_ex(("127.0.0.1", 1))
            own.connect_ex(("127.0.0.1", 1))
            told["after connections that failed"] = chosen(own)
    with pair(prepare=lambda listener: choose(listener, "aad")) as (one, other):
        told["listener chose aad"] = [chosen(one), chosen(other)]
    return told


def try_without_privilege() -> dict[str, Any]:
    def attempt(name: str) -> str:
        with socket.socket() as own:
            return refusal(lambda: choose(own, name))

    told = {"aad": as_nobody(lambda: attempt("aad"))}
    told["default"] = as_nobody(lambda: attempt("default"))
    (SYSCTL / "tcp_allowed_ack_policies").write_text("default aad")
    told["aad allowed"] = as_nobody(lambda: attempt("aad"))
    told["a name within a name"] = as_nobody(lambda: attempt("aad-listing"))
    (SYSCTL / "tcp_allowed_ack_policies").write_text("default")
    told["not allowed any more"] = as_nobody(lambda: attempt("aad"))
    told["sysctl"] = as_nobody(
        lambda: refusal(lambda: (SYSCTL / "tcp_ack_policy").write_text("aad"))
    )
    return told


def try_route() -> dict[str, Any]:
    told: dict[str, Any] = {"unknown": refusal(lambda: route("127.0.0.2", "nonesuch"))}
    # A local address has its route in table local; connections to it from itself use that one.
    address = "192.0.2.7"
    route(address, "aad")
    told["dumped"] = routes()
    with socket.socket() as own:
        own.setblocking(False)
        own.connect_ex((address, 9))
        told["connecting"] = chosen(own)
    with socket.socket() as own:
        own.setblocking(False)
        choose(own, "default")
        own.connect_ex((address, 9))
        told["socket chose default"] = chosen(own)
    route(address, None, RTM_DELROUTE)
    route(address, "default")
    with namespace_policy("aad"), socket.socket() as own:
        own.setblocking(False)
        own.connect_ex((address, 9))
        told["route says default"] = chosen(own)
    route(address, "default", RTM_DELROUTE)
    told["removed"] = routes()
    return told


def try_diagnosis() -> dict[str, Any]:
    told: dict[str, Any] = {}
    with pair() as (one, other):
        told["default"] = diagnosed(one.getsockname()[1])
        choose(one, "aad")
        told["aad"] = diagnosed(one.getsockname()[1])
        # 16 segments in quick ACK mode, then one that waits.
        for _ in range(20):
            other.send(bytes(10))
        told["aad waits"] = diagnosed(one.getsockname()[1])
    return told


def main() -> None:
    tried = (try_namespace, try_socket, try_without_privilege, try_route, try_diagnosis)
    print(json.dumps({one.__name__.removeprefix("try_"): one() for one in tried}))


if __name__ == "__main__":
    main()

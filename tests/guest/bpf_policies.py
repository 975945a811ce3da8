# SPDX-License-Identifier: GPL-2.0-only
"""BPF programs of type sockops that select ACK policies; prints the results as JSON.

Runs in a guest as root, over the loopback device. The programs are written as instructions, so that
neither clang nor libbpf is needed. Each shares a map of one value with user space.
"""

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import socket
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SYS_BPF = 321
BPF_MAP_CREATE, BPF_MAP_LOOKUP_ELEM, BPF_MAP_UPDATE_ELEM = 0, 1, 2
BPF_PROG_LOAD, BPF_PROG_ATTACH, BPF_PROG_DETACH = 5, 8, 9
BPF_MAP_TYPE_ARRAY = 2
BPF_PROG_TYPE_SOCK_OPS, BPF_CGROUP_SOCK_OPS = 13, 3
SETSOCKOPT, GETSOCKOPT, SOCK_OPS_CB_FLAGS_SET = 49, 57, 59  # helpers
ACTIVE_ESTABLISHED, PASSIVE_ESTABLISHED, HDR_OPT_LEN = 4, 5, 14  # BPF_SOCK_OPS_..._CB
WRITE_HDR_OPT_FLAG = 1 << 6
SOL_TCP, TCP_ACK_POLICY, TCP_IS_MPTCP, IPPROTO_MPTCP = 6, 47, 43, 262
NAME_MAX = 16
CLONE_NEWNET = 0x40000000
SYSCTL = Path("/proc/sys/net/ipv4")

# The map's value: 64-bit numbers, names of two policies, and the name that a program read.
NUMBERS = ("calls", "set", "busy", "other", "returned", "depth", "deepest")
OFFSET = {name: 8 * index for index, name in enumerate(NUMBERS)}
NAMES, GOT = 64, 96
VALUE_SIZE = GOT + NAME_MAX

R0, R1, R2, R3, R4, R5, R6, R7 = range(8)
Program = list[bytes]

libc = ctypes.CDLL(None, use_errno=True)


def instruction(code: int, dst: int = 0, src: int = 0, off: int = 0, imm: int = 0) -> bytes:
    return struct.pack("<BBhi", code, src << 4 | dst, off, imm)


def copy(dst: int, src: int) -> bytes:
    return instruction(0xBF, dst, src)


def put(dst: int, imm: int) -> bytes:
    return instruction(0xB7, dst, imm=imm)


def add(dst: int, imm: int) -> bytes:
    return instruction(0x07, dst, imm=imm)


def load(dst: int, name: str) -> bytes:
    return instruction(0x79, dst, R7, OFFSET[name])


def store(name: str, src: int) -> bytes:
    return instruction(0x7B, R7, src, OFFSET[name])


def call(helper: int) -> bytes:
    return instruction(0x85, imm=helper)


def unless_equal(dst: int, imm: int, then: Program) -> Program:
    """Execute `then` only if the register equals `imm`."""
    return [instruction(0x55, dst, off=len(then), imm=imm), *then]


def count(name: str) -> Program:
    return [load(R3, name), add(R3, 1), store(name, R3)]


def leave() -> Program:
    return [put(R0, 1), instruction(0x95)]


def sockopt(helper: int) -> Program:
    """Call a helper for TCP_ACK_POLICY, with the name at R4."""
    return [
        *(copy(R1, R6), put(R2, SOL_TCP), put(R3, TCP_ACK_POLICY), put(R5, NAME_MAX)),
        call(helper),
    ]


def begin(map_fd: int) -> Program:
    """Set R6 to the context, R7 to the map's value, R2 to the operation."""
    return [
        copy(R6, R1),
        instruction(0x18, R7, 2, imm=map_fd),  # 16 bytes; BPF_PSEUDO_MAP_VALUE
        instruction(0),
        instruction(0x61, R2, R6),
    ]


def note_result() -> Program:
    """Count the result of bpf_setsockopt()."""
    return [
        *(store("returned", R0), put(R4, OFFSET["other"])),
        *unless_equal(R0, 0, [put(R4, OFFSET["set"])]),
        *unless_equal(R0, -errno.EBUSY, [put(R4, OFFSET["busy"])]),
        instruction(0x0F, R4, R7),
        *(instruction(0x79, R3, R4), add(R3, 1), instruction(0x7B, R4, R3)),
    ]


def set_when_established(map_fd: int) -> Program:
    set_and_get = [
        *(copy(R4, R7), add(R4, NAMES), *sockopt(SETSOCKOPT), *note_result()),
        *(copy(R4, R7), add(R4, GOT), *sockopt(GETSOCKOPT)),
    ]
    return [
        *begin(map_fd),
        instruction(0x15, R2, off=1, imm=ACTIVE_ESTABLISHED),
        *unless_equal(R2, PASSIVE_ESTABLISHED, set_and_get),
        *leave(),
    ]


def alternate_in_every_header(map_fd: int) -> Program:
    """Switch the accepted socket between two policies whenever the kernel asks for the length of
    the options of a TCP header: while it sends a segment, or before.
    """
    enable = [copy(R1, R6), put(R2, WRITE_HDR_OPT_FLAG), call(SOCK_OPS_CB_FLAGS_SET), *leave()]
    return [
        *begin(map_fd),
        *unless_equal(R2, PASSIVE_ESTABLISHED, enable),
        instruction(0x15, R2, off=2, imm=HDR_OPT_LEN),
        *leave(),
        *(load(R3, "depth"), add(R3, 1), store("depth", R3), load(R4, "deepest")),
        instruction(0xBD, R3, R4, 1),  # if depth is greater than deepest
        store("deepest", R3),
        *(load(R4, "calls"), *count("calls")),
        instruction(0x57, R4, imm=1),  # and
        instruction(0x67, R4, imm=4),  # shift left
        *(instruction(0x0F, R4, R7), add(R4, NAMES)),
        *(*sockopt(SETSOCKOPT), *note_result()),
        *(load(R3, "depth"), add(R3, -1), store("depth", R3)),
        *leave(),
    ]


def bpf(command: int, attributes: bytes) -> int:
    buffer = ctypes.create_string_buffer(attributes, max(len(attributes), 128))
    result = libc.syscall(SYS_BPF, command, buffer, len(buffer))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"bpf command {command}")
    return int(result)


class Map:
    """A value that a program shares with user space."""

    def __init__(self, *names: str) -> None:
        sizes = struct.pack("<4I", BPF_MAP_TYPE_ARRAY, 4, VALUE_SIZE, 1)
        self.fd = bpf(BPF_MAP_CREATE, sizes)
        value = bytes(NAMES) + b"".join(name.encode().ljust(NAME_MAX, b"\0") for name in names)
        self._access(BPF_MAP_UPDATE_ELEM, value.ljust(VALUE_SIZE, b"\0"))

    def _access(self, command: int, value: bytes) -> bytes:
        key = ctypes.c_uint32(0)
        buffer = ctypes.create_string_buffer(value, VALUE_SIZE)
        addresses = ctypes.addressof(key), ctypes.addressof(buffer)
        bpf(command, struct.pack("<I4xQQQ", self.fd, *addresses, 0))
        return buffer.raw

    def read(self) -> dict[str, Any]:
        value = self._access(BPF_MAP_LOOKUP_ELEM, bytes(VALUE_SIZE))
        numbers = struct.unpack_from(f"<{len(NUMBERS)}q", value)
        return {**dict(zip(NUMBERS, numbers, strict=True)), "got": name_in(value[GOT:])}


def loaded(program: Program) -> int:
    """The program's file descriptor. Raises OSError with the verifier's log."""
    code, log = b"".join(program), ctypes.create_string_buffer(1 << 20)
    instructions = ctypes.create_string_buffer(code, len(code))
    licence = ctypes.create_string_buffer(b"GPL")
    attributes = struct.pack(
        "<IIQQIIQII16sII",
        *(BPF_PROG_TYPE_SOCK_OPS, len(code) // 8),
        *(ctypes.addressof(instructions), ctypes.addressof(licence)),
        *(1, len(log), ctypes.addressof(log)),
        *(0, 0, b"", 0, BPF_CGROUP_SOCK_OPS),
    )
    try:
        return bpf(BPF_PROG_LOAD, attributes)
    except OSError as error:
        text = log.value.decode(errors="replace")
        raise OSError(error.errno, f"the verifier refused the program: {text}") from error


@contextlib.contextmanager
def attached(cgroup: Path, program: Program) -> Iterator[None]:
    directory = os.open(cgroup, os.O_RDONLY)
    fd = loaded(program)
    bpf(BPF_PROG_ATTACH, struct.pack("<4I", directory, fd, BPF_CGROUP_SOCK_OPS, 0))
    yield
    bpf(BPF_PROG_DETACH, struct.pack("<4I", directory, fd, BPF_CGROUP_SOCK_OPS, 0))
    os.close(fd)
    os.close(directory)


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


def name_in(value: bytes) -> str:
    return value.partition(b"\0")[0].decode()


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


def until_acknowledged_ms(sock: socket.socket) -> float:
    start = time.monotonic()
    while unacknowledged(sock):
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
    for name in ("left alone", "policy changed"):
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
            if name == "policy changed":
                # The kernel computes the size of a segment, but sends nothing.
                server.setsockopt(SOL_TCP, socket.TCP_CORK, 1)
                server.send(b"x")
                result["policies"].append(policy(server))
                result["changes"] = shared.read()["set"] - before["set"]
            result["ms"] = until_acknowledged_ms(client)
            try:
                client.recv(1, socket.MSG_DONTWAIT)
                result["data"] = True
            except BlockingIOError:
                result["data"] = False
            result.update(shared.read())
        results[name] = result
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
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare")
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
    results["divack"] = try_divack(cgroup, 0)
    results["divack spread"] = try_divack(cgroup, 5000)
    results["mptcp default"] = try_mptcp("default")
    results["mptcp aad"] = try_mptcp("aad")
    print(json.dumps(results))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: GPL-2.0-only
"""BPF programs of type sockops that choose ACK policies; prints what they met as JSON.

Runs in a guest as root, over the loopback device. The programs are written as instructions, so that
neither clang nor libbpf is needed. All of them share a map of one value, which user space sees too.
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

# The map's value: numbers of 64 bits, then two policies' names and the one that a program got.
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
    """Skip `then` unless the register is `imm`."""
    return [instruction(0x55, dst, off=len(then), imm=imm), *then]


def count(name: str) -> Program:
    return [load(R3, name), add(R3, 1), store(name, R3)]


def leave() -> Program:
    return [put(R0, 1), instruction(0x95)]


def sockopt(helper: int) -> Program:
    """Of the policy; its name is where R4 points to."""
    return [
        *(copy(R1, R6), put(R2, SOL_TCP), put(R3, TCP_ACK_POLICY), put(R5, NAME_MAX)),
        call(helper),
    ]


def begin(map_fd: int) -> Program:
    """R6 is the context, R7 the map's value, R2 the operation."""
    return [
        copy(R6, R1),
        instruction(0x18, R7, 2, imm=map_fd),  # of two instructions: BPF_PSEUDO_MAP_VALUE
        instruction(0),
        instruction(0x61, R2, R6),
    ]


def note_result() -> Program:
    """Count what bpf_setsockopt() has returned."""
    return [
        *(store("returned", R0), put(R4, OFFSET["other"])),
        *unless_equal(R0, 0, [put(R4, OFFSET["set"])]),
        *unless_equal(R0, -errno.EBUSY, [put(R4, OFFSET["busy"])]),
        instruction(0x0F, R4, R7),
        *(instruction(0x79, R3, R4), add(R3, 1), instruction(0x7B, R4, R3)),
    ]


def choose_when_established(map_fd: int) -> Program:
    chosen = [
        *(copy(R4, R7), add(R4, NAMES), *sockopt(SETSOCKOPT), *note_result()),
        *(copy(R4, R7), add(R4, GOT), *sockopt(GETSOCKOPT)),
    ]
    return [
        *begin(map_fd),
        instruction(0x15, R2, off=1, imm=ACTIVE_ESTABLISHED),
        *unless_equal(R2, PASSIVE_ESTABLISHED, chosen),
        *leave(),
    ]


def alternate_in_every_header(map_fd: int) -> Program:
    """The end that was accepted takes the one and the other policy in turn, as often as the kernel
    asks how long the options of a TCP header are: while a segment is sent, or before.
    """
    enable = [copy(R1, R6), put(R2, WRITE_HDR_OPT_FLAG), call(SOCK_OPS_CB_FLAGS_SET), *leave()]
    return [
        *begin(map_fd),
        *unless_equal(R2, PASSIVE_ESTABLISHED, enable),
        instruction(0x15, R2, off=2, imm=HDR_OPT_LEN),
        *leave(),
        *(load(R3, "depth"), add(R3, 1), store("depth", R3), load(R4, "deepest")),
        instruction(0xBD, R3, R4, 1),  # unless it is deeper
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
    got = libc.syscall(SYS_BPF, command, buffer, len(buffer))
    if got < 0:
        raise OSError(ctypes.get_errno(), f"bpf command {command}")
    return int(got)


class Map:
    """One value, shared by a program and user space."""

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
    """The program's file descriptor. OSError with what the verifier says."""
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
        said = log.value.decode(errors="replace")
        raise OSError(error.errno, f"the program is refused: {said}") from error


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
    """A connection: the end that connected, the end that was accepted."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol) as listener,
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol) as one,
    ):
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        one.connect(listener.getsockname())
        one.setsockopt(SOL_TCP, socket.TCP_NODELAY, 1)
        other, _ = listener.accept()
        with other:
            yield one, other


def name_in(value: bytes) -> str:
    return value.partition(b"\0")[0].decode()


def policy(own: socket.socket) -> str:
    return name_in(own.getsockopt(SOL_TCP, TCP_ACK_POLICY, NAME_MAX))


def receive(own: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        part = own.recv(length - len(data))
        if not part:
            raise EOFError(f"{len(data)} of {length} bytes")
        data += part
    return data


def transfer(one: socket.socket, other: socket.socket, rounds: int, size: int) -> int:
    """Send blocks, read each at the other end, and an answer to every eighth. Returns bytes."""
    total = 0
    for number in range(rounds):
        block = number.to_bytes(4, "big") * (size // 4)
        one.sendall(block)
        if receive(other, len(block)) != block:
            raise ValueError(f"block {number} has changed on the way")
        total += len(block)
        if number % 8 == 7:
            other.sendall(b"answer")
            receive(one, 6)
    return total


def counters() -> dict[str, int]:
    """Of ACK policies, in this namespace."""
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


def unacknowledged(own: socket.socket) -> int:
    """tcpi_unacked."""
    info = own.getsockopt(SOL_TCP, socket.TCP_INFO, 104)
    return int(struct.unpack_from("<I", info, 24)[0])


def until_acknowledged_ms(own: socket.socket) -> float:
    start = time.monotonic()
    while unacknowledged(own):
        if time.monotonic() - start > 5:
            raise TimeoutError("no ACK in 5 s")
        time.sleep(0.0002)
    return 1000 * (time.monotonic() - start)


def try_choice(cgroup: Path) -> dict[str, Any]:
    """The first choice of a policy since the kernel has booted."""
    told: dict[str, Any] = {"allowed": (SYSCTL / "tcp_allowed_ack_policies").read_text().split()}
    for name in ("aad", "nonesuch", "limit"):
        shared = Map(name)
        with attached(cgroup, choose_when_established(shared.fd)), pair() as (one, other):
            said = {"ends": [policy(one), policy(other)], **shared.read()}
            if name == "aad":
                before = counters()
                transfer(one, other, 40, 1000)
                said["counted"] = sum(counters().values()) - sum(before.values())
            told[name] = said
    told["available"] = available()
    with pair() as (one, other):
        told["detached"] = [policy(one), policy(other)]
    return told


def alternating(cgroup: Path, first: str, second: str, size: int) -> dict[str, Any]:
    shared = Map(first, second)
    with attached(cgroup, alternate_in_every_header(shared.fd)), pair() as (one, other):
        told: dict[str, Any] = {"bytes": transfer(one, other, 400, size)}
        told["last"] = policy(other)
        told.update(shared.read())
    return told


def try_waiting_ack(cgroup: Path) -> dict[str, Any]:
    """An ACK waits, and the program changes the policy without anything being sent."""
    set_sysctl("tcp_aad_max_delay_us", 100_000)
    set_sysctl("tcp_ack_count_delay_us", 100_000)
    set_sysctl("tcp_ack_count", 100)
    told: dict[str, Any] = {}
    for name in ("left alone", "policy changed"):
        shared = Map("aad", "count")
        with attached(cgroup, alternate_in_every_header(shared.fd)), pair() as (one, other):
            # Out of quick ACK mode.
            for _ in range(20):
                one.send(bytes(1000))
                receive(other, 1000)
                until_acknowledged_ms(one)
            one.send(bytes(1000))
            receive(other, 1000)
            time.sleep(0.005)
            said: dict[str, Any] = {"waits": unacknowledged(one), "policies": [policy(other)]}
            before = shared.read()
            if name == "policy changed":
                # The kernel works out the size of a segment, and then has nothing to send.
                other.setsockopt(SOL_TCP, socket.TCP_CORK, 1)
                other.send(b"x")
                said["policies"].append(policy(other))
                said["changes"] = shared.read()["set"] - before["set"]
            said["ms"] = until_acknowledged_ms(one)
            try:
                one.recv(1, socket.MSG_DONTWAIT)
                said["data"] = True
            except BlockingIOError:
                said["data"] = False
            said.update(shared.read())
        told[name] = said
    return told


def try_divack(cgroup: Path, spread_us: int) -> dict[str, Any]:
    set_sysctl("tcp_divack", 3)
    set_sysctl("tcp_divack_spread_us", spread_us)
    return alternating(cgroup, "divack", "default", 2000)


def bytes_in_flight(own: socket.socket) -> int:
    """Of MPTCP: what has no DATA_ACK yet."""
    return int(struct.unpack("i", fcntl.ioctl(own, termios.TIOCOUTQ, bytes(4)))[0])


def try_mptcp(name: str) -> dict[str, Any]:
    """In a network namespace of its own, which this process then stays in."""
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    set_sysctl("tcp_ack_policy", name)
    told: dict[str, Any] = {"messages": 0}
    with pair(IPPROTO_MPTCP) as (one, other):
        start = time.monotonic()
        for number in range(1000):
            message = f"message {number:4}".encode()
            one.sendall(message)
            other.sendall(receive(other, len(message)))
            told["messages"] += receive(one, len(message)) == message
        told["s"] = time.monotonic() - start
        slowest = 0.0
        for _ in range(50):
            start = time.monotonic()
            one.sendall(bytes(100))
            receive(other, 100)
            while bytes_in_flight(one):
                time.sleep(0.0005)
            slowest = max(slowest, time.monotonic() - start)
        told["slowest DATA_ACK ms"] = 1000 * slowest
        told["is mptcp"] = [own.getsockopt(SOL_TCP, TCP_IS_MPTCP) for own in (one, other)]
    told["counted"] = sum(counters().values())
    with pair() as (one, other):
        told["tcp"] = [policy(one), policy(other)]
        transfer(one, other, 40, 1000)
    told["counted with tcp"] = sum(counters().values())
    return told


def main() -> None:
    cgroup = Path("/run/cgroup")
    cgroup.mkdir()
    subprocess.run(["mount", "-t", "cgroup2", "none", cgroup], check=True)
    told: dict[str, Any] = {}
    for module in ("aad", "count", "divack"):
        subprocess.run(["modprobe", f"tcp-ackpol-{module}"], check=True)
    told["choice"] = try_choice(cgroup)
    told["alternating"] = alternating(cgroup, "aad", "count", 2000)
    told["waiting ack"] = try_waiting_ack(cgroup)
    told["divack"] = try_divack(cgroup, 0)
    told["divack spread"] = try_divack(cgroup, 5000)
    told["mptcp default"] = try_mptcp("default")
    told["mptcp aad"] = try_mptcp("aad")
    print(json.dumps(told))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: GPL-2.0-only
"""BPF programs of type sockops that set ACK policies, and how they are loaded and attached.

They are written as instructions, so that neither clang nor libbpf is needed. Each shares a map of
one value with user space.
"""

import contextlib
import ctypes
import errno
import os
import struct
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
ARGUMENT_OFFSET = 4  # of bpf_sock_ops.args[0]: with HDR_OPT_LEN, 0 for a segment that is being sent
SOL_TCP, TCP_ACK_POLICY = 6, 47
NAME_MAX = 16

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


def set_first_policy() -> Program:
    return [copy(R4, R7), add(R4, NAMES), *sockopt(SETSOCKOPT), *note_result()]


def set_when_established(map_fd: int) -> Program:
    set_and_get = [
        *set_first_policy(),
        *(copy(R4, R7), add(R4, GOT), *sockopt(GETSOCKOPT)),
    ]
    return [
        *begin(map_fd),
        instruction(0x15, R2, off=1, imm=ACTIVE_ESTABLISHED),
        *unless_equal(R2, PASSIVE_ESTABLISHED, set_and_get),
        *leave(),
    ]


def in_every_header(map_fd: int, then: Program) -> Program:
    """Execute `then` for the accepted socket whenever the kernel asks for the length of the options
    of a TCP header: while it sends a segment, or before.
    """
    enable = [copy(R1, R6), put(R2, WRITE_HDR_OPT_FLAG), call(SOCK_OPS_CB_FLAGS_SET), *leave()]
    return [
        *begin(map_fd),
        *unless_equal(R2, PASSIVE_ESTABLISHED, enable),
        instruction(0x15, R2, off=2, imm=HDR_OPT_LEN),
        *leave(),
        *then,
        *leave(),
    ]


def alternate_in_every_header(map_fd: int) -> Program:
    """Switch the accepted socket between two policies."""
    alternate = [
        *(load(R3, "depth"), add(R3, 1), store("depth", R3), load(R4, "deepest")),
        instruction(0xBD, R3, R4, 1),  # if depth is greater than deepest
        store("deepest", R3),
        *(load(R4, "calls"), *count("calls")),
        instruction(0x57, R4, imm=1),  # and
        instruction(0x67, R4, imm=4),  # shift left
        *(instruction(0x0F, R4, R7), add(R4, NAMES)),
        *(*sockopt(SETSOCKOPT), *note_result()),
        *(load(R3, "depth"), add(R3, -1), store("depth", R3)),
    ]
    return in_every_header(map_fd, alternate)


def remove_in_every_ack(map_fd: int) -> Program:
    """Replace the policy of the accepted socket, whenever it sends a segment."""
    replace = [
        instruction(0x61, R2, R6, ARGUMENT_OFFSET),
        *unless_equal(R2, 0, [*count("calls"), *set_first_policy()]),
    ]
    return in_every_header(map_fd, replace)


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


def name_in(value: bytes) -> str:
    return value.partition(b"\0")[0].decode()

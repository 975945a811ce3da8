# SPDX-License-Identifier: GPL-2.0-only
"""TCP segments as packet scripts write them (tests/packets/README.md), and as IPv4 packets."""

import re
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

LOCAL, REMOTE, PORT, REMOTE_PORT = "192.168.0.1", "192.0.2.1", 8080, 40000
FLAGS = "FSRP.UEW"
"""TCP flags, by the number of their bit in the header."""
ECN = {"": 0, "[ect1] ": 1, "[ect0] ": 2, "[ce] ": 3}


class ScriptError(Exception):
    """A script that is not valid."""


@dataclass(frozen=True)
class Segment:
    """A TCP segment; numbers are relative to the initial ones, as in packetdrill scripts.

    options are texts such as "mss 1460", without padding. None matches anything.
    """

    flags: str
    seq: int
    length: int
    ack: int = 0
    window: int | None = None
    options: tuple[str, ...] | None = ()
    ecn: int = 0

    def __str__(self) -> str:
        words = [self.flags, f"{self.seq}:{self.seq + self.length}({self.length})"]
        words += [f"ack {self.ack}"] if "." in self.flags else []
        words += [] if self.window is None else [f"win {self.window}"]
        if self.options is None or self.options:
            words.append(f"<{'...' if self.options is None else ','.join(self.options)}>")
        return {mark: text for text, mark in ECN.items()}[self.ecn] + " ".join(words)


SEGMENT = re.compile(
    r"(\[\w+\] )?([FSRP.EW]+) (\d+):(\d+)\((\d+)\)(?: ack (\d+))?(?: win (\d+))?(?: <(.*)>)?"
)


def parse_segment(text: str) -> Segment:
    match = SEGMENT.fullmatch(text)
    if not match or (match[1] or "") not in ECN:
        raise ScriptError(f"not a segment: {text}")
    mark, flags, start, end, length, ack, window, options = match.groups()
    if int(end) - int(start) != int(length) or ("." in flags) != (ack is not None):
        raise ScriptError(f"not consistent: {text}")
    return Segment(
        flags,
        int(start),
        int(length),
        int(ack or 0),
        None if window is None else int(window),
        None if options == "..." else parse_options(options or ""),
        ECN[mark or ""],
    )


def parse_options(text: str) -> tuple[str, ...]:
    return tuple(option for option in text.split(",") if option not in ("", "nop"))


@dataclass
class Numbers:
    """The initial sequence numbers. Timestamps of the local TCP count ms since its SYN-ACK."""

    remote_isn: int
    local_isn: int = 0
    local_ts: int = 0


def checksum(data: bytes) -> bytes:
    return struct.pack("!H", 0xFFFF ^ int.from_bytes(data + bytes(len(data) % 2)) % 0xFFFF)


def pack_option(text: str, numbers: Numbers) -> bytes:
    match text.split():
        case ["mss", size]:
            return struct.pack("!BBH", 2, 4, int(size))
        case ["wscale", shift]:
            return struct.pack("!BBB", 3, 3, int(shift))
        case ["sackOK"]:
            return b"\4\2"
        case ["TS", "val", value, "ecr", echo]:
            return struct.pack("!BBII", 8, 10, int(value), (int(echo) + numbers.local_ts) % 2**32)
    raise ScriptError(f"not an option that can be sent: {text}")


def unpack_options(data: bytes, numbers: Numbers) -> Iterator[str]:
    while data:
        kind = data[0]
        size = 1 if kind in (0, 1) else data[1]
        value, data = data[2:size], data[size:]
        if kind == 2:
            yield f"mss {int.from_bytes(value)}"
        elif kind == 3:
            yield f"wscale {value[0]}"
        elif kind == 4:
            yield "sackOK"
        elif kind == 5:
            edges = struct.iter_unpack("!II", value)
            blocks = [[(edge - numbers.remote_isn) % 2**32 for edge in block] for block in edges]
            yield "sack " + " ".join(f"{left}:{right}" for left, right in blocks)
        elif kind == 8:
            value, echo = struct.unpack("!II", value)
            yield f"TS val {(value - numbers.local_ts) % 2**32} ecr {echo}"
        elif kind > 1:
            yield f"option {kind}"


def to_packet(segment: Segment, numbers: Numbers) -> bytes:
    """The IPv4 packet of a segment to be sent."""
    options = b"".join(pack_option(text, numbers) for text in segment.options or ())
    options += b"\1" * (-len(options) % 4)
    head = struct.pack(
        "!HHIIBBH",
        REMOTE_PORT,
        PORT,
        (segment.seq + numbers.remote_isn) % 2**32,
        (segment.ack + numbers.local_isn) % 2**32 if "." in segment.flags else 0,
        20 + len(options) << 2,
        sum(1 << FLAGS.index(flag) for flag in segment.flags),
        65535 if segment.window is None else segment.window,
    )
    tail = bytes(2) + options + bytes(segment.length)
    ends = socket.inet_aton(REMOTE) + socket.inet_aton(LOCAL)
    size = len(head) + 2 + len(tail)
    pseudo = ends + struct.pack("!HH", socket.IPPROTO_TCP, size)
    tcp = head + checksum(pseudo + head + tail) + tail
    first = struct.pack("!BBHHHBB", 0x45, segment.ecn, 20 + size, 0, 0x4000, 64, socket.IPPROTO_TCP)
    return first + checksum(first + ends) + ends + tcp


def renumber(packet: bytes, numbers: Numbers) -> bytes:
    """A packet of to_packet() with the local numbers 0, with these numbers instead."""
    result = bytearray(packet)
    fields = [(28, numbers.local_isn)] if packet[33] & 16 else []
    stamp = packet.find(b"\x08\x0a", 40, 20 + (packet[32] >> 4) * 4)
    if stamp >= 0:
        fields.append((stamp + 6, numbers.local_ts))
    total = 0xFFFF ^ int.from_bytes(packet[36:38])
    for at, first in fields:
        relative = int.from_bytes(packet[at : at + 4])
        number = (relative + first) % 2**32
        total += number - relative
        result[at : at + 4] = number.to_bytes(4)
    result[36:38] = (0xFFFF ^ total % 0xFFFF).to_bytes(2)
    return bytes(result)


def from_packet(packet: bytes, numbers: Numbers) -> Segment | None:
    """The segment in a packet that TCP sent, None for other packets; a SYN sets `numbers`."""
    if packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
        return None
    tcp = packet[(packet[0] & 15) * 4 : int.from_bytes(packet[2:4])]
    _, _, seq, ack, offset, bits, window = struct.unpack("!HHIIBBH", tcp[:16])
    size = (offset >> 4) * 4
    if bits & 2:
        numbers.local_isn = seq
        stamp = tcp[20:size].find(b"\x08\x0a")
        numbers.local_ts = int.from_bytes(tcp[22 + stamp : 26 + stamp]) if stamp >= 0 else 0
    return Segment(
        "".join(flag for flag in "SFRP.UEW" if bits & 1 << FLAGS.index(flag)),
        (seq - numbers.local_isn) % 2**32,
        len(tcp) - size,
        (ack - numbers.remote_isn) % 2**32 if bits & 16 else 0,
        window,
        tuple(unpack_options(tcp[20:size], numbers)),
        packet[1] & 3,
    )

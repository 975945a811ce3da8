# SPDX-License-Identifier: GPL-2.0-only
"""Packet captures: converts nanosecond pcap to pcapng, and reads TCP segments from both formats.

The guest's tcpdump writes classic pcap. Users get pcapng (IETF draft draft-ietf-opsawg-pcapng),
which has the name of the interface and the resolution of time stamps. The output contains no host
name, program name or date, so equal packets make equal files.

Supported link types: Ethernet, and radiotap with 802.11 (https://www.radiotap.org). TCP is read
from IPv4 only, as the laboratory uses no IPv6.
"""

import math
import struct
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from socket import inet_ntoa
from typing import BinaryIO, NamedTuple

from airtcp.errors import AirtcpError
from airtcp.files import radiotap

LINKTYPE_ETHERNET = 1
LINKTYPE_RADIOTAP = 127

_PCAP_NANOSECONDS = 0xA1B23C4D
_PCAP_MICROSECONDS = 0xA1B2C3D4

_SECTION_HEADER = 0x0A0D0D0A
_INTERFACE_DESCRIPTION = 1
_ENHANCED_PACKET = 6
_BYTE_ORDER_MAGIC = 0x1A2B3C4D
_OPTION_END = 0
_OPTION_IF_NAME = 2
_OPTION_IF_TSRESOL = 9
_NANOSECONDS = 9  # if_tsresol: negative power of ten

_ENHANCED_PACKET_FIXED = struct.Struct("<IIIIIII")
_ENHANCED_PACKET_OVERHEAD = _ENHANCED_PACKET_FIXED.size + 4
_PIECE = 1 << 18  # bytes
_MAX_RECORD = 1 << 18  # bytes; libpcap's limit: a larger length is corrupt

TCP_FIN = 0x01
TCP_SYN = 0x02
TCP_RST = 0x04
TCP_ACK = 0x10


class Packet(NamedTuple):
    """One captured packet; data may be shorter than wire_length, its original length."""

    time_ns: int
    data: bytes
    wire_length: int


@dataclass(frozen=True)
class Capture:
    """An open capture: its link type, snap length and packets in file order."""

    link_type: int
    snap_length: int
    packets: Iterator[Packet]


@dataclass(frozen=True)
class Radiotap:
    """Length in bytes and fields of a radiotap header.

    flags: 0 without the field; ampdu_reference: None without it.
    """

    length: int
    flags: int = 0
    ampdu_reference: int | None = None


class Segment(NamedTuple):
    """One captured TCP segment. ampdu_reference: None on wires or outside an A-MPDU."""

    time_ns: int
    source: str
    destination: str
    source_port: int
    destination_port: int
    sequence: int
    acknowledgment: int
    flags: int
    payload_bytes: int
    ampdu_reference: int | None = None

    @property
    def is_pure_ack(self) -> bool:
        """Whether it is only an acknowledgment, without data, SYN, FIN or RST."""
        return (
            self.payload_bytes == 0
            and self.flags & (TCP_ACK | TCP_SYN | TCP_FIN | TCP_RST) == TCP_ACK
        )


def convert(pcap: Path, pcapng: Path, interface: str, to_ns: float = math.inf) -> None:
    """Convert pcap to pcapng with nanosecond time stamps.

    Packets from to_ns on are left out. Creates the complete file or none. Raises AirtcpError if
    pcap is not a capture or ends inside a packet.
    """
    partial = pcapng.with_name(pcapng.name + ".partial")
    try:
        with partial.open("wb") as out, closing(_open(pcap)) as source:
            capture = _read(source, pcap)
            out.write(_section_header())
            out.write(_interface_description(capture, interface))
            for packet in capture.packets:
                if packet.time_ns >= to_ns:
                    break
                out.write(_enhanced_packet(packet))
        partial.replace(pcapng)
    finally:
        partial.unlink(missing_ok=True)


def read_packets(path: Path) -> Iterator[Packet]:
    """Yield the packets of a pcap or pcapng file. Raises AirtcpError if it is corrupt."""
    with closing(_open(path)) as source:
        yield from _read(source, path).packets


def read_tcp(path: Path, from_ns: float = 0, to_ns: float = math.inf) -> Iterator[Segment]:
    """Yield the TCP segments of a pcap or pcapng file in [from_ns, to_ns).

    The file must be ordered by time. On the air, each transmission of a retried frame gives a
    segment. Raises AirtcpError for a corrupt file or an unsupported link type.
    """
    with closing(_open(path)) as source:
        capture = _read(source, path, from_ns)
        if capture.link_type not in (LINKTYPE_ETHERNET, LINKTYPE_RADIOTAP):
            raise AirtcpError(
                f"{path}: link type {capture.link_type} cannot be read; "
                f"known: {LINKTYPE_ETHERNET} (Ethernet), {LINKTYPE_RADIOTAP} (radiotap)"
            )
        for packet in capture.packets:
            if packet.time_ns < from_ns:
                continue
            if packet.time_ns >= to_ns:
                break
            if capture.link_type == LINKTYPE_ETHERNET:
                segment = _ethernet_tcp(packet)
            else:
                segment = radiotap_tcp(packet)
            if segment is not None:
                yield segment


# --- reading ---------------------------------------------------------------------------------


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise AirtcpError(f"{path}: {error.strerror}") from error


def _read(source: BinaryIO, path: Path, from_ns: float = 0) -> Capture:
    """Read the header. The capture may lack packets before from_ns, which takes less time."""
    magic = source.read(4)
    if magic == _SECTION_HEADER.to_bytes(4, "little"):
        return _read_pcapng(source, path, from_ns)
    for order in ("<", ">"):
        for number, unit_ns in ((_PCAP_NANOSECONDS, 1), (_PCAP_MICROSECONDS, 1000)):
            if magic == struct.pack(order + "I", number):
                return _read_pcap(source, path, order, unit_ns)
    raise AirtcpError(f"{path}: not a pcap or pcapng file")


def _exactly(source: BinaryIO, size: int, path: Path) -> bytes:
    data = source.read(size)
    if len(data) != size:
        raise AirtcpError(f"{path}: ends inside a packet, at byte {source.tell()}")
    return data


def _read_pcap(source: BinaryIO, path: Path, order: str, unit_ns: int) -> Capture:
    header = struct.unpack(order + "HHiIII", _exactly(source, 20, path))
    snap_length, link_type = header[4], header[5] & 0xFFFF

    def packets() -> Iterator[Packet]:
        record = struct.Struct(order + "IIII")
        while head := source.read(record.size):
            if len(head) != record.size:
                raise AirtcpError(f"{path}: ends inside a packet, at byte {source.tell()}")
            seconds, fraction, captured, wire_length = record.unpack(head)
            if captured > _MAX_RECORD:
                raise AirtcpError(f"{path}: corrupt packet length at byte {source.tell()}")
            time_ns = seconds * 1_000_000_000 + fraction * unit_ns
            yield Packet(time_ns, _exactly(source, captured, path), wire_length)

    return Capture(link_type, snap_length, packets())


def _read_pcapng(source: BinaryIO, path: Path, from_ns: float) -> Capture:
    """Read the subset of pcapng that this module writes: one section with one interface."""
    length, magic = struct.unpack("<II", _exactly(source, 8, path))
    if magic != _BYTE_ORDER_MAGIC:
        raise AirtcpError(f"{path}: big-endian pcapng cannot be read")
    _exactly(source, length - 12, path)
    kind, length = struct.unpack("<II", _exactly(source, 8, path))
    if kind != _INTERFACE_DESCRIPTION:
        raise AirtcpError(f"{path}: no interface description after the section header")
    body = _exactly(source, _checked(length, path, source.tell()) - 8, path)[:-4]
    link_type, snap_length = struct.unpack_from("<HxxI", body)
    if not _has_nanoseconds(body):
        raise AirtcpError(f"{path}: time stamps are not nanoseconds (if_tsresol 9)")
    return Capture(link_type, snap_length, _pcapng_packets(source, path, from_ns))


def _pcapng_packets(source: BinaryIO, path: Path, from_ns: float) -> Iterator[Packet]:
    """Yield the packets from from_ns on.

    Captures have many packets, of which figures need few: this reads large pieces of the file.
    """
    size = _ENHANCED_PACKET_FIXED.size
    rest, offset = b"", source.tell()
    while True:
        piece = source.read(_PIECE)
        # The last block may be shorter than the fixed part of a packet.
        blocks = rest + (piece or bytes(size))
        end = len(rest) + len(piece)
        at = 0
        while at + (size if piece else 12) <= end:
            kind, length, _, high, low, captured, wire_length = _ENHANCED_PACKET_FIXED.unpack_from(
                blocks, at
            )
            if at + _checked(length, path, offset + at) > end:
                break
            if kind == _ENHANCED_PACKET:
                if captured > length - _ENHANCED_PACKET_OVERHEAD:
                    raise AirtcpError(f"{path}: corrupt packet length at byte {offset + at}")
                if (time_ns := high << 32 | low) >= from_ns:
                    start = at + size
                    yield Packet(time_ns, blocks[start : start + captured], wire_length)
            at += length
        rest = blocks[at:end]
        offset += at
        if not piece:
            break
    if rest:
        raise AirtcpError(f"{path}: ends inside a packet, at byte {offset + len(rest)}")


def _checked(length: int, path: Path, offset: int) -> int:
    """The length of a block. Raises AirtcpError if it is impossible."""
    if length % 4 or not 12 <= length <= _MAX_RECORD + 64:
        raise AirtcpError(f"{path}: corrupt block length at byte {offset}")
    return length


def _has_nanoseconds(interface_description: bytes) -> bool:
    offset = 8
    while offset + 4 <= len(interface_description):
        code, length = struct.unpack_from("<HH", interface_description, offset)
        if code == _OPTION_IF_TSRESOL:
            return interface_description[offset + 4] == _NANOSECONDS
        offset += 4 + (length + 3) // 4 * 4
    return False


# --- writing ---------------------------------------------------------------------------------


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def _section_header() -> bytes:
    length_unknown = -1
    return _block(_SECTION_HEADER, struct.pack("<IHHq", _BYTE_ORDER_MAGIC, 1, 0, length_unknown))


def _interface_description(capture: Capture, name: str) -> bytes:
    return _block(
        _INTERFACE_DESCRIPTION,
        struct.pack("<HxxI", capture.link_type, capture.snap_length)
        + _option(_OPTION_IF_NAME, name.encode())
        + _option(_OPTION_IF_TSRESOL, bytes([_NANOSECONDS]))
        + _option(_OPTION_END, b""),
    )


def _enhanced_packet(packet: Packet) -> bytes:
    captured = len(packet.data)
    padding = -captured % 4
    length = _ENHANCED_PACKET_OVERHEAD + captured + padding
    head = _ENHANCED_PACKET_FIXED.pack(
        _ENHANCED_PACKET,
        length,
        0,  # the first and only interface
        packet.time_ns >> 32,
        packet.time_ns & 0xFFFFFFFF,
        captured,
        packet.wire_length,
    )
    return head + packet.data + bytes(padding) + length.to_bytes(4, "little")


# --- headers ---------------------------------------------------------------------------------

_ETHERTYPE_IPV4 = b"\x08\x00"
_LLC_SNAP_IPV4 = b"\xaa\xaa\x03\x00\x00\x00" + _ETHERTYPE_IPV4


def parse_radiotap(data: bytes) -> Radiotap | None:
    """Read the radiotap header at the start of data; None if it is invalid or truncated."""
    if len(data) < 8 or data[0] != 0:
        return None
    (length,) = struct.unpack_from("<H", data, 2)
    if length > len(data):
        return None
    header = data[:length]
    try:
        at = radiotap.offsets(header)
        flags = header[at[radiotap.FLAGS]] if radiotap.FLAGS in at else 0
        reference = None
        if radiotap.AMPDU in at:
            (reference,) = struct.unpack_from("<I", header, at[radiotap.AMPDU])
    except (struct.error, IndexError):
        return None
    return Radiotap(length, flags, reference)


def _ethernet_tcp(packet: Packet) -> Segment | None:
    if packet.data[12:14] != _ETHERTYPE_IPV4:
        return None
    return _ipv4_tcp(packet, 14, None)


def radiotap_tcp(packet: Packet) -> Segment | None:
    """The TCP segment in a frame with a radiotap header; None if there is none."""
    head = parse_radiotap(packet.data)
    if head is None or len(packet.data) < head.length + 24:
        return None
    control, direction = packet.data[head.length], packet.data[head.length + 1]
    is_data_with_body = control & 0x0C == 0x08 and not control & 0x40
    if not is_data_with_body or direction & 0x40:  # management, control, null or encrypted
        return None
    header = 24
    if direction & 0x03 == 0x03:  # four addresses
        header += 6
    if control & 0x80:  # QoS data; an A-MSDU would have its own subheaders here
        if packet.data[head.length + header : head.length + header + 1] >= b"\x80":
            return None
        header += 2
    if head.flags & radiotap.PADDED:  # the driver pads the header to a multiple of four bytes
        header += -header % 4
    llc = head.length + header
    if packet.data[llc : llc + 8] != _LLC_SNAP_IPV4:
        return None
    return _ipv4_tcp(packet, llc + 8, head.ampdu_reference)


def _ipv4_tcp(packet: Packet, start: int, ampdu_reference: int | None) -> Segment | None:
    data = packet.data
    if len(data) < start + 20 or data[start] >> 4 != 4 or data[start + 9] != 6:
        return None
    ip_header = (data[start] & 0x0F) * 4
    total = int.from_bytes(data[start + 2 : start + 4], "big")
    fragment_offset = int.from_bytes(data[start + 6 : start + 8], "big") & 0x1FFF
    tcp = start + ip_header
    if fragment_offset or len(data) < tcp + 20:
        return None
    source_port, destination_port, sequence, acknowledgment, offset_byte, flags = (
        struct.unpack_from(">HHIIBB", data, tcp)
    )
    return Segment(
        time_ns=packet.time_ns,
        source=inet_ntoa(data[start + 12 : start + 16]),
        destination=inet_ntoa(data[start + 16 : start + 20]),
        source_port=source_port,
        destination_port=destination_port,
        sequence=sequence,
        acknowledgment=acknowledgment,
        flags=flags,
        payload_bytes=total - ip_header - (offset_byte >> 4) * 4,
        ampdu_reference=ampdu_reference,
    )

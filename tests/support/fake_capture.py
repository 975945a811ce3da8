# SPDX-License-Identifier: GPL-2.0-only
"""Builds packets and pcap files byte by byte, so that their values can be checked by hand."""

import struct
from collections.abc import Iterable
from pathlib import Path

from airtcp.files import capture

SERVER = bytes([10, 0, 0, 1])
STATION = bytes([10, 0, 0, 2])
IPV4 = b"\x08\x00"


def tcp_packet(
    *,
    data_port: int = 5001,
    from_server: bool = True,
    sequence: int = 1000,
    acknowledgment: int = 2000,
    payload_bytes: int = 0,
) -> bytes:
    """IPv4 and TCP between 10.0.0.1:data_port and 10.0.0.2:5201, ACK set."""
    ports = (data_port, 5201) if from_server else (5201, data_port)
    addresses = SERVER + STATION if from_server else STATION + SERVER
    flags = (5 << 4, capture.TCP_ACK)
    tcp = struct.pack(">HHIIBBHHH", *ports, sequence, acknowledgment, *flags, 64, 0, 0)
    total = 20 + len(tcp) + payload_bytes
    ip = struct.pack(">BBHHHBBH", 0x45, 0, total, 0, 0, 64, 6, 0)
    return ip + addresses + tcp + bytes(payload_bytes)


def ethernet(packet: bytes) -> bytes:
    return bytes(12) + IPV4 + packet


def on_air(packet: bytes, reference: int = 7) -> bytes:
    """Radiotap (TSFT, flags, MCS, A-MPDU) and an 802.11 QoS data frame."""
    present = 1 << 0 | 1 << 1 | 1 << 19 | 1 << 20
    fields = struct.pack("<QB", 123456, 0x10)  # TSFT at 8; flags at 16: frame includes FCS
    fields += bytes([0x07, 0x05, 13])  # MCS at 17: known fields; 40 MHz, short GI; MCS 13
    fields += struct.pack("<IHBB", reference, 0, 0, 0)  # A-MPDU at 20, aligned to 4
    radiotap = struct.pack("<BBHI", 0, 0, 8 + len(fields), present) + fields
    qos_data = bytes([0x88, 0x02]) + bytes(22) + bytes(2)
    return radiotap + qos_data + b"\xaa\xaa\x03\x00\x00\x00" + IPV4 + packet + b"FCS!"


def write_pcap(path: Path, link_type: int, packets: Iterable[tuple[int, bytes]]) -> Path:
    """Write a nanosecond pcap of (time in ns, packet) with a snapshot length of 256 bytes."""
    with path.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 256, link_type))
        for time_ns, data in packets:
            captured = data[:256]
            seconds, nanoseconds = divmod(time_ns, 1_000_000_000)
            out.write(struct.pack("<IIII", seconds, nanoseconds, len(captured), len(data)))
            out.write(captured)
    return path

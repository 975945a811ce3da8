# SPDX-License-Identifier: GPL-2.0-only
"""Captures of the air, written byte by byte."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fake_capture import ethernet, write_pcap
from fake_run import START_NS

from airtcp.files import capture

# The medium's clock and the wall clock have different starts.
MEDIUM_NS = 5_000_000_000

# First octets of Frame Control.
QOS_DATA, NULL, QOS_NULL, BEACON, PROBE, BAR, BLOCKACK, RTS, CTS, ACK, PS_POLL, TRIGGER = (
    0x88, 0x48, 0xC8, 0x80, 0x40, 0x84, 0x94, 0xB4, 0xC4, 0xD4, 0xA4, 0x24,
)  # fmt: skip
FROM_AP, TO_AP = 0x02, 0x01
LLC = b"\xaa\xaa\x03\x00\x00\x00"  # before the EtherType
COLLIDED = 0x01

LEGACY_6M = (2, bytes([12]))
HT = (19, bytes([0x07, 0x05, 13]))  # 40 MHz, short guard interval, MCS 13
VHT = (21, struct.pack("<HBB4sBBH", 0x44, 0x04, 4, bytes([0x92, 0, 0, 0]), 0, 0, 0))
HE = (23, struct.pack("<6H", 0, 0, 11 << 8, 0, 0x12, 2))  # 80 MHz, 1.6 us, MCS 11, 2 streams
HE_TB = (23, struct.pack("<6H", 3, 0, 4 << 8, 0, 0x26, 1))  # 106 tones, 3.2 us, MCS 4, 1 stream

# 320 MHz-2, 1.6 us, MCS 13, 2 streams; U-SIG is another TLV.
USIG = struct.pack("<III", 5 << 15, 0, 0)
EHT = (34, struct.pack("<11I", 0, 1 << 7, *[0] * 8, 13 << 20 | 1 << 24))

Record = tuple[int, bytes]


def radiotap(fields: Mapping[int, tuple[int, bytes]], more_words: bytes = b"") -> bytes:
    """A radiotap header. Fields: (alignment, octets) by bit; a negative bit is left out."""
    present = 1 << 31 if more_words else 0
    rest = more_words
    for bit, (alignment, octets) in sorted(fields.items()):
        if bit >= 0:
            present |= 1 << bit
            rest += bytes(-(8 + len(rest)) % alignment) + octets
    return struct.pack("<BBHI", 0, 0, 8 + len(rest), present) + rest


def tlv(kind: int, value: bytes) -> bytes:
    """A radiotap TLV, padded to 32 bits."""
    return struct.pack("<HH", kind, len(value)) + value + bytes(-len(value) % 4)


def frame(
    start_us: float,
    end_us: float,
    *,
    sender: int = 0,
    receiver: int = 1,
    control: int = QOS_DATA,
    direction: int = FROM_AP,
    octets: int = 1500,
    rate: tuple[int, bytes] = HT,
    mpdus: int = 1,
    place: int = 0,
    marks: int = 0,
    lost: bool = False,
    channel_mhz: int = 5190,
    to_group: bool = False,
    more_words: bytes = b"",
    packet: bytes = b"",
) -> Record:
    """A record of one MPDU, stamped at the end of its PPDU; octets are without the FCS.

    packet: an IPv4 packet in it, which determines the octets.
    """
    start_ns, end_ns = MEDIUM_NS + round(start_us * 1000), MEDIUM_NS + round(end_us * 1000)
    bit, rate_field = rate
    ppdu = (start_ns, end_ns, sender, receiver, marks)
    vendor = bytes([0x02, 0, 0, 1]) + struct.pack("<H", 28)
    if bit != EHT[0]:
        vendor += struct.pack("<QQHHBBBBI", *ppdu, mpdus, place, 2, channel_mhz)
    else:
        vendor = bytes([0x02, 0, 0, 1, 0, 0, 0, 0])
        vendor += struct.pack("<QQHHBBHHI", *ppdu, 2, mpdus, place, channel_mhz)
    fields = {
        0: (8, struct.pack("<Q", start_ns // 1000)),
        1: (1, bytes([0x40 if lost else 0])),
        3: (2, struct.pack("<HH", 5180, 0x0140)),
        10: (1, bytes([20])),
        bit: (2 if bit in (VHT[0], HE[0]) else 1, rate_field),
        30: (2, vendor),
    }
    if mpdus > 1:
        fields[20] = (4, struct.pack("<IHH", 7, 0x04, 0))
    if bit == EHT[0]:
        del fields[EHT[0]], fields[30]
        fields[28] = (4, tlv(33, USIG) + tlv(*EHT) + tlv(30, vendor))
    header = radiotap(fields, more_words)
    address = bytes([1, 0, 0x5E, 0, 0, 1] if to_group else [2, 0, 0, 0, receiver & 0xFF, 0])
    mac = bytes([control, direction, 0, 0]) + address
    if packet:  # after the other addresses and fields of a QoS data frame
        return START_NS + end_ns, header + mac + bytes(16) + LLC + ethernet(packet)[12:]
    return START_NS + end_ns, header + mac + bytes(octets - len(mac))


def ampdu(start_us: float, end_us: float, sizes: Sequence[int], **values: object) -> list[Record]:
    """One record per MPDU; lost: the places of lost MPDUs."""
    lost = values.pop("lost", ())
    assert isinstance(lost, tuple)
    return [
        frame(
            start_us,
            end_us,
            octets=octets,
            mpdus=len(sizes),
            place=place,
            lost=place in lost,
            **values,  # type: ignore[arg-type]
        )
        for place, octets in enumerate(sizes)
    ]


def write_air(run_dir: Path, records: Iterable[Record]) -> Path:
    """run_dir/air.pcapng, as a run writes it."""
    pcap = write_pcap(run_dir / "air.pcap", capture.LINKTYPE_RADIOTAP, records)
    capture.convert(pcap, run_dir / "air.pcapng", "airsim0")
    pcap.unlink()
    return run_dir / "air.pcapng"


def records() -> list[Record]:
    """60 ms with an A-MPDU of 4 ms across the end of the first row, and a collision."""
    return [
        frame(0, 300, control=BEACON, direction=0, receiver=0xFFFF, to_group=True),
        *ampdu(7000, 11_000, (1996, 996, 996), lost=(1, 2)),
        frame(11_016, 11_048, sender=1, receiver=0, control=BLOCKACK, direction=0),
        frame(20_000, 20_200, marks=COLLIDED, lost=True),
        frame(20_005, 20_105, sender=1, receiver=0, direction=TO_AP, marks=COLLIDED, lost=True),
        frame(59_900, 60_000, sender=1, receiver=0, direction=TO_AP),
    ]

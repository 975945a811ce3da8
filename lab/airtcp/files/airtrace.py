# SPDX-License-Identifier: GPL-2.0-only
"""Transmissions on the air, from the capture of airsim's monitor interface.

Each captured frame has a radiotap header (https://www.radiotap.org) with a vendor field of airsim:
start and end of its PPDU in nanoseconds, sending and receiving radio, and whether it collided.
"""

import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from airtcp.errors import AirtcpError
from airtcp.files import radiotap
from airtcp.files.airsim import read_transfer_start_ns
from airtcp.files.capture import Packet, radiotap_tcp, read_packets

_Sent = Literal["data", "multicast", "management", "beacon"]
_Control = Literal["rts", "cts", "bar", "ack", "blockack", "trigger"]
Kind = _Sent | _Control

# Nothing on the air lasts longer than this: 2346 octets at 1 Mbit/s take 19 ms.
_LONGEST_NS = 20_000_000

# A frame is time-stamped during or after its PPDU. Frames before the window are skipped only if
# they are earlier by more than this.
_STAMP_SLACK_NS = 1_000_000_000


@dataclass(frozen=True)
class Transmission:
    """One PPDU. Times are in nanoseconds since the first frame of the capture began.

    sender and receiver are indexes of radios; receiver is None for frames to a group. lost: the
    positions in the PPDU of lost MPDUs. mpdu_octets: sizes of the captured MPDUs with FCS; fewer
    than mpdus if some were not captured. carries_data: whether it counts as a PPDU with data in
    airsim's counters: an MPDU has a body that is not a TCP ACK, which has no data, SYN, FIN or RST.
    power_management: the bit of Frame Control, which announces that the station is going to doze.
    """

    start_ns: int
    end_ns: int
    sender: int
    receiver: int | None
    kind: Kind
    from_ap: bool  # a beacon, or data from the distribution system
    mpdus: int
    lost: tuple[int, ...]
    mpdu_octets: tuple[int, ...]
    collided: bool
    retry: bool
    rate: str
    channel_mhz: int
    carries_data: bool = False
    power_management: bool = False

    @property
    def octets(self) -> int:
        return sum(self.mpdu_octets)


def begin_ns(path: Path) -> int:
    """Start of the first frame of the capture, by the guest's monotonic clock.

    Raises AirtcpError as read() does.
    """
    first = next(enumerate(read_packets(path), start=1), None)
    if first is None:
        raise AirtcpError(f"{path}: contains no frame")
    return _frame(path, *first).start_ns


def transfer_start_ns(path: Path) -> int:
    """Start of the transfer, since the first frame of the capture began.

    The capture is in the directory of its run. Raises AirtcpError as read() does.
    """
    started_ns = read_transfer_start_ns(path.parent)
    assert started_ns is not None  # only runs on real hosts have no counters of airsim
    return started_ns - begin_ns(path)


def length_ns(path: Path) -> int:
    """Time from the start of the first frame to the end of the last.

    Raises AirtcpError as read() does.
    """
    packets = enumerate(read_packets(path), start=1)
    first = last = next(packets, None)
    if first is None or last is None:
        raise AirtcpError(f"{path}: contains no frame")
    for numbered in packets:
        last = numbered
    return _frame(path, *last).end_ns - _frame(path, *first).start_ns


def read(path: Path, from_s: float = 0.0, to_s: float = math.inf) -> Iterator[Transmission]:
    """Yield the transmissions in [from_s, to_s) since the capture began, in order for each radio.

    Raises AirtcpError if the file is missing or corrupt, or a frame has no field of airsim.
    """
    from_ns, to_ns = from_s * 1e9, to_s * 1e9
    for frames in _ppdus(path, from_ns, to_ns):
        start_ns, end_ns = frames[0].start_ns, frames[0].end_ns
        if end_ns > from_ns and start_ns < to_ns:
            yield _transmission(frames)


class _Frame(NamedTuple):
    """One captured MPDU."""

    start_ns: int
    end_ns: int
    sender: int
    receiver: int | None
    collided: bool
    retry: bool
    mpdus: int
    place: int
    channel_mhz: int
    lost: bool
    octets: int
    kind: Kind
    from_ap: bool
    rate: str
    is_data: bool
    power_management: bool


def _ppdus(path: Path, from_ns: float, to_ns: float) -> Iterator[list[_Frame]]:
    """The frames of each PPDU; skips most PPDUs that end before from_ns or start at or after to_ns.

    Frames of different radios may be interleaved, but the PPDUs of a radio are in sequence: a PPDU
    is complete when the radio's next one starts.
    """
    begin_ns: int | None = None
    first_stamp_ns = 0
    incomplete: dict[int, list[_Frame]] = {}
    for number, packet in enumerate(read_packets(path), start=1):
        if begin_ns is None:
            begin_ns, first_stamp_ns = _frame(path, number, packet).start_ns, packet.time_ns
        elif packet.time_ns - first_stamp_ns < from_ns - _STAMP_SLACK_NS:
            continue
        frame = _frame(path, number, packet)
        frame = frame._replace(start_ns=frame.start_ns - begin_ns, end_ns=frame.end_ns - begin_ns)
        if frame.start_ns >= to_ns + _LONGEST_NS:
            break
        frames = incomplete.setdefault(frame.sender, [])
        if frames and frames[0].start_ns != frame.start_ns:
            yield frames
            incomplete[frame.sender] = frames = []
        frames.append(frame)
    yield from incomplete.values()


def _transmission(frames: Sequence[_Frame]) -> Transmission:
    first = frames[0]
    return Transmission(
        start_ns=first.start_ns,
        end_ns=first.end_ns,
        sender=first.sender,
        receiver=first.receiver,
        kind=first.kind,
        from_ap=first.from_ap,
        # The count saturates at 255 except in TLVs; an A-MPDU of 802.11ax may have 256 MPDUs.
        mpdus=max(first.mpdus, max(frame.place for frame in frames) + 1),
        lost=tuple(frame.place for frame in frames if frame.lost),
        mpdu_octets=tuple(frame.octets for frame in frames),
        collided=any(frame.collided for frame in frames),
        retry=any(frame.retry for frame in frames),
        rate=first.rate,
        channel_mhz=first.channel_mhz,
        carries_data=any(frame.is_data for frame in frames),
        power_management=first.power_management,
    )


# --- headers ---------------------------------------------------------------------------------

_FCS_OCTETS = 4
_POWER_MANAGEMENT = 0x10  # in the second octet of Frame Control
_NO_BODY = 0x40  # in the first octet of data frames: Null and QoS Null
# Headers of 802.11 with four addresses and QoS, LLC, and IP and TCP with all options; FCS.
_MOST_ACK_OCTETS = 32 + 8 + 60 + 60 + _FCS_OCTETS

_VENDOR_HEAD = bytes([0x02, 0, 0, 1])  # OUI and sub-namespace; the length of the data follows
_AIRSIM = struct.Struct("<QQHHBBBxI")  # the skipped octet is the EDCA function
# In a TLV a type and a reserved field follow the sub-namespace.
_AIRSIM_TLV = struct.Struct("<QQHHBxHHI")
_COLLIDED, _RETRY = 0x01, 0x02
_NO_RECEIVER = 0xFFFF

_VHT_WIDTHS_MHZ = {0: 20, 1: 40, 4: 80, 11: 160}
_HE_WIDTHS_MHZ = {0: 20, 1: 40, 2: 80, 3: 160, 4: 320, 5: 320}  # of EHT from 4 on
_HE_GUARD_NS = {0: 800, 1: 1600, 2: 3200}
_HE_RU_TONES = {4: 26, 5: 52, 6: 106, 7: 242, 8: 484, 9: 996, 10: 1992}

_CONTROL_KINDS: dict[int, Kind] = {
    2: "trigger",
    8: "bar",
    9: "blockack",
    11: "rts",
    12: "cts",
    13: "ack",
}


def _frame(path: Path, number: int, packet: Packet) -> _Frame:
    try:
        return _parse(packet)
    except (struct.error, IndexError):
        raise AirtcpError(f"{path}: frame {number} is truncated") from None
    except ValueError as error:
        raise AirtcpError(f"{path}: frame {number} {error}") from None


def _parse(packet: Packet) -> _Frame:
    """Parse a frame.

    Raises struct.error or IndexError if it is truncated, ValueError if it is not from airsim.
    """
    data = packet.data
    version, length = struct.unpack_from("<BxH", data)
    if version != 0 or length > len(data):
        raise ValueError("has no complete radiotap header")
    at = radiotap.offsets(data)
    if radiotap.TLVS in at:
        at = {**at, **_tlvs(data[:length], at[radiotap.TLVS])}
    start_ns, end_ns, sender, receiver, marks, mpdus, place, channel_mhz = _airsim(
        data, at.get(radiotap.VENDOR, length), length, is_tlv=radiotap.TLVS in at
    )
    flags = data[at[radiotap.FLAGS]] if radiotap.FLAGS in at else 0
    missing_fcs = 0 if flags & radiotap.HAS_FCS else _FCS_OCTETS
    kind = _kind(data[length], data[length + 4])
    return _Frame(
        start_ns=start_ns,
        end_ns=end_ns,
        sender=sender,
        receiver=None if receiver == _NO_RECEIVER else receiver,
        collided=bool(marks & _COLLIDED),
        retry=bool(marks & _RETRY),
        mpdus=mpdus,
        place=place,
        channel_mhz=channel_mhz,
        lost=bool(flags & radiotap.BAD_FCS),
        octets=packet.wire_length - length + missing_fcs,
        kind=kind,
        from_ap=kind == "beacon"
        or (kind in ("data", "multicast") and data[length + 1] & 0x03 == 0x02),
        rate=_rate(data, at),
        is_data=kind in ("data", "multicast")
        and not data[length] & _NO_BODY
        and not _is_tcp_ack(packet, packet.wire_length - length),
        power_management=bool(data[length + 1] & _POWER_MANAGEMENT),
    )


def _is_tcp_ack(packet: Packet, octets: int) -> bool:
    """Whether a frame of so many octets contains a TCP segment that only acknowledges."""
    if octets > _MOST_ACK_OCTETS:  # most frames are: do not parse them
        return False
    segment = radiotap_tcp(packet)
    return segment is not None and segment.is_pure_ack


def _airsim(data: bytes, vendor: int, length: int, *, is_tlv: bool) -> tuple[int, ...]:
    """The values of airsim's field. Raises ValueError if there is none."""
    fields, begin = (_AIRSIM_TLV, 8) if is_tlv else (_AIRSIM, 6)
    size = length - vendor - begin
    if not is_tlv and vendor < length:
        (size,) = struct.unpack_from("<H", data, vendor + 4)
    if data[vendor : vendor + 4] != _VENDOR_HEAD or size < fields.size:
        raise ValueError("has no airsim field; run again to capture with this kernel")
    return fields.unpack_from(data, vendor + begin)


def _tlvs(header: bytes, offset: int) -> dict[int, int]:
    """Offsets of the values of TLVs, which end the header."""
    at: dict[int, int] = {}
    while offset < len(header):
        kind, length = struct.unpack_from("<HH", header, offset)
        at[kind] = offset + 4
        offset += 4 + -(-length // 4) * 4
    return at


def _kind(control: int, first_octet_of_receiver: int) -> Kind:
    """The kind of a frame, by the first octets of Frame Control and of Address 1."""
    frame_type, subtype = control >> 2 & 3, control >> 4
    if frame_type == 2:
        return "multicast" if first_octet_of_receiver & 1 else "data"
    if frame_type == 1:
        return _CONTROL_KINDS.get(subtype, "management")
    return "beacon" if subtype == 8 else "management"


def _rate(data: bytes, at: Mapping[int, int]) -> str:
    """The rate as text: `VHT 80 MHz MCS 9 x2 SGI` or `6 Mbit/s`."""
    if radiotap.EHT in at and radiotap.USIG in at:
        (common,) = struct.unpack_from("<I", data, at[radiotap.USIG])
        (first,) = struct.unpack_from("<I", data, at[radiotap.EHT] + 4)
        (user,) = struct.unpack_from("<I", data, at[radiotap.EHT] + 40)
        width, guard_ns = common >> 15 & 7, _HE_GUARD_NS.get(first >> 7 & 3)
        where = f"{_HE_WIDTHS_MHZ.get(width)} MHz"
        return f"EHT {where} MCS {user >> 20 & 0x0F} x{(user >> 24 & 0x0F) + 1} GI {guard_ns} ns"
    if radiotap.HE in at:
        _, _, data3, _, data5, data6 = struct.unpack_from("<6H", data, at[radiotap.HE])
        width, guard_ns = data5 & 0x0F, _HE_GUARD_NS.get(data5 >> 4 & 3)
        tones = _HE_RU_TONES.get(width)
        where = f"RU {tones}" if tones else f"{_HE_WIDTHS_MHZ.get(width)} MHz"
        return f"HE {where} MCS {data3 >> 8 & 0x0F} x{data6 & 0x0F} GI {guard_ns} ns"
    if radiotap.VHT in at:
        _, flags, width, user = struct.unpack_from("<HBBB", data, at[radiotap.VHT])
        sgi = " SGI" if flags & 0x04 else ""
        return f"VHT {_VHT_WIDTHS_MHZ.get(width)} MHz MCS {user >> 4} x{user & 0x0F}{sgi}"
    if radiotap.MCS in at:
        _, flags, index = struct.unpack_from("BBB", data, at[radiotap.MCS])
        sgi = " SGI" if flags & 0x04 else ""
        return f"HT {40 if flags & 0x03 == 1 else 20} MHz MCS {index}{sgi}"
    return f"{data[at[radiotap.RATE]] / 2:g} Mbit/s" if radiotap.RATE in at else "rate unknown"

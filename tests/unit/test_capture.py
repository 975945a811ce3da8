# SPDX-License-Identifier: GPL-2.0-only
"""Conversion and reading of captures that the tests write byte by byte."""

import struct
from pathlib import Path

import pytest
from fake_capture import ethernet, on_air, tcp_packet, write_pcap

from airtcp.backends.uml import EPOCH_NS
from airtcp.errors import AirtcpError
from airtcp.files import capture
from airtcp.parameters import Parameters
from airtcp.sweep.run import convert_captures
from airtcp.testbed.default import testbed


def test_conversion_keeps_every_nanosecond_byte_and_length(tmp_path: Path) -> None:
    frames = [
        (1_700_000_000_123_456_789, ethernet(tcp_packet())),
        (1_700_000_000_123_456_790, ethernet(tcp_packet(payload_bytes=1448))),
    ]
    pcap = write_pcap(tmp_path / "a.pcap", capture.LINKTYPE_ETHERNET, frames)
    capture.convert(pcap, tmp_path / "a.pcapng", "wlan0")
    read = list(capture.read_packets(tmp_path / "a.pcapng"))
    assert [packet.time_ns for packet in read] == [time_ns for time_ns, _ in frames]
    assert [packet.data for packet in read] == [data[:256] for _, data in frames]
    assert [packet.wire_length for packet in read] == [54, 54 + 1448]
    assert read == list(capture.read_packets(pcap))


@pytest.mark.parametrize(
    ("limit", "started", "kept"),
    [("1s", "time_ns 5000000000\n", 2), ("unlimited", "time_ns 5000000000\n", 3), ("1s", None, 3)],
)
def test_captures_end_when_their_duration_is_over(
    tmp_path: Path, limit: str, started: str | None, kept: int
) -> None:
    """Real hosts have no airsim; their captures end by themselves."""
    times_ns = [EPOCH_NS + 1, EPOCH_NS + 5_999_999_999, EPOCH_NS + 6_000_000_000]
    write_pcap(tmp_path / "server.pcap", 1, [(time_ns, b"abcde") for time_ns in times_ns])
    if started:
        (tmp_path / "airsim-before.txt").write_text(started)
    parameters = Parameters().replace({"capture": "server", "capture_duration": limit})
    convert_captures(tmp_path, testbed(parameters))
    read = [packet.time_ns for packet in capture.read_packets(tmp_path / "server.pcapng")]
    assert read == times_ns[:kept]
    assert not (tmp_path / "server.pcap").exists()


def test_pcapng_has_the_bytes_of_the_specification(tmp_path: Path) -> None:
    pcap = write_pcap(tmp_path / "a.pcap", 1, [((5 << 32) + 6, b"abcde")])
    capture.convert(pcap, tmp_path / "a.pcapng", "eth0")
    expected = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    expected += struct.pack("<IIHHI", 1, 40, 1, 0, 256)
    expected += struct.pack("<HH4s", 2, 4, b"eth0")
    expected += struct.pack("<HHB3x", 9, 1, 9)
    expected += struct.pack("<HHI", 0, 0, 40)
    expected += struct.pack("<IIIIIII5s3xI", 6, 40, 0, 5, 6, 5, 5, b"abcde", 40)
    assert (tmp_path / "a.pcapng").read_bytes() == expected


def test_packets_are_complete_wherever_the_pieces_of_a_file_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = [(time_ns, ethernet(tcp_packet(sequence=time_ns))) for time_ns in range(9)]
    pcap = write_pcap(tmp_path / "a.pcap", 1, frames)
    path = tmp_path / "a.pcapng"
    capture.convert(pcap, path, "eth0")
    # A block without a packet at the end, shorter than the fixed part of one.
    path.write_bytes(path.read_bytes() + struct.pack("<III", 11, 12, 12))
    for piece in (1, 7, 40, 100, 1000):
        monkeypatch.setattr(capture, "_PIECE", piece)
        read = [(packet.time_ns, packet.data) for packet in capture.read_packets(path)]
        assert read == frames
        assert [segment.sequence for segment in capture.read_tcp(path, 3, 7)] == [3, 4, 5, 6]


def test_tcp_segments_of_ethernet(tmp_path: Path) -> None:
    arp = bytes(12) + b"\x08\x06" + bytes(28)
    pcap = write_pcap(
        tmp_path / "a.pcap",
        capture.LINKTYPE_ETHERNET,
        [(1, arp), (2, ethernet(tcp_packet(payload_bytes=1448))), (3, ethernet(tcp_packet()))],
    )
    data, ack = capture.read_tcp(pcap)
    assert (data.source, data.source_port) == ("10.0.0.1", 5001)
    assert (data.destination, data.destination_port) == ("10.0.0.2", 5201)
    assert (data.sequence, data.acknowledgment, data.payload_bytes) == (1000, 2000, 1448)
    assert not data.is_pure_ack
    assert ack.is_pure_ack
    assert ack.ampdu_reference is None


def test_padding_of_short_ethernet_frames_is_not_payload(tmp_path: Path) -> None:
    frame = ethernet(tcp_packet()) + bytes(6)
    (segment,) = capture.read_tcp(write_pcap(tmp_path / "a.pcap", 1, [(1, frame)]))
    assert segment.payload_bytes == 0


def test_tcp_segments_on_the_air(tmp_path: Path) -> None:
    beacon = on_air(b"").replace(bytes([0x88, 0x02]), bytes([0x80, 0x00]), 1)
    frames = [(1, beacon), (2, on_air(tcp_packet(payload_bytes=100), reference=9))]
    (segment,) = capture.read_tcp(write_pcap(tmp_path / "a.pcap", 127, frames))
    assert (segment.payload_bytes, segment.ampdu_reference) == (100, 9)


@pytest.mark.parametrize(
    ("flags_and_offset", "has_header"),
    [
        (0x4000, True),  # don't fragment
        (0x2000, True),  # the first fragment
        (0x2001, False),
        (0x0100, False),  # the last one
    ],
)
def test_only_the_first_fragment_has_a_tcp_header(flags_and_offset: int, has_header: bool) -> None:
    packet = bytearray(on_air(tcp_packet()))
    packet[68:70] = struct.pack(">H", flags_and_offset)  # radiotap 28, MAC 26, LLC 8, then IPv4
    segment = capture.radiotap_tcp(capture.Packet(1, bytes(packet), len(packet)))
    assert (segment is not None) == has_header


# On the air, radiotap has 28 octets and the MAC header 26, the last two of which are QoS control.
@pytest.mark.parametrize(
    ("mac", "has_segment"),
    [
        (b"\x88\x02" + bytes(24), True),
        (b"\x08\x02" + bytes(22), True),  # without QoS control
        (b"\x88\x03" + bytes(30), True),  # four addresses
        (b"\xc8\x02" + bytes(24), False),  # null
        (b"\x88\x42" + bytes(24), False),  # encrypted
        (b"\x88\x02" + bytes(22) + b"\x80\x00", False),  # A-MSDU
    ],
)
def test_headers_of_80211_frames(mac: bytes, has_segment: bool) -> None:
    frame = on_air(tcp_packet())
    for padded, padding in ((0x10, b""), (0x30, bytes(-len(mac) % 4))):
        changed = frame[:16] + bytes([padded]) + frame[17:28] + mac + padding + frame[54:]
        segment = capture.radiotap_tcp(capture.Packet(1, changed, len(changed)))
        assert (segment is not None) == has_segment


def test_radiotap_fields_are_parsed() -> None:
    radiotap = capture.parse_radiotap(on_air(tcp_packet()))
    assert radiotap is not None
    assert (radiotap.length, radiotap.flags, radiotap.ampdu_reference) == (28, 0x10, 7)


def test_a_second_presence_word_moves_the_fields() -> None:
    header = struct.pack("<BBHII", 0, 0, 13, 1 << 31 | 1 << 1, 0) + bytes([0x10])
    assert capture.parse_radiotap(header) == capture.Radiotap(13, flags=0x10)
    assert capture.parse_radiotap(header.replace(bytes([13]), bytes([12]))) is None


@pytest.mark.parametrize("keep", [0, 3, 10, 30, -1])
@pytest.mark.parametrize("suffix", ["pcap", "pcapng"])
def test_error_of_a_truncated_capture(tmp_path: Path, suffix: str, keep: int) -> None:
    frames = [(1, ethernet(tcp_packet(payload_bytes=10)))]
    pcap = write_pcap(tmp_path / "a.pcap", 1, frames)
    capture.convert(pcap, tmp_path / "a.pcapng", "eth0")
    cut = tmp_path / f"a.{suffix}"
    cut.write_bytes(cut.read_bytes()[:keep])
    with pytest.raises(AirtcpError, match=r"a\.pcap(ng)?: (ends inside|not a pcap)"):
        list(capture.read_packets(cut))


def test_a_failed_conversion_leaves_nothing_behind(tmp_path: Path) -> None:
    pcap = write_pcap(tmp_path / "a.pcap", 1, [(1, ethernet(tcp_packet()))])
    pcap.write_bytes(pcap.read_bytes()[:-1])
    with pytest.raises(AirtcpError):
        capture.convert(pcap, tmp_path / "a.pcapng", "eth0")
    assert [path.name for path in tmp_path.iterdir()] == ["a.pcap"]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "time_ns"), [(0xA1B23C4D, 7), (0xA1B2C3D4, 7000)])
def test_byte_order_and_time_unit_of_the_file_are_used(
    tmp_path: Path, order: str, magic: int, time_ns: int
) -> None:
    path = tmp_path / "a.pcap"
    header = struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 256, 1)
    path.write_bytes(header + struct.pack(f"{order}IIII", 5, 7, 3, 60) + b"abc")
    assert list(capture.read_packets(path)) == [(5_000_000_000 + time_ns, b"abc", 60)]


def test_an_impossible_length_is_not_read(tmp_path: Path) -> None:
    pcap = write_pcap(tmp_path / "a.pcap", 1, [(1, b"abc")])
    content = pcap.read_bytes()
    pcap.write_bytes(content[:32] + struct.pack("<II", 1 << 30, 1 << 30) + content[40:])
    with pytest.raises(AirtcpError, match="corrupt packet length at byte 40"):
        list(capture.read_packets(pcap))


def test_errors_of_missing_and_unknown_files(tmp_path: Path) -> None:
    with pytest.raises(AirtcpError, match=r"none\.pcap: No such file"):
        list(capture.read_packets(tmp_path / "none.pcap"))
    (tmp_path / "text").write_text("not a capture")
    with pytest.raises(AirtcpError, match="not a pcap"):
        list(capture.read_packets(tmp_path / "text"))
    pcap = write_pcap(tmp_path / "odd.pcap", 113, [])
    with pytest.raises(AirtcpError, match="link type 113"):
        list(capture.read_tcp(pcap))

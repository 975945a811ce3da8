# SPDX-License-Identifier: GPL-2.0-only
"""Wireshark decodes the frames on the air without warnings."""

import subprocess
from collections import Counter
from pathlib import Path

import newer_hostapd
import pytest
from guests import Measure
from radio import CAPTURE, CAPTURE_END, LEGACY, Cell, flow, run

from airtcp.backends.guesttools import GuestTools
from airtcp.files import airtrace
from airtcp.files.capture import read_packets
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.testbed.addresses import radio_mac

QOS_DATA, BLOCK_ACK_REQUEST, BLOCK_ACK = 0x88, 0x84, 0x94
BAD_FCS = 0x40
WARNING = "_ws.expert.severity >= 0x600000"

# Changes to thesis-lan; the PHY according to Wireshark (by its numbers), the data rate in Mbit/s
# that it computes, and the Duration field: SIFS and the ACK or BlockAck at 24 Mbit/s in us.
STANDARDS = {
    "802.11a": (
        ("width=20MHz", "streams=1", "guard_interval=800ns", "rts_threshold=1000"),
        ("5", "54", "44"),
    ),
    "802.11g": (
        ("channel=6", "width=20MHz", "streams=1", "guard_interval=800ns"),
        ("6", "54", "44"),
    ),
    "802.11n": ((), ("7", "240", "48")),
    "802.11ac": (("width=80MHz", "mcs=9"), ("8", "866.667", "48")),
    "802.11ax": (
        ("width=80MHz", "guard_interval=3200ns", "mcs=11", "streams=3"),
        ("11", "1531.3", "56"),
    ),
    # Wireshark 4.0 does not know the fields of EHT, and reads only the channel's.
    "802.11be": (
        ("width=160MHz", "guard_interval=800ns", "mcs=13", "preset=generic"),
        ("5", "", "88"),
    ),
}


def tshark(path: Path, frames: str, *fields: str) -> Counter[str]:
    """Counts of the values of fields in frames that pass a filter. TCP is not dissected."""
    words = [word for field in fields for word in ("-e", field)]
    done = subprocess.run(
        ["tshark", "-r", path, "--disable-protocol", "tcp", "-Y", frames, "-T", "fields", *words],
        check=True,
        capture_output=True,
        text=True,
    )
    return Counter(done.stdout.splitlines())


@pytest.mark.parametrize("standard", list(STANDARDS))
def test_wireshark_does_not_warn(measure: Measure, tmp_path: Path, standard: str) -> None:
    settings, data = STANDARDS[standard]
    if standard == "802.11be":
        newer_hostapd.path()
    result = measure(f"standard={standard}", *settings, "capture=air", "capture_duration=500ms")
    assert result.error is None
    path = tmp_path / result.artifacts["air.pcapng"].path
    assert tshark(path, WARNING, "_ws.expert.message") == {}
    data_frames = "wlan.fc.type_subtype == 40 && wlan.ta == 02:61:69:72:00:00"
    fields = "wlan_radio.phy", "wlan_radio.data_rate", "wlan.duration"
    values = tshark(path, data_frames, *fields)
    print(standard, dict(values))
    assert values.most_common(1)[0][0].split("\t") == list(data)


def test_block_acks_answer_their_requests(measure: Measure, tmp_path: Path) -> None:
    """With their TIDs and sequence numbers, and what has arrived before."""
    settings = ("response_error_rate=0.1", "block_ack_request=on")
    result = measure(*settings, "capture=air", "capture_duration=300ms")
    assert result.error is None
    arrived: set[tuple[bytes, int]] = set()
    request, acknowledged, unknown = b"", 0, 0
    for packet in read_packets(tmp_path / result.artifacts["air.pcapng"].path):
        frame = packet.data[int.from_bytes(packet.data[2:4], "little") :]
        if frame[0] == QOS_DATA and not packet.data[16] & BAD_FCS:
            arrived.add((frame[4:10], int.from_bytes(frame[22:24], "little") >> 4))
        if (request[:1], frame[0]) == (bytes([BLOCK_ACK_REQUEST]), BLOCK_ACK):
            first = int.from_bytes(request[18:20], "little") >> 4
            assert frame[16:18] == request[16:18]
            assert int.from_bytes(frame[18:20], "little") >> 4 == first
            assert frame[20] & 1 == ((request[4:10], first) in arrived)
            acknowledged += frame[20] & 1
            unknown += not frame[20] & 1
        request = frame
    print(f"BlockAckReqs: {acknowledged} after a lost BlockAck, {unknown} after a collision")
    assert acknowledged > 10 < unknown


@pytest.mark.parametrize(
    ("parameters", "kind", "subtype"),
    [(LEGACY.replace({"legacy_rate": "6Mbit"}), "ack", 0x1D), (Parameters(), "blockack", 0x19)],
    ids=["ACK", "BlockAck"],
)
def test_responses_are_shown_that_nobody_detects(
    lab_kernel: Kernel,
    tools: GuestTools,
    tmp_path: Path,
    parameters: Parameters,
    kind: airtrace.Kind,
    subtype: int,
) -> None:
    """They end after the sender of the PPDU has stopped waiting for them."""
    cells = [Cell("ap", ["sta"], parameters)]
    sends = flow(cells, "sta", "ap", 2) + "sleep 0.3\n"
    blocked = "must airsim link set 0 1 blocked\nsleep 0.5\n"
    path = run(lab_kernel, tools, tmp_path, cells, sends + blocked + CAPTURE + CAPTURE_END)
    path /= "air.pcap"
    frames = list(airtrace.read(path))
    arrived = [sent for sent in frames if sent.sender == 1 and len(sent.lost) < sent.mpdus]
    responses = [sent for sent in frames if sent.sender == 0 and sent.kind in ("ack", "blockack")]
    assert sum(sent.kind == kind for sent in responses) > 20
    assert len(responses) == pytest.approx(len(arrived), abs=1)
    assert all(sent.lost for sent in responses)
    addresses = tshark(path, f"wlan.fc.type_subtype == {subtype}", "wlan.ra", "wlan.ta")
    station, access_point = radio_mac(1), radio_mac(0)
    assert set(addresses) == {f"{station}\t{access_point if kind == 'blockack' else ''}"}
    assert tshark(path, WARNING, "_ws.expert.message") == {}

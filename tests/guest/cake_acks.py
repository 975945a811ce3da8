# SPDX-License-Identifier: GPL-2.0-only
"""Which of given segments pass CAKE's ACK filter, in a guest.

cake_acks.py MODE CASES: MODE is a keyword of tc-cake(8), CASES a JSON file: a list of cases, each a
list of segments (see `frame`). The segments of a case are queued at once behind a packet that takes
the shaper 12 ms. Prints as JSON which of them pass, for each case, and CAKE's count.
"""

import json
import re
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ETH_P_ALL, PACKET_OUTGOING = 3, 4
MACS = bytes.fromhex("020000000002020000000001")
# The number of the packet behind which the segments wait, instead of a place in the case.
PLUG = 0xFFFF


def frame(place: int, segment: dict[str, Any]) -> bytes:
    """An Ethernet frame. Keys, all optional: ack, flags, window, payload (bytes), port, options
    (hexadecimal), family (4, 6, or 64 for 6in4), host (last byte of the source).

    The sequence number is the segment's place in the case.
    """
    options = bytes.fromhex(segment.get("options", ""))
    words = 5 + len(options) // 4
    tcp = struct.pack(
        "!HHIIHHHH",
        *(1000 + segment.get("port", 0), 2000, place, segment.get("ack", 0)),
        *(words << 12 | segment.get("flags", 0x10), segment.get("window", 0), 0, 0),
    )
    tcp += options + bytes(segment.get("payload", 0))
    family, host = segment.get("family", 4), segment.get("host", 1)
    if family == 4:
        return MACS + b"\x08\x00" + ipv4(6, host, tcp)
    ipv6 = struct.pack("!IHBB", 6 << 28, len(tcp), 6, 64) + bytes(15) + bytes((host,))
    ipv6 += bytes(15) + b"\xff" + tcp
    return MACS + (b"\x86\xdd" + ipv6 if family == 6 else b"\x08\x00" + ipv4(41, host, ipv6))


def ipv4(protocol: int, host: int, data: bytes) -> bytes:
    addresses = (bytes((10, 0, 0, host)), bytes((10, 0, 0, 255)))
    ip = struct.pack("!BBHIBBH4s4s", 0x45, 0, 20 + len(data), 0, 64, protocol, 0, *addresses)
    return ip + data


def place_of(received: bytes) -> int:
    """The place of a segment in its case, from its frame."""
    ip = 14
    if received[12:14] == b"\x08\x00":
        ip += 20
    if received[12:14] == b"\x86\xdd" or received[23] == 41:
        ip += 40
    place: int = struct.unpack_from("!I", received, ip + 4)[0]
    return place


def main() -> None:
    mode, cases = sys.argv[1], json.loads(Path(sys.argv[2]).read_text())
    for command in (
        "ip link add eth0 type veth peer name eth1",
        "ip link set eth0 up",
        "ip link set eth1 up",
        f"tc qdisc add dev eth0 root cake bandwidth 1Mbit besteffort flowblind raw rtt 1s {mode}",
    ):
        subprocess.run(command.split(), check=True)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as sender:
        receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        sender.bind(("eth0", 0))
        receiver.bind(("eth1", ETH_P_ALL))
        receiver.setblocking(False)
        left = []
        for case in cases:
            sender.send(frame(PLUG, {"port": 999, "payload": 1446}))
            for place, segment in enumerate(case):
                sender.send(frame(place, segment))
            time.sleep(0.1)
            left.append(drain(receiver))
    show = "tc -s -j qdisc show dev eth0"
    statistics = subprocess.run(show.split(), check=True, capture_output=True, text=True).stdout
    drops = sum(map(int, re.findall(r'"ack_drops":\s*(\d+)', statistics)))
    json.dump({"left": left, "ack_drops": drops}, sys.stdout)


def drain(receiver: socket.socket) -> list[int]:
    """Places of the segments received, in the order of arrival."""
    places: list[int] = []
    while True:
        try:
            received, address = receiver.recvfrom(2000)
        except BlockingIOError:
            return [place for place in places if place != PLUG]
        if address[2] != PACKET_OUTGOING:
            places.append(place_of(received))


if __name__ == "__main__":
    main()

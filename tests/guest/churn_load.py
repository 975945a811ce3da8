# SPDX-License-Identifier: GPL-2.0-only
"""UDP load whose losses do not matter: churn_load.py ADDRESS...

Sends bursts to each address in turn, cycling through the access categories. It has to sleep: in
virtual time, a sender that only blocks on its socket would stop time while packets are dropped.
"""

import contextlib
import itertools
import socket
import sys
import time

PORT = 9
BURST = 6
OCTETS = 1400
INTERVAL_S = 0.006
# Best effort, video, background, voice.
TOS = (0x00, 0xA0, 0x20, 0xE0)


def sender(tos: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
    return sock


def main() -> None:
    senders = [sender(tos) for tos in TOS]
    payload = bytes(OCTETS)
    for number in itertools.count():
        for index, address in enumerate(sys.argv[1:]):
            # The queue may be full, or the radio removed.
            with contextlib.suppress(OSError):
                for _ in range(BURST):
                    senders[(number + index) % len(TOS)].sendto(payload, (address, PORT))
        time.sleep(INTERVAL_S)


if __name__ == "__main__":
    main()

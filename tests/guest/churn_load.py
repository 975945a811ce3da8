# SPDX-License-Identifier: GPL-2.0-only
"""UDP load that does not mind whether it arrives: churn_load.py ADDRESS...

Bursts to each address in turn, each in another access category than the last. In virtual time a
sender that is limited by its socket alone would never let time pass while packets are dropped.
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
    own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    own.setblocking(False)
    own.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
    return own


def main() -> None:
    senders = [sender(tos) for tos in TOS]
    payload = bytes(OCTETS)
    for number in itertools.count():
        for index, address in enumerate(sys.argv[1:]):
            # The queue is full, or there is no radio at this moment.
            with contextlib.suppress(OSError):
                for _ in range(BURST):
                    senders[(number + index) % len(TOS)].sendto(payload, (address, PORT))
        time.sleep(INTERVAL_S)


if __name__ == "__main__":
    main()

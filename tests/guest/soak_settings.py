# SPDX-License-Identifier: GPL-2.0-only
"""soak_settings.py QUIET UNTIL PAUSE PEER BOUNDS POLICY...: change a namespace's ACK policies.

Changes a sysctl or the policy of the route to PEER every PAUSE seconds, until the file UNTIL
exists. QUIET as in soak.c, BOUNDS as in ackpol_fuzz.c. Prints how often each setting was changed.
"""

import random
import socket
import struct
import sys
import time
from collections import Counter
from pathlib import Path

IPV4 = Path("/proc/sys/net/ipv4")
DEVICE = "eth0"

# Decimal digits of values; 4 for others, which is up to 10 ms, because longer times only slow down
# the test. ACKs in many parts would keep an emulated processor busy for minutes.
DIGITS = {"tcp_divack": 0.7}

RTM_NEWROUTE = 24
NLM_F_REQUEST, NLM_F_ACK, NLM_F_REPLACE, NLM_F_CREATE = 1, 4, 0x100, 0x400
RTA_DST, RTA_OIF, RTA_METRICS = 1, 4, 8
RTAX_ACK_POLICY = 18
RT_TABLE_MAIN, RTPROT_BOOT, RTN_UNICAST = 254, 3, 1
RT_SCOPE = {socket.AF_INET: 253, socket.AF_INET6: 0}


def attribute(kind: int, value: bytes) -> bytes:
    length = 4 + len(value)
    return struct.pack("HH", length, kind) + value + bytes(-length % 4)


def set_route(netlink: socket.socket, peer: str, policy: str) -> int:
    """Returns an errno, or 0."""
    family = socket.AF_INET6 if ":" in peer else socket.AF_INET
    address = socket.inet_pton(family, peer)
    message = struct.pack(
        "BBBBBBBBI",
        *(family, 8 * len(address), 0, 0),
        *(RT_TABLE_MAIN, RTPROT_BOOT, RT_SCOPE[family], RTN_UNICAST, 0),
    )
    message += attribute(RTA_DST, address)
    message += attribute(RTA_OIF, struct.pack("I", socket.if_nametoindex(DEVICE)))
    message += attribute(RTA_METRICS, attribute(RTAX_ACK_POLICY, policy.encode() + b"\0"))
    flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_REPLACE | NLM_F_CREATE
    netlink.send(struct.pack("IHHII", 16 + len(message), RTM_NEWROUTE, flags, 0, 0) + message)
    error: int = struct.unpack_from("i", netlink.recv(4096), 16)[0]
    return -error


def main(
    quiet: Path, until: Path, pause_s: float, peer: str, bounds: Path, policies: list[str]
) -> None:
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    numbers = [IPV4 / line.split()[0] for line in bounds.read_text().splitlines()]
    counts: Counter[str] = Counter()
    while not until.exists():
        allowed = [name for name in policies if name not in quiet.read_text().split()]
        policy = random.choice([*allowed, "default"])
        try:
            match random.randrange(3):
                case 0:
                    what = "tcp_ack_policy"
                    (IPV4 / what).write_text(policy)
                case 1:
                    what = "route"
                    # EINVAL if the policy's module is being unloaded.
                    if error := set_route(netlink, peer, policy):
                        what = f"route:errno={error}"
                case _:
                    path = random.choice(numbers)
                    what = path.name
                    path.write_text(str(int(10 ** random.uniform(0, DIGITS.get(what, 4)))))
        except OSError as error:
            # Out of range, or the module is being loaded or unloaded.
            what += f":errno={error.errno}"
        counts[what] += 1
        time.sleep(pause_s)
    for what, count in sorted(counts.items()):
        print(what, count)


if __name__ == "__main__":
    main(
        *(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])),
        *(sys.argv[4], Path(sys.argv[5]), sys.argv[6:]),
    )

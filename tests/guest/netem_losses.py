# SPDX-License-Identifier: GPL-2.0-only
"""Runs a command under reproducible losses, by netem's seed, which iproute2 6.1 cannot set.

netem_losses.py DEVICE DELAY_US LOSS_PPM SEEDS COMMAND...: for each seed from 1 to SEEDS, replaces
the root qdisc of DEVICE by netem and runs COMMAND, whose last line is appended to times.csv.
"""

import socket
import struct
import subprocess
import sys
from pathlib import Path

RTM_NEWQDISC, REQUEST_ACK_CREATE_REPLACE = 36, 0x1 | 0x4 | 0x100 | 0x400
TCA_KIND, TCA_OPTIONS = 1, 2
TCA_NETEM_LATENCY64, TCA_NETEM_PRNG_SEED = 10, 14
TC_H_ROOT = 0xFFFFFFFF
LIMIT_PACKETS = 1000


def attribute(kind: int, data: bytes) -> bytes:
    body = struct.pack("HH", 4 + len(data), kind) + data
    return body + bytes(-len(body) % 4)


def replace_root(device: str, delay_us: int, loss_ppm: int, seed: int) -> None:
    options = struct.pack("IIIIII", 0, LIMIT_PACKETS, round(loss_ppm / 1e6 * (2**32 - 1)), 0, 0, 0)
    options += attribute(TCA_NETEM_LATENCY64, struct.pack("q", delay_us * 1000))
    options += attribute(TCA_NETEM_PRNG_SEED, struct.pack("Q", seed))
    # struct tcmsg: family, padding, index of the device, handle, parent, info.
    body = struct.pack("BxHiIII", 0, 0, socket.if_nametoindex(device), 0x10000, TC_H_ROOT, 0)
    body += attribute(TCA_KIND, b"netem\0") + attribute(TCA_OPTIONS, options)
    header = struct.pack("IHHII", 16 + len(body), RTM_NEWQDISC, REQUEST_ACK_CREATE_REPLACE, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as route:
        route.send(header + body)
        answer = route.recv(4096)
    error = struct.unpack_from("i", answer, 16)[0]
    if error:
        sys.exit(f"netem on {device}: error {-error}")


def main() -> None:
    device, delay_us, loss_ppm, seeds = sys.argv[1], *map(int, sys.argv[2:5])
    with Path("times.csv").open("w") as times:
        for seed in range(1, seeds + 1):
            replace_root(device, delay_us, loss_ppm, seed)
            done = subprocess.run(sys.argv[5:], stdout=subprocess.PIPE, text=True, check=True)
            times.write(done.stdout.splitlines()[-1] + "\n")


if __name__ == "__main__":
    main()

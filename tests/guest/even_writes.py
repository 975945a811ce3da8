# SPDX-License-Identifier: GPL-2.0-only
"""Counts the sender's retransmissions of evenly spaced small writes on a path without loss.

Runs in a guest as root; the arguments are ACK policies, POLICY:unbounded without the bound on ACK
delays. For each policy and spacing, with and without tail loss probes, there is one connection over
loopback in its own namespace. Prints the counters of each as JSON, by "POLICY GAP_MS TLP".
"""

import json
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from netns import libc, unshare

WRITES, SIZE = 300, 100
GAPS_MS = (20, 60, 100, 150, 190, 400)
COUNTERS = ("TCPLossProbes", "TCPTimeouts", "TCPDSACKRecv", "RetransSegs")
PR_SET_TIMERSLACK = 1


def counters() -> dict[str, int]:
    totals: dict[str, int] = {}
    for name in ("netstat", "snmp"):
        lines = Path(f"/proc/thread-self/net/{name}").read_text().splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            totals |= dict(zip(names.split()[1:], map(int, values.split()[1:]), strict=True))
    return {name: totals[name] for name in COUNTERS}


def read_all(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


def run(policy: str, gap_ms: int, early_retrans: int) -> dict[str, int]:
    unshare()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    ipv4 = Path("/proc/sys/net/ipv4")
    name, _, bound = policy.partition(":")
    (ipv4 / "tcp_ack_policy").write_text(name)
    (ipv4 / "tcp_ack_policy_unbounded").write_text(str(int(bound == "unbounded")))
    (ipv4 / "tcp_early_retrans").write_text(str(early_retrans))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sender = socket.create_connection(listener.getsockname())
        receiver, _ = listener.accept()
    with sender, receiver:
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reader = threading.Thread(target=read_all, args=(receiver,))
        reader.start()
        start = time.monotonic()
        for count in range(WRITES):
            sender.sendall(bytes(SIZE))
            time.sleep(max(0.0, start + (count + 1) * gap_ms / 1000 - time.monotonic()))
        time.sleep(1)
        result = counters()
        sender.shutdown(socket.SHUT_WR)
        reader.join()
    return result


def main() -> None:
    libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    results = {
        f"{policy} {gap_ms} {'TLP' if early_retrans else 'no TLP'}": run(
            policy, gap_ms, early_retrans
        )
        for policy in sys.argv[1:]
        for gap_ms in GAPS_MS
        for early_retrans in (3, 0)
    }
    print(json.dumps(results))


if __name__ == "__main__":
    main()

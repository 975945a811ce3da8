# SPDX-License-Identifier: GPL-2.0-only
"""bbr2 and bbrp as modules on several processors, in a guest. Prints counts as one JSON document.

Transfers from the namespace `here` to `there`, over IPv4 and IPv6, with loss and reordering, switch
between congestion controls, which the kernel loads by name, while modules are unloaded, sysctls
change, and namespaces are added and deleted.
"""

import errno
import json
import os
import socket
import struct
import threading
import time
from collections import Counter
from pathlib import Path

from netns import enter, run, succeeds

NAMES = ("bbr2", "bbrp", "bbr", "bbr_plain", "cubic")
MODULES = ("tcp_bbr2", "tcp_bbr")
SYSCTLS = {"tcp_bbr2_pacing_percent": ("1", "100", "1000"), "tcp_bbrp_gain": ("256", "512", "1023")}
FLOWS = 4
CONNECTIONS_PER_FLOW = 5
TCP_CC_INFO = 26
ADDRESSES = ("10.0.0.2", "fd00::2")

counts: Counter[str] = Counter()
ended = threading.Event()


def build() -> None:
    Path("/run/netns").mkdir(exist_ok=True)
    for name in ("here", "there"):
        run(f"ip netns add {name}")
    run("ip link add eth0 netns here type veth peer name eth0 netns there")
    for number, name in enumerate(("here", "there"), 1):
        run(f"ip -n {name} address add 10.0.0.{number}/24 dev eth0")
        run(f"ip -n {name} address add fd00::{number}/64 dev eth0 nodad")
        run(f"ip -n {name} link set eth0 up")
        run(f"ip netns exec {name} tc qdisc add dev eth0 root netem delay 2ms loss 1% reorder 2%")


def choose(sock: socket.socket, name: str) -> None:
    """Set the congestion control; the kernel loads its module, which may just be unloading."""
    for _ in range(100):
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise
            counts["refused"] += 1
            time.sleep(0.1)
        else:
            counts[name] += 1
            return
    raise LookupError(name)


def serve(listener: socket.socket) -> None:
    def receive(sock: socket.socket) -> None:
        with sock:
            while data := sock.recv(1 << 18):
                counts["bytes"] += len(data)

    while True:
        try:
            sock, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=receive, args=(sock,), daemon=True).start()


def send(number: int, address: str, port: int) -> None:
    enter("here")
    for connection in range(CONNECTIONS_PER_FLOW):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family) as sock:
            choose(sock, NAMES[(number + connection) % 2])
            sock.connect((address, port))
            for step in range(4):
                for _ in range(4):
                    sock.sendall(bytes(16384))
                bbr_info = sock.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 20)
                if len(bbr_info) == 20 and struct.unpack("5I", bbr_info)[3]:
                    counts["reported"] += 1
                choose(sock, NAMES[(number + connection + step) % len(NAMES)])
        counts["finished"] += 1


def change() -> None:
    enter("here")
    while not ended.is_set():
        for name, values in SYSCTLS.items():
            for value in values:
                Path(f"/proc/sys/net/ipv4/{name}").write_text(value)
                counts["changed"] += 1
        time.sleep(0.05)


def unload() -> None:
    while not ended.is_set():
        for module in MODULES:
            counts["unloaded" if succeeds(f"modprobe -r {module}") else "in use"] += 1
        run("ip netns add brief")
        run("ip netns del brief")
        time.sleep(0.3)


def main() -> None:
    build()
    enter("there")
    listeners = [
        socket.create_server((address, 0), family=family, backlog=64)
        for address, family in zip(ADDRESSES, (socket.AF_INET, socket.AF_INET6), strict=True)
    ]
    for listener in listeners:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
    senders = [
        threading.Thread(
            target=send,
            args=(number, ADDRESSES[number % 2], listeners[number % 2].getsockname()[1]),
        )
        for number in range(FLOWS)
    ]
    others = [threading.Thread(target=target) for target in (change, unload)]
    for thread in (*senders, *others):
        thread.start()
    for thread in senders:
        thread.join()
    ended.set()
    for thread in others:
        thread.join()

    start = time.monotonic()
    for module in MODULES:
        while Path(f"/sys/module/{module}").exists() and time.monotonic() - start < 120:
            succeeds(f"modprobe -r {module}")
            time.sleep(0.2)
        counts["left"] += Path(f"/sys/module/{module}").exists()
    os.write(1, json.dumps(counts).encode())


if __name__ == "__main__":
    main()

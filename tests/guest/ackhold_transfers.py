# SPDX-License-Identifier: GPL-2.0-only
"""Transfers over a path with a queue to a host with the qdisc ackhold, in a guest.

    ackhold_transfers.py TRANSFERS

Prints one JSON document. The namespace `there` downloads from `here` through `middle`, where netem
drops data and ACKs, and where data waits, so that ACKs may wait. The qdisc of `there` is removed
and added again every second. Then, without losses and for each family, it uploads GSO segments
while it downloads, and the qdisc has room for a single packet.
"""

import fcntl
import importlib
import json
import multiprocessing
import queue
import socket
import struct
import sys
import termios
import threading
import time
import zlib
from collections import Counter
from pathlib import Path

from netns import enter, run

PORT = 5000
WORKERS = 2
REMOVE_EVERY_S = 1.0
# By family; the same name is a host of each.
SERVERS = {socket.AF_INET: "10.0.0.1", socket.AF_INET6: "fd00::1"}
DATA_LOSS, ACK_LOSS = "0.05%", "2%"
# While data goes in both directions: the download pauses after each block, so that an ACK that is
# held then waits in silence. What is uploaded each time is a GSO segment of two full ones; TCP
# would split a larger one.
EXCHANGED, BLOCK = 20_000_000, 2_000_000
PAUSE_S, UPLOAD_EVERY_S = 0.03, 0.003
HEAD = struct.Struct("!I?")  # octets to download; also upload?
CHECKSUM = struct.Struct("!I")  # of what was uploaded
ADD = "tc qdisc add dev eth0 root ackhold"
REMOVE = "tc qdisc del dev eth0 root"


# dkms/ackhold/ackhold-stats
ackhold_stats = importlib.import_module("ackhold_stats")


def build() -> None:
    Path("/run/netns").mkdir()
    for name in ("here", "middle", "there"):
        run(f"ip netns add {name}")
        run(f"ip netns exec {name} sysctl -qw net.ipv6.conf.all.forwarding=1 net.ipv4.ip_forward=1")
    for end, number in (("here", 0), ("there", 1)):
        run(f"ip link add eth0 netns {end} type veth peer name {end} netns middle")
        # As GRO delivers them, a few segments at a time.
        run(f"ip -n {end} link set eth0 up gso_max_segs 4")
        run(f"ip -n middle link set {end} up")
        run(f"ip -n {end} address add 10.0.{number}.1/24 dev eth0")
        run(f"ip -n middle address add 10.0.{number}.2/24 dev {end}")
        prefix = "fd00::" if end == "here" else "fd01::"
        run(f"ip -n {end} address add {prefix}1/64 dev eth0 nodad")
        run(f"ip -n middle address add {prefix}2/64 dev {end} nodad")
        run(f"ip -n {end} route add default via 10.0.{number}.2")
        run(f"ip -n {end} route add default via {prefix}2")
    set_path("add", DATA_LOSS)
    run(f"tc -n middle qdisc add dev here root netem loss {ACK_LOSS}")


def set_path(verb: str, loss: str) -> None:
    """How data is sent to `there`."""
    netem = f"netem delay 5ms rate 60mbit loss {loss} limit 200"
    run(f"tc -n middle qdisc {verb} dev there root {netem}")


def pattern(size: int) -> bytes:
    return (bytes(range(251)) * (size // 251 + 1))[:size]


def serve(family: socket.AddressFamily) -> None:
    enter("here")
    with socket.create_server((SERVERS[family], PORT), family=family, backlog=64) as server:
        while True:
            connection, _ = server.accept()
            threading.Thread(target=send, args=(connection,)).start()


def receive(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(size - len(data), 1 << 18))
        if not part:
            raise ConnectionError(f"{len(data)} of {size} octets")
        data += part
    return bytes(data)


def send(connection: socket.socket) -> None:
    with connection:
        connection.settimeout(300)
        size, duplex = HEAD.unpack(receive(connection, HEAD.size))
        if duplex:
            send_and_receive(connection, pattern(size))
        else:
            connection.sendall(pattern(size))


def send_and_receive(connection: socket.socket, data: bytes) -> None:
    checksums: queue.Queue[int] = queue.Queue()
    threading.Thread(target=lambda: checksums.put(read_all(connection))).start()
    for at in range(0, len(data), BLOCK):
        connection.sendall(data[at : at + BLOCK])
        while any(fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4))):
            time.sleep(0.001)
        time.sleep(PAUSE_S)
    connection.sendall(CHECKSUM.pack(checksums.get(timeout=300)))


def read_all(connection: socket.socket) -> int:
    """The checksum of what arrives."""
    checksum = 0
    while part := connection.recv(1 << 18):
        checksum = zlib.crc32(part, checksum)
    return checksum


def download(connection: socket.socket, size: int) -> bool:
    """Whether a download was complete."""
    return receive(connection, size) == pattern(size) and not connection.recv(1)


def upload(connection: socket.socket, over: threading.Event, checksums: "queue.Queue[int]") -> None:
    part = pattern(2 * connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG))
    checksum = 0
    while not over.wait(UPLOAD_EVERY_S):
        connection.sendall(part)
        checksum = zlib.crc32(part, checksum)
    connection.shutdown(socket.SHUT_WR)
    checksums.put(checksum)


def exchange(connection: socket.socket, size: int) -> bool:
    """Whether a download and an upload at the same time were complete."""
    over, checksums = threading.Event(), queue.Queue[int]()
    uploader = threading.Thread(target=upload, args=(connection, over, checksums))
    uploader.start()
    try:
        complete = receive(connection, size) == pattern(size)
    finally:
        over.set()
        uploader.join()
    [checksum] = CHECKSUM.unpack(receive(connection, CHECKSUM.size))
    return complete and checksum == checksums.get()


def transfer(number: int, size: int, *, duplex: bool = False) -> bool:
    """Whether a transfer was complete."""
    family = list(SERVERS)[number % 2]
    with socket.socket(family) as connection:
        connection.settimeout(300)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.connect((SERVERS[family], PORT))
        connection.sendall(HEAD.pack(size, duplex))
        return (exchange if duplex else download)(connection, size)


def work(first: int, transfers: int, results: "multiprocessing.Queue[bool]") -> None:
    for number in range(first, transfers, WORKERS):
        try:
            results.put(transfer(number, 1_000_000 + number * 79_193 % 2_000_000))
        except OSError:
            results.put(False)


def counters() -> dict[str, int]:
    """Those of the qdisc and of tc."""
    [qdisc] = json.loads(run("tc -s -j qdisc show dev eth0"))
    values: dict[str, int] = dict(ackhold_stats.counters())["eth0"]
    return values | {f"tc_{name}": qdisc[name] for name in ("drops", "overlimits", "packets")}


def overtaken() -> int:
    """How many segments `here` refused because their timestamps were older than those before."""
    lines = run("ip netns exec here cat /proc/net/netstat").splitlines()
    [names, values] = [line.split() for line in lines if line.startswith("TcpExt:")]
    return int(dict(zip(names, values, strict=True))["PAWSEstab"])


def in_both_directions() -> dict[str, int]:
    """Counters of the qdisc for transfers in both directions."""
    run("tc -n middle qdisc del dev here root")
    set_path("change", "0%")
    run(REMOVE)
    run("ip link set eth0 txqueuelen 1")
    run(ADD)
    complete = [transfer(number, EXCHANGED, duplex=True) for number in range(len(SERVERS))]
    return {"complete": sum(complete), "overtaken": overtaken(), **counters()}


def main(transfers: int) -> None:
    build()
    for family in SERVERS:
        multiprocessing.Process(target=serve, args=(family,)).start()
    time.sleep(0.5)
    enter("there")
    run(ADD)
    results: multiprocessing.Queue[bool] = multiprocessing.Queue()
    workers = [
        multiprocessing.Process(target=work, args=(first, transfers, results))
        for first in range(WORKERS)
    ]
    for worker in workers:
        worker.start()
    total: Counter[str] = Counter()
    longest_us, complete, finished, added, removed_while_holding = 0, 0, 0, 1, 0
    while finished < transfers:
        time.sleep(REMOVE_EVERY_S)
        found = counters()
        longest_us = max(longest_us, found.pop("longest_us"))
        removed_while_holding += found.pop("holding") > 0
        total.update(found)
        run(REMOVE)
        run(ADD)
        added += 1
        while not results.empty():
            complete += results.get()
            finished += 1
        Path("progress-of-transfers").write_text(f"{complete} of {finished}\n")
    exchanges = in_both_directions()
    run(REMOVE)
    run("rmmod sch_ackhold")
    found = {"complete": complete, "longest_us": longest_us, "added": added}
    found |= {"removed_while_holding": removed_while_holding}
    print(json.dumps({**total, **found, "exchanges": exchanges}))
    for child in multiprocessing.active_children():
        child.kill()


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    main(int(sys.argv[1]))

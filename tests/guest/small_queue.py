# SPDX-License-Identifier: GPL-2.0-only
"""The limit of TCP small queues, in a guest: allowed values, and what a socket queues with each.

Prints one JSON document. Sends from the namespace `here` to `there`, over a cable at whose near end
packets can be held in a queue, where they still count against their socket.
"""

import contextlib
import errno
import json
import os
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from netns import enter, run

TCP_SMALL_QUEUE = 48
SO_MEMINFO, SO_MAX_PACING_RATE = 55, 47
WMEM_ALLOC = 2
UNITS = ("inherit", "driver", "off", "us", "bytes", "packets", "paced")

SYSCTL = Path("/proc/sys/net/ipv4/tcp_small_queue")
MEMORY = Path("/proc/sys/net/ipv4/tcp_memory_linux54")
BURST = Path("/proc/sys/net/ipv4/tcp_small_queue_burst_us")
WINDOW_SEGMENTS = 40
CHOICES = ("driver", "off", "1 us", "1000 us", "1000000 us", "1 bytes", "65536 bytes", "1 packets")


def refusal(action: Callable[[], object]) -> str:
    """The name of the errno with which `action` fails, or ""."""
    try:
        action()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return ""


def build() -> None:
    Path("/run/netns").mkdir()
    for command in (
        "ip netns add here",
        "ip netns add there",
        "ip link add eth0 netns here type veth peer name eth0 netns there",
        "ip -n here address add 10.0.0.1/24 dev eth0",
        "ip -n there address add 10.0.0.2/24 dev eth0",
        "ip -n here link set eth0 up",
        "ip -n there link set eth0 up",
        f"ip -n here route change 10.0.0.0/24 dev eth0 src 10.0.0.1 initcwnd {WINDOW_SEGMENTS}",
        # Each segment is a packet: TCP would merge segments even for a device without TSO.
        "ip -n here link set eth0 gso_max_segs 1",
    ):
        run(command)


def sysctl_texts() -> dict[str, Any]:
    at_first = SYSCTL.read_text().strip()
    taken = {}
    for text in (*CHOICES, "4000us", "8000  us", "268435456 bytes", "9 paced", "65535 packets"):
        SYSCTL.write_text(text)
        taken[text] = SYSCTL.read_text().strip()
    refused = {
        text: refusal(lambda text=text: SYSCTL.write_text(text))  # type: ignore[misc]
        for text in (
            *("\n", "never", "5", "us", "-1 us", "0 us", "1000001 us", "1.5 us", "0x10 us", "4 ms"),
            *("0 bytes", "268435457 bytes", "0 packets", "65536 packets", "4294967297 packets"),
            *("0 paced", "65536 paced", "paced"),
            *("99999999999999999999 us", "1 off", "1 driver", "inherit", "off off", "x" * 4000),
        )
    }
    kept = SYSCTL.read_text().strip()
    enter("there")
    elsewhere = SYSCTL.read_text().strip()
    enter("here")
    SYSCTL.write_text("driver")
    return {
        "at first": at_first,
        "taken": taken,
        "refused": refused,
        "kept": kept,
        "elsewhere": elsewhere,
    }


def burst_texts() -> dict[str, Any]:
    results: dict[str, Any] = {"at first": BURST.read_text().strip()}
    BURST.write_text("1000000")
    results["refused"] = {
        text: refusal(lambda text=text: BURST.write_text(text))  # type: ignore[misc]
        for text in ("-1", "1000001", "1ms", "x")
    }
    results["kept"] = BURST.read_text().strip()
    enter("there")
    results["elsewhere"] = BURST.read_text().strip()
    enter("here")
    BURST.write_text("0")
    return results


def set_limit(sock: socket.socket, unit: str | int, limit: int = 0) -> None:
    number = UNITS.index(unit) if isinstance(unit, str) else unit
    sock.setsockopt(socket.IPPROTO_TCP, TCP_SMALL_QUEUE, struct.pack("II", number, limit))


def get_limit(sock: socket.socket, size: int = 8) -> list[Any]:
    value = sock.getsockopt(socket.IPPROTO_TCP, TCP_SMALL_QUEUE, size)
    if len(value) < 8:
        return [len(value)]
    unit, limit = struct.unpack("II", value)
    return [UNITS[unit], limit]


@contextlib.contextmanager
def connection() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Sender (in `here`) and receiver, accepted by a listener that has a limit of its own."""
    enter("there")
    with socket.create_server(("10.0.0.2", 0)) as listener:
        set_limit(listener, "packets", 77)
        enter("here")
        sender = socket.create_connection(listener.getsockname())
        receiver, _ = listener.accept()
    with sender, receiver:
        yield sender, receiver


def socket_options() -> dict[str, Any]:
    with connection() as (sock, accepted):
        at_first, of_the_listener = get_limit(sock), get_limit(accepted)
        taken = []
        for unit, limit in (
            *(("driver", 0), ("off", 0), ("us", 1), ("us", 1000000), ("bytes", 1 << 28)),
            *(("packets", 65535), ("paced", 65535), ("inherit", 0)),
        ):
            set_limit(sock, unit, limit)
            taken.append(get_limit(sock) == [unit, limit])
        set_limit(sock, "us", 4000)
        refused = [
            refusal(lambda pair=pair: set_limit(sock, *pair))  # type: ignore[misc]
            for pair in (
                *(("us", 0), ("us", 1000001), ("us", 1 << 31), ("bytes", 0)),
                *(("bytes", (1 << 28) + 1), ("packets", 0), ("packets", 65536), ("off", 1)),
                *(("driver", 1), ("inherit", 1), ("paced", 0), ("paced", 65536)),
                *((7, 1), (8, 0), (1 << 31, 1)),
            )
        ]
        short = refusal(
            lambda: sock.setsockopt(socket.IPPROTO_TCP, TCP_SMALL_QUEUE, struct.pack("I", 2))
        )
        return {
            "at first": at_first,
            "of the listener": of_the_listener,
            "taken": taken,
            "refused": refused,
            "short": short,
            "kept": get_limit(sock),
            "short answer": get_limit(sock, 4),
        }


def throttled() -> int:
    lines = [line.split() for line in Path("/proc/net/netstat").read_text().splitlines()]
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        if "TCPSmallQueueThrottled" in names:
            return int(values[names.index("TCPSmallQueueThrottled")])
    raise LookupError("TCPSmallQueueThrottled")


def queue(prepare: Callable[[socket.socket], object]) -> dict[str, int]:
    """Packets and bytes of memory that a socket queues on a device that sends nothing."""
    with connection() as (sock, _):
        prepare(sock)
        before = throttled()
        run("tc qdisc add dev eth0 root handle 1: tbf rate 8bit burst 1600b limit 10000000b")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        sock.setblocking(False)
        sock.send(bytes(2 * WINDOW_SEGMENTS * 1448))
        time.sleep(0.15)
        [packets] = re.findall(r"backlog \S+ (\d+)p", run("tc -s qdisc show dev eth0"))
        memory = struct.unpack("9I", sock.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 36))
        queued = {
            "packets": int(packets),
            "memory": memory[WMEM_ALLOC],
            "throttled": throttled() - before,
        }
        run("tc qdisc del dev eth0 root")
        return queued


def with_sysctl(text: str) -> dict[str, int]:
    SYSCTL.write_text(text)
    queued = queue(lambda _: None)
    SYSCTL.write_text("driver")
    return queued


def with_rate(unit: str, limit: int, bytes_per_s: int) -> dict[str, int]:
    def prepare(sock: socket.socket) -> None:
        sock.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, bytes_per_s)
        set_limit(sock, unit, limit)

    return queue(prepare)


def set_memory(linux54: str) -> None:
    for namespace in ("there", "here"):
        enter(namespace)
        MEMORY.write_text(linux54)


def buffers(linux54: str) -> dict[str, Any]:
    """What queue() returns with 30 packets, and the window that the receiver offers after 30 KB."""
    set_memory(linux54)
    with connection() as (sender, receiver):
        for _ in range(10):
            sender.send(bytes(3000))
            receiver.recv(3000, socket.MSG_WAITALL)
        time.sleep(0.1)
        [window] = re.findall(r"snd_wnd:(\d+)", run(f"ss -tinH sport = :{sender.getsockname()[1]}"))
    queued = with_sysctl("30 packets")
    set_memory("0")
    return {**queued, "window": int(window)}


def under_load() -> dict[str, Any]:
    """The bytes that arrive in each 100 ms while the limit changes every 20 ms."""
    run("tc qdisc add dev eth0 root handle 1: tbf rate 50mbit burst 4kb limit 1000000b")
    limits = (("off", 0), ("inherit", 0), ("bytes", 1), ("us", 2000))
    steps, arrived = 0, [0] * 40
    with connection() as (sender, receiver):
        start = time.monotonic()
        ended = threading.Event()

        def send() -> None:
            with contextlib.suppress(OSError):
                while not ended.is_set():
                    sender.send(bytes(65536))

        def receive() -> None:
            while data := receiver.recv(1 << 20):
                index = int((time.monotonic() - start) * 10)
                if index < len(arrived):
                    arrived[index] += len(data)

        threads = [threading.Thread(target=target) for target in (send, receive)]
        for thread in threads:
            thread.start()
        while time.monotonic() - start < len(arrived) / 10:
            SYSCTL.write_text(CHOICES[steps % len(CHOICES)])
            set_limit(sender, *limits[steps // len(CHOICES) % len(limits)])
            steps += 1
            time.sleep(0.02)
        ended.set()
        threads[0].join()
        sender.shutdown(socket.SHUT_WR)
        threads[1].join()
    run("tc qdisc del dev eth0 root")
    SYSCTL.write_text("driver")
    return {"steps": steps, "arrived": arrived}


def main() -> None:
    build()
    enter("here")
    results = {
        "texts": sysctl_texts(),
        "bursts": burst_texts(),
        "options": socket_options(),
        "packets": {str(n): with_sysctl(f"{n} packets") for n in (1, 2, 3, 10, 30)},
        "paced": {str(n): with_sysctl(f"{n} paced") for n in (1, 5, 12)},
        "bytes": {str(n): with_sysctl(f"{n} bytes") for n in (1, 20000, 50000)},
        "us": {str(us): with_rate("us", us, 4_000_000) for us in (1, 2500, 10000)},
        "driver": with_rate("driver", 0, 4_000_000),
        "off": with_sysctl("off"),
        "buffers": {text: buffers(text) for text in ("0", "1")},
        "under load": under_load(),
    }
    os.write(1, json.dumps(results).encode())


if __name__ == "__main__":
    main()

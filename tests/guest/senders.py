# SPDX-License-Identifier: GPL-2.0-only
"""Samples the rates and the state of senders on a path of 20 ms, in a guest.

    senders.py SCENARIO...

Prints one JSON document: the samples of each scenario, in columns. The namespace `here` sends
through `middle`, whose queue to `there` is the bottleneck: a netem FIFO with rate and loss.
"""

import errno
import json
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netns import enter, run

TCP_CC_INFO = 26
ADDRESS = "10.0.1.2"
SAMPLE_S = 0.005
# Offsets in struct tcp_info.
FIELDS = {
    **{"unacked": ("I", 24), "rtt_us": ("I", 68), "cwnd": ("I", 80), "retrans": ("I", 100)},
    **{"pacing_Bps": ("Q", 104), "bytes_acked": ("Q", 120), "min_rtt_us": ("I", 148)},
    "data_segs_out": ("I", 156),
}
# Fields of struct tcp_bbr_info.
BBR_FIELDS = ("bw_lo", "bw_hi", "bbr_min_rtt_us", "pacing_gain", "cwnd_gain")


def build() -> None:
    Path("/run/netns").mkdir()
    for name in ("here", "middle", "there"):
        run(f"ip netns add {name}")
    for end, near, far in (("here", "10.0.0.1", "10.0.0.2"), ("there", ADDRESS, "10.0.1.1")):
        run(f"ip link add eth0 netns {end} type veth peer name {end} netns middle")
        run(f"ip -n {end} address add {near}/24 dev eth0")
        run(f"ip -n middle address add {far}/24 dev {end}")
        run(f"ip -n {end} link set eth0 up")
        run(f"ip -n middle link set {end} up")
        run(f"ip -n {end} route add default via {far}")
        # Each segment is a packet, so that the queue counts segments.
        run(f"ip -n {end} link set eth0 gso_max_segs 1")
    run("ip netns exec middle sysctl -qw net.ipv4.ip_forward=1")
    run("ip netns exec middle tc qdisc add dev here root netem delay 10ms limit 100000")
    run("ip netns exec middle tc qdisc add dev there root netem delay 10ms limit 100000")


def path(rate: str = "50mbit", packets: int = 1000, loss_percent: float = 0) -> None:
    """Configure the bottleneck. packets: limit of netem, in the queue and in its delay of 10 ms."""
    loss = f"loss {loss_percent}%" if loss_percent else ""
    run(
        "ip netns exec middle tc qdisc change dev there root netem "
        f"delay 10ms rate {rate} limit {packets} {loss}"
    )


@dataclass
class Flow:
    """A sending connection and its samples."""

    congestion_control: str
    start_s: float = 0
    bytes_per_s: Callable[[float], float] | None = None
    """The application's rate at a time in s; None: unlimited."""
    columns: dict[str, list[float]] = field(default_factory=dict)
    sock: socket.socket = field(init=False)

    def connect(self, listener: socket.socket) -> None:
        self.sock = socket.socket()
        self.sock.setsockopt(
            socket.IPPROTO_TCP, socket.TCP_CONGESTION, self.congestion_control.encode()
        )
        self.sock.connect(listener.getsockname())

    def sample(self, now_s: float) -> None:
        info = self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 240)
        row = {"time_s": now_s}
        row |= {name: struct.unpack_from(f"={f}", info, at)[0] for name, (f, at) in FIELDS.items()}
        bbr_info = self.sock.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 20)
        if len(bbr_info) == 20:
            row |= dict(zip(BBR_FIELDS, struct.unpack("=5I", bbr_info), strict=True))
        for name, value in row.items():
            self.columns.setdefault(name, []).append(value)

    def send(self, start: float, until_s: float) -> None:
        while (now_s := time.monotonic() - start) < until_s:
            try:
                if self.bytes_per_s is None:
                    self.sock.send(bytes(65536))
                elif rate := self.bytes_per_s(now_s):
                    self.sock.send(bytes(max(1, int(rate * SAMPLE_S))))
                    time.sleep(SAMPLE_S)
                else:
                    time.sleep(SAMPLE_S)
            except OSError as error:
                if error.errno != errno.EPIPE:
                    raise
                return


def transfer(
    *flows: Flow, duration_s: float, events: Sequence[tuple[float, Callable[[], object]]] = ()
) -> list[dict[str, list[float]]]:
    enter("there")
    listener = socket.create_server((ADDRESS, 0), backlog=len(flows))
    enter("here")
    threads = []
    start = time.monotonic()

    def receive(sock: socket.socket) -> None:
        while sock.recv(1 << 20):
            pass

    def run_flow(flow: Flow) -> None:
        enter("here")
        time.sleep(flow.start_s)
        flow.connect(listener)
        receiver, _ = listener.accept()
        sender = threading.Thread(target=flow.send, args=(start, duration_s))
        drain = threading.Thread(target=receive, args=(receiver,))
        sender.start()
        drain.start()
        while (now_s := time.monotonic() - start) < duration_s:
            flow.sample(now_s)
            time.sleep(SAMPLE_S)
        flow.sock.shutdown(socket.SHUT_RDWR)
        sender.join()
        drain.join()

    def run_events() -> None:
        for at_s, action in events:
            time.sleep(max(0, start + at_s - time.monotonic()))
            action()

    threads = [threading.Thread(target=run_flow, args=(flow,)) for flow in flows]
    threads.append(threading.Thread(target=run_events))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    listener.close()
    return [flow.columns for flow in flows]


def ss_output() -> str:
    enter("here")
    return run("ss -tni")


def bulk() -> dict[str, Any]:
    path()
    results: dict[str, Any] = {}
    [results["bbr2"]] = transfer(
        Flow("bbr2"),
        duration_s=13,
        events=[(3, lambda: results.update(ss=ss_output()))],
    )
    for name, duration_s in (("cubic", 6), ("bbr", 6), ("bbrp", 6)):
        [results[name]] = transfer(Flow(name), duration_s=duration_s)
    return results


def sysctl(name: str, value: int) -> None:
    enter("here")
    Path(f"/proc/sys/net/ipv4/{name}").write_text(str(value))


def gains() -> dict[str, Any]:
    """The sysctls of pacing change after half of the transfer."""
    path()
    results = {}
    for name, setting, default, other in (
        ("bbr2", "tcp_bbr2_pacing_percent", 100, 200),
        ("bbrp", "tcp_bbrp_gain", 512, 768),
    ):
        change = (2, lambda setting=setting, other=other: sysctl(setting, other))
        [results[name]] = transfer(Flow(name), duration_s=4, events=[change])
        sysctl(setting, default)
    return results


def loss() -> dict[str, Any]:
    results: dict[str, Any] = {}
    for percent in (0.5, 8):
        path(loss_percent=percent)
        for name in ("cubic", "bbr2"):
            [columns] = transfer(Flow(name), duration_s=8)
            results.setdefault(name, {})[str(percent)] = columns
    return results


def shallow() -> dict[str, Any]:
    """A queue of a quarter of the BDP, in front of a delay of 10 ms."""
    path(packets=20 + 42)
    return {name: transfer(Flow(name), duration_s=8)[0] for name in ("bbr", "bbr2")}


def two() -> list[Any]:
    path("20mbit")
    return transfer(Flow("bbr2"), Flow("bbr2", start_s=3), duration_s=30)


def slower_and_faster() -> Any:
    path()
    return transfer(
        Flow("bbr2"),
        duration_s=21,
        events=[(4, lambda: path("20mbit")), (17, lambda: path("50mbit"))],
    )[0]


def little_and_nothing_to_send() -> Any:
    """An application that sends at full rate for 3 s, at 4 Mbit/s, nothing, at full rate again."""

    def rate(now_s: float) -> float:
        return 1e9 if now_s < 3 or now_s > 10 else 5e5 if now_s < 8 else 0

    path()
    return transfer(Flow("bbr2", bytes_per_s=rate), duration_s=12)[0]


def spurious() -> dict[str, Any]:
    """The round-trip time grows by 0.5 s from one ACK to the next, without loss."""

    def slow_down() -> None:
        run("ip netns exec middle tc qdisc change dev here root netem delay 510ms limit 100000")

    def undone() -> int:
        enter("here")
        lines = [line.split() for line in Path("/proc/net/netstat").read_text().splitlines()]
        return int(dict(zip(lines[0], lines[1], strict=True))["TCPLossUndo"])

    path()
    before = undone()
    [columns] = transfer(Flow("bbr2"), duration_s=5, events=[(3, slow_down)])
    run("ip netns exec middle tc qdisc change dev here root netem delay 10ms limit 100000")
    return {"columns": columns, "undone": undone() - before}


SCENARIOS: dict[str, Callable[[], Any]] = {
    action.__name__: action
    for action in (
        *(bulk, gains, loss, shallow, two, slower_and_faster),
        *(little_and_nothing_to_send, spurious),
    )
}


def main() -> None:
    build()
    names = sys.argv[1:] or list(SCENARIOS)
    os.write(1, json.dumps({name: SCENARIOS[name]() for name in names}).encode())


if __name__ == "__main__":
    main()

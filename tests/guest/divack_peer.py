# SPDX-License-Identifier: GPL-2.0-only
"""Divides ACKs, as an attacker and by the policy divack, and measures the sender's window.

Runs in a guest as root. Uses packets.py for the attacker's end of the connection. cases.json has
arguments for the functions below; results.json gets their results, by name.
"""

import json
import socket
import struct
import subprocess
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from packet_scripts import Script
from packet_segments import Segment
from packets import Run, ip, make_network

MSS = 1460
BUFFERS = ["net.ipv4.tcp_wmem=4096 8000000 8000000", "net.ipv4.tcp_rmem=4096 8000000 8000000"]
SOL_PACKET, PACKET_QDISC_BYPASS = 263, 20
CUBIC = Path("/sys/module/tcp_cubic/parameters")
ROUND_S = 0.02
"""Between rounds of an attack. A sender retransmits after twice that time at the earliest."""
RTT_S = 0.25
LOOPBACK = """\
link set lo mtu 1500 gso_max_segs 1 up
route change local 127.0.0.1 dev lo table local initcwnd 3 congctl reno
"""
DELAY = "qdisc add dev lo root netem delay 125ms limit 100000"


def attack(
    step: int = 73,
    bound: int = 0,
    sack: bool = True,
    tso: bool = True,
    duplicates: int = 0,
    congestion: str = "reno",
    ssthresh: int = 0,
    segments: int = 1500,
    rounds: int = 2,
) -> list[tuple[int, int]]:
    """Congestion window and segments in flight, initially and after each round.

    In a round the peer acknowledges everything in flight, `step` bytes at a time, and repeats each
    ACK but the last `duplicates` times. Segments have 1460 bytes. ssthresh is for cubic; 0: none.
    """
    sysctls = [f"net.ipv4.tcp_divack_sender={bound}", *BUFFERS]
    options = ("mss 1460", "wscale 14", *(["sackOK"] if sack else []))
    (CUBIC / "hystart").write_text("0")
    (CUBIC / "initial_ssthresh").write_text(str(ssthresh))
    with ExitStack() as stack:
        run = Run(Script(sysctls=sysctls, tso=tso), [], stack)
        run.wire.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
        run.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
        run.clock.sleep_past(0)
        run.inject(Segment("S", 0, 0, options=options), 0)
        time.sleep(ROUND_S)
        run.capture()
        run.inject(Segment(".", 1, 0, 1), 0)
        run.call("accept", "")
        # Closing drops unsent data: orphans would use up TCP's memory.
        run.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        written = run.call("write", str(segments * MSS))
        assert written == str(segments * MSS), written
        time.sleep(ROUND_S)
        acked, samples = 1, [in_flight(run.socket)]
        for _ in range(rounds):
            end = acked + samples[-1][1] * MSS
            while acked < end:
                acked = min(acked + step, end)
                for _ in range(1 + duplicates if acked < end else 1):
                    run.inject(Segment(".", 1, 0, acked), 0)
            time.sleep(ROUND_S)
            samples.append(in_flight(run.socket))
    return samples


def in_flight(sock: socket.socket) -> tuple[int, int]:
    """Congestion window and unacknowledged segments."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 84)
    unacked, cwnd = struct.unpack("24xI52xI", info)
    return cwnd, unacked


def slow_start(parts: int = 0, bound: int = 0, segments: int = 727) -> list[float]:
    """Segments that a receiver with the policy divack gets in each round trip of 250 ms."""
    sysctls = [
        "net.ipv4.tcp_timestamps=0",
        "net.ipv4.tcp_ack_policy=divack",
        f"net.ipv4.tcp_divack={parts}",
        f"net.ipv4.tcp_divack_sender={bound}",
        *BUFFERS,
    ]
    bytes_by_round: Counter[int] = Counter()
    with ExitStack() as stack:
        make_network(Script(sysctls=sysctls), stack)
        ip("-batch", "-", given=LOOPBACK)
        subprocess.run(["tc", *DELAY.split()], check=True)
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        receiver = stack.enter_context(socket.create_connection(listener.getsockname()))
        sender, _ = listener.accept()
        with sender:
            sender.sendall(bytes(segments * MSS))
        begin_s = time.monotonic()
        while data := receiver.recv(1 << 20):
            bytes_by_round[int((time.monotonic() - begin_s) / RTT_S)] += len(data)
    return [size / MSS for _, size in sorted(bytes_by_round.items())]


def main() -> None:
    cases = json.loads(Path("cases.json").read_text())
    results = {
        "attack": {name: attack(**arguments) for name, arguments in cases["attack"].items()},
        "slow_start": {name: slow_start(**args) for name, args in cases["slow_start"].items()},
    }
    Path("results.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main()

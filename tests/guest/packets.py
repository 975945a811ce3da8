# SPDX-License-Identifier: GPL-2.0-only
"""Runs packet scripts (tests/packets/README.md) and prints the problem of each as JSON.

Runs in a guest as root, with Python, iproute2 and ethtool. Each script gets a network namespace
with a veth pair: TCP is at one end, this program injects and captures segments at the other, and
without a delay between them. The guest's clock stands still while anything runs, so an ACK that
a segment causes leaves at the time of that segment. With --jitter, segments arrive up to 1 us late.
All times are nanoseconds.
"""

import ctypes
import errno
import json
import os
import random
import re
import socket
import struct
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from packet_scripts import Line, Script, parse
from packet_segments import (
    LOCAL,
    PORT,
    REMOTE,
    REMOTE_PORT,
    Numbers,
    ScriptError,
    Segment,
    from_packet,
    parse_segment,
    to_packet,
)

LOCAL_MAC = "02:00:00:00:00:01"
NETWORK = f"""\
link add local address {LOCAL_MAC} type veth peer name remote
link set local arp off
address add {LOCAL}/24 dev local
link set local up
link set remote up
route add {REMOTE} dev local
"""
QUEUE = "qdisc add dev remote root fq timer_slack 0"
LEAD_NS = 100_000
"""The queue gets a segment at most this long before its time, and sends it on time."""
GRO_FLUSH_NS = 20_000
LATE_NS = 768
"""Allowed delay of what TCP sends. The guest's clock has a resolution of 256 ns, its timers expire
at least 500 ns after they are set, and TCP's own clock has a resolution of 1000 ns."""
JITTER_NS = 999
"""With --jitter, each segment arrives on time or this much later, which is pseudo-random."""
JITTER_TIMER_NS = 10_000
"""Allowed difference of what TCP sends then: some policies set timers to multiples of an IAT."""
CALL_NS = 1_000
"""Calls are made this long after their time, after all other events of that time."""
CALL_LATE_NS = 10_000
"""Allowed delay of what a call sends: virtual time advances while a program runs."""
PHASE_NS = 8_000_000
"""Scripts start at a multiple of this, which is the start of a jiffy and a tick of the clock."""
SETTLE_NS = 500_000_000
"""Time between the creation of a namespace and the start of its script."""

CLONE_NEWNET, TIMER_ABSTIME, PR_SET_TIMERSLACK = 0x40000000, 1, 29
ETH_P_IP, SO_TIMESTAMPNS, SO_TXTIME = 0x0800, 35, 61
RTM_NEWROUTE, NLM_F_REQUEST_ACK_REPLACE = 24, 1 | 4 | 0x100
RTA_DST, RTA_OIF, RTA_METRICS, RTAX_ACK_POLICY = 1, 4, 8, 18
TCP_ACK_POLICY = 47

libc = ctypes.CDLL(None, use_errno=True)


class MismatchError(Exception):
    """TCP did not do what the script expects."""


class Clock:
    """CLOCK_MONOTONIC, relative to the start of the script."""

    def __init__(self, after_ns: int) -> None:
        self.after_ns = after_ns
        # Exact, because each of these calls advances the guest's clock equally.
        before, real, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        self._real_ns = real - (before + after) // 2
        self.begin_ns = -(-(after + SETTLE_NS) // PHASE_NS) * PHASE_NS

    def sleep_past(self, at_ns: int) -> None:
        """Sleep until after_ns later, after all other events of that time."""
        at_ns += self.begin_ns + self.after_ns
        when = struct.pack("ll", *divmod(at_ns, 1_000_000_000))
        error = libc.clock_nanosleep(time.CLOCK_MONOTONIC, TIMER_ABSTIME, when, None)
        if error:
            raise OSError(error, os.strerror(error))

    def of_stamp(self, seconds: int, nanoseconds: int) -> int:
        return seconds * 1_000_000_000 + nanoseconds - self._real_ns - self.begin_ns


class Run:
    """Runs one script in its own network namespace."""

    def __init__(
        self,
        script: Script,
        sent: list[tuple[int, Segment]],
        stack: ExitStack,
        jitter: bool = False,
    ) -> None:
        self.script = script
        self.jitter_ns = JITTER_NS if jitter else 0
        self.stack = stack
        self.numbers = Numbers(script.remote_isn)
        self.sent = sent
        make_network(script, stack)
        self.wire = stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0))
        self.wire.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        clock = struct.pack("II", time.CLOCK_MONOTONIC, 0)
        self.wire.setsockopt(socket.SOL_SOCKET, SO_TXTIME, clock)
        self.wire.bind(("remote", ETH_P_IP))
        self.wire.setblocking(False)
        self.use(socket.socket())
        if script.rcvbuf is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, script.rcvbuf)
        self.socket.bind((LOCAL, PORT))
        self.socket.listen()
        self.clock = Clock(CALL_NS + self.jitter_ns)

    def use(self, sock: socket.socket) -> None:
        """Use this socket for all further calls."""
        self.socket = self.stack.enter_context(sock)
        self.socket.setblocking(False)

    def run(self) -> None:
        for line in self.script.lines:
            if line.text.startswith("> "):
                continue
            try:
                self.act(line)
            except (ScriptError, MismatchError) as error:
                raise type(error)(f"line {line.number}: {error}") from None
        self.clock.sleep_past(self.script.lines[-1].at_ns)
        self.capture()

    def capture(self) -> None:
        while True:
            try:
                packet, [(_, _, stamp)], _, _ = self.wire.recvmsg(65536, 64)
            except BlockingIOError:
                return
            if segment := from_packet(packet, self.numbers):
                self.sent.append((self.clock.of_stamp(*struct.unpack("ll", stamp)), segment))

    def act(self, line: Line) -> None:
        inject = line.text.startswith("< ")
        self.clock.sleep_past(line.at_ns - LEAD_NS if inject else line.at_ns)
        self.capture()
        if inject:
            self.inject(parse_segment(line.text[2:]), line.at_ns)
            return
        match = re.fullmatch(r"(\w+)\((.*?)\)(?: = (.+))?", line.text)
        if not match:
            raise ScriptError(f"unknown action: {line.text}")
        name, arguments, expected = match.groups()
        try:
            result = self.call(name, *re.split(r", ?", arguments))
        except OSError as error:
            result = f"-1 {errno.errorcode[error.errno or 0]}"
        if expected is None:
            expected = arguments if name in ("read", "write") else "0"
        if result != expected:
            raise MismatchError(f"{name}({arguments}) = {result}, expected {expected}")

    def inject(self, segment: Segment, at_ns: int) -> None:
        # The same for all segments of that time, which therefore stay together.
        late_ns = random.Random(at_ns).choice((0, self.jitter_ns))
        when = struct.pack("Q", self.clock.begin_ns + at_ns + late_ns)
        address = ("remote", ETH_P_IP, 0, 0, bytes.fromhex(LOCAL_MAC.replace(":", "")))
        packet = to_packet(segment, self.numbers)
        self.wire.sendmsg([packet], [(socket.SOL_SOCKET, SO_TXTIME, when)], 0, address)

    def read_all(self) -> None:
        try:
            while self.socket.recv(65536):
                pass
        except BlockingIOError:
            pass

    def call(self, *words: str) -> str:
        """The result of a call, as text. Raises OSError if it fails."""
        match words:
            case ["nothing", ""]:
                pass
            case ["read_all", ""]:
                self.read_all()
            case ["accept", ""]:
                accepted, _ = self.socket.accept()
                self.use(accepted)
            case ["connect", ""]:
                self.socket.close()
                self.use(socket.socket())
                self.socket.bind((LOCAL, PORT))
                self.socket.connect_ex((REMOTE, REMOTE_PORT))
            case ["read", size]:
                return str(len(self.socket.recv(int(size))))
            case ["write", size]:
                return str(self.socket.send(bytes(int(size))))
            case ["close", ""]:
                self.socket.close()
            case ["shutdown", "SHUT_WR"]:
                self.socket.shutdown(socket.SHUT_WR)
            case ["setsockopt", "TCP_QUICKACK", value]:
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, int(value))
            case ["setsockopt", "TCP_ACK_POLICY", name]:
                encoded = name.strip('"').encode()
                self.socket.setsockopt(socket.IPPROTO_TCP, TCP_ACK_POLICY, encoded)
            case ["getsockopt", "TCP_ACK_POLICY"]:
                policy = self.socket.getsockopt(socket.IPPROTO_TCP, TCP_ACK_POLICY, 16)
                return f'"{policy.rstrip(bytes(1)).decode()}"'
            case ["sysctl", assignment]:
                set_sysctl(assignment)
            case ["user", uid]:
                os.seteuid(int(uid))
            case ["route", "ack_policy", name]:
                set_route_policy(name)
            case ["route", metric, value]:
                ip("-batch", "-", given=f"route change {REMOTE} dev local {metric} {value}")
            case ["counter", name]:
                return str(read_counters().get(name, "unknown"))
            case _:
                raise ScriptError(f"unknown call: {words}")
        return "0"


def compare(script: Script, sent: list[tuple[int, Segment]], jitter: bool) -> None:
    """Raise MismatchError if TCP did not send exactly what the script expects."""
    margin_ns = JITTER_TIMER_NS if jitter else 0
    expected_lines = [line for line in script.lines if line.text.startswith("> ")]
    calls = {line.at_ns for line in script.lines if line.text[0] not in "<>"}
    for from_ns, until_ns in script.unchecked:
        sent = [x for x in sent if not from_ns <= x[0] < until_ns + LATE_NS + margin_ns]
    for line, (at_ns, segment) in zip(expected_lines, sent, strict=False):
        expected = parse_segment(line.text[2:])
        late_ns = CALL_LATE_NS if line.at_ns in calls else LATE_NS
        on_time = -margin_ns <= at_ns - line.at_ns < late_ns + margin_ns
        if not on_time or not matches(expected, segment):
            raise MismatchError(
                f"line {line.number}: expected at {show_ns(line.at_ns)} > {expected}\n"
                f"got at {show_ns(at_ns)} > {segment}"
            )
    for line in expected_lines[len(sent) :]:
        raise MismatchError(f"line {line.number}: nothing was sent at {show_ns(line.at_ns)}")
    for at_ns, segment in sent[len(expected_lines) :]:
        raise MismatchError(f"not expected: at {show_ns(at_ns)} > {segment}")


def matches(expected: Segment, sent: Segment) -> bool:
    """Whether a segment is as expected; timestamps count only if the script gives one."""
    options = sent.options
    if expected.options is None:
        options = None
    elif not any(text.startswith("TS ") for text in expected.options):
        options = tuple(text for text in sent.options or () if not text.startswith("TS "))
    window = None if expected.window is None else sent.window
    return expected == replace(sent, options=options, window=window)


def show_ns(at_ns: int) -> str:
    return f"{at_ns / 1e6:.6f} ms"


def set_sysctl(assignment: str) -> None:
    name, value = assignment.split("=", 1)
    (Path("/proc/sys") / name.replace(".", "/")).write_text(value)


def read_counters() -> dict[str, int]:
    """The counters of /proc/net/netstat, which are 0 at the start of a script."""
    counters: dict[str, int] = {}
    lines = Path("/proc/thread-self/net/netstat").read_text().splitlines()
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        counters |= zip(names.split()[1:], map(int, values.split()[1:]), strict=True)
    return counters


def ip(*words: str, given: str) -> None:
    subprocess.run(["ip", *words], input=given, text=True, check=True)


def set_route_policy(name: str) -> None:
    """Set the route's metric RTAX_ACK_POLICY, which ip does not support. Raises OSError."""

    def attribute(kind: int, value: bytes) -> bytes:
        return struct.pack("HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)

    metrics = attribute(RTAX_ACK_POLICY, name.encode() + b"\0")
    body = struct.pack("8BI", socket.AF_INET, 32, 0, 0, 254, 3, 253, 1, 0)
    body += attribute(RTA_DST, socket.inet_aton(REMOTE))
    body += attribute(RTA_OIF, struct.pack("I", socket.if_nametoindex("local")))
    body += attribute(RTA_METRICS, metrics)
    head = struct.pack("IHHII", 16 + len(body), RTM_NEWROUTE, NLM_F_REQUEST_ACK_REPLACE, 0, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
        netlink.send(head + body)
        [error] = struct.unpack("i", netlink.recv(65536)[16:20])
    if error:
        raise OSError(-error, os.strerror(-error))


def make_network(script: Script, stack: ExitStack) -> None:
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare")
    ip("-batch", "-", given=NETWORK)
    subprocess.run(["tc", *QUEUE.split()], check=True)
    for assignment in script.sysctls:
        try:
            set_sysctl(assignment)
        except OSError as error:
            raise ScriptError(f"--sysctl {assignment}: {error.strerror}") from None
    if not script.tso:
        ip("-batch", "-", given="link set local gso_max_segs 1")
    if script.gro:
        sysfs = Path("/tmp/sys")
        sysfs.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "sysfs", "sysfs", sysfs], check=True)
        stack.callback(lambda: subprocess.run(["umount", sysfs], check=True))
        (sysfs / "class/net/local/gro_flush_timeout").write_text(str(GRO_FLUSH_NS))
        # veth does not run GRO on packets from a device with TSO.
        subprocess.run(["ethtool", "-K", "remote", "tso", "off"], check=True)
        subprocess.run(["ethtool", "-K", "local", "gro", "on"], check=True)


def run(path: Path, jitter: bool) -> dict[str, object]:
    """The first problem (or ""), and the segments that TCP sent, with their times."""
    sent: list[tuple[int, Segment]] = []
    problem = ""
    try:
        script = parse(path.read_text())
        with ExitStack() as stack:
            stack.callback(os.seteuid, 0)
            Run(script, sent, stack, jitter).run()
        compare(script, sent, jitter)
    except (ScriptError, MismatchError) as error:
        problem = str(error)
    segments = [f"{show_ns(at_ns)} > {segment}" for at_ns, segment in sent]
    return {"problem": problem, "sent": segments}


def main() -> None:
    # The default timer slack allows the kernel to wake a process up to 50 us late.
    libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    # Each namespace inherits this. Linux derives the maximum from the memory of the guest, and TCP
    # without a policy acknowledges each segment while its window grows.
    set_sysctl("net.ipv4.tcp_rmem=4096 131072 4000000")
    # A namespace can use only the congestion controls that the initial one allows.
    set_sysctl("net.ipv4.tcp_allowed_congestion_control=reno cubic dctcp")
    jitter = sys.argv[1] == "--jitter"
    paths = map(Path, sys.argv[1 + jitter :])
    print(json.dumps({path.name: run(path, jitter) for path in paths}, indent=1))


if __name__ == "__main__":
    main()

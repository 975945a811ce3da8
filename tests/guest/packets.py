# SPDX-License-Identifier: GPL-2.0-only
"""Runs packet scripts (tests/packets/README.md) and prints the problem of each as JSON.

Runs in a guest as root, with Python, iproute2 and ethtool. Each script gets a network namespace
with a veth pair: TCP is at one end, this program injects and captures segments at the other, and
without a delay between them. The guest's clock stands still while anything runs, so an ACK that
a segment causes leaves at the time of that segment. With --jitter, segments arrive up to 1 us late.
With --instructions, the clock counts instructions (qemu.py). All times are nanoseconds.
"""

import errno
import fcntl
import gc
import json
import os
import random
import re
import socket
import struct
import subprocess
import sys
import time
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from netns import unshare
from packet_clock import COUNTED, JITTER, VIRTUAL, Clock, Timing, set_exact_timers
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
    renumber,
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
QUEUE = "qdisc add dev remote root fq timer_slack 0 limit 20000 flow_limit 20000"
GRO_FLUSH_NS = 20_000
HOLD_LATE_NS = 100_000
QUEUE_BYTES = 64 << 20
"""What the queue and the capture may hold: all of the longest script."""

TUNSETIFF, IFF_TUN, IFF_NO_PI, IFF_VNET_HDR = 0x400454CA, 0x0001, 0x1000, 0x4000
VNET_NEEDS_CSUM, VNET_TCPV4 = 1, 1
ETH_P_IP, SO_TIMESTAMPNS, SO_TXTIME = 0x0800, 35, 61
ADDRESS = ("remote", ETH_P_IP, 0, 0, bytes.fromhex(LOCAL_MAC.replace(":", "")))
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
RTM_NEWROUTE, NLM_F_REQUEST_ACK_REPLACE = 24, 1 | 4 | 0x100
RTA_DST, RTA_OIF, RTA_METRICS, RTAX_ACK_POLICY = 1, 4, 8, 18
TCP_ACK_POLICY = 47

BUFFER = bytearray(1 << 20)
"""For what the application reads and does not use."""


Sent = list[tuple[int, Segment]]
"""Segments that TCP sent, each with its time."""


class MismatchError(Exception):
    """TCP did not do what the script expects."""


@dataclass(frozen=True)
class Event:
    """What a line of a script does, prepared before its time."""

    line: Line
    packet: bytes = b""
    late_ns: int = 0
    call: tuple[str, ...] = ()
    expected: str = ""
    is_syn: bool = False
    """TCP sends a SYN, with a number that no other line can know before."""


def prepare(line: Line, numbers: Numbers, timing: Timing) -> Event:
    """The packet or the call of a line; neither for a segment that is expected."""
    try:
        if line.text.startswith("> "):
            return Event(line, is_syn=bool(re.match(r"> (?:\[\w+\] )?S", line.text)))
        if line.text.startswith("< "):
            # The same for all segments of that time, which therefore stay together.
            late_ns = timing.jitter_ns and random.Random(line.at_ns).choice((0, timing.jitter_ns))
            return Event(line, to_packet(parse_segment(line.text[2:]), numbers), late_ns)
        match = re.fullmatch(r"(\w+)\((.*?)\)(?: = (.+))?", line.text)
        if not match:
            raise ScriptError(f"unknown action: {line.text}")
    except ScriptError as error:
        raise ScriptError(f"line {line.number}: {error}") from None
    name, arguments, expected = match.groups()
    if expected is None:
        expected = arguments if name in ("read", "write") else "0"
    return Event(line, call=(name, *re.split(r", ?", arguments)), expected=expected)


class Run:
    """Runs one script in its own network namespace."""

    def __init__(
        self,
        script: Script,
        sent: Sent,
        stack: ExitStack,
        timing: Timing = VIRTUAL,
    ) -> None:
        self.script = script
        self.timing = timing
        self.stack = stack
        self.numbers = Numbers(script.remote_isn)
        self.sent = sent
        self.held_until_ns = 0
        make_network(script, stack)
        self.wire = stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0))
        self.wire.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        clock = struct.pack("II", time.CLOCK_MONOTONIC, 0)
        self.wire.setsockopt(socket.SOL_SOCKET, SO_TXTIME, clock)
        for option in (SO_SNDBUFFORCE, SO_RCVBUFFORCE):
            self.wire.setsockopt(socket.SOL_SOCKET, option, QUEUE_BYTES)
        self.wire.bind(("remote", ETH_P_IP))
        self.wire.setblocking(False)
        self.use(socket.socket())
        if script.rcvbuf is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, script.rcvbuf)
        self.socket.bind((LOCAL, PORT))
        self.socket.listen()
        self.events = [prepare(line, self.numbers, timing) for line in script.lines]
        if any(event.call[:1] == ("tun_write",) for event in self.events):
            self.tun = open_tun()
            stack.callback(os.close, self.tun)
        self.clock = Clock(timing)

    def use(self, sock: socket.socket) -> None:
        """Use this socket for all further calls."""
        self.socket = self.stack.enter_context(sock)
        self.socket.setblocking(False)

    def run(self) -> None:
        """Do what the script says. Its segments have the numbers of the last SYN before them."""
        events = self.events
        while events:
            count = next((i for i, x in enumerate(events, 1) if x.is_syn), len(events))
            self.run_part(events[:count])
            events = events[count:]

    def run_part(self, events: list[Event]) -> None:
        arrivals = deque(event for event in events if event.packet)
        for event in events:
            try:
                if event.call:
                    self.inject_before(event.line.at_ns, arrivals)
                    self.act(event)
                elif arrivals and arrivals[0] is event:
                    self.inject_next(arrivals)
            except (ScriptError, MismatchError) as error:
                raise type(error)(f"line {event.line.number}: {error}") from None
        self.clock.sleep_past(events[-1].line.at_ns)
        self.capture()

    def inject_before(self, call_ns: int, arrivals: deque[Event]) -> None:
        """Use the time before a call for segments that arrive after it."""
        ahead_ns = self.timing.ahead_ns
        while ahead_ns and arrivals and self.clock.left_ns(call_ns) > ahead_ns:
            if arrivals[0].line.at_ns > call_ns + self.timing.lead_ns:
                break
            self.inject_next(arrivals)

    def inject_next(self, arrivals: deque[Event]) -> None:
        event = arrivals.popleft()
        self.clock.sleep_past(event.line.at_ns - self.timing.lead_ns)
        self.send(renumber(event.packet, self.numbers), event.line.at_ns + event.late_ns)

    def capture(self) -> None:
        while True:
            try:
                packet, [(_, _, stamp)], _, _ = self.wire.recvmsg(65536, 64)
            except BlockingIOError:
                return
            if segment := from_packet(packet, self.numbers):
                self.sent.append((self.clock.of_stamp(*struct.unpack("ll", stamp)), segment))

    def act(self, event: Event) -> None:
        self.clock.sleep_past(event.line.at_ns)
        try:
            result = self.call(*event.call)
        except OSError as error:
            result = f"-1 {errno.errorcode[error.errno or 0]}"
        if result != event.expected:
            text = event.line.text.partition(" = ")[0]
            raise MismatchError(f"{text} = {result}, expected {event.expected}")

    def inject(self, segment: Segment, at_ns: int) -> None:
        self.send(to_packet(segment, self.numbers), at_ns)

    def send(self, packet: bytes, at_ns: int) -> None:
        when = struct.pack("Q", self.clock.begin_ns + at_ns)
        self.wire.sendmsg([packet], [(socket.SOL_SOCKET, SO_TXTIME, when)], 0, ADDRESS)

    def hold(self, us: int) -> None:
        """Let another process own the socket (tests/guest/hold_socket)."""
        # Reading would wait for the other process.
        self.held_until_ns = time.monotonic_ns() + us * 1000 + HOLD_LATE_NS
        if os.fork() == 0:
            Path("/proc/hold_socket").write_text(f"{self.socket.fileno()} {us}")
            os._exit(0)

    def tun_write(self, first: int, count: int, size: int) -> None:
        """Pass several segments to TCP as one packet that does not say how many it contains."""
        offload = struct.pack("<BBHHHH", VNET_NEEDS_CSUM, VNET_TCPV4, 40, size, 20, 16)
        packet = to_packet(Segment("P.", first, count * size, ack=1), self.numbers)
        os.write(self.tun, offload + packet)

    def read_all(self) -> None:
        if time.monotonic_ns() < self.held_until_ns:
            return
        try:
            while self.socket.recv_into(BUFFER) == len(BUFFER):
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
            case ["tun_write", *numbers]:
                self.tun_write(*map(int, numbers))
            case ["read", size]:
                return str(len(self.socket.recv(int(size))))
            case ["write", size]:
                return str(self.socket.send(bytes(int(size))))
            case ["close", ""]:
                self.socket.close()
            case ["shutdown", ("SHUT_RD" | "SHUT_WR") as how]:
                self.socket.shutdown(getattr(socket, how))
            case ["setsockopt", "TCP_QUICKACK", value]:
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, int(value))
            case ["setsockopt", "TCP_WINDOW_CLAMP", value]:
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, int(value))
            case ["setsockopt", "TCP_ACK_POLICY", name]:
                encoded = name.strip('"').encode()
                self.socket.setsockopt(socket.IPPROTO_TCP, TCP_ACK_POLICY, encoded)
            case ["getsockopt", "TCP_ACK_POLICY"]:
                policy = self.socket.getsockopt(socket.IPPROTO_TCP, TCP_ACK_POLICY, 16)
                return f'"{policy.rstrip(bytes(1)).decode()}"'
            case ["hold", us]:
                self.hold(int(us))
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


def checked(script: Script, sent: Sent, timing: Timing) -> Sent:
    """Without what TCP sent while it might send anything."""
    for from_ns, until_ns in script.unchecked:
        after_ns = until_ns + timing.late_ns + timing.early_ns
        sent = [x for x in sent if not from_ns <= x[0] < after_ns]
    return sent


def compare(script: Script, sent: Sent, timing: Timing) -> None:
    """Raise MismatchError if TCP did not send exactly what the script expects."""
    expected_lines = [line for line in script.lines if line.text.startswith("> ")]
    calls = {line.at_ns for line in script.lines if line.text[0] not in "<>"}
    for line, (at_ns, segment) in zip(expected_lines, sent, strict=False):
        expected = parse_segment(line.text[2:])
        on_time = timing.allows(at_ns - line.at_ns, line.at_ns in calls)
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


def show(sent: Sent) -> list[str]:
    return [f"{show_ns(at_ns)} > {segment}" for at_ns, segment in sent]


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


def open_tun() -> int:
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH14x", b"tun", IFF_TUN | IFF_NO_PI | IFF_VNET_HDR))
    ip("-batch", "-", given="link set tun up")
    return tun


def make_network(script: Script, stack: ExitStack) -> None:
    unshare()
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


def run(path: Path, timing: Timing) -> dict[str, object]:
    """The first problem (or ""), and the segments that TCP sent, with their times: all, checked."""
    sent: Sent = []
    compared: Sent = []
    problem = ""
    try:
        script = parse(path.read_text())
        with ExitStack() as stack:
            stack.callback(os.seteuid, 0)
            Run(script, sent, stack, timing).run()
        compared = checked(script, sent, timing)
        compare(script, compared, timing)
    except (ScriptError, MismatchError) as error:
        problem = str(error)
    return {"problem": problem, "sent": show(sent), "checked": show(compared)}


def main() -> None:
    set_exact_timers()
    gc.disable()  # collecting takes a millisecond or more
    # Each namespace inherits this. Linux derives the maximum from the memory of the guest, and TCP
    # without a policy acknowledges each segment while its window grows.
    set_sysctl("net.ipv4.tcp_rmem=4096 131072 4000000")
    # A namespace can use only the congestion controls that the initial one allows.
    set_sysctl("net.ipv4.tcp_allowed_congestion_control=reno cubic dctcp")
    options = {"--jitter": JITTER, "--instructions": COUNTED}
    timing = options.get(sys.argv[1], VIRTUAL)
    paths = [Path(name) for name in sys.argv[1 + (timing is not VIRTUAL) :]]
    if timing is COUNTED:
        # The first connection initializes secrets and patches the kernel's code.
        run(paths[0], timing)
    print(json.dumps({path.name: run(path, timing) for path in paths}, indent=1))


if __name__ == "__main__":
    main()

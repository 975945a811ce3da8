# SPDX-License-Identifier: GPL-2.0-only
"""Runs packet scripts (tests/packets/README.md) and prints, as JSON, what each did wrong.

Runs in a guest as root, with Python, iproute2 and ethtool. Each script gets a network namespace
with a veth pair: TCP is at one end, this program injects and captures segments at the other, and
nothing between them delays. The guest's clock stands still while anything runs, so an ACK that
follows from a segment leaves at the very time of that segment. All times are nanoseconds.
"""

import ctypes
import errno
import json
import os
import re
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

LOCAL, REMOTE, PORT, REMOTE_PORT = "192.168.0.1", "192.0.2.1", 8080, 40000
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
"""So long before its time, or later, a segment is given to the queue, which sends it on time."""
GRO_FLUSH_NS = 20_000
LATE_NS = 768
"""What TCP sends leaves less than this after its time. The guest's clock counts in 256 ns, and its
timers cannot be set to less than 500 ns from now; TCP's own clock counts in 1000 ns."""
CALL_NS = 1_000
"""The application calls so long after its time: after all that happens at that very time."""
CALL_LATE_NS = 10_000
"""What a call sends leaves less than this after its time: a program moves the clock as it runs."""
READ_NS = 10_000
"""With --reader the application reads so long after each arrival."""
PHASE_NS = 8_000_000
"""Scripts begin at a multiple of this: a jiffy and a step of the clock begin there."""
SETTLE_NS = 500_000_000
"""From making a namespace to the beginning of its script."""

CLONE_NEWNET, TIMER_ABSTIME, PR_SET_TIMERSLACK = 0x40000000, 1, 29
ETH_P_IP, SO_TIMESTAMPNS, SO_TXTIME = 0x0800, 35, 61
RTM_NEWROUTE, NLM_F_REQUEST_ACK_REPLACE = 24, 1 | 4 | 0x100
RTA_DST, RTA_OIF, RTA_METRICS, RTAX_ACK_POLICY = 1, 4, 8, 18
TCP_ACK_POLICY = 47
FLAGS = "FSRP.UEW"
"""By the bit that each has in the TCP header."""
ECN = {"": 0, "[ect1] ": 1, "[ect0] ": 2, "[ce] ": 3}
UNITS_NS = {"us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}

libc = ctypes.CDLL(None, use_errno=True)


class ScriptError(Exception):
    """A script that cannot be understood."""


class MismatchError(Exception):
    """TCP did not do what the script says."""


@dataclass(frozen=True)
class Segment:
    """A TCP segment; numbers are relative to the initial ones, as packetdrill writes them.

    options are texts such as "mss 1460", without padding. None stands for anything.
    """

    flags: str
    seq: int
    length: int
    ack: int = 0
    window: int | None = None
    options: tuple[str, ...] | None = ()
    ecn: int = 0

    def __str__(self) -> str:
        words = [self.flags, f"{self.seq}:{self.seq + self.length}({self.length})"]
        words += [f"ack {self.ack}"] if "." in self.flags else []
        words += [] if self.window is None else [f"win {self.window}"]
        if self.options is None or self.options:
            words.append(f"<{'...' if self.options is None else ','.join(self.options)}>")
        return {mark: text for text, mark in ECN.items()}[self.ecn] + " ".join(words)


SEGMENT = re.compile(
    r"(\[\w+\] )?([FSRP.EW]+) (\d+):(\d+)\((\d+)\)(?: ack (\d+))?(?: win (\d+))?(?: <(.*)>)?"
)


def parse_segment(text: str) -> Segment:
    match = SEGMENT.fullmatch(text)
    if not match or (match[1] or "") not in ECN:
        raise ScriptError(f"not a segment: {text}")
    mark, flags, start, end, length, ack, window, options = match.groups()
    if int(end) - int(start) != int(length) or ("." in flags) != (ack is not None):
        raise ScriptError(f"not consistent: {text}")
    return Segment(
        flags,
        int(start),
        int(length),
        int(ack or 0),
        None if window is None else int(window),
        None if options == "..." else parse_options(options or ""),
        ECN[mark or ""],
    )


def parse_options(text: str) -> tuple[str, ...]:
    return tuple(option for option in text.split(",") if option not in ("", "nop"))


@dataclass
class Numbers:
    """Where each end's numbers begin. Time stamps of TCP are in ms since that of its SYN-ACK."""

    remote_isn: int
    local_isn: int = 0
    local_ts: int = 0


def checksum(data: bytes) -> bytes:
    return struct.pack("!H", 0xFFFF ^ int.from_bytes(data + bytes(len(data) % 2)) % 0xFFFF)


def pack_option(text: str, numbers: Numbers) -> bytes:
    match text.split():
        case ["mss", size]:
            return struct.pack("!BBH", 2, 4, int(size))
        case ["wscale", shift]:
            return struct.pack("!BBB", 3, 3, int(shift))
        case ["sackOK"]:
            return b"\4\2"
        case ["TS", "val", value, "ecr", echo]:
            return struct.pack("!BBII", 8, 10, int(value), (int(echo) + numbers.local_ts) % 2**32)
    raise ScriptError(f"not an option that can be sent: {text}")


def unpack_options(data: bytes, numbers: Numbers) -> Iterator[str]:
    while data:
        kind = data[0]
        size = 1 if kind in (0, 1) else data[1]
        value, data = data[2:size], data[size:]
        if kind == 2:
            yield f"mss {int.from_bytes(value)}"
        elif kind == 3:
            yield f"wscale {value[0]}"
        elif kind == 4:
            yield "sackOK"
        elif kind == 5:
            edges = struct.iter_unpack("!II", value)
            blocks = [[(edge - numbers.remote_isn) % 2**32 for edge in block] for block in edges]
            yield "sack " + " ".join(f"{left}:{right}" for left, right in blocks)
        elif kind == 8:
            mine, echo = struct.unpack("!II", value)
            yield f"TS val {(mine - numbers.local_ts) % 2**32} ecr {echo}"
        elif kind > 1:
            yield f"option {kind}"


def to_packet(segment: Segment, numbers: Numbers) -> bytes:
    """The IPv4 packet of a segment to be sent."""
    options = b"".join(pack_option(text, numbers) for text in segment.options or ())
    options += b"\1" * (-len(options) % 4)
    head = struct.pack(
        "!HHIIBBH",
        REMOTE_PORT,
        PORT,
        (segment.seq + numbers.remote_isn) % 2**32,
        (segment.ack + numbers.local_isn) % 2**32 if "." in segment.flags else 0,
        20 + len(options) << 2,
        sum(1 << FLAGS.index(flag) for flag in segment.flags),
        65535 if segment.window is None else segment.window,
    )
    tail = bytes(2) + options + bytes(segment.length)
    ends = socket.inet_aton(REMOTE) + socket.inet_aton(LOCAL)
    size = len(head) + 2 + len(tail)
    pseudo = ends + struct.pack("!HH", socket.IPPROTO_TCP, size)
    tcp = head + checksum(pseudo + head + tail) + tail
    first = struct.pack("!BBHHHBB", 0x45, segment.ecn, 20 + size, 0, 0x4000, 64, socket.IPPROTO_TCP)
    return first + checksum(first + ends) + ends + tcp


def from_packet(packet: bytes, numbers: Numbers) -> Segment | None:
    """The segment in a packet that TCP sent; None for anything else. Learns its first numbers."""
    if packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
        return None
    tcp = packet[(packet[0] & 15) * 4 : int.from_bytes(packet[2:4])]
    _, _, seq, ack, offset, bits, window = struct.unpack("!HHIIBBH", tcp[:16])
    size = (offset >> 4) * 4
    if bits & 2:
        numbers.local_isn = seq
        stamp = tcp[20:size].find(b"\x08\x0a")
        numbers.local_ts = int.from_bytes(tcp[22 + stamp : 26 + stamp]) if stamp >= 0 else 0
    return Segment(
        "".join(flag for flag in "SFRP.UEW" if bits & 1 << FLAGS.index(flag)),
        (seq - numbers.local_isn) % 2**32,
        len(tcp) - size,
        (ack - numbers.remote_isn) % 2**32 if bits & 16 else 0,
        window,
        tuple(unpack_options(tcp[20:size], numbers)),
        packet[1] & 3,
    )


@dataclass(frozen=True)
class Line:
    """What is to happen, or to be seen, at_ns after the beginning."""

    number: int
    at_ns: int
    text: str


@dataclass
class Script:
    lines: list[Line] = field(default_factory=list)
    sysctls: list[str] = field(default_factory=list)
    remote_isn: int = 0
    rcvbuf: int | None = None
    reader: bool = False
    gro: bool = False
    tso: bool = True


def parse(text: str) -> Script:
    script = Script()
    at_ns = 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.partition("//")[0].strip()
        try:
            if line.startswith("--"):
                _option(script, line)
            elif line:
                at_ns = _timed(script, number, at_ns, line)
        except (ValueError, ScriptError) as error:
            raise ScriptError(f"line {number}: {error}") from None
    if not script.lines:
        raise ScriptError("nothing happens in it")
    if script.reader:
        script.lines = _with_reader(script.lines)
    return script


def _with_reader(lines: list[Line]) -> list[Line]:
    """The lines, and that the application reads after each instant at which data arrives."""
    arrivals = [line for line in lines if line.text.startswith("< ")]
    with_data = {line.at_ns: line for line in arrivals if parse_segment(line.text[2:]).length}
    reads = [replace(x, at_ns=at + READ_NS, text="read_all()") for at, x in with_data.items()]
    return sorted([*lines, *reads], key=lambda line: line.at_ns)


def _option(script: Script, line: str) -> None:
    match re.split(r"[ =]", line):
        case ["--policy", name]:
            script.sysctls.append(f"net.ipv4.tcp_ack_policy={name}")
        case ["--sysctl", name, *values]:
            script.sysctls.append(f"{name}={' '.join(values)}")
        case ["--isn", number]:
            script.remote_isn = int(number)
        case ["--rcvbuf", size]:
            script.rcvbuf = int(size)
        case ["--reader"]:
            script.reader = True
        case ["--gro"]:
            script.gro = True
        case ["--no-tso"]:
            script.tso = False
        case _:
            raise ScriptError(f"unknown option: {line}")


def _timed(script: Script, number: int, at_ns: int, line: str) -> int:
    match = re.fullmatch(r"\+(\d+(?:\.\d+)?)(us|ms|s|) (.+)", line)
    if not match or (not match[2] and match[1] != "0"):
        raise ScriptError(f"not a line of a script (+TIME and what happens): {line}")
    at_ns += round(float(match[1]) * UNITS_NS.get(match[2], 0))
    if at_ns % 1000:
        raise ScriptError("times are whole microseconds")
    for after_ns, what in expand(match[3], script.gro):
        at_ns += after_ns
        calls = [x for x in script.lines if x.at_ns == at_ns and x.text[0] not in "<>"]
        if what.startswith("< ") and calls:
            raise ScriptError("a segment cannot arrive when a call is made, but later")
        script.lines.append(Line(number, at_ns, what))
    return at_ns


def expand(text: str, gro: bool) -> list[tuple[int, str]]:
    """What a line stands for, and how long after the one before; see README.md."""
    flags = "P." if gro else "."
    if match := re.fullmatch(r"handshake(?: <(.*)>)?", text):
        options = parse_options(match[1] or "mss 1460,sackOK,nop,wscale 7")
        stamp = next((o for o in options if o.startswith("TS ")), None)
        more = f" <{stamp}>" if stamp else ""
        return [
            (0, f"< S 0:0(0) win 65535 <{','.join(options)}>"),
            (0, "> S. 0:0(0) ack 1 <...>"),
            (1_000_000, f"< . 1:1(0) ack 1 win 65535{more}"),
            (0, "accept()"),
        ]
    if match := re.fullmatch(r"segments\((\d+), (\d+), (\d+), (\d+)us, (\d+)\)", text):
        first, count, size, iat_us, every = map(int, match.groups())
        lines = []
        for i in range(count):
            start, end = first + i * size, first + (i + 1) * size
            lines.append((iat_us * 1000 if i else 0, f"< {flags} {start}:{end}({size}) ack 1"))
            if (i + 1) % every == 0:
                lines.append((0, f"> . 1:1(0) ack {end}"))
        return lines
    if match := re.fullmatch(r"burst\((\d+), (\d+), (\d+)\)", text):
        first, count, size = map(int, match.groups())
        starts = range(first, first + count * size, size)
        last = starts[-1]
        return [
            (0, f"< {'P.' if start == last else '.'} {start}:{start + size}({size}) ack 1")
            for start in starts
        ]
    return [(0, text)]


class Clock:
    """CLOCK_MONOTONIC, in which a script's beginning is 0."""

    def __init__(self) -> None:
        # Exact: each of these moves the guest's clock by the same.
        before, real, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        self._real_ns = real - (before + after) // 2
        self.begin_ns = -(-(after + SETTLE_NS) // PHASE_NS) * PHASE_NS

    def sleep_past(self, at_ns: int) -> None:
        """Wake when all is over that happens at that time."""
        when = struct.pack("ll", *divmod(self.begin_ns + at_ns + CALL_NS, 1_000_000_000))
        error = libc.clock_nanosleep(time.CLOCK_MONOTONIC, TIMER_ABSTIME, when, None)
        if error:
            raise OSError(error, os.strerror(error))

    def of_stamp(self, seconds: int, nanoseconds: int) -> int:
        return seconds * 1_000_000_000 + nanoseconds - self._real_ns - self.begin_ns


class Run:
    """One script in a network namespace of its own."""

    def __init__(self, script: Script, sent: list[tuple[int, Segment]], stack: ExitStack) -> None:
        self.script = script
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
        self.clock = Clock()

    def use(self, chosen: socket.socket) -> None:
        """The socket that calls are for, from now on."""
        self.socket = self.stack.enter_context(chosen)
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
            raise ScriptError(f"not understood: {line.text}")
        name, arguments, wanted = match.groups()
        try:
            got = self.call(name, *re.split(r", ?", arguments))
        except OSError as error:
            got = f"-1 {errno.errorcode[error.errno or 0]}"
        if wanted is None:
            wanted = arguments if name in ("read", "write") else "0"
        if got != wanted:
            raise MismatchError(f"{name}({arguments}) = {got}, expected {wanted}")

    def inject(self, segment: Segment, at_ns: int) -> None:
        when = struct.pack("Q", self.clock.begin_ns + at_ns)
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
        """What a call returns, as text; OSError if it fails."""
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
                given = name.strip('"').encode()
                self.socket.setsockopt(socket.IPPROTO_TCP, TCP_ACK_POLICY, given)
            case ["getsockopt", "TCP_ACK_POLICY"]:
                told = self.socket.getsockopt(socket.IPPROTO_TCP, TCP_ACK_POLICY, 16)
                return f'"{told.rstrip(bytes(1)).decode()}"'
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
                raise ScriptError(f"not understood: {words}")
        return "0"


def compare(script: Script, sent: list[tuple[int, Segment]]) -> None:
    """MismatchError where what TCP sent is not what the script says."""
    due = [line for line in script.lines if line.text.startswith("> ")]
    calls = {line.at_ns for line in script.lines if line.text[0] not in "<>"}
    for line, (at_ns, segment) in zip(due, sent, strict=False):
        wanted = parse_segment(line.text[2:])
        late_ns = CALL_LATE_NS if line.at_ns in calls else LATE_NS
        if not 0 <= at_ns - line.at_ns < late_ns or not matches(wanted, segment):
            raise MismatchError(
                f"line {line.number}: expected at {show_ns(line.at_ns)} > {wanted}\n"
                f"got at {show_ns(at_ns)} > {segment}"
            )
    for line in due[len(sent) :]:
        raise MismatchError(f"line {line.number}: nothing was sent at {show_ns(line.at_ns)}")
    for at_ns, segment in sent[len(due) :]:
        raise MismatchError(f"not expected: at {show_ns(at_ns)} > {segment}")


def matches(wanted: Segment, got: Segment) -> bool:
    """Whether a segment is as a script says. Time stamps count only where options are given."""
    options = got.options
    if wanted.options is None:
        options = None
    elif not wanted.options:
        options = tuple(text for text in got.options or () if not text.startswith("TS "))
    window = None if wanted.window is None else got.window
    return wanted == replace(got, options=options, window=window)


def show_ns(at_ns: int) -> str:
    return f"{at_ns / 1e6:.6f} ms"


def set_sysctl(assignment: str) -> None:
    name, value = assignment.split("=", 1)
    (Path("/proc/sys") / name.replace(".", "/")).write_text(value)


def read_counters() -> dict[str, int]:
    """Those of /proc/net/netstat; all are 0 when a script begins."""
    counters: dict[str, int] = {}
    lines = Path("/proc/thread-self/net/netstat").read_text().splitlines()
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        counters |= zip(names.split()[1:], map(int, values.split()[1:]), strict=True)
    return counters


def ip(*words: str, given: str) -> None:
    subprocess.run(["ip", *words], input=given, text=True, check=True)


def set_route_policy(name: str) -> None:
    """Give the route the metric RTAX_ACK_POLICY, which ip does not know. OSError as it fails."""

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
        # A device that segments is not asked to put segments together at the other end.
        subprocess.run(["ethtool", "-K", "remote", "tso", "off"], check=True)
        subprocess.run(["ethtool", "-K", "local", "gro", "on"], check=True)


def run(path: Path) -> dict[str, object]:
    """What went wrong, empty for nothing, and what TCP sent and when."""
    sent: list[tuple[int, Segment]] = []
    problem = ""
    try:
        script = parse(path.read_text())
        with ExitStack() as stack:
            stack.callback(os.seteuid, 0)
            Run(script, sent, stack).run()
        compare(script, sent)
    except (ScriptError, MismatchError) as error:
        problem = str(error)
    return {"problem": problem, "sent": [f"{show_ns(at_ns)} > {one}" for at_ns, one in sent]}


def main() -> None:
    # Else the kernel may wake a process 50 us late, to save it from waking up twice.
    libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    # A namespace can choose only the congestion controls that the first one allows to all.
    set_sysctl("net.ipv4.tcp_allowed_congestion_control=reno cubic dctcp")
    print(json.dumps({path.name: run(path) for path in map(Path, sys.argv[1:])}, indent=1))


if __name__ == "__main__":
    main()

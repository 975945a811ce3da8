# SPDX-License-Identifier: GPL-2.0-only
"""Reads packet scripts (tests/packets/README.md). All times are nanoseconds."""

import re
from dataclasses import dataclass, field, replace

from packet_segments import ScriptError, parse_options, parse_segment

READ_NS = 10_000
"""With --reader the application reads this long after each arrival."""
UNITS_NS = {"us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


@dataclass(frozen=True)
class Line:
    """An action or an expected segment, at_ns after the start of the script."""

    number: int
    at_ns: int
    text: str


@dataclass
class Script:
    lines: list[Line] = field(default_factory=list)
    sysctls: list[str] = field(default_factory=list)
    remote_isn: int = 0
    rcvbuf: int | None = None
    unchecked: list[tuple[int, int]] = field(default_factory=list)
    """From and until when TCP may send anything."""
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
        raise ScriptError("the script is empty")
    if script.reader:
        script.lines = _with_reader(script.lines)
    return script


def _with_reader(lines: list[Line]) -> list[Line]:
    """Add a read of the application after each arrival of data."""
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
        raise ScriptError(f"not a line of a script (+TIME and an action or a segment): {line}")
    at_ns += round(float(match[1]) * UNITS_NS.get(match[2], 0))
    if at_ns % 1000:
        raise ScriptError("times are whole microseconds")
    start_ns = at_ns
    calls = [x.at_ns for x in script.lines if x.text[0] not in "<>"]
    for after_ns, what in expand(match[3], script.gro, at_ns):
        at_ns += after_ns
        if what.startswith("< ") and at_ns in calls[-1:]:
            raise ScriptError("a segment cannot arrive at the time of a call; let it arrive later")
        if what[0] not in "<>":
            calls.append(at_ns)
        script.lines.append(Line(number, at_ns, what))
    if ", any" in match[3]:
        script.unchecked.append((start_ns, at_ns))
    return at_ns


def expand(text: str, gro: bool, at_ns: int) -> list[tuple[int, str]]:
    """The lines that a line at at_ns expands to, each with the time since the previous one."""
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
    if match := re.fullmatch(
        r"segments\((\d+), (\d+), (\d+), (\d+)us, (?:(\d+)|any)(?:, (\d+)ms)?\)", text
    ):
        first, count, size, iat_us = map(int, match.groups()[:4])
        every = int(match[5] or count + 1)
        lines = []
        for i in range(count):
            start, end = first + i * size, first + (i + 1) * size
            stamp = _echo(at_ns + i * iat_us * 1000, int(match[6])) if match[6] else ""
            segment = f"< {flags} {start}:{end}({size}) ack 1{stamp}"
            lines.append((iat_us * 1000 if i else 0, segment))
            if (i + 1) % every == 0:
                lines.append((0, f"> . 1:1(0) ack {end}"))
        return lines
    if match := re.fullmatch(r"reordered\((\d+), (\d+), (\d+)us\)", text):
        first, size, iat_us = map(int, match.groups())
        middle, end = first + size, first + 2 * size
        return [
            (0, f"< {flags} {middle}:{end}({size}) ack 1"),
            (0, f"> . 1:1(0) ack {first} <sack {middle}:{end}>"),
            (iat_us * 1000, f"< {flags} {first}:{middle}({size}) ack 1"),
            (0, f"> . 1:1(0) ack {end}"),
        ]
    if match := re.fullmatch(r"burst\((\d+), (\d+), (\d+)\)", text):
        first, count, size = map(int, match.groups())
        starts = range(first, first + count * size, size)
        last = starts[-1]
        return [
            (0, f"< {'P.' if start == last else '.'} {start}:{start + size}({size}) ack 1")
            for start in starts
        ]
    return [(0, text)]


def _echo(at_ns: int, rtt_ms: int) -> str:
    """Timestamps of a segment that arrives at at_ns and echoes what TCP sent rtt_ms before."""
    at_ms = at_ns // 1_000_000
    return f" <TS val {1000 + at_ms} ecr {at_ms - rtt_ms}>"

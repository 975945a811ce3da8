# SPDX-License-Identifier: GPL-2.0-only
"""Sends airsim requests that it must refuse and that it must accept; prints the results as JSON.

Runs in a guest as root, with Python's standard library, airsim_attrs.py and a copy of
<uapi/linux/airsim.h>, which defines the attributes and their ranges. Attributes in the kernel's
policies that are not among them are reported as `unprobed`.
"""

import json
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from airsim_attrs import Attr, attrs, numbers

NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP, NLM_F_CAPPED, NLM_F_ACK_TLVS = 1, 4, 0x300, 0x100, 0x200
NLMSG_ERROR, NLMSG_DONE = 2, 3
NLMSGERR_ATTR_MSG = 1
NETLINK_GENERIC, SOL_NETLINK, NETLINK_EXT_ACK = 16, 270, 11
GENL_ID_CTRL, CTRL_GETFAMILY, CTRL_GETPOLICY = 16, 3, 10
CTRL_FAMILY_ID, CTRL_FAMILY_NAME, CTRL_POLICY, CTRL_OP_POLICY = 1, 2, 8, 9
POLICY_DO = 1
NOBODY = 65534

COMMANDS = ["unspec", "new_radio", "del_radio", "get_radio", "set_radio"]
COMMANDS += ["get_preset", "set_link", "get_link", "set_air", "get_air"]
HEADER = Path("airsim.h")
NUMBERS = numbers(HEADER)
NAMES = list(NUMBERS)
RADIO = Attr("", "I", 0, 255, 0, ())
INTEGERS = {"index": RADIO, **attrs(HEADER)}


def names_of(*objects: str) -> list[str]:
    return [name for name, attr in INTEGERS.items() if attr.object in objects]


HARDWARE = names_of("hardware")
POSITION = names_of("position")
RATE = names_of("rate")
SETTINGS = names_of("settings", "burst", "position", "rate")
LINK = names_of("link")
AIR = names_of("air")

ACCEPTS = {
    "new_radio": ["index", "preset", *HARDWARE, *SETTINGS],
    "del_radio": ["index"],
    "get_radio": ["index"],
    "set_radio": ["index", "preset", *HARDWARE, *SETTINGS],
    "set_link": [*LINK, "rate_fixed", *RATE],
    "set_air": AIR,
    "get_air": [],
}

CCK, OFDM, HT, VHT, HE, EHT = range(6)
A, G, N, AC, AX, BE = range(6)

Values = dict[str, int | str]
Attributes = list[tuple[int, bytes]]


class RefusedError(Exception):
    """A request that the kernel refused, with an errno and a message, which may be empty."""

    def __init__(self, errno: int, message: str) -> None:
        super().__init__(f"errno {errno}: {message}")
        self.errno, self.message = errno, message


def parse(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The attributes in a message: number and payload."""
    while len(data) >= 4:
        length, number = struct.unpack_from("HH", data)
        yield number & 0x3FFF, data[4:length]
        data = data[(length + 3) & ~3 :]


def attributes(values: Values) -> Attributes:
    """Well-formed attributes."""
    return [
        (NUMBERS[name], f"{value}\0".encode() if isinstance(value, str) else pack(name, value))
        for name, value in values.items()
    ]


def pack(name: str, value: int) -> bytes:
    return struct.pack(INTEGERS[name].code, value)


class Kernel:
    """A generic netlink socket."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        self.socket.bind((0, 0))
        self.socket.setsockopt(SOL_NETLINK, NETLINK_EXT_ACK, 1)
        self.sequence = 0
        name = [(CTRL_FAMILY_NAME, b"airsim\0")]
        [answer] = self.ask(GENL_ID_CTRL, CTRL_GETFAMILY, name)
        [self.family] = struct.unpack("H", dict(parse(answer))[CTRL_FAMILY_ID])

    def ask(self, family: int, command: int, given: Attributes, flags: int = 0) -> list[bytes]:
        """The attributes of each message of the answer. Raises RefusedError."""
        self.sequence += 1
        body = struct.pack("BBH", command, 1, 0)
        for number, payload in given:
            body += struct.pack("HH", 4 + len(payload), number) + payload
            body += bytes(-len(body) % 4)
        header = struct.pack(
            "IHHII", 16 + len(body), family, NLM_F_REQUEST | NLM_F_ACK | flags, self.sequence, 0
        )
        self.socket.send(header + body)
        answers: list[bytes] = []
        while True:
            data = self.socket.recv(1 << 16)
            while data:
                length, kind, got_flags = struct.unpack_from("IHH", data)
                message, data = data[16:length], data[(length + 3) & ~3 :]
                if kind in (NLMSG_ERROR, NLMSG_DONE):
                    check_end(kind, got_flags, message)
                    return answers
                answers.append(message[4:])

    def airsim(self, command: str, given: Attributes, flags: int = 0) -> list[dict[int, bytes]]:
        answers = self.ask(self.family, COMMANDS.index(command), given, flags)
        return [dict(parse(answer)) for answer in answers]

    def state(self) -> dict[str, Any]:
        """All settings, as airsim reports them, without counters."""
        dumps = {name: self.airsim(name, [], NLM_F_DUMP) for name in ("get_radio", "get_link")}
        for radio in dumps["get_radio"]:
            del radio[NUMBERS["counters"]]
        return {**dumps, "air": self.airsim("get_air", [])}

    def policies(self) -> dict[int, set[int]]:
        """The attributes in the kernel's policy of each command."""
        family = [(CTRL_FAMILY_ID, struct.pack("H", self.family))]
        of_command: dict[int, int] = {}
        of_policy: dict[int, set[int]] = {}
        for answer in self.ask(GENL_ID_CTRL, CTRL_GETPOLICY, family, NLM_F_DUMP):
            for number, payload in parse(answer):
                for index, nest in parse(payload):
                    if number == CTRL_OP_POLICY and POLICY_DO in dict(parse(nest)):
                        [of_command[index]] = struct.unpack("I", dict(parse(nest))[POLICY_DO])
                    elif number == CTRL_POLICY:
                        of_policy.setdefault(index, set()).update(dict(parse(nest)))
        return {command: of_policy.get(policy, set()) for command, policy in of_command.items()}


def check_end(kind: int, flags: int, message: bytes) -> None:
    """Raise RefusedError if the last message of an answer reports an error."""
    [error] = struct.unpack_from("i", message)
    if error >= 0:
        return
    offset = 4 if kind == NLMSG_DONE else 20
    if kind == NLMSG_ERROR and not flags & NLM_F_CAPPED:
        [request_length] = struct.unpack_from("I", message, 4)
        offset += request_length - 16
    extended = dict(parse(message[offset:])) if flags & NLM_F_ACK_TLVS else {}
    raise RefusedError(-error, extended.get(NLMSGERR_ATTR_MSG, b"").rstrip(b"\0").decode())


class Case(NamedTuple):
    """A request that must be refused."""

    what: str
    command: str
    attributes: Attributes
    flags: int = 0


def bad_payloads(name: str) -> Iterator[tuple[str, bytes]]:
    """Malformed payloads of an attribute."""
    if name == "preset":
        yield "empty", b""
        yield "not terminated", b"generic"
        yield "too long", b"g" * 32 + b"\0"
        yield "unknown", b"nonesuch\0"
        return
    code, low, high = INTEGERS[name].code, INTEGERS[name].low, INTEGERS[name].high
    good = struct.pack(code, low)
    yield "empty", b""
    if len(good) > 1:
        yield "too short", good[:-1]
    yield "too long", good + b"\0"
    for what, value in (("below", low - 1), ("above", high + 1)):
        try:
            yield what, struct.pack(code, value)
        except struct.error:
            pass  # out of range for the type


def malformed(command: str, good: Values) -> Iterator[Case]:
    """Each attribute of a command malformed, with `good` ones that would change something."""
    for name in ACCEPTS[command]:
        rest = attributes({other: value for other, value in good.items() if other != name})
        for what, payload in bad_payloads(name):
            case = f"{command}: {name} {what}"
            yield Case(case, command, [*rest, (NUMBERS[name], payload)])
    yield from unknown(command, good, ACCEPTS[command])


def unknown(command: str, good: Values, known: list[str], flags: int = 0) -> Iterator[Case]:
    """Each attribute that a command does not accept, and some that do not exist."""
    numbers = [number for name, number in NUMBERS.items() if name not in known]
    for number in [*numbers, len(NAMES), 1000]:
        case = f"{command} (flags {flags:#x}): unknown attribute {number}"
        yield Case(case, command, [*attributes(good), (number, bytes(4))], flags)


def missing(command: str, good: Values, required: list[str]) -> Iterator[Case]:
    for name in required:
        rest = {other: value for other, value in good.items() if other != name}
        yield Case(f"{command}: {name} missing", command, attributes(rest))


def inconsistent(radio: int, removed: int) -> Iterator[Case]:
    """Well-formed attributes that do not fit together; `radio` is 802.11n, 2x2, 40 MHz."""
    legacy: Values = {"streams": 1, "width_mhz": 20, "ba_window": 1}
    wide: Values = {"standard": BE, "width_mhz": 320}
    new: list[tuple[str, Values]] = [
        ("index given", {"index": 99}),
        ("streams of 802.11a", {**legacy, "standard": A, "streams": 2}),
        ("width of 802.11g", {**legacy, "standard": G, "width_mhz": 40}),
        ("window of 802.11a", {**legacy, "standard": A, "ba_window": 2}),
        ("A-MSDU of 802.11a", {**legacy, "standard": A, "amsdu": 1}),
        ("width of 802.11n", {"standard": N, "width_mhz": 80, "ba_window": 64}),
        ("window of 802.11n", {"standard": N, "width_mhz": 40, "ba_window": 65}),
        ("window of 802.11ac", {"standard": AC, "ba_window": 65}),
        ("width of 802.11ax", {"width_mhz": 320}),
        ("window of 802.11ax", {"ba_window": 257}),
        ("no such width", {"width_mhz": 30}),
        ("no such spacing", {"mpdu_spacing_ns": 3000}),
        ("UL OFDMA of 802.11ac", {"standard": AC, "ba_window": 64, "ul_ofdma": 1}),
        ("UL OFDMA of 802.11be", {"standard": BE, "ul_ofdma": 1}),
        ("guard interval of EHT", {"standard": BE, "rate_format": EHT, "rate_gi_ns": 400}),
        ("width of HE", {**wide, "rate_format": HE, "rate_width_mhz": 320}),
        ("unsupported rate", {"preset": "ar9271", "rate_format": HT, "rate_streams": 2}),
    ]
    for what, values in new:
        yield Case(f"new_radio: {what}", "new_radio", attributes(values))
    ht: Values = {"rate_format": HT}
    settings: list[tuple[str, Values]] = [
        ("preset", {"preset": "generic"}),
        ("UL OFDMA of 802.11n", {"ul_ofdma": 1}),
        ("position removed and set", {"placed": 0, "x_mm": 1}),
        ("rate released", {"rate_fixed": 0}),
        ("rate released and fixed", {"rate_fixed": 0, "rate_format": OFDM}),
        ("MCS of HT", {**ht, "rate_mcs": 8}),
        ("guard interval of HT", {**ht, "rate_gi_ns": 1600}),
        ("no such guard interval", {**ht, "rate_gi_ns": 500}),
        ("no such width", {**ht, "rate_width_mhz": 30}),
        ("streams of the radio", {**ht, "rate_streams": 3}),
        ("width of HT", {**ht, "rate_width_mhz": 80}),
        ("legacy rate with HT", {**ht, "rate_legacy_kbps": 6000}),
        ("MCS with OFDM", {"rate_format": OFDM, "rate_mcs": 0}),
        ("guard interval with CCK", {"rate_format": CCK, "rate_gi_ns": 800}),
        ("streams of OFDM", {"rate_format": OFDM, "rate_streams": 2}),
        ("no such OFDM rate", {"rate_format": OFDM, "rate_legacy_kbps": 7000}),
        ("no such CCK rate", {"rate_format": CCK, "rate_legacy_kbps": 6000}),
        ("VHT of 802.11n", {"rate_format": VHT}),
        ("HE of 802.11n", {"rate_format": HE}),
        ("EHT of 802.11n", {"rate_format": EHT}),
    ]
    settings.extend((f"hardware: {name}", {name: INTEGERS[name].high}) for name in HARDWARE)
    for what, values in settings:
        given: Values = {"index": radio, "gro_flush_us": 77, **values}
        yield Case(f"set_radio: {what}", "set_radio", attributes(given))
    for command in ("del_radio", "get_radio", "set_radio"):
        yield Case(f"{command}: does not exist", command, attributes({"index": removed}))


def inconsistent_links(radio: int, other: int, wide: int, removed: int) -> Iterator[Case]:
    """The same for links; `wide` has no fixed rate."""
    ends: Values = {"from": radio, "to": other, "rate_format": HT}
    lossy: Values = {"from": radio, "to": other, "loss_mdb": 1}
    links: list[tuple[str, Values]] = [
        ("loss and blocked", {**lossy, "blocked": 1}),
        ("rate and loss", {**ends, **lossy}),
        ("rate of 802.11ac", {**ends, "rate_format": VHT}),
        ("rate from a radio without a fixed rate", {**ends, "from": wide}),
        ("to itself", {**lossy, "to": radio}),
        ("from a radio that does not exist", {**lossy, "from": removed}),
        ("to a radio that does not exist", {**lossy, "to": removed}),
        ("neither loss nor blocked nor rate", {"from": radio, "to": other}),
        ("rate fixed without a rate", {"from": radio, "to": other, "rate_fixed": 1}),
    ]
    for what, values in links:
        yield Case(f"set_link: {what}", "set_link", attributes(values))


def try_refused(kernel: Kernel, case: Case) -> dict[str, Any]:
    before = kernel.state()
    errno, message = 0, ""
    try:
        kernel.airsim(case.command, case.attributes, case.flags)
    except RefusedError as refused:
        errno, message = refused.errno, refused.message
    return {
        "case": case.what,
        "errno": errno,
        "message": message,
        "changed": kernel.state() != before,
    }


def accepted(radio: int, other: int) -> Iterator[tuple[str, Values, str, Values]]:
    """Valid requests: command, attributes, the command that reads them back, expected values."""
    for name in SETTINGS:
        if name in POSITION or name in RATE or name in ("placed", "rate_fixed"):
            continue
        for value in (INTEGERS[name].low, INTEGERS[name].high):
            yield "set_radio", {"index": radio, name: value}, "get_radio", {name: value}
    for name in POSITION:
        for value in (INTEGERS[name].low, INTEGERS[name].high, 0):
            expected: Values = {name: value, "placed": 1}
            yield "set_radio", {"index": radio, name: value}, "get_radio", expected
    yield "set_radio", {"index": radio, "placed": 0}, "get_radio", {"placed": 0}
    rates: list[Values] = [
        {"rate_format": CCK, "rate_legacy_kbps": 1000},
        {"rate_format": OFDM, "rate_legacy_kbps": 54_000},
        {"rate_format": HT, "rate_mcs": 7, "rate_streams": 4, "rate_gi_ns": 400},
        {"rate_format": VHT, "rate_mcs": 9, "rate_streams": 1, "rate_width_mhz": 160},
        {"rate_format": HE, "rate_mcs": 11, "rate_gi_ns": 3200, "rate_width_mhz": 20},
        {"rate_mcs": 0},
    ]
    for rate in rates:
        expected = {**rate, "rate_fixed": 1}
        yield "set_radio", {"index": other, **rate}, "get_radio", expected
    for name in AIR:
        for value in (INTEGERS[name].low, INTEGERS[name].high):
            yield "set_air", {name: value}, "get_air", {name: value}
    ends: Values = {"from": radio, "to": other}
    for loss in (INTEGERS["loss_mdb"].low, INTEGERS["loss_mdb"].high):
        link: Values = {**ends, "loss_mdb": loss}
        yield "set_link", link, "get_link", link
    yield "set_link", {**ends, "blocked": 1}, "get_link", {**ends, "blocked": 1}
    yield "set_link", {**ends, "blocked": 0}, "get_link", {}
    back: Values = {"from": other, "to": radio}
    for rate in rates:
        yield "set_link", {**back, **rate}, "get_link", {**back, **rate}
    yield "set_link", {**back, "rate_fixed": 0}, "get_link", {}


def try_accepted(
    kernel: Kernel, command: str, given: Values, reader: str, expected: Values
) -> dict[str, Any]:
    case = f"{command}: {given}"
    try:
        kernel.airsim(command, attributes(given))
    except RefusedError as refused:
        return {"case": case, "problem": str(refused)}
    if reader == "get_link":
        [*answers] = kernel.airsim(reader, [], NLM_F_DUMP)
        read = answers[0] if len(answers) == 1 else {}
        if len(answers) != bool(expected):
            return {"case": case, "problem": f"{len(answers)} links"}
    else:
        index: Values = {"index": given["index"]} if "index" in given else {}
        [read] = kernel.airsim(reader, attributes(index))
    for number, payload in attributes(expected):
        if read.get(number) != payload:
            return {"case": case, "problem": f"{NAMES[number]} reads {read.get(number)!r}"}
    return {"case": case, "problem": ""}


def add(kernel: Kernel, values: Values) -> int:
    [answer] = kernel.airsim("new_radio", attributes(values))
    [index] = struct.unpack("I", answer[NUMBERS["index"]])
    return int(index)


def try_without_privilege() -> dict[str, int]:
    """The errno of each command that changes something, without CAP_NET_ADMIN."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setuid(NOBODY)
            os.write(writer, json.dumps(errnos_of_writes()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        errnos: dict[str, int] = json.loads(pipe.read() or "{}")
    os.waitpid(child, 0)
    return errnos


def errnos_of_writes() -> dict[str, int]:
    kernel = Kernel()
    errnos = {}
    for command in ("new_radio", "del_radio", "set_radio", "set_link", "set_air"):
        errnos[command] = 0
        try:
            kernel.airsim(command, [])
        except RefusedError as refused:
            errnos[command] = refused.errno
    return errnos


def main() -> None:
    kernel = Kernel()
    first = add(kernel, {"preset": "tl-wdr4300", "rate_format": HT})
    other = add(kernel, {"rate_format": HE})
    wide = add(kernel, {})
    removed = add(kernel, {})
    kernel.airsim("del_radio", attributes({"index": removed}))

    radio: Values = {"index": first, "gro_flush_us": 77, "x_mm": 5, "rate_format": HT}
    goods: dict[str, Values] = {
        "new_radio": {"preset": "ar9580", "gro_flush_us": 77, "x_mm": 5},
        "del_radio": {"index": first},
        "get_radio": {"index": first},
        "set_radio": radio,
        "set_link": {"from": first, "to": other, "loss_mdb": 12_345},
        "set_air": {"cca_threshold_mdbm": -70_123, "path_loss_reference_mdb": 1},
        "get_air": {},
    }
    required = {name: ["index"] for name in ("del_radio", "get_radio", "set_radio")}
    required["set_link"] = ["from", "to", "loss_mdb"]
    cases = [case for command, good in goods.items() for case in malformed(command, good)]
    for command, names in required.items():
        cases.extend(missing(command, goods[command], names))
    for command in ("get_radio", "get_preset", "get_link"):
        cases.extend(unknown(command, {}, [], NLM_F_DUMP))
    cases.extend(inconsistent(first, removed))
    cases.extend(inconsistent_links(first, other, wide, removed))

    known = {COMMANDS.index(name): {NUMBERS[attr] for attr in ACCEPTS[name]} for name in ACCEPTS}
    policies = kernel.policies()
    results = {
        "unprobed": sorted(
            (command, number)
            for command in policies.keys() | known.keys()
            for number in policies.get(command, set()) ^ known.get(command, set())
        ),
        "refused": [try_refused(kernel, case) for case in cases],
        "accepted": [try_accepted(kernel, *case) for case in accepted(wide, other)],
        "without_privilege": try_without_privilege(),
    }
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()

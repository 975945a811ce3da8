# SPDX-License-Identifier: GPL-2.0-only
"""Reads the attributes of airsim's netlink family from the tables in <uapi/linux/airsim.h>.

Uses only the standard library, because the netlink probe imports it in a guest.
"""

import re
from pathlib import Path
from typing import NamedTuple

HEADER = Path(__file__).parent / "../../kernel/include/uapi/linux/airsim.h"

CODES = {"u8": "B", "u16": "H", "u32": "I", "s32": "i"}


class Attr(NamedTuple):
    """The type of an attribute (code, of struct.pack) and its range.

    object: "hardware", "settings", "burst", "position", "rate", "link" or "air". words: names of
    the values of an enum.
    """

    object: str
    code: str
    low: int
    high: int
    default: int
    words: tuple[str, ...]


def numbers(header: Path = HEADER) -> dict[str, int]:
    """The number of every attribute."""
    return _enum(header.read_text(), "attr")


def counters() -> list[str]:
    """The names of the counters."""
    return [
        name for name in _enum(HEADER.read_text(), "counter") if name not in ("unspec", "pad", "")
    ]


def attrs(header: Path = HEADER) -> dict[str, Attr]:
    """The attributes in the tables, by name."""
    text = header.read_text()
    constants = dict(re.findall(r"^#define (AIRSIM_\w+)\s+(\d+)$", text, re.M))
    for body in re.findall(r"^enum airsim_\w+ \{\n(.*?)\}", text, re.M | re.S):
        constants |= {name: str(i) for i, name in enumerate(re.findall(r"\w+(?=,)", body))}
    attributes = {}
    table = r"^#define AIRSIM_(\w+)\(INT, BOOL, ENUM\) \\\n(.*?)\n\n"
    for owner, rows in re.findall(table, text, re.M | re.S):
        for kind, row in re.findall(r"\b(INT|BOOL|ENUM)\(([^)]*)\)", rows):
            name, _member, *cells = (cell.strip() for cell in re.sub(r"\\\n", "", row).split(","))
            attributes[name.lower()] = _attr(owner.lower(), kind, cells, constants)
    return attributes


def _attr(owner: str, kind: str, cells: list[str], constants: dict[str, str]) -> Attr:
    def value(text: str) -> int:
        sum_of = re.sub(r"AIRSIM_\w+", lambda match: constants[match[0]], text)
        return sum(int(term) for term in sum_of.replace("- ", "-").split())

    if kind == "BOOL":
        return Attr(owner, "B", 0, 1, value(cells[0]), ("off", "on"))
    if kind == "ENUM":
        words = tuple(word.strip('"') for word in cells[2:])
        return Attr(owner, "I", 0, len(words) - 1, value(cells[1]), words)
    low, high, default = map(value, cells[1:])
    return Attr(owner, CODES[cells[0]], low, high, default, ())


def _enum(text: str, tag: str) -> dict[str, int]:
    body = text.partition(f"\nenum airsim_{tag} {{\n")[2].partition("}")[0]
    names = re.findall(rf"^\tAIRSIM_{tag.upper()}_(\w+),$", body, re.M)
    return {name.lower(): number for number, name in enumerate(names)}

# SPDX-License-Identifier: GPL-2.0-only
"""YAML files that users give, with limits: none may take all memory, or forever."""

import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

from airtcp.errors import InputError

MAX_BYTES = 256 << 10
MAX_DEPTH = 20
MAX_VALUES = 100_000


def read(path: Path) -> str:
    """The text of a file. InputError unless it is a regular file of UTF-8, MAX_BYTES at most."""
    try:
        # Before it is opened: a pipe would wait for a writer.
        if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
            raise InputError(f"{path}: not a regular file")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    if len(content) > MAX_BYTES:
        raise InputError(f"{path}: too long; allowed: {MAX_BYTES >> 10} KiB")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text") from None


def compose(text: str, shown: str) -> yaml.Node | None:
    """The text's tree. InputError, which calls the file `shown`, when it is not YAML or too much.

    By libyaml: Python's reader takes a minute for a few KB of brackets.
    """
    try:
        _check(yaml.parse(text, Loader=yaml.CSafeLoader), shown)
        return yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{shown}:{line}: not YAML: {error.problem}") from None
    except yaml.reader.ReaderError as error:
        line = text.encode()[: error.position].count(b"\n") + 1
        what = f"the character #x{error.character:04x} is not allowed"
        raise InputError(f"{shown}:{line}: not YAML: {what}") from None


@dataclass
class _Open:
    """A list or mapping whose end has not come: how many values came before, levels within."""

    anchor: str | None
    before: int
    height: int = 1


def _check(events: Iterable[yaml.Event], shown: str) -> None:
    """InputError for more levels or values than allowed, each alias counted as what it names."""
    opened: list[_Open] = []
    named: dict[str, tuple[int, int]] = {}  # values and levels of what has an anchor
    values = 0
    for event in events:
        where = f"{shown}:{event.start_mark.line + 1 if event.start_mark else 1}"
        height = 0
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append(_Open(event.anchor, values))
            values += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            ended = opened.pop()
            height = ended.height
            if ended.anchor:
                named[ended.anchor] = values - ended.before, height
        elif isinstance(event, yaml.ScalarEvent):
            values += 1
            if event.anchor:
                named[event.anchor] = 1, 0
        elif isinstance(event, yaml.AliasEvent):
            if any(one.anchor == event.anchor for one in opened):
                raise InputError(f"{where}: the alias *{event.anchor} is part of what it names")
            count, height = named.get(event.anchor or "", (0, 0))
            values += count
        if len(opened) + height > MAX_DEPTH:
            raise InputError(f"{where}: nested too deep; allowed: {MAX_DEPTH} levels")
        if values > MAX_VALUES:
            raise InputError(
                f"{where}: too much, with aliases expanded; allowed: {MAX_VALUES} values"
            )
        if opened:
            opened[-1].height = max(opened[-1].height, height + 1)

# SPDX-License-Identifier: GPL-2.0-only
"""Reads YAML files from users, with limits on memory and time."""

import re
import stat
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

from airtcp.errors import InputError

MAX_BYTES = 256 << 10
MAX_DEPTH = 20
MAX_VALUES = 100_000


def read(path: Path) -> str:
    """The text of a file. InputError unless it is a regular UTF-8 file of at most MAX_BYTES."""
    try:
        # Check before opening: a pipe would wait for a writer.
        if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
            raise InputError(f"{path}: not a regular file")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    if len(content) > MAX_BYTES:
        raise InputError(f"{path}: too large; allowed: {MAX_BYTES >> 10} KiB")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text") from None


def compose(text: str, shown: str) -> yaml.Node | None:
    """Parse the text. InputError, with `shown` as file name, if it is not YAML or exceeds limits.

    Uses libyaml: the parser in Python takes a minute for a few KB of brackets.
    """
    try:
        _check(yaml.parse(text, Loader=yaml.CSafeLoader), shown)
        return yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise _not_yaml(error, text, shown) from None


def data(node: yaml.Node | None, shown: str) -> object:
    """Lists, mappings and the text of scalars. InputError for keys given twice or not words."""
    if isinstance(node, yaml.SequenceNode):
        return [data(item, shown) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, object] = {}
        for key, value in node.value:
            where = f"{shown}:{key.start_mark.line + 1}"
            if not isinstance(key, yaml.ScalarNode):
                raise InputError(f"{where}: a key must be a word, not a list or a mapping")
            if key.value in mapping:
                raise InputError(f"{where}: {key.value}: given twice")
            mapping[key.value] = data(value, shown)
        return mapping
    return node.value if node else None


def _not_yaml(error: yaml.YAMLError, text: str, shown: str) -> InputError:
    line, what = 1, str(error)
    if isinstance(error, yaml.MarkedYAMLError):
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        what = str(error.problem)
        if what.startswith("but "):
            what = f"{error.context}, {what}"
        elif error.problem_mark and _after(text, error.problem_mark).startswith("\t"):
            what = "found a tab character; indent with spaces"
        elif error.problem_mark and what == "found undefined alias":
            alias = re.split(r"[\s,\]}]", _after(text, error.problem_mark), maxsplit=1)[0]
            what = f"found undefined alias {alias}; write text that begins with * in quotes"
        elif what.startswith("mapping values are not allowed"):
            what += "; write text that contains `: ` in quotes, or correct the indentation"
    elif isinstance(error, yaml.reader.ReaderError):
        line = text.encode()[: error.position].count(b"\n") + 1
        what = f"the character #x{error.character:04x} is not allowed"
    return InputError(f"{shown}:{line}: not YAML: {what}")


def _after(text: str, mark: yaml.Mark) -> str:
    """The text from a mark on. Lines of YAML also end at characters such as U+2028."""
    return text.removeprefix("\ufeff")[mark.index :]


def first_scalars(text: str, shown: str, keys: Collection[str]) -> dict[str, str]:
    """The scalars of these keys of the top-level mapping; stops when it has all.

    Raises InputError, with `shown` as file name, if the text up to there is not YAML.
    """
    scalars: dict[str, str] = {}
    depth = 0
    key: str | None = None
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            elif isinstance(event, yaml.NodeEvent):
                scalar = event.value if isinstance(event, yaml.ScalarEvent) else None
                if depth == 1 and key is not None and key in keys and scalar is not None:
                    scalars[key] = scalar
                if depth == 1:
                    key = scalar if key is None else None
                depth += isinstance(event, yaml.CollectionStartEvent)
            if len(scalars) == len(keys):
                break
    except yaml.YAMLError as error:
        raise _not_yaml(error, text, shown) from None
    return scalars


@dataclass
class _Open:
    """An open list or mapping: number of values before it, and levels within it so far."""

    anchor: str | None
    before: int
    height: int = 1


def _check(events: Iterable[yaml.Event], shown: str) -> None:
    """InputError for too many levels or values; an alias counts as much as its anchor's value."""
    opened: list[_Open] = []
    named: dict[str, tuple[int, int]] = {}  # values and levels by anchor
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
            if any(item.anchor == event.anchor for item in opened):
                raise InputError(f"{where}: the alias *{event.anchor} contains itself")
            count, height = named.get(event.anchor or "", (0, 0))
            values += count
        if len(opened) + height > MAX_DEPTH:
            raise InputError(f"{where}: nested too deeply; allowed: {MAX_DEPTH} levels")
        if values > MAX_VALUES:
            raise InputError(
                f"{where}: too many values after expanding aliases; allowed: {MAX_VALUES}"
            )
        if opened:
            opened[-1].height = max(opened[-1].height, height + 1)

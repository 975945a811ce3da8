# SPDX-License-Identifier: GPL-2.0-only
"""The limit of TCP small queues: a time, a size, a number of packets, or a word.

`kernel` does not set net.ipv4.tcp_small_queue, so it also works with kernels that do not have it.
"""

import re
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

from airtcp import suggest
from airtcp.parameters import jsonschema
from airtcp.parameters.jsonschema import Json, Shape, either, text
from airtcp.units import (
    format_duration_s,
    format_size_bytes,
    parse_duration_s,
    parse_size_bytes,
)

_WORDS = {"kernel": None, "driver": "driver", "off": "off"}
# Upper limits in the kernel, in the unit of the sysctl.
_MOST = {"us": 10**6, "bytes": 1 << 28, "packets": 65535, "paced": 65535}

_ALLOWED = (
    "kernel, driver, off, 1us to 1s, 1B to 268435456B, or 1 to 65535 packets, as in 40packets "
    "or, times the pacing ratio, 40paced"
)


def _read(value: object) -> str | None:
    """The value of the sysctl, or None. Raises ValueError with the allowed values."""
    text = str(value).strip()
    if text in _WORDS:
        return _WORDS[text]
    rest_ns = 0
    try:
        if match := re.fullmatch(r"([0-9]+)\s*(packets|paced)", text):
            limit, unit = int(match[1]), match[2]
        elif text.endswith("B"):
            limit, unit = parse_size_bytes(text), "bytes"
        else:
            limit, rest_ns = divmod(round(parse_duration_s(text) * 1e9), 1000)
            unit = "us"
    except ValueError:
        meant = f"did you mean {close!r}? " if (close := suggest.nearest(text, _WORDS)) else ""
        raise ValueError(
            f"{text!r} is not a limit of small queues; {meant}allowed: {_ALLOWED}"
        ) from None
    if rest_ns:
        raise ValueError(f"{text!r} would be rounded; allowed: multiples of 1us")
    if not 1 <= limit <= _MOST[unit]:
        raise ValueError(f"{text!r} is out of range; allowed: {_ALLOWED}")
    return f"{limit} {unit}"


def _write(given: str | None) -> str:
    if given is None:
        return "kernel"
    limit, _, unit = given.partition(" ")
    match unit:
        case "us":
            return format_duration_s(int(limit) / 1e6)
        case "bytes":
            return format_size_bytes(int(limit))
    return limit + unit


def _shape() -> Json:
    limit = text(
        r"[0-9]+(\.[0-9]+)?\s*(ns|us|ms|s|B|[kMG]B|[KMG]iB)|[0-9]+\s*(packets|paced)",
        "40packets",
        _ALLOWED,
    )
    return either(limit, jsonschema.words(_WORDS))


SmallQueue = Annotated[str | None, BeforeValidator(_read), PlainSerializer(_write), Shape(_shape)]
